/* The planner's costs as integers. Sums of whole quanta are associative, so a stage costs the same
 * by whatever road its sum was formed, equal stages tie exactly, and a certificate ("no plan is
 * faster") is a proof and not a statement about rounding.
 *
 * The time quantum is 1e-24 s, the memory quantum 1e-9 bytes, or the next power of ten at which the
 * sum of everything fits into 58 bits and every value into the 52 that a double has for it.
 * Profiles hold decimals, so their values are usually represented exactly; the rest is rounded to
 * nearest.
 *
 * Load of stage S with degrees (d, t) and chosen TMPCs, times d (design section 3):
 *     load(S)·d = sum p + sum of border transfers + (d-1) · sum 4·w/(N·B)
 * with the bandwidth B of the level that each part crosses (sim/plan/place.h).                 */
#pragma once

#include "sim/plan/plan.h"

/* Which TMPCs a plan may use. */
typedef enum {
    PS_RECOMPUTE_PER_LAYER,   /* any mixture: Piper's own search space */
    PS_RECOMPUTE_ALL_OR_NONE, /* the same for all layers of a stage */
    PS_RECOMPUTE_ALL,         /* every layer that can */
    PS_RECOMPUTE_NONE,        /* no layer, unless it has no other TMPC */
    PS_N_RECOMPUTE
} PsRecompute;

extern const char *const ps_recompute_names[PS_N_RECOMPUTE + 1];

/* What a plan must do without. All zero: Piper's search space. */
typedef struct {
    gboolean forbid_data_parallel;   /* d = 1 */
    gboolean forbid_tensor_parallel; /* t = 1 */
    PsRecompute recompute;
} PsRestrictions;

typedef struct {
    gint64 time;                                /* p */
    gint64 memory_per_microbatch, memory_fixed; /* a, b */
    guint index;                                /* in the layer's set for this degree */
    gboolean recomputes;
} PsTmpcCost;

/* What a layer on t devices sends over the links of one level. The parts that do not depend on the
 * TMPC chosen are taken out: border costs and resync hold the least over the TMPCs, and beside them
 * stands what each TMPC has beyond it (NULL where all have 0). */
typedef struct {
    gint64 resync;        /* 4·w/(N·B): what the stage's load·d grows by for each (d-1) */
    gint64 *extra_resync; /* [n_tmpcs] */
    gint64 *enter;        /* [n_incoming]: 2·(c + c_fw)/B when the edge crosses the stage border */
    gint64 *leave;        /* [n_outgoing]: 2·(c + c_bw)/B */
    gint64 enter_all;     /* sum of enter */
    gint64 *extra_enter;  /* [n_tmpcs][n_incoming] */
    gint64 *extra_leave;  /* [n_tmpcs][n_outgoing] */
} PsLinkCost;

/* A layer on t devices. */
typedef struct {
    guint n_tmpcs; /* those allowed; 0 where the layer cannot run on t devices */
    PsTmpcCost *tmpcs;
    PsLinkCost *links; /* [n_levels] */
    gint64 min_time;   /* of the fastest TMPC; of equals the one with the least memory */
    guint fastest;
    gint64 min_memory_per_microbatch, min_memory_fixed; /* each the least over the TMPCs */
} PsLayerCost;

typedef struct {
    const PsProfile *profile;
    PsSetting setting;
    PsRestrictions restrictions;
    PsLevels levels; /* those in force */
    double time_quantum_s, memory_quantum_bytes;
    gint64 memory;        /* M */
    guint most_in_flight; /* no stage can ask for a larger y, nor be given a larger d */
    guint n_degrees;
    guint *degrees;      /* tensor-parallel degrees met in the profile, ascending, at most K */
    PsLayerCost *layers; /* [n_layers][n_degrees] */
    /* No layer's TMPCs differ in resync (so a stage's best choice is the same for all d), or in
     * border costs. Both hold for most profiles; the solver takes shortcuts where they do. */
    gboolean same_resync, same_borders;
    guint n_divisors;
    guint *divisors; /* of N, ascending, at most min(N, K): the possible d */
} PsCosts;

/* The profile must outlive the costs. */
PsCosts *ps_costs_new(const PsProfile *profile, const PsSetting *setting,
                      const PsRestrictions *restrictions);
void ps_costs_free(PsCosts *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsCosts, ps_costs_free)

static inline const PsLayerCost *ps_layer_cost(const PsCosts *costs, guint layer,
                                               guint degree_index)
{
    return &costs->layers[layer * costs->n_degrees + degree_index];
}
