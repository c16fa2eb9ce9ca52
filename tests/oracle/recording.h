/* Replays for tests: a workload run with all its records in memory. */
#pragma once

#include <glib.h>
#include "sim/replay/replay.h"

typedef struct {
    PsReplaySettings settings;
    PsReplayResult *result;
    GArray *ops;    /* PsTraceOp */
    GArray *memory; /* PsTraceMemory */
} PsRecording;

/* Fails the test where the choices are wrong or the replay does not end. */
PsRecording ps_record(const PsWorkload *workload, const PsReplayChoices *choices);
/* The same; FALSE where the replay ends in a deadlock. */
gboolean ps_try_record(const PsWorkload *workload, const PsReplayChoices *choices,
                       PsRecording *recording);
/* The most that any lane of each stage held for any time at all, from the changes alone; fails
 * where stash, workspace or buffers are not given back. Caller frees. */
double *ps_recording_peaks(const PsRecording *recording, const PsWorkload *workload);
void ps_recording_clear(PsRecording *recording);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PsRecording, ps_recording_clear)
