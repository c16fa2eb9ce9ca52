/* Why a replay agrees with the planner's estimate or does not, in words. */
#pragma once

#include "planner/check/measure.h"

/* Whether the degrees and in-flight bounds of the run are sure to reach the estimate. */
gboolean ps_run_is_replayable(const PsRunSummary *summary);

/* Sentences on the degrees (can they reach the estimate at all, and if not, where they break the
 * rule) and on the switches that are not on the planner's side. Caller frees. */
char *ps_reason(const PsRunSummary *summary);

/* Of a run whose times do not repeat: how much batches differ, which replicas do not keep step,
 * whether the resync falls behind, and what left no rows. Caller frees. */
char *ps_unsettled_text(const PsRun *run, const PsMeasure *measure);
