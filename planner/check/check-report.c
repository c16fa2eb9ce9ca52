/* A check as people read it, as CSV and as JSON. */
#include "planner/check/check.h"
#include "sim/base/json.h"
#include "sim/base/units.h"

/* Scripts get one row per stage ... */
static const PsColumn wide_columns[] = {
    {"stage", NULL, TRUE},
    {"estimate_tps_s", NULL, TRUE},
    {"estimate_compute_s", NULL, TRUE},
    {"estimate_edge_s", NULL, TRUE},
    {"estimate_resync_s", NULL, TRUE},
    {"estimate_memory_bytes", NULL, TRUE},
    {"replay_tps_s", NULL, TRUE},
    {"replay_compute_s", NULL, TRUE},
    {"replay_edge_s", NULL, TRUE},
    {"replay_resync_s", NULL, TRUE},
    {"peak_memory_bytes", NULL, TRUE},
    {"busy_s_per_microbatch", NULL, TRUE},
    {"bubble_share", NULL, TRUE},
};

/* ... people two, one above the other. */
static const PsColumn tall_columns[] = {
    {"stage", "stage", TRUE},   {"side", "", FALSE},        {"compute", "compute", TRUE},
    {"edge", "edge", TRUE},     {"resync", "resync", TRUE}, {"total", "total", TRUE},
    {"memory", "memory", TRUE}, {"busy", "busy", TRUE},     {"bubble", "bubble", TRUE},
};

static void add_wide(PsTable *table, const PsCheckFigures *figures)
{
    ps_table_double(table, "%g", figures->tps_s, figures->tps_s);
    ps_table_double(table, "%g", figures->compute_s, figures->compute_s);
    ps_table_double(table, "%g", figures->edge_s, figures->edge_s);
    ps_table_double(table, "%g", figures->resync_s, figures->resync_s);
    ps_table_double(table, "%g", figures->memory_bytes, figures->memory_bytes);
}

static void print_csv(const PsCheck *check, PsOutput *output)
{
    g_autoptr(PsTable) table = ps_table_new(wide_columns, G_N_ELEMENTS(wide_columns));
    for (guint i = 0; i < check->n_stages; i++) {
        const PsCheckStage *stage = &check->stages[i];
        ps_table_int(table, i);
        add_wide(table, &stage->estimate);
        add_wide(table, &stage->replay);
        ps_table_double(table, "%g", stage->busy_s, stage->busy_s);
        ps_table_double(table, "%g", stage->bubble_share, stage->bubble_share);
    }
    ps_table_print(table, PS_FORMAT_CSV, output);
}

static void add_tall(PsTable *table, const char *stage, const char *side,
                     const PsCheckFigures *figures, const PsTimeScale *scale)
{
    ps_table_cell(table, stage, NULL);
    ps_table_cell(table, side, NULL);
    const double times_s[] = {figures->compute_s, figures->edge_s, figures->resync_s,
                              figures->tps_s};
    for (guint i = 0; i < G_N_ELEMENTS(times_s); i++) {
        ps_table_double(table, scale->format, times_s[i] / scale->unit_s, times_s[i]);
    }
    g_autofree char *memory = ps_quantity_format(PS_BYTES, figures->memory_bytes);
    ps_table_cell(table, memory, NULL);
}

static PsTimeScale time_scale(const PsCheck *check)
{
    double largest_s = check->estimate_tps_s;
    for (guint i = 0; i < check->n_stages; i++) {
        const PsCheckStage *stage = &check->stages[i];
        largest_s = MAX(largest_s, MAX(stage->replay.tps_s, stage->busy_s));
    }
    return ps_time_scale(largest_s);
}

static void print_table(const PsCheck *check, PsOutput *output)
{
    PsTimeScale scale = time_scale(check);
    g_autoptr(PsTable) table = ps_table_new(tall_columns, G_N_ELEMENTS(tall_columns));
    for (guint i = 0; i < check->n_stages; i++) {
        const PsCheckStage *stage = &check->stages[i];
        g_autofree char *number = g_strdup_printf("%u", i);
        add_tall(table, number, "estimate", &stage->estimate, &scale);
        ps_table_cell(table, "", NULL);
        ps_table_cell(table, "", NULL);
        add_tall(table, "", "replay", &stage->replay, &scale);
        ps_table_double(table, scale.format, stage->busy_s / scale.unit_s, stage->busy_s);
        ps_table_double(table, "%.1f%%", 100 * stage->bubble_share, stage->bubble_share);
    }
    ps_table_print(table, PS_FORMAT_TABLE, output);
    ps_output_printf(output, "times in %s per microbatch, each divided by d\n\n", scale.unit);
    g_autofree char *estimate = ps_quantity_format(PS_SECONDS, check->estimate_tps_s);
    g_autofree char *simulated = ps_quantity_format(PS_SECONDS, check->simulated_tps_s);
    ps_print_paragraph(output, "TPS estimated %s, replayed %s", estimate, simulated);
    ps_print_paragraph(output, "%s", check->reason);
    ps_output_puts(output, "\n");
    if (check->unsettled != NULL) {
        ps_print_paragraph(output, "%s", check->unsettled);
        ps_output_puts(output, "\n");
    }
    if (check->restoration != NULL) {
        g_autofree char *text = ps_restoration_text(check->restoration);
        ps_print_paragraph(output, "%s", text);
        ps_output_puts(output, "\n");
    }
    if (check->passed) { /* else it is the error message */
        ps_print_paragraph(output, "%s", check->verdict);
    }
}

static void write_stage(PsJsonWriter *writer, const PsCheckStage *stage)
{
    ps_json_begin_object(writer, NULL);
    ps_json_put_double(writer, "estimate_tps_s", stage->estimate.tps_s);
    ps_json_put_double(writer, "busy_s_per_microbatch", stage->busy_s);
    ps_json_put_double(writer, "estimate_memory_bytes", stage->estimate.memory_bytes);
    ps_json_put_double(writer, "peak_memory_bytes", stage->replay.memory_bytes);
    ps_json_put_double(writer, "estimate_compute_s", stage->estimate.compute_s);
    ps_json_put_double(writer, "replay_compute_s", stage->replay.compute_s);
    ps_json_put_double(writer, "estimate_edge_s", stage->estimate.edge_s);
    ps_json_put_double(writer, "replay_edge_s", stage->replay.edge_s);
    ps_json_put_double(writer, "estimate_resync_s", stage->estimate.resync_s);
    ps_json_put_double(writer, "replay_resync_s", stage->replay.resync_s);
    ps_json_put_double(writer, "bubble_share", stage->bubble_share);
    ps_json_end_object(writer);
}

static void write_unsettled(const PsCheck *check, PsJsonWriter *writer)
{
    ps_json_put_string(writer, "unsettled", check->unsettled);
    ps_json_put_int(writer, "batches", check->n_batches);
    if (check->n_batches > 0) {
        ps_json_put_double(writer, "least_tps_s", check->least_tps_s);
        ps_json_put_double(writer, "most_tps_s", check->most_tps_s);
    }
}

void ps_check_write_members(const PsCheck *check, PsJsonWriter *writer)
{
    ps_json_put_double(writer, "estimate_tps_s", check->estimate_tps_s);
    ps_json_put_double(writer, "simulated_tps_s", check->simulated_tps_s);
    ps_json_put_double(writer, "relative_error", check->relative_error);
    ps_json_put_string(writer, "replayable", check->exact ? "exact" : "optimistic");
    ps_json_put_string(writer, "reason", check->reason);
    ps_json_put_boolean(writer, "settled", check->unsettled == NULL);
    if (check->unsettled != NULL) {
        write_unsettled(check, writer);
    }
    ps_json_begin_array(writer, "stages");
    for (guint i = 0; i < check->n_stages; i++) {
        write_stage(writer, &check->stages[i]);
    }
    ps_json_end_array(writer);
    if (check->restoration != NULL) {
        ps_restoration_write_members(check->restoration, writer);
    }
    ps_json_put_double(writer, "tolerance", check->tolerance);
    ps_json_put_boolean(writer, "passed", check->passed);
    ps_json_put_string(writer, "verdict", check->verdict);
}

static void print_json(const PsCheck *check, PsOutput *output)
{
    g_autoptr(PsJsonWriter) writer = ps_json_writer_new(output);
    ps_json_begin_object(writer, NULL);
    ps_check_write_members(check, writer);
    ps_json_end_object(writer);
}

void ps_check_report(const PsCheck *check, PsFormat format, PsOutput *output)
{
    static void (*const printers[])(const PsCheck *, PsOutput *) = {[PS_FORMAT_TABLE] = print_table,
                                                                    [PS_FORMAT_CSV] = print_csv,
                                                                    [PS_FORMAT_JSON] = print_json};
    printers[format](check, output);
}
