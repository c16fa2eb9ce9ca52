/* Pipelines in one line, to study schedules without a plan:
 *
 *     stages=8 microbatches=24 forward=18.522ms backward=18.086ms weight=9.337ms hop=0.601ms
 *
 * stages, microbatches  counts: p equal stages, each on one device, and one batch
 * forward, backward, weight  of one microbatch on one stage: forward, input gradient, weight
 *                       gradient (default 0). Schedules that do not run the weight gradient apart
 *                       run both in one backward
 * hop                   from a stage to the next or back (default 0): occupies nobody
 * chunks                v, for schedules that have several; a stage's times are split evenly */
#pragma once

#include <glib.h>
#include "sim/replay/settings.h"
#include "sim/replay/workload.h"
#include "sim/trace/run.h"

typedef struct {
    char *text;
    PsWorkload *workload;
    double work_s; /* what one microbatch takes on one stage: forward + backward + weight */
} PsSynthetic;

/* Sets settings->chunks where the line says it, or where the schedule needs several (the fewest).
 * Errors are USAGE. */
PsSynthetic *ps_synthetic_parse(const char *text, PsReplaySettings *settings,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_synthetic_free(PsSynthetic *synthetic);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsSynthetic, ps_synthetic_free)

/* Runs one batch from a cold start, whatever settings->start; folder may be NULL. */
PsRun *ps_synthetic_replay(const PsSynthetic *synthetic, const PsReplaySettings *settings,
                           const char *folder, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* (makespan - m (F + B + W)) / makespan: the measure of Qi et al., "Zero Bubble Pipeline
 * Parallelism", ICLR 2024. */
double ps_synthetic_bubble_rate(const PsSynthetic *synthetic, const PsRunSummary *summary);
