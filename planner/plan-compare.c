/* The best plan beside those of other planners. */
#include <math.h>

#include "planner/baselines/baselines.h"
#include "planner/plan-mode.h"
#include "planner/plan-report.h"
#include "planner/search/scope.h"
#include "sim/base/units.h"

#define COMMON_COLUMNS                                                                             \
    {"planner", "planner", FALSE}, {"tps_s", "TPS", TRUE}, {"ratio", "ratio", TRUE},               \
        {"n_stages", "stages", TRUE},                                                              \
    {                                                                                              \
        "devices_used", "devices", TRUE                                                            \
    }

static const PsColumn people_columns[] = {
    COMMON_COLUMNS,
    {"outcome", "degrees, or why none", FALSE},
};
static const PsColumn script_columns[] = {
    COMMON_COLUMNS,
    {"verdict", "verdict", FALSE}, /* "ok", "out of memory", "does not apply" */
    {"data_parallel", "d", FALSE},
    {"tensor_parallel", "t", FALSE},
    {"least_memory_bytes", "least memory", TRUE},
    {"reason", "reason", FALSE},
};

typedef struct {
    const PsProfile *profile;
    double best_tps_s;
    gboolean people;
    PsTable *table;
} Report;

static void add_plan_cells(const Report *report, const PsPlan *plan)
{
    PsTable *table = report->table;
    g_autofree char *d = ps_plan_figures_text(plan, PS_STAGE_DATA_PARALLEL, report->people);
    g_autofree char *t = ps_plan_figures_text(plan, PS_STAGE_TENSOR_PARALLEL, report->people);
    if (report->people) {
        g_autofree char *both = g_strdup_printf("d %s, t %s", d, t);
        ps_table_cell(table, both, NULL);
        return;
    }
    const char *const cells[] = {"ok", d, t, "", ""};
    for (guint i = 0; i < G_N_ELEMENTS(cells); i++) {
        ps_table_cell(table, cells[i], NULL);
    }
}

static void add_failure_cells(const Report *report, const PsBaselineResult *result)
{
    PsTable *table = report->table;
    gboolean applies = result->reason == NULL;
    if (report->people) {
        g_autofree char *needs = ps_quantity_format_up(PS_BYTES, result->least_memory_bytes);
        g_autofree char *text = applies ? g_strdup_printf("OOM: needs %s", needs)
                                        : g_strdup_printf("does not apply: %s", result->reason);
        ps_table_cell(table, text, NULL);
        return;
    }
    ps_table_cell(table, applies ? "out of memory" : "does not apply", NULL);
    ps_table_cell(table, "", NULL);
    ps_table_cell(table, "", NULL);
    g_autofree char *least = ps_double_format(result->least_memory_bytes);
    ps_table_cell(table, applies ? least : "", NULL);
    ps_table_cell(table, applies ? "" : result->reason, NULL);
}

static void add_row(const Report *report, const char *name, const PsBaselineResult *result)
{
    PsTable *table = report->table;
    ps_table_cell(table, name, NULL);
    if (result->plan == NULL) {
        for (guint i = 0; i < 4; i++) {
            ps_table_cell(table, "-", "");
        }
        add_failure_cells(report, result);
        return;
    }
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(result->plan, report->profile);
    g_autofree char *tps = ps_quantity_format(PS_SECONDS, estimate->tps_s);
    g_autofree char *tps_exact = ps_double_format(estimate->tps_s);
    ps_table_cell(table, tps, tps_exact);
    double ratio = estimate->tps_s / report->best_tps_s;
    ps_table_double(table, "%.3f", ratio, ratio);
    ps_table_int(table, result->plan->n_stages);
    ps_table_int(table, estimate->devices_used);
    add_plan_cells(report, result->plan);
}

static void add_baselines(const Report *report, const PsPlanRequest *request)
{
    for (guint i = 0; i < ps_n_baselines; i++) {
        g_auto(PsBaselineResult) result = ps_baseline_run(&ps_baselines[i], request->profile,
                                                          &request->setting, &request->options);
        add_row(report, ps_baselines[i].name, &result);
    }
}

static gboolean print(const PsPlanRequest *request, PsTable *table, GError **error)
{
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    ps_table_print(table, request->format, output);
    if (request->format == PS_FORMAT_TABLE) {
        ps_output_puts(
            output, "TPS: time per microbatch; ratio: to the best plan's; 4*3: three stages of 4\n"
                    "equi: PipeDream-2BW's planner, equal numbers of the repeated layers per\n"
                    "stage, one d and t, recompute in all layers or none; apart: with the other\n"
                    "layers as stages of their own\n");
    }
    return ps_output_commit(output, error);
}

static gboolean run(const PsPlanRequest *request, GError **error)
{
    g_autoptr(PsPlan) plan =
        ps_planner_plan(request->profile, &request->setting, &request->options, error);
    if (plan == NULL) {
        return FALSE;
    }
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, request->profile);
    gboolean people = request->format == PS_FORMAT_TABLE;
    g_autoptr(PsTable) table = people ? ps_table_new(people_columns, G_N_ELEMENTS(people_columns))
                                      : ps_table_new(script_columns, G_N_ELEMENTS(script_columns));
    if (!plan->optimal) {
        ps_scope_note_contracted();
    }
    Report report = {request->profile, estimate->tps_s, people, table};
    const PsBaselineResult best = {plan, NAN, NULL};
    add_row(&report, "best", &best);
    add_baselines(&report, request);
    return (request->path == NULL ||
            ps_plan_save(plan, request->profile, estimate, request->path, error)) &&
           print(request, table, error);
}

const PsPlanMode ps_plan_mode_compare = {
    .option = "compare",
    .help = "Compare the best plan with those of other planners",
    .run = run,
};
