/* From a workload to a run: replays it and keeps what happened, in memory and in a folder. */
#pragma once

#include <glib.h>
#include "sim/replay/replay.h"
#include "sim/trace/run.h"

/* run: a new one whose summary says where the workload comes from (inputs, cluster, estimate; of
 * the stages, layers and estimates); the settings, the degrees and the results are added here. With
 * a folder the run is written there. parts: the records to keep in `run` as well. Errors are those
 * of ps_replay_run and of writing. */
gboolean ps_replay_record(PsRun *run, const PsWorkload *workload, const PsReplaySettings *settings,
                          const char *folder, PsRunParts parts,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
