/* Parts of the topology reader; topology.h is what others use. */
#pragma once

#include "sim/topo/topology.h"

/* The devices of a topology are numbered in 32 bits with room to spare. */
#define PS_TOPOLOGY_MAX_DEVICES (1 << 24)

/* What is wrong with a level, seen from the ones inside it, or with the accelerator: NULL, or a
 * text (caller frees) and in *key which key of a .topo file is to blame ("" for the name of a
 * level). */
char *ps_topology_level_fault(const PsTopology *topology, guint index, const char **key);
char *ps_topology_accelerator_fault(const PsAccelerator *accelerator, const char **key);

/* Keys of a .topo file for the peak rates: "peak_fp16". */
extern const char *const ps_topology_peak_keys[PS_N_PRECISIONS];

/* Adds a zeroed level without a name and returns it, valid until the next. */
PsTopologyLevel *ps_topology_add_level(PsTopology *topology);

/* The two forms. */
PsTopology *ps_topology_read_file(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
PsTopology *ps_topology_parse_line(const char *line, GError **error) G_GNUC_WARN_UNUSED_RESULT;
