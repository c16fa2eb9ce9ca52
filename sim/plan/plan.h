/* A plan: which layers form which pipeline stage, with which degrees and TMPCs, and the setting
 * it was made for. Made by the planner or read from a file; replayed, checked and drawn by others.
 */
#pragma once

#include <glib.h>
#include "sim/base/json.h"
#include "sim/model/profile.h"

typedef struct {
    guint n_layers;
    guint *layers;         /* indices into the profile, ascending (so in topological order) */
    guint *tmpcs;          /* [n_layers]: index into ps_layer_set(layer, tensor_parallel)->tmpcs */
    guint data_parallel;   /* d */
    guint tensor_parallel; /* t */
} PsStage;

/* How many microbatches a replica may have between forward and backward. With u = y·d of the stage
 * after it (0 after the last one):
 *     Piper's      y = ceil(s / d), s = sum of d over this and all later stages
 *     sufficient   y = 1 + ceil(u / d)
 * Both are the same for nested degrees. Strict 1F1B with microbatches handed to replicas in turn
 * always reaches the estimate with the sufficient bounds: start forwards one step after another,
 * backwards T(u - d) after the end of their forward, and no step waits (T the largest load). */
typedef enum { PS_IN_FLIGHT_PIPER, PS_IN_FLIGHT_SUFFICIENT, PS_N_IN_FLIGHT } PsInFlight;

extern const char *const ps_in_flight_names[PS_N_IN_FLIGHT + 1]; /* "piper", "sufficient" */

/* What the costs depend on beside the profile. */
typedef struct {
    guint devices;                /* K */
    double memory_bytes;          /* M */
    double bandwidth_bytes_per_s; /* B */
    guint microbatches;           /* N */
    PsInFlight in_flight;
} PsSetting;

typedef struct {
    guint n_stages;
    PsStage *stages; /* in pipeline order: the first holds the model's input */
    PsSetting setting;
    gboolean optimal; /* a certificate was found: no plan of the class searched is better */
    double gap; /* else: no plan is more than this fraction faster; 0 where nothing is known */
} PsPlan;

/* Stages are zeroed; the plan owns the arrays that the caller puts into them. */
PsPlan *ps_plan_new(guint n_stages, const PsSetting *setting);
void ps_plan_free(PsPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsPlan, ps_plan_free)

/* The planner's closed form for one stage (Piper, NeurIPS 2021, section 3). Per microbatch:
 * tps_s = compute_s + edge_s + resync_s, each already divided by d. */
typedef struct {
    guint in_flight; /* y, by the setting's rule */
    double compute_s;
    double edge_s;
    double resync_s;
    double tps_s;
    double memory_bytes;
} PsStageEstimate;

typedef struct {
    PsStageEstimate *stages; /* [n_stages] */
    double tps_s;            /* the largest of the stages' */
    guint bottleneck;        /* the first stage that has it, counted from 0 as everywhere */
    guint devices_used;      /* sum of d*t */
    guint sum_data_parallel; /* sum of d */
} PsEstimate;

PsEstimate *ps_plan_estimate(const PsPlan *plan, const PsProfile *profile);
void ps_estimate_free(PsEstimate *estimate);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsEstimate, ps_estimate_free)

/* The TMPC that the stage has chosen for its index-th layer. */
const PsTmpc *ps_stage_tmpc(const PsStage *stage, const PsProfile *profile, guint index);

/* Layer ids of a stage as ranges in ascending order, "0-9, 12"; the second only of the layers that
 * recompute, "" where none does. Caller frees. */
char *ps_plan_layer_ranges(const PsProfile *profile, const PsStage *stage);
char *ps_plan_recompute_ranges(const PsProfile *profile, const PsStage *stage);

/* Whether round-robin 1F1B with y = ceil(s/d) can reach the estimate for these degrees: d runs one
 * way along the pipeline and each degree divides its larger neighbour. */
gboolean ps_plan_is_nested(const PsPlan *plan);

/* Whether a run is sure to reach the estimate: nested, or with sufficient in-flight bounds. */
gboolean ps_plan_is_replayable(const PsPlan *plan);

/* Legal: stages partition the layers, no edge runs from a later to an earlier stage (which makes
 * stages contiguous: no path leaves one and comes back), d divides N, sum d <= min(N, K),
 * sum d*t <= K, TMPCs exist, memory <= M. The error (INPUT) names stage and layer. The memory rule
 * is left out where enforce_memory is FALSE. */
gboolean ps_plan_verify(const PsPlan *plan, const PsProfile *profile, gboolean enforce_memory,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* ---- files --------------------------------------------------------------------------------- */

/* Where a plan's profile is, as the file says it. */
typedef struct {
    char *path;         /* NULL in Piper's own result form, which does not say; so are the others */
    char *sha256;       /* of the profile, hex */
    double time_unit_s; /* NAN where the file does not say */
} PsPlanOrigin;

/* The part of a plan file that can be read without the profile. */
typedef struct PsPlanFile PsPlanFile;

/* Reads ours ("schema": "pipersim-plan/1") or Piper's result form ({"stages": [...]}). Ours may
 * leave out what is derived (estimate, and the figures of a stage), settings, and profile. */
PsPlanFile *ps_plan_file_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_plan_file_free(PsPlanFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsPlanFile, ps_plan_file_free)
const PsPlanOrigin *ps_plan_file_origin(const PsPlanFile *file);
/* Of the plan file itself, hex. */
const char *ps_plan_file_sha256(const PsPlanFile *file);

/* Joins file and profile into a plan. The setting comes from the file, or from the profile where
 * the file has none. Layers that are doubled, missing or unknown, TMPCs that do not exist, a
 * profile with another SHA-256 or time unit than recorded, and recorded figures that are not those
 * of ps_plan_estimate (to 1e-9) are refused, naming file and JSON path. Says nothing on degrees and
 * memory: see ps_plan_verify. */
PsPlan *ps_plan_file_resolve(const PsPlanFile *file, const PsProfile *profile,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Writes the members of our plan object into the current object:
 *
 *     "schema": "pipersim-plan/1"
 *     "estimate": {"tps_s", "devices_used", "sum_d", "optimal", "gap" (where
 *                  known and not optimal), "nested", "bottleneck_stage"}
 *     "stages": [{"nodes": [layer ids], "data_parallel", "tensor_parallel",
 *                 "tmpc": {"layer id": "TMPC id"}, "in_flight", "compute_s", "edge_s", "resync_s",
 *                 "tps_s", "memory_bytes"}], in pipeline order
 *     "profile": {"path", "sha256", "time_unit_s"}
 *     "settings": {"devices", "memory_bytes", "bandwidth_bytes_per_s", "microbatches",
 *                  "in_flight": "piper" (also where it is left out) or "sufficient"} */
void ps_plan_write_members(const PsPlan *plan, const PsProfile *profile, const char *profile_path,
                           const PsEstimate *estimate, PsJsonWriter *writer);

/* The rule of this name at the reader's member `key`; Piper's where there is none. Other names are
 * refused. */
PsInFlight ps_in_flight_read(PsJsonReader *reader, const char *key);
