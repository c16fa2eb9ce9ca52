#include "planner/plan-list.h"

#include <math.h>

#include "planner/plan-report.h"
#include "sim/base/units.h"

/* Columns that only scripts see, or only lists of replayed plans have. */
enum { SCRIPTS = 1, REPLAYED = 2, PEOPLE = 4 };

static const struct {
    PsColumn column;
    guint only;
} columns[] = {
    {{"rank", "rank", TRUE}, 0},
    {{"estimate_tps_s", "estimate", TRUE}, 0},
    {{"replayed_tps_s", "replayed", TRUE}, REPLAYED},
    {{"gap", "gap", TRUE}, REPLAYED},
    {{"stages", "stages", TRUE}, 0},
    {{"devices_used", "devices", TRUE}, 0},
    {{"nested", "nested", FALSE}, 0},
    {{"in_flight", "bounds", FALSE}, 0},
    {{"data_parallel", "d", FALSE}, SCRIPTS},
    {{"tensor_parallel", "t", FALSE}, SCRIPTS},
    {{"layers", "layers", FALSE}, SCRIPTS},
    {{"remark", "remark", FALSE}, SCRIPTS},
    {{"degrees", "degrees and layers", FALSE}, PEOPLE},
};

struct PsPlanList {
    const PsProfile *profile;
    gboolean with_replay;
    GArray *rows; /* PsListedPlan */
};

PsPlanList *ps_plan_list_new(const PsProfile *profile, gboolean with_replay)
{
    PsPlanList *list = g_new0(PsPlanList, 1);
    *list = (PsPlanList){profile, with_replay, g_array_new(FALSE, FALSE, sizeof(PsListedPlan))};
    return list;
}

void ps_plan_list_free(PsPlanList *list)
{
    if (list != NULL) {
        g_array_unref(list->rows);
        g_free(list);
    }
}

void ps_plan_list_add(PsPlanList *list, const PsListedPlan *plan)
{
    g_array_append_val(list->rows, *plan);
}

/* How far the replay is above the estimate; but for rounding. */
static double gap_of(const PsListedPlan *row, const PsEstimate *estimate)
{
    double gap = row->replayed_tps_s / estimate->tps_s - 1;
    return fabs(gap) < 1e-9 ? 0 : gap;
}

/* ---- tables --------------------------------------------------------------------------------- */

static void add_time(PsTable *table, double seconds)
{
    g_autofree char *shown = ps_quantity_format(PS_SECONDS, seconds);
    g_autofree char *value = ps_double_format(seconds);
    ps_table_cell(table, shown, value);
}

/* The layers of each stage: "0-9 | 10-19". */
static char *layers_text(const PsPlan *plan, const PsProfile *profile)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < plan->n_stages; i++) {
        g_autofree char *ranges = ps_plan_layer_ranges(profile, &plan->stages[i]);
        g_string_append_printf(text, "%s%s", i > 0 ? " | " : "", ranges);
    }
    return g_string_free(text, FALSE);
}

static void add_degrees(const PsPlanList *list, PsTable *table, const PsListedPlan *row,
                        gboolean people)
{
    g_autofree char *d = ps_plan_figures_text(row->plan, PS_STAGE_DATA_PARALLEL, people);
    g_autofree char *t = ps_plan_figures_text(row->plan, PS_STAGE_TENSOR_PARALLEL, people);
    if (!people) {
        g_autofree char *layers = layers_text(row->plan, list->profile);
        const char *const cells[] = {d, t, layers, row->remark};
        for (guint i = 0; i < G_N_ELEMENTS(cells); i++) {
            ps_table_cell(table, cells[i], NULL);
        }
        return;
    }
    g_autofree char *layers = ps_plan_figures_text(row->plan, PS_STAGE_LAYERS, TRUE);
    g_autofree char *all = g_strdup_printf("d %s, t %s, layers %s%s%s", d, t, layers,
                                           *row->remark ? "; " : "", row->remark);
    ps_table_cell(table, all, NULL);
}

static void add_row(const PsPlanList *list, PsTable *table, guint i, gboolean people)
{
    const PsListedPlan *row = &g_array_index(list->rows, PsListedPlan, i);
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(row->plan, list->profile);
    ps_table_int(table, i + 1);
    add_time(table, estimate->tps_s);
    if (list->with_replay) {
        double gap = gap_of(row, estimate);
        add_time(table, row->replayed_tps_s);
        ps_table_double(table, "%.1f%%", fabs(gap) < 5e-4 ? 0 : 100 * gap, gap);
    }
    ps_table_int(table, row->plan->n_stages);
    ps_table_int(table, estimate->devices_used);
    ps_table_cell(table, ps_plan_is_nested(row->plan) ? "yes" : "no", NULL);
    ps_table_cell(table, ps_in_flight_names[row->plan->setting.in_flight], NULL);
    add_degrees(list, table, row, people);
}

static void print_table(const PsPlanList *list, PsFormat format, PsOutput *output)
{
    gboolean people = format == PS_FORMAT_TABLE;
    guint hidden = (people ? SCRIPTS : PEOPLE) | (list->with_replay ? 0 : REPLAYED), n = 0;
    PsColumn shown[G_N_ELEMENTS(columns)];
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        if ((columns[i].only & hidden) == 0) {
            shown[n++] = columns[i].column;
        }
    }
    g_autoptr(PsTable) table = ps_table_new(shown, n);
    for (guint i = 0; i < list->rows->len; i++) {
        add_row(list, table, i, people);
    }
    ps_table_print(table, format, output);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void write_row(const PsPlanList *list, guint i, PsJsonWriter *writer)
{
    const PsListedPlan *row = &g_array_index(list->rows, PsListedPlan, i);
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(row->plan, list->profile);
    ps_json_begin_object(writer, NULL);
    ps_json_put_int(writer, "rank", i + 1);
    ps_json_put_double(writer, "estimate_tps_s", estimate->tps_s);
    if (list->with_replay) {
        ps_json_put_double(writer, "replayed_tps_s", row->replayed_tps_s);
        ps_json_put_double(writer, "gap", gap_of(row, estimate));
    }
    ps_json_put_string(writer, "remark", row->remark);
    ps_json_begin_object(writer, "plan");
    ps_plan_write_members(row->plan, list->profile, list->profile->path, estimate, writer);
    ps_json_end_object(writer);
    ps_json_end_object(writer);
}

void ps_plan_list_print(const PsPlanList *list, PsFormat format, PsOutput *output)
{
    if (format != PS_FORMAT_JSON) {
        print_table(list, format, output);
        return;
    }
    g_autoptr(PsJsonWriter) writer = ps_json_writer_new(output);
    ps_json_begin_array(writer, NULL);
    for (guint i = 0; i < list->rows->len; i++) {
        write_row(list, i, writer);
    }
    ps_json_end_array(writer);
}
