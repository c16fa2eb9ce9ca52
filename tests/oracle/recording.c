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

gboolean ps_try_record(const PsWorkload *workload, const PsReplayChoices *choices,
                       PsRecording *recording)
{
    g_autoptr(GError) error = NULL;
    *recording = (PsRecording){.ops = g_array_new(FALSE, FALSE, sizeof(PsTraceOp)),
                               .memory = g_array_new(FALSE, FALSE, sizeof(PsTraceMemory))};
    gboolean known = ps_replay_settings_choose(&recording->settings, choices, &error);
    ps_assert_no_error(error);
    ck_assert(known);
    const PsTraceSink sink = {keep_op, keep_memory, recording};
    recording->result = ps_replay_run(workload, &recording->settings, &sink, &error);
    if (recording->result == NULL) {
        ck_assert_msg(g_str_has_prefix(error->message, "deadlock: "), "%s", error->message);
        return FALSE;
    }
    ck_assert_int_eq(recording->result->n_ops, recording->ops->len);
    return TRUE;
}

PsRecording ps_record(const PsWorkload *workload, const PsReplayChoices *choices)
{
    PsRecording recording;
    gboolean done = ps_try_record(workload, choices, &recording);
    ck_assert(done);
    return recording;
}

static double sum_of(const double *held)
{
    double sum = 0;
    for (guint k = 0; k < PS_N_MEMORY; k++) {
        sum += held[k];
    }
    return sum;
}

double *ps_recording_peaks(const PsRecording *recording, const PsWorkload *workload)
{
    static const PsMemoryKind passing[] = {PS_MEMORY_STASH, PS_MEMORY_WORKSPACE, PS_MEMORY_BUFFERS};
    g_autofree double *held = g_new0(double, (gsize)workload->n_lanes *PS_N_MEMORY);
    g_autofree gint64 *since_ps = g_new0(gint64, workload->n_lanes);
    double *peaks = g_new0(double, workload->n_stages);
    gint64 last_ps = 0;
    for (guint i = 0; i < recording->memory->len; i++) {
        const PsTraceMemory *change = &g_array_index(recording->memory, PsTraceMemory, i);
        double *lane = &held[change->lane * PS_N_MEMORY];
        ck_assert_int_ge(change->time_ps, last_ps);
        last_ps = change->time_ps;
        if (change->time_ps > since_ps[change->lane]) {
            peaks[change->stage] = fmax(peaks[change->stage], sum_of(lane));
            since_ps[change->lane] = change->time_ps;
        }
        lane[change->category] = change->bytes;
    }
    for (guint stage = 0; stage < workload->n_stages; stage++) {
        const PsWorkStage *work = &workload->stages[stage];
        for (guint i = work->first_lane; i < work->first_lane + work->data_parallel; i++) {
            peaks[stage] = fmax(peaks[stage], sum_of(&held[i * PS_N_MEMORY]));
            for (guint k = 0; k < G_N_ELEMENTS(passing); k++) {
                ck_assert_double_eq(held[i * PS_N_MEMORY + passing[k]], 0);
            }
        }
    }
    return peaks;
}

void ps_recording_clear(PsRecording *recording)
{
    ps_replay_result_free(recording->result);
    g_array_unref(recording->ops);
    g_array_unref(recording->memory);
}
