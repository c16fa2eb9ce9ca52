/* Prints a run. */
#pragma once

#include "sim/base/table.h"
#include "sim/replay/synthetic.h"
#include "sim/trace/run.h"

/* Table: stages, then TPS, window and how steady it is. CSV: the stages. JSON: summary.json's
 * members. */
void ps_run_report(const PsRun *run, PsFormat format, PsOutput *output);

/* Sets error where the run did not come to its end: because somebody interrupted it (IO), or
 * because it could not go on (STUCK, saying who waits for whom). */
gboolean ps_run_result(const PsRun *run, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* JSON: {"makespan_s", "bubble_rate", "peak_stash_microbatches": [of each stage]}. */
void ps_synthetic_report(const PsSynthetic *synthetic, const PsRunSummary *summary, PsFormat format,
                         PsOutput *output);
