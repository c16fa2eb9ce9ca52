/* A topology: accelerators of one kind under levels of links, from the inside out. Read from .topo
 * key files or a one-line synthetic form; topologies/README.md describes both.
 */
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

typedef struct {
    char *name;
    guint size;                   /* devices in one group of this level */
    double bandwidth_bytes_per_s; /* of one device, in one direction, within its group */
    double latency_s;             /* of one message */
} PsTopologyLevel;

typedef struct {
    char *name;
    char *path;   /* the .topo file, or the one-line form itself */
    char *sha256; /* of the file's bytes, or of the one line, hex */
    PsAccelerator accelerator;
    guint n_levels;          /* at least one */
    PsTopologyLevel *levels; /* from the inside out: each size is a multiple of the one before;
                                the last group holds all devices */
} PsTopology;

/* text is a one-line form ("flat:64 25GB/s 80GiB"), a path (it holds a "/" or ends with ".topo"),
 * or a name ("dgx-a100") that is looked up in the folder $PIPERSIM_TOPOLOGIES, where that is set,
 * and in the folders that the program was built and installed with. Errors: INPUT with file and
 * line, IO, and USAGE for a one-line form or a name that is wrong. */
PsTopology *ps_topology_load(const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_topology_free(PsTopology *topology);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsTopology, ps_topology_free)

/* Names that ps_topology_load finds, sorted, NULL-terminated. Caller frees with g_strfreev. */
char **ps_topology_names(void);

/* What must hold of every topology: at least one level, names given and distinct, sizes ascending
 * and each dividing the next, bandwidth and memory positive, latency and rates not negative, all
 * finite. Loaded ones fulfil it; for topologies from elsewhere, and for tests. */
gboolean ps_topology_check(const PsTopology *topology, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The one-line form: levels and memory to the last bit, without names and rates of the accelerator.
 * Caller frees. */
char *ps_topology_text(const PsTopology *topology);

guint ps_topology_devices(const PsTopology *topology);

/* The innermost level whose group holds n_devices; NULL with error (USAGE) where there are fewer.
 */
const PsTopologyLevel *ps_topology_span_level(const PsTopology *topology, guint n_devices,
                                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
