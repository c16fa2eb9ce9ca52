/* Plans for synchronous batches, where fill and drain count. */
#pragma once

#include "planner/search/planner.h"

/* The planner's closed form for one batch of N microbatches with a flush:
 *     (N - 1) · max TPS + sum over stages of (compute + edge) · d + max over stages of the resync
 * The first microbatch passes every stage forward and backward, the others follow at the pace of
 * the slowest stage, and the slowest all-reduce, 4 (d - 1) w / (d B) long, ends it. For equal
 * stages without transfers that is the (N + p - 1)(F + B) of 1F1B. */
double ps_flush_batch_s(const PsPlan *plan, const PsProfile *profile);

/* The plan of least batch time among the n best in steady state. *gap: no plan's batch is more than
 * this fraction shorter, since none has a smaller max TPS than the best, nor less work than every
 * layer's fastest TMPC. Errors as of ps_planner_plan. */
PsPlan *ps_flush_plan(const PsProfile *profile, const PsSetting *setting,
                      const PsPlannerOptions *options, guint n, double *gap,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
