/* Parts of the topology reader; topology.h is what others use. */
#pragma once

#include "sim/base/keyfile.h"
#include "sim/topo/topology.h"

/* The devices of a topology are numbered in 32 bits with room to spare. */
#define PS_TOPOLOGY_MAX_DEVICES (1 << 24)

#define PS_LINKS_PREFIX "links:"
#define PS_WORD_SHARED "shared" /* key of a .topo file, word of the one-line form */

/* What is wrong with a level, seen from the ones inside it, or with the accelerator: NULL, or a
 * text (caller frees) and in *key which key of a .topo file is to blame ("" for the name of a
 * level). */
char *ps_topology_level_fault(const PsTopology *topology, guint index, const char **key);
char *ps_topology_accelerator_fault(const PsAccelerator *accelerator, const char **key);

/* Keys of a .topo file for the peak rates: "peak_fp16". */
extern const char *const ps_topology_peak_keys[PS_N_PRECISIONS];

/* Adds a zeroed level without a name and returns it, valid until the next. */
PsTopologyLevel *ps_topology_add_level(PsTopology *topology);

/* A level's bandwidth as it is written: of one device, or of a member together. The member's size
 * must be known: the level is the last of the topology. */
void ps_topology_set_bandwidth(PsTopology *topology, double bandwidth_bytes_per_s, gboolean shared);

/* Beyond these a number is a slip; within them no sum or quotient overflows. */
#define PS_MAX_BYTES 1e18
#define PS_MAX_LATENCY_S 1e3
#define PS_BANDWIDTH_FAULT "out of range (expected 1 B/s to 1e18 B/s)"
#define PS_LATENCY_FAULT "out of range (expected 0 s to 1000 s)"
gboolean ps_topology_bandwidth_fits(double bandwidth_bytes_per_s); /* FALSE for NAN */
gboolean ps_topology_latency_fits(double latency_s);

/* Groups [protocol NAME] and [collectives] of a .topo file, where it has them. */
gboolean ps_topology_read_library(PsKeyFile *file, PsLibrary *library,
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_library_clear(PsLibrary *library);
void ps_link_list_free(PsLinkList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsLinkList, ps_link_list_free)

/* The three forms. */
PsTopology *ps_topology_read_links(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
PsTopology *ps_topology_read_file(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
PsTopology *ps_topology_parse_line(const char *line, GError **error) G_GNUC_WARN_UNUSED_RESULT;
