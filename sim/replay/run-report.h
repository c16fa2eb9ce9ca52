/* Prints a run. */
#pragma once

#include "sim/base/table.h"
#include "sim/replay/synthetic.h"
#include "sim/trace/run.h"

/* Table: stages, then TPS, window and how steady it is. CSV: the stages. JSON: summary.json's
 * members. */
void ps_run_report(const PsRun *run, PsFormat format, PsOutput *output);

/* JSON: {"makespan_s", "bubble_rate", "peak_stash_microbatches": [of each stage]}. */
void ps_synthetic_report(const PsSynthetic *synthetic, const PsRunSummary *summary, PsFormat format,
                         PsOutput *output);
