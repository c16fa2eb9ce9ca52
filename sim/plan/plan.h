/* A plan: which layers form which pipeline stage, with which degrees and TMPCs, and the setting
 * it was made for. Made by the planner or read from a file; replayed, checked and drawn by others.
 */
#pragma once

#include <glib.h>
#include "sim/base/json.h"
#include "sim/model/profile.h"
#include "sim/plan/place.h"

typedef struct {
    guint n_layers;
    guint *layers;         /* indices into the profile, ascending (so in topological order) */
    guint *tmpcs;          /* [n_layers]: index into ps_layer_set(layer, tensor_parallel)->tmpcs */
    guint data_parallel;   /* d */
    guint tensor_parallel; /* t */
    guint first_device;    /* of its d·t; means nothing where the setting is flat */
} PsStage;

/* How many microbatches a replica may have between forward and backward. With u = y·d of the stage
 * after it (0 after the last one):
 *     Piper's      y = ceil(s / d), s = sum of d over this and all later stages
 *     sufficient   y = 1 + ceil(u / d)
 * Both are the same for nested degrees. Strict 1F1B with microbatches handed to replicas in turn
 * always reaches the estimate with the sufficient bounds: start forwards one step after another,
 * backwards T(u - d) after the end of their forward, and no step waits (T the largest load). With
 * two versions of the weights, the first forward of a batch waits for the last backward of the
 * batch before the last one as well: that is over T·u into the last one, so that u <= N is part of
 * the rule. Piper's sum d <= N says the same of its bounds. */
typedef enum { PS_IN_FLIGHT_PIPER, PS_IN_FLIGHT_SUFFICIENT, PS_N_IN_FLIGHT } PsInFlight;

extern const char *const ps_in_flight_names[PS_N_IN_FLIGHT + 1]; /* "piper", "sufficient" */

/* What the costs depend on beside the profile. Flat: every device has bandwidth B to every other,
 * and it does not matter where stages lie. With levels it is that of the level crossed, and stages
 * lie as place.h says: placed tensor, data, pipeline. */
typedef struct {
    guint devices;                /* K */
    double memory_bytes;          /* M */
    double bandwidth_bytes_per_s; /* B; with levels that of the innermost that holds K devices */
    guint microbatches;           /* N */
    PsInFlight in_flight;
    PsLevels levels; /* n = 0: flat */
} PsSetting;

/* The levels in force: of those given, up to the innermost that holds all devices; one with
 * bandwidth B where the setting is flat, or one of them holds all devices by itself. */
PsLevels ps_setting_levels(const PsSetting *setting);
gboolean ps_setting_is_flat(const PsSetting *setting); /* one level is in force */

/* Another number of devices, and with levels the bandwidth that goes with it. */
void ps_setting_use_devices(PsSetting *setting, guint devices);

typedef struct {
    guint n_stages;
    PsStage *stages; /* in pipeline order: the first holds the model's input */
    PsSetting setting;
    gboolean optimal; /* a certificate was found: no plan of its class is better */
    double gap;       /* else: none is more than this fraction faster; 0: nothing is known */
    double batch_gap; /* no synchronous batch is more than this fraction shorter; NAN: not known */
    char *among;      /* the class, as in "with nested degrees"; NULL: all plans */
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
    /* The closed form for a synchronous batch of N microbatches, where fill and drain count:
     *     (N - 1) · max TPS + sum over stages of (compute + edge) · d + max over stages of the
     * resync The first microbatch passes every stage forward and backward, the others follow at the
     * pace of the slowest stage, and the slowest all-reduce, 4 (d - 1) w / (d B) long, ends it. For
     * equal stages without transfers that is the (N + p - 1)(F + B) of 1F1B. */
    double batch_s;
} PsEstimate;

PsEstimate *ps_plan_estimate(const PsPlan *plan, const PsProfile *profile);
void ps_estimate_free(PsEstimate *estimate);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsEstimate, ps_estimate_free)

/* The levels that each stage pays, [n_stages], by its first_device. Where a border is missing, that
 * of the stage itself. */
void ps_plan_crossings(const PsPlan *plan, PsCrossing *crossings);

/* The load of a stage, tps_s of its estimate, if it paid these levels. */
double ps_stage_load_s(const PsPlan *plan, const PsProfile *profile, guint stage,
                       PsCrossing crossing);

/* Fills in first_device, by the least largest load (ps_place). Stages that cannot be placed by the
 * rules are put side by side (FALSE), and ps_plan_verify says which rule that breaks. */
gboolean ps_plan_place(PsPlan *plan, const PsProfile *profile);
/* The same by loads of the caller's. */
gboolean ps_plan_place_by(PsPlan *plan, PsStageLoad load, gpointer user_data);

/* The fewest devices on which the stages can be placed under the setting's levels, or 0 where the
 * whole cluster is too small. */
guint ps_plan_least_devices(const PsPlan *plan, const PsSetting *setting);

/* Gives the plan another setting; where other levels are in force then, its stages are placed anew.
 */
void ps_plan_change_setting(PsPlan *plan, const PsProfile *profile, const PsSetting *setting);

/* The devices from the first one that the plan uses to the border behind its last stage. */
guint64 ps_plan_span(const PsPlan *plan);

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

/* The stage whose y·d is above N though the bounds are to be sufficient, the last in the pipeline;
 * n_stages where there is none. *wanted: its y·d. */
guint ps_plan_wants_too_many(const PsPlan *plan, guint64 *wanted);

/* Whether the stages lie as place.h says; the error (INPUT) names the stage. A flat setting has no
 * such rules. */
gboolean ps_plan_verify_places(const PsPlan *plan, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether so much memory is there; sums of the same bytes may differ by their rounding. */
static inline gboolean ps_memory_fits(double needed_bytes, double there_bytes)
{
    return needed_bytes <= there_bytes * (1 + 1e-12);
}

/* Legal: stages partition the layers, no edge runs from a later to an earlier stage (which makes
 * stages contiguous: no path leaves one and comes back), d divides N, sum d <= min(N, K),
 * sum d*t <= K, TMPCs exist, memory <= M; y·d <= N with sufficient in-flight bounds; with levels
 * stages lie as place.h says. The error (INPUT) names stage and layer. The memory rule is left out
 * where enforce_memory is FALSE. */
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
 * memory: see ps_plan_verify. With levels every stage says its first device, or none does: then
 * they are placed here. */
PsPlan *ps_plan_file_resolve(const PsPlanFile *file, const PsProfile *profile,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Writes the members of our plan object into the current object:
 *
 *     "schema": "pipersim-plan/1"
 *     "estimate": {"tps_s", "batch_s", "devices_used", "sum_d", "optimal", "gap" (where known and
 *                  not optimal), "among" (where optimal and gap speak of a class of plans),
 *                  "batch_gap" (where known), "nested", "bottleneck_stage"}
 *     "stages": [{"nodes": [layer ids], "data_parallel", "tensor_parallel",
 *                 "tmpc": {"layer id": "TMPC id"}, "first_device" (with levels), "in_flight",
 *                 "compute_s", "edge_s", "resync_s", "tps_s", "memory_bytes"}], in pipeline order
 *     "profile": {"path", "sha256", "time_unit_s"}
 *     "settings": {"devices", "memory_bytes", "bandwidth_bytes_per_s", "microbatches",
 *                  "in_flight": "piper" (also where it is left out) or "sufficient",
 *                  and where it is not flat "placement": "tensor,data,pipeline" and
 *                  "levels": [{"size", "bandwidth_bytes_per_s"}], those in force} */
void ps_plan_write_members(const PsPlan *plan, const PsProfile *profile, const char *profile_path,
                           const PsEstimate *estimate, PsJsonWriter *writer);

/* The rule of this name at the reader's member `key`; Piper's where there is none. Other names are
 * refused. */
PsInFlight ps_in_flight_read(PsJsonReader *reader, const char *key);

/* The members "placement" and "levels" of the current object, which a flat setting does not have.
 * The reader comes after the setting's other members and refuses levels that contradict them, and
 * other placements. */
void ps_setting_write_levels(const PsSetting *setting, PsJsonWriter *writer);
void ps_setting_read_levels(PsJsonReader *reader, PsSetting *setting);
