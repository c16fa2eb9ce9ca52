/* Other planners, to compare ours with: one row each in baselines.def. Each searches a part of our
 * planner's space, so none finds a better plan. */
#pragma once

#include "planner/search/planner.h"

/* What came of one. Exactly one of plan, least_memory_bytes and reason says so. */
typedef struct {
    PsPlan *plan;              /* the best of its space, or NULL */
    double least_memory_bytes; /* per device, where memory is lacking: the least that would do; else
                                  NAN */
    char *reason;              /* why the planner does not apply to the model or the setting */
} PsBaselineResult;

void ps_baseline_result_clear(PsBaselineResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PsBaselineResult, ps_baseline_result_clear)

typedef struct {
    const char *name;
    PsRestrictions restrictions;
    PsBaselineResult (*run)(const PsProfile *profile, const PsSetting *setting,
                            const PsPlannerOptions *options);
} PsBaseline;

extern const PsBaseline ps_baselines[];
extern const guint ps_n_baselines;

/* Runs one within the options as well (a uniform d is also nested). Does not apply where these
 * contradict it. */
PsBaselineResult ps_baseline_run(const PsBaseline *baseline, const PsProfile *profile,
                                 const PsSetting *setting, const PsPlannerOptions *options);

/* ---- the ways to search --------------------------------------------------------------------- */

/* Our planner. */
PsBaselineResult ps_baseline_exact(const PsProfile *profile, const PsSetting *setting,
                                   const PsPlannerOptions *options);

/* PipeDream-2BW's planner: the inner layers (repeats.h) in p stages of equal numbers, the last ones
 * larger by one where they do not divide, what comes before them with the first stage and what
 * follows with the last; one d and one t for all stages, recompute in all layers or in none; the
 * best of all p, d and t. Of several TMPCs that recompute (or do not) a layer takes the one that is
 * best for its stage. Of equal TPS: the fewest devices, the least sum of d, the fewest stages, the
 * least sum of squared loads. */
PsBaselineResult ps_baseline_equi(const PsProfile *profile, const PsSetting *setting,
                                  const PsPlannerOptions *options);
/* The same with the layers before and after the inner ones as stages of their own. */
PsBaselineResult ps_baseline_equi_apart(const PsProfile *profile, const PsSetting *setting,
                                        const PsPlannerOptions *options);
