#include "tests/oracle/recording.h"

#include "tests/harness/harness.h"

static void keep_op(const PsTraceOp *op, gpointer recording)
{
    g_array_append_vals(((PsRecording *)recording)->ops, op, 1);
}

static void keep_memory(const PsTraceMemory *change, gpointer recording)
{
    g_array_append_vals(((PsRecording *)recording)->memory, change, 1);
}

PsRecording ps_record(const PsWorkload *workload, const PsReplayChoices *choices)
{
    g_autoptr(GError) error = NULL;
    PsRecording recording = {.ops = g_array_new(FALSE, FALSE, sizeof(PsTraceOp)),
                             .memory = g_array_new(FALSE, FALSE, sizeof(PsTraceMemory))};
    gboolean known = ps_replay_settings_choose(&recording.settings, choices, &error);
    ps_assert_no_error(error);
    ck_assert(known);
    const PsTraceSink sink = {keep_op, keep_memory, &recording};
    recording.result = ps_replay_run(workload, &recording.settings, &sink, &error);
    ps_assert_no_error(error);
    ck_assert_int_eq(recording.result->n_ops, recording.ops->len);
    return recording;
}

void ps_recording_clear(PsRecording *recording)
{
    ps_replay_result_free(recording->result);
    g_array_unref(recording->ops);
    g_array_unref(recording->memory);
}
