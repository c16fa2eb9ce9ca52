/* Plans for synchronous batches, where fill and drain count. */
#pragma once

#include "planner/search/planner.h"

/* The planner's closed form for one batch of N microbatches with a flush:
 *     (N - 1) · max TPS + sum over stages of (compute + edge) · d + max over stages of the resync
 * The first microbatch passes every stage forward and backward, the others follow at the pace of
 * the slowest stage, and the slowest all-reduce, 4 (d - 1) w / (d B) long, ends it. For equal
 * stages without transfers that is the (N + p - 1)(F + B) of 1F1B. */
double ps_flush_batch_s(const PsPlan *plan, const PsProfile *profile);

/* A plan of least batch time to a thousandth: the best of the n best in steady state and of those
 * that branch and bound over (largest load, slowest resync) meets. *gap: no plan's batch is more
 * than this fraction shorter, *gap / (1 + *gap) of its own time. It is above a thousandth where the
 * search was cut short, where TMPCs of a layer differ in weights (passage.h), or where the graph
 * has too many downsets. Errors as of ps_planner_plan. */
PsPlan *ps_flush_plan(const PsProfile *profile, const PsSetting *setting,
                      const PsPlannerOptions *options, guint n, double *gap,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
