/* A topology: accelerators of one kind under levels of links, from the inside out. Read from .topo
 * key files, a one-line synthetic form, or an explicit list of links (a CSV file);
 * topologies/README.md describes all three. sim/topo/network.h finds routes in it. */
#pragma once

#include <glib.h>

/* Number formats that an accelerator has a peak rate for. */
typedef enum {
    PS_PRECISION_FP32,
    PS_PRECISION_TF32,
    PS_PRECISION_FP16,
    PS_PRECISION_BF16,
    PS_PRECISION_FP8,
    PS_N_PRECISIONS
} PsPrecision;

extern const char *const ps_precision_names[PS_N_PRECISIONS + 1]; /* "fp32", ... */

typedef struct {
    char *name;
    double memory_bytes;
    double peak_flop_per_s[PS_N_PRECISIONS]; /* dense; 0 where the topology does not say */
} PsAccelerator;

/* How the members of a level's group (the groups of the level inside it; at the innermost level the
 * devices) are connected. Every connection is full duplex. */
typedef enum {
    PS_LEVEL_SWITCH,   /* all to one switch that never blocks */
    PS_LEVEL_FAT_TREE, /* to leaf switches, these to a spine that is oversubscribed */
    PS_LEVEL_RAIL,     /* the i-th devices of all members to one switch, the i-th rail */
    PS_LEVEL_RING,     /* each to its two neighbours */
    PS_LEVEL_TORUS,    /* each to two neighbours per dimension */
    PS_N_LEVEL_KINDS
} PsLevelKind;

#define PS_MAX_DIMENSIONS 6

typedef struct {
    char *name;
    guint size;                   /* devices in one group of this level */
    double bandwidth_bytes_per_s; /* of one device, in one direction, within its group: of each of
                                     its links in a ring or torus, its even share where shared */
    double latency_s;             /* of one message; of each hop in a ring or torus */
    double shared_bytes_per_s;    /* of all devices of a member together, in one direction; 0 where
                                     each device has its own adapter */
    PsLevelKind kind;
    guint n_dimensions; /* torus */
    guint dimensions[PS_MAX_DIMENSIONS];
    guint leaf_devices;      /* fat tree: devices under one leaf switch */
    double oversubscription; /* fat tree: bandwidth into a leaf from below over that to above */
} PsTopologyLevel;

/* A protocol of the library that runs collectives: small messages take one with little latency,
 * large ones one with much bandwidth. */
typedef struct {
    char *name;
    double latency_s;             /* once per collective */
    double bandwidth_bytes_per_s; /* of one device at most; infinite where the links decide */
    double grain_bytes;           /* a smaller message takes as long as one of this size */
} PsProtocol;

/* What starting a collective costs, measured at some numbers of ranks: straight lines between them,
 * level outside. */
typedef struct {
    guint n_ranks;
    double start_s;
} PsStart;

/* The library that runs collectives. All empty: no cost but that of the links. */
typedef struct {
    guint n_protocols;
    PsProtocol *protocols;
    guint n_starts;
    PsStart *starts;       /* n_ranks ascending */
    char **algorithms;     /* those that the library has, NULL-terminated; NULL: all */
    guint algorithms_line; /* of the .topo file, for messages */
} PsLibrary;

#define PS_NO_VERTEX G_MAXUINT

typedef struct {
    guint source, destination; /* vertices */
    double bandwidth_bytes_per_s;
    double latency_s;
} PsTopologyLink;

/* An explicit list of directed links between vertices, which are devices and switches. */
typedef struct {
    guint n_vertices;
    char **vertices; /* names in the order of first mention, NULL-terminated; whole numbers are
                        devices */
    guint n_devices; /* one more than the highest rank */
    guint *devices;  /* vertex of a rank, PS_NO_VERTEX where the list does not mention it */
    guint n_links;
    PsTopologyLink *links; /* in file order */
} PsLinkList;

typedef struct {
    char *name;
    char *path;   /* the .topo file, or the one-line form itself */
    char *sha256; /* of the file's bytes, or of the one line, hex */
    PsAccelerator accelerator;
    guint n_levels;          /* at least one */
    PsTopologyLevel *levels; /* from the inside out: each size is a multiple of the one before;
                                the last group holds all devices */
    PsLinkList *links;       /* an explicit list, or NULL. It has one level that holds all devices,
                                with the bandwidth of the device that has least and the longest
                                latency of a link, and an accelerator with memory_bytes 0: unknown */
    PsLibrary library;
} PsTopology;

/* text is a one-line form ("flat:64 25GB/s 80GiB"), a list of links ("links:FILE.csv"), a path (it
 * holds a "/" or ends with ".topo"), or a name ("dgx-a100") that is looked up in the folder
 * $PIPERSIM_TOPOLOGIES, where that is set, and in the folders that the program was built and
 * installed with. Errors: INPUT with file and line, IO, and USAGE for a one-line form or a name
 * that is wrong. */
PsTopology *ps_topology_load(const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_topology_free(PsTopology *topology);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsTopology, ps_topology_free)

/* Names that ps_topology_load finds, sorted, NULL-terminated. Caller frees with g_strfreev. */
char **ps_topology_names(void);

/* What must hold of every topology that is no list of links: at least one level, names given and
 * distinct, sizes ascending and each dividing the next, bandwidth and memory positive, latency and
 * rates not negative, all finite, and what the kind of a level asks for. Loaded ones fulfil it; for
 * topologies from elsewhere, and for tests. */
gboolean ps_topology_check(const PsTopology *topology, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The one-line form: levels and memory to the last bit, without name and rates of the accelerator
 * and without the library; of a list of links "links:FILE.csv". Caller frees. */
char *ps_topology_text(const PsTopology *topology);

guint ps_topology_devices(const PsTopology *topology);

/* The innermost level whose group holds n_devices; NULL with error (USAGE) where there are fewer.
 */
const PsTopologyLevel *ps_topology_span_level(const PsTopology *topology, guint n_devices,
                                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
