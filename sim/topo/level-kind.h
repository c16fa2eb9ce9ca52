/* The kinds of levels: one file each, and one row in level-kind.c. Each numbers its links itself,
 * from 0 over the whole topology, and says which of them a message crosses. */
#pragma once

#include "sim/topo/ports.h"

/* A key of the kind in .topo files; in the one-line form the values follow the kind's name. */
typedef struct {
    const char *key; /* NULL: no more */
    /* NULL, or what is wrong (caller frees). */
    char *(*parse)(PsTopologyLevel *level, const char *text);
    char *(*format)(const PsTopologyLevel *level); /* caller frees */
} PsKindKey;

#define PS_MAX_KIND_KEYS 2

typedef struct {
    const char *name;
    PsKindKey keys[PS_MAX_KIND_KEYS];
    /* Device i of a member reaches only devices i of others: a message changes to the right one
     * inside its member first. */
    gboolean planes;
    /* NULL, or what is wrong with a level of this kind (caller frees) and the key to blame. */
    char *(*fault)(const PsPorts *ports, const char **key);
    guint (*n_links)(const PsPorts *ports);
    double (*capacity)(const PsPorts *ports, guint link); /* bytes per second */
    char *(*link_name)(const PsPorts *ports, guint link); /* "source>destination"; caller frees */
    /* Appends the links that begin or end at a port. */
    void (*at_port)(const PsPorts *ports, guint port, GArray *links);
    /* Appends the links between two ports of one group; returns how often the level's latency is
     * paid. */
    guint (*between)(const PsPorts *ports, guint source, guint destination, GArray *links);
    /* The links from a port to the switch at the top of its group, and back; NULL for a kind
     * without such a switch. */
    void (*up)(const PsPorts *ports, guint port, GArray *links);
    void (*down)(const PsPorts *ports, guint port, GArray *links);
} PsKind;

extern const PsKind ps_kind_switch, ps_kind_fat_tree, ps_kind_rail, ps_kind_ring, ps_kind_torus;
const PsKind *ps_level_kind(const PsTopologyLevel *level);

/* Names of the kinds, NULL-terminated, by PsLevelKind. */
extern const char *const ps_level_kind_names[PS_N_LEVEL_KINDS + 1];
