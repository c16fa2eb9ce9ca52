#include "sim/replay/record.h"

#include <string.h>

#include "sim/replay/fold.h"
#include "sim/trace/order.h"
#include "sim/trace/run-writer.h"

/* Hands records to the folder's writer and keeps them, as far as asked for. */
typedef struct {
    const PsTraceSink *writer;
    GArray *ops, *memory, *loads;
} Recorder;

static void keep(GArray *rows, gconstpointer row)
{
    if (rows != NULL) {
        g_array_append_vals(rows, row, 1);
    }
}

static void record_op(const PsTraceOp *op, gpointer user_data)
{
    const Recorder *recorder = user_data;
    keep(recorder->ops, op);
    if (recorder->writer != NULL) {
        recorder->writer->op(op, recorder->writer->user_data);
    }
}

static void record_memory(const PsTraceMemory *change, gpointer user_data)
{
    const Recorder *recorder = user_data;
    keep(recorder->memory, change);
    if (recorder->writer != NULL) {
        recorder->writer->memory(change, recorder->writer->user_data);
    }
}

static void record_load(const PsTraceLoad *load, gpointer user_data)
{
    const Recorder *recorder = user_data;
    keep(recorder->loads, load);
    if (recorder->writer != NULL) {
        recorder->writer->load(load, recorder->writer->user_data);
    }
}

static void describe_disturbance(PsRunSummary *summary, const PsReplaySettings *settings)
{
    for (guint kind = 0; kind < PS_N_DISTURBANCES; kind++) {
        const char *text =
            settings->disturbance != NULL ? ps_disturbance_text(settings->disturbance, kind) : NULL;
        if (text != NULL) {
            ps_run_summary_add_setting(summary, ps_disturbance_names[kind], text);
        }
    }
    if (settings->loader != NULL) {
        ps_run_summary_add_setting(summary, "loader", settings->loader->text);
    }
}

static void describe_quantities(PsRunSummary *summary, const PsReplaySettings *settings)
{
    for (const PsReplayQuantity *one = ps_replay_quantities; one->name != NULL; one++) {
        double value = ps_replay_settings_quantity(settings, one);
        if (value > 0) {
            g_autofree char *number = ps_double_format(value);
            g_autofree char *text = g_strdup_printf("%s %s", number,
                                                    one->dimension == PS_SECONDS ? "s"
                                                    : one->dimension == PS_BYTES ? "B"
                                                                                 : "B/s");
            ps_run_summary_add_setting(summary, one->name, text);
        }
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
    describe_quantities(summary, settings);
    describe_disturbance(summary, settings);
    if (settings->network == PS_NETWORK_TOPOLOGY) {
        ps_run_summary_add_setting(summary, "topology", settings->topology_text);
        ps_run_summary_add_setting(summary, "topology-sha256", settings->topology->sha256);
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
    summary->partial = result->partial;
    summary->tps_s = result->tps_s;
    summary->makespan_ps = result->makespan_ps;
    summary->window_start_ps = result->window_start_ps;
    summary->window_end_ps = result->window_end_ps;
    summary->window_microbatches = result->window_microbatches;
    summary->microbatches_simulated = result->microbatches_simulated;
    summary->steady_after_microbatches = result->steady_after_microbatches;
    summary->n_ops = result->n_ops;
    summary->steady = result->steady;
    if (result->stops != NULL) {
        g_array_append_vals(summary->stops, result->stops->data, result->stops->len);
    }
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
    run->loads = parts & PS_RUN_LOADS ? g_array_new(FALSE, FALSE, sizeof(PsTraceLoad)) : NULL;
    Recorder recorder = {writer != NULL ? ps_run_writer_sink(writer) : NULL, run->ops, run->memory,
                         run->loads};
    gboolean records = writer != NULL || parts != 0;
    const PsTraceSink sink = {record_op, record_memory, &recorder, record_load};
    g_autoptr(PsTraceOrder) order = ps_trace_order_new(&sink);
    g_autoptr(PsReplayResult) result =
        ps_fold_run(workload, settings, records ? ps_trace_order_sink(order) : NULL, error);
    if (result == NULL) {
        return FALSE;
    }
    ps_trace_order_flush(order);
    describe_settings(run->summary, settings, workload);
    describe_results(run->summary, result);
    run->out_of_memory = g_strdup(result->out_of_memory);
    run->standstill = g_strdup(result->standstill);
    if (writer != NULL && result->links != NULL) {
        ps_run_writer_set_links(writer, (const PsRunLink *)(gpointer)result->links->data,
                                result->links->len);
    }
    run->links = result->links != NULL ? g_array_ref(result->links) : ps_run_links_new();
    return writer == NULL || ps_run_writer_finish(writer, run->summary, error);
}
