/* Exhaustive search for the best plan of a small profile, straight from the definition in design
 * section 3: every way to cut the layers into an ordered list of stages, every degree, every choice
 * of TMPCs, and with levels every number of idle devices behind each stage. In doubles, with
 * nothing shared with the planner. */
#pragma once

#include "sim/plan/plan.h"

typedef struct {
    gboolean feasible;
    double tps_s;
    /* Tie-breaks among plans within 1e-12 of tps_s, in this order. */
    gboolean nested;
    guint devices; /* with levels: from the end of the pipeline to the first stage's first device */
    guint sum_data_parallel, n_stages;
} PsExhaustive;

/* What the plans must keep to. */
typedef struct {
    gboolean nested, uniform;       /* of the degree sequence */
    gboolean one_replica, one_rank; /* d = 1, t = 1 */
    gboolean same_recompute;        /* within a stage, all layers that can do both do the same */
    gboolean all_recompute, no_recompute; /* every layer that can */
    gboolean sufficient; /* y = 1 + ceil(u/d), u = y·d of the stage after, at most N */
} PsExhaustiveRules;

PsExhaustive ps_exhaustive_best(const PsProfile *profile, const PsSetting *setting,
                                const PsExhaustiveRules *rules);

/* Least memory per device at which any plan exists. */
double ps_exhaustive_least_memory(const PsProfile *profile, const PsSetting *setting,
                                  const PsExhaustiveRules *rules);

/* Every plan that fits, once for each choice of stages and degrees with the TMPCs and places of
 * least load, of equals those on the fewest devices; best first by (tps_s, devices,
 * sum_data_parallel, n_stages). Of PsExhaustive; caller frees. */
GArray *ps_exhaustive_all(const PsProfile *profile, const PsSetting *setting,
                          const PsExhaustiveRules *rules);
