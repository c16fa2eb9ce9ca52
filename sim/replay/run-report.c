#include "sim/replay/run-report.h"

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/trace/summary.h"

static const PsColumn columns[] = {
    {"stage", "stage", TRUE},       {"layers", "layers", FALSE},
    {"data_parallel", "d", TRUE},   {"tensor_parallel", "t", TRUE},
    {"compute_s", "compute", TRUE}, {"edge_s", "edge", TRUE},
    {"resync_s", "resync", TRUE},   {"busy_s", "busy", TRUE},
    {"bubble", "bubble", TRUE},     {"peak_memory_bytes", "peak memory", TRUE},
};

static void quantity_cell(PsTable *table, PsDimension dimension, double value)
{
    g_autofree char *shown = ps_quantity_format(dimension, value);
    g_autofree char *exact = ps_double_format(value);
    ps_table_cell(table, shown, exact);
}

static void print_stages(const PsRunSummary *summary, PsFormat format, PsOutput *output)
{
    g_autoptr(PsTable) table = ps_table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < summary->n_stages; i++) {
        const PsRunStage *stage = &summary->stages[i];
        ps_table_int(table, i);
        ps_table_cell(table, stage->layers, NULL);
        ps_table_int(table, stage->data_parallel);
        ps_table_int(table, stage->tensor_parallel);
        quantity_cell(table, PS_SECONDS, stage->compute_s_per_microbatch);
        quantity_cell(table, PS_SECONDS, stage->edge_s_per_microbatch);
        quantity_cell(table, PS_SECONDS, stage->resync_s_per_microbatch);
        quantity_cell(table, PS_SECONDS, stage->busy_s_per_microbatch);
        quantity_cell(table, PS_RATIO, stage->bubble_share);
        quantity_cell(table, PS_BYTES, stage->peak_memory_bytes);
    }
    ps_table_print(table, format, output);
}

/* The times of a run that no device could hold are true of nothing. */
static void print_overflow(const PsRunSummary *summary, PsOutput *output)
{
    guint fullest = 0;
    for (guint i = 1; i < summary->n_stages; i++) {
        if (summary->stages[i].peak_memory_bytes > summary->stages[fullest].peak_memory_bytes) {
            fullest = i;
        }
    }
    double peak_bytes = summary->stages[fullest].peak_memory_bytes;
    if (peak_bytes <= summary->setting.memory_bytes * (1 + 1e-9)) {
        return;
    }
    g_autofree char *peak = ps_quantity_format(PS_BYTES, peak_bytes);
    g_autofree char *has = ps_quantity_format(PS_BYTES, summary->setting.memory_bytes);
    ps_print_paragraph(output,
                       "Out of memory: stage %u peaks at %s of %s (--enforce-memory tells when)",
                       fullest, peak, has);
}

/* How many were replayed: "2.625", "27312". Caller frees. */
static char *batches_text(const PsRunSummary *summary)
{
    double batches = (double)summary->microbatches_simulated / summary->setting.microbatches;
    return g_strdup_printf(batches < 1000 ? "%.4g" : "%.0f", batches);
}

static void print_totals(const PsRunSummary *summary, PsOutput *output)
{
    g_autofree char *tps = ps_quantity_format(PS_SECONDS, summary->tps_s);
    g_autofree char *estimate = ps_quantity_format(PS_SECONDS, summary->estimate_tps_s);
    ps_output_puts(output, "\n");
    if (!summary->partial) { /* whose time says nothing */
        ps_print_paragraph(output, "TPS %s per microbatch replayed, %s estimated (%+.2f%%)", tps,
                           estimate, 100 * (summary->tps_s / summary->estimate_tps_s - 1));
    }
    g_autofree char *batches = batches_text(summary);
    const char *start = g_hash_table_lookup(summary->settings, "start");
    if (summary->partial) {
        g_autofree char *end =
            ps_quantity_format(PS_SECONDS, ps_ps_to_seconds(summary->makespan_ps));
        ps_print_paragraph(output, "Partial: ended after %s and %" G_GINT64_FORMAT " microbatches",
                           end, summary->microbatches_simulated);
    } else if (summary->steady) {
        ps_print_paragraph(output,
                           "Steady: repeats exactly every %" G_GINT64_FORMAT
                           " microbatches, proven after %" G_GINT64_FORMAT,
                           summary->window_microbatches, summary->steady_after_microbatches);
        ps_output_printf(output, "(%s batches were replayed)\n", batches);
    } else if (g_str_equal(start, "cold")) {
        ps_print_paragraph(output,
                           "Cold start: one batch of %" G_GINT64_FORMAT
                           " microbatches with fill and drain",
                           summary->window_microbatches);
    } else {
        ps_print_paragraph(output,
                           "No exact period found in %s batches: TPS is the average of the last "
                           "%" G_GINT64_FORMAT " microbatches measured",
                           batches, summary->window_microbatches);
    }
}

/* Where a network was in use: what came nearest to its limit. */
static void print_busiest_link(const PsRun *run, PsOutput *output)
{
    gint64 makespan_ps = run->summary->makespan_ps;
    const PsRunLink *busiest = NULL;
    for (guint i = 0; i < run->links->len; i++) {
        const PsRunLink *link = &g_array_index(run->links, PsRunLink, i);
        if (busiest == NULL || ps_run_link_utilisation(link, makespan_ps) >
                                   ps_run_link_utilisation(busiest, makespan_ps)) {
            busiest = link;
        }
    }
    if (busiest != NULL) {
        g_autofree char *capacity =
            ps_quantity_format(PS_BYTES_PER_S, busiest->capacity_bytes_per_s);
        ps_print_paragraph(output, "Busiest link: %s, %.3g%% of %s in use on average",
                           busiest->name, 100 * ps_run_link_utilisation(busiest, makespan_ps),
                           capacity);
    }
}

void ps_run_report(const PsRun *run, PsFormat format, PsOutput *output)
{
    const PsRunSummary *summary = run->summary;
    if (format == PS_FORMAT_JSON) {
        PsJsonWriter *writer = ps_json_writer_new(output);
        ps_json_begin_object(writer, NULL);
        ps_run_summary_put(summary, writer);
        ps_json_end_object(writer);
        ps_json_writer_free(writer);
        return;
    }
    print_stages(summary, format, output);
    if (format == PS_FORMAT_TABLE) {
        print_totals(summary, output);
        print_busiest_link(run, output);
        print_overflow(summary, output);
    }
}

gboolean ps_run_result(const PsRun *run, GError **error)
{
    if (run->standstill != NULL) {
        ps_error(error, PS_ERROR_STUCK, "%s", run->standstill);
    } else if (run->summary->partial) {
        ps_error(error, PS_ERROR_IO, "interrupted: the run is marked as partial");
    }
    return !run->summary->partial;
}

static const PsColumn synthetic_columns[] = {
    {"makespan_s", "makespan", TRUE},
    {"bubble_rate", "bubble rate", TRUE},
    {"peak_stash_microbatches", "peak stash, microbatches per stage", FALSE},
};

static void print_synthetic(const PsRunSummary *summary, double bubble_rate, PsFormat format,
                            PsOutput *output)
{
    g_autoptr(GString) shown = g_string_new(NULL);
    g_autoptr(GString) exact = g_string_new(NULL);
    for (guint i = 0; i < summary->n_stages; i++) {
        double stash = summary->stages[i].peak_stash_microbatches;
        g_autofree char *text = ps_double_format(stash);
        g_string_append_printf(shown, "%s%.4g", i > 0 ? " " : "", stash);
        g_string_append_printf(exact, "%s%s", i > 0 ? " " : "", text);
    }
    g_autoptr(PsTable) table = ps_table_new(synthetic_columns, G_N_ELEMENTS(synthetic_columns));
    quantity_cell(table, PS_SECONDS, ps_ps_to_seconds(summary->makespan_ps));
    ps_table_double(table, "%.2f%%", 100 * bubble_rate, bubble_rate);
    ps_table_cell(table, shown->str, exact->str);
    ps_table_print(table, format, output);
}

void ps_synthetic_report(const PsSynthetic *synthetic, const PsRunSummary *summary, PsFormat format,
                         PsOutput *output)
{
    double bubble_rate = ps_synthetic_bubble_rate(synthetic, summary);
    if (format != PS_FORMAT_JSON) {
        print_synthetic(summary, bubble_rate, format, output);
        return;
    }
    g_autoptr(PsJsonWriter) writer = ps_json_writer_new(output);
    ps_json_begin_object(writer, NULL);
    ps_json_put_double(writer, "makespan_s", ps_ps_to_seconds(summary->makespan_ps));
    ps_json_put_double(writer, "bubble_rate", bubble_rate);
    ps_json_begin_array(writer, "peak_stash_microbatches");
    for (guint i = 0; i < summary->n_stages; i++) {
        ps_json_put_double(writer, NULL, summary->stages[i].peak_stash_microbatches);
    }
    ps_json_end_array(writer);
    ps_json_end_object(writer);
}
