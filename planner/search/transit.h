/* How long one microbatch takes through a stage: the part of its load·d that does not depend on d,
 * compute and edges, under bounds on loads and on the resync of a whole batch. */
#pragma once

#include "planner/search/stage-solver.h"

typedef struct PsTransit PsTransit;

/* What is passed must outlive it. */
PsTransit *ps_transit_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver);
void ps_transit_free(PsTransit *transit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsTransit, ps_transit_free)

/* In time quanta: what a stage's load and the resync of its batch may be. Returns the largest
 * load·d for each divisor d, [n_divisors], until the next call. */
const gint64 *ps_transit_allow(PsTransit *transit, gint64 load, gint64 resync);

/* Whether a batch's resync at the run's level and d is allowed. */
gboolean ps_transit_resync_fits(const PsTransit *transit, const PsStageRun *run,
                                const PsStageSums *sums);

/* The least passage of a stage wherever it lies, with the run's d (of this divisor) and y: with
 * levels of bandwidth, resync at the innermost that holds d·t devices and edges at the innermost
 * that holds one more. Where TMPCs of a layer differ in resync, its least load less the largest
 * resync, or its fastest TMPCs. PS_KNAPSACK_NONE where it is not allowed; then no larger y is. The
 * run gets these levels.
 */
gint64 ps_transit_anywhere(const PsTransit *transit, PsStageRun *run, const PsStageSums *sums,
                           guint divisor);
