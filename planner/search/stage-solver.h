/* The cheapest way to run a stage: one TMPC per layer within the memory of a device. */
#pragma once

#include "planner/search/knapsack.h"
#include "planner/search/stage-walk.h"

typedef struct {
    guint lower, upper; /* downsets */
    guint degree;       /* index into costs->degrees */
    guint data_parallel;
    guint in_flight;
    guint devices;       /* from the end of the pipeline to its first device (place.h) */
    PsCrossing crossing; /* the levels that it pays */
} PsStageRun;

/* Solves the TMPC choice of a stage under the memory of the costs' setting and remembers it. */
typedef struct PsStageSolver PsStageSolver;

/* With fit_only the times of the TMPCs count as 0: the question is only whether the stage fits. */
PsStageSolver *ps_stage_solver_new(const PsCosts *costs, const PsDownsets *downsets, gint64 memory,
                                   gboolean fit_only);
void ps_stage_solver_free(PsStageSolver *solver);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsStageSolver, ps_stage_solver_free)

/* FALSE where no choice fits with so many microbatches in flight; nor does any for a larger stage.
 * TRUE is no promise. */
gboolean ps_stage_may_fit(const PsStageSolver *solver, const PsStageSums *sums, guint in_flight);

/* The stages on top of one downset, at each tensor-parallel degree, that are not too slow or too
 * large for every d, whatever is behind them. Where none is at an upper, no larger one is (edges
 * may cost less there, times and memory only more), and the walk goes no further. */
typedef struct {
    const PsStageSolver *solver;
    PsStageWalk *walk;
    const gint64 *caps; /* [n_divisors]: the largest load·d allowed for each divisor d */
    const PsStageSums *sums;
    guint next_degree;
    gboolean any; /* at this upper */
} PsCandidates;

/* Begins the walk. */
PsCandidates ps_candidates_begin(const PsStageSolver *solver, PsStageWalk *walk, const gint64 *caps,
                                 guint lower);
/* The next one: upper and degree of the run, whose lower is given, and its sums, valid until the
 * next call. FALSE after the last. */
gboolean ps_candidates_next(PsCandidates *candidates, PsStageRun *run, const PsStageSums **sums);

/* First divisor d at which the stage's fastest TMPCs, and edges at the innermost level, are within
 * its cap; or n_divisors. */
guint ps_stage_least_divisor(const PsCosts *costs, const PsStageSums *sums, const gint64 *caps);

/* y of a stage on d replicas where the stages after it want `window` microbatches in flight. */
static inline guint ps_in_flight_on(guint window, guint d)
{
    return 1 + (window + d - 1) / d;
}

/* Least load·d over the TMPC choices that fit, or PS_KNAPSACK_NONE. */
gint64 ps_stage_load(PsStageSolver *solver, const PsStageRun *run, const PsStageSums *sums);

/* The same where all that matters is whether it is within cap: the load of some choice that fits,
 * if one is; else anything above cap. Mostly settled by the linear relaxation, which is cheap. */
gint64 ps_stage_load_within(PsStageSolver *solver, const PsStageRun *run, const PsStageSums *sums,
                            gint64 cap);

/* The choice behind it: for each layer of the stage, ascending, the index of its TMPC in the
 * layer's set; NULL where nothing fits. *n_layers and *layers tell which layers. Caller frees both.
 */
guint *ps_stage_choice(PsStageSolver *solver, const PsStageRun *run, guint *n_layers,
                       guint **layers);

/* Least memory that any allowed choice takes, whatever the budget. */
gint64 ps_stage_least_memory(PsStageSolver *solver, const PsStageRun *run);
