/* Prints a run. */
#pragma once

#include "sim/base/table.h"
#include "sim/trace/run.h"

/* Table: stages, then TPS, window and how steady it is. CSV: the stages. JSON: summary.json's
 * members. */
void ps_run_report(const PsRunSummary *summary, PsFormat format, PsOutput *output);
