/* From a plan to a run: workload, replay, run folder or records in memory. */
#pragma once

#include <glib.h>
#include "sim/replay/plan-input.h"
#include "sim/replay/replay.h"
#include "sim/trace/run.h"

/* Replays a plan. The plan must be legal but for its memory (ps_plan_verify; INPUT). With a folder
 * the run is written there (trace.csv, memory.csv, summary.json); the result's folder is NULL
 * otherwise. parts: the records to keep in the result as well. A deadlock is STUCK. */
PsRun *ps_replay_plan(const PsPlanInput *input, const PsReplaySettings *settings,
                      const char *folder, PsRunParts parts,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
