#include "sim/replay/record.h"

#include <string.h>

#include "sim/trace/order.h"
#include "sim/trace/run-writer.h"

/* Hands records to the folder's writer and keeps them, as far as asked for. */
typedef struct {
    const PsTraceSink *writer;
    GArray *ops, *memory;
} Recorder;

static void record_op(const PsTraceOp *op, gpointer user_data)
{
    Recorder *recorder = user_data;
    if (recorder->ops != NULL) {
        g_array_append_vals(recorder->ops, op, 1);
    }
    if (recorder->writer != NULL) {
        recorder->writer->op(op, recorder->writer->user_data);
    }
}

static void record_memory(const PsTraceMemory *change, gpointer user_data)
{
    Recorder *recorder = user_data;
    if (recorder->memory != NULL) {
        g_array_append_vals(recorder->memory, change, 1);
    }
    if (recorder->writer != NULL) {
        recorder->writer->memory(change, recorder->writer->user_data);
    }
}

static void describe_settings(PsRunSummary *summary, const PsReplaySettings *settings,
                              const PsWorkload *workload)
{
    summary->version = g_strdup(PS_VERSION);
    ps_run_summary_add_setting(summary, "schedule", ps_replay_settings_get(settings, "schedule"));
    if (settings->schedule->sha256 != NULL) {
        summary->schedule_path = g_strdup(settings->schedule->name);
        summary->schedule_sha256 = g_strdup(settings->schedule->sha256);
    }
    if (settings->chunks > 1) {
        g_autofree char *chunks = g_strdup_printf("%u", settings->chunks);
        ps_run_summary_add_setting(summary, "chunks", chunks);
    }
    for (guint i = 0; ps_switches[i].name != NULL; i++) {
        ps_run_summary_add_setting(summary, ps_switches[i].name,
                                   ps_replay_settings_get(settings, ps_switches[i].name));
    }
    for (guint i = 0; i < summary->n_stages; i++) {
        PsRunStage *stage = &summary->stages[i];
        stage->data_parallel = workload->stages[i].data_parallel;
        stage->tensor_parallel = workload->stages[i].tensor_parallel;
        stage->first_lane = workload->stages[i].first_lane;
    }
}

static void describe_results(PsRunSummary *summary, const PsReplayResult *result)
{
    summary->tps_s = result->tps_s;
    summary->makespan_ps = result->makespan_ps;
    summary->window_start_ps = result->window_start_ps;
    summary->window_end_ps = result->window_end_ps;
    summary->window_microbatches = result->window_microbatches;
    summary->microbatches_simulated = result->microbatches_simulated;
    summary->steady_after_microbatches = result->steady_after_microbatches;
    summary->n_ops = result->n_ops;
    summary->steady = result->steady;
    for (guint i = 0; i < summary->n_stages; i++) {
        PsRunStage *stage = &summary->stages[i];
        const PsReplayStage *from = &result->stages[i];
        stage->busy_s_per_microbatch = from->busy_s_per_microbatch;
        stage->compute_s_per_microbatch = from->compute_s_per_microbatch;
        stage->edge_s_per_microbatch = from->edge_s_per_microbatch;
        stage->resync_s_per_microbatch = from->resync_s_per_microbatch;
        stage->bubble_share = from->bubble_share;
        stage->peak_memory_bytes = from->peak_memory_bytes;
        stage->peak_stash_microbatches = from->peak_stash_microbatches;
        memcpy(stage->peak_category_bytes, from->peak_category_bytes,
               sizeof stage->peak_category_bytes);
    }
}

gboolean ps_replay_record(PsRun *run, const PsWorkload *workload, const PsReplaySettings *settings,
                          const char *folder, PsRunParts parts, GError **error)
{
    g_autoptr(PsRunWriter) writer = folder != NULL ? ps_run_writer_new(folder, error) : NULL;
    if (folder != NULL && writer == NULL) {
        return FALSE;
    }
    run->folder = g_strdup(folder);
    run->ops = parts & PS_RUN_OPS ? g_array_new(FALSE, FALSE, sizeof(PsTraceOp)) : NULL;
    run->memory = parts & PS_RUN_MEMORY ? g_array_new(FALSE, FALSE, sizeof(PsTraceMemory)) : NULL;
    Recorder recorder = {writer != NULL ? ps_run_writer_sink(writer) : NULL, run->ops, run->memory};
    gboolean records = writer != NULL || parts != 0;
    const PsTraceSink sink = {record_op, record_memory, &recorder};
    g_autoptr(PsTraceOrder) order = ps_trace_order_new(&sink);
    g_autoptr(PsReplayResult) result =
        ps_replay_run(workload, settings, records ? ps_trace_order_sink(order) : NULL, error);
    if (result == NULL) {
        return FALSE;
    }
    ps_trace_order_flush(order);
    describe_settings(run->summary, settings, workload);
    describe_results(run->summary, result);
    run->out_of_memory = g_strdup(result->out_of_memory);
    return writer == NULL || ps_run_writer_finish(writer, run->summary, error);
}
