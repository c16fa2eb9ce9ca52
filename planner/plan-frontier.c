/* What every number of devices gives or needs, as rows. */
#include <math.h>

#include "planner/frontier.h"
#include "planner/plan-mode.h"
#include "planner/plan-report.h"
#include "planner/search/scope.h"
#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

static const PsColumn devices_columns[] = {
    {"devices", "devices", TRUE},   {"tps_s", "TPS", TRUE},        {"stages", "stages", TRUE},
    {"devices_used", "used", TRUE}, {"data_parallel", "d", FALSE}, {"tensor_parallel", "t", FALSE},
};
static const PsColumn memory_columns[] = {
    {"devices", "devices", TRUE},
    {"least_memory_bytes", "least memory per device", TRUE},
};

static void add_devices_row(PsTable *table, const PsPlanRequest *request,
                            const PsFrontierPoint *point)
{
    ps_table_int(table, point->devices);
    if (point->plan == NULL) {
        for (guint i = 1; i < G_N_ELEMENTS(devices_columns); i++) {
            ps_table_cell(table, i == 1 ? "none fits" : "", "");
        }
        return;
    }
    gboolean people = request->format == PS_FORMAT_TABLE;
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(point->plan, request->profile);
    g_autofree char *d = ps_plan_figures_text(point->plan, PS_STAGE_DATA_PARALLEL, people);
    g_autofree char *t = ps_plan_figures_text(point->plan, PS_STAGE_TENSOR_PARALLEL, people);
    g_autofree char *tps = ps_quantity_format(PS_SECONDS, estimate->tps_s);
    g_autofree char *tps_exact = ps_double_format(estimate->tps_s);
    ps_table_cell(table, tps, tps_exact);
    ps_table_int(table, point->plan->n_stages);
    ps_table_int(table, estimate->devices_used);
    ps_table_cell(table, d, NULL);
    ps_table_cell(table, t, NULL);
}

static void add_memory_row(PsTable *table, const PsPlanRequest *request,
                           const PsFrontierPoint *point)
{
    (void)request;
    ps_table_int(table, point->devices);
    g_autofree char *shown = ps_quantity_format_up(PS_BYTES, point->least_memory_bytes);
    g_autofree char *exact = ps_double_format(point->least_memory_bytes);
    ps_table_cell(table, shown, exact);
}

static const struct {
    const char *name;
    const PsColumn *columns;
    guint n_columns;
    GPtrArray *(*points)(const PsProfile *profile, const PsSetting *setting,
                         const PsPlannerOptions *options, gboolean *exact);
    void (*add_row)(PsTable *table, const PsPlanRequest *request, const PsFrontierPoint *point);
} frontiers[] = {
    {"devices", devices_columns, G_N_ELEMENTS(devices_columns), ps_frontier_devices,
     add_devices_row},
    {"memory", memory_columns, G_N_ELEMENTS(memory_columns), ps_frontier_memory, add_memory_row},
};

static gboolean find(const char *name, guint *index, GError **error)
{
    const char *names[G_N_ELEMENTS(frontiers) + 1] = {NULL};
    for (*index = 0; *index < G_N_ELEMENTS(frontiers); (*index)++) {
        names[*index] = frontiers[*index].name;
        if (g_str_equal(name, names[*index])) {
            return TRUE;
        }
    }
    g_autofree char *hint = ps_suggest_text(name, names);
    ps_error(error, PS_ERROR_USAGE, "--frontier: unknown value '%s'%s", name, hint);
    return FALSE;
}

/* Rows without a single plan are an answer, and it is no. */
static gboolean any_fits(const GPtrArray *points, const PsPlanRequest *request, GError **error)
{
    for (guint i = 0; i < points->len; i++) {
        const PsFrontierPoint *point = points->pdata[i];
        if (point->plan != NULL || !isnan(point->least_memory_bytes)) {
            return TRUE;
        }
    }
    g_autofree char *devices = ps_counted(points->len, "device");
    ps_error(error, PS_ERROR_NEGATIVE, "%s: no plan fits up to %s (plan says why)",
             request->profile->path, devices);
    return FALSE;
}

static gboolean run(const PsPlanRequest *request, GError **error)
{
    guint i;
    if (!find(request->argument, &i, error)) {
        return FALSE;
    }
    if (request->path != NULL) {
        ps_error(error, PS_ERROR_USAGE,
                 "--frontier gives rows and no plan for -o (expected --format csv > FILE)");
        return FALSE;
    }
    gboolean exact;
    g_autoptr(GPtrArray) points =
        frontiers[i].points(request->profile, &request->setting, &request->options, &exact);
    if (!exact) {
        ps_scope_note_contracted();
    }
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    g_autoptr(PsTable) table = ps_table_new(frontiers[i].columns, frontiers[i].n_columns);
    for (guint row = 0; row < points->len; row++) {
        frontiers[i].add_row(table, request, points->pdata[row]);
    }
    ps_table_print(table, request->format, output);
    return ps_output_commit(output, error) && any_fits(points, request, error);
}

const PsPlanMode ps_plan_mode_frontier = {
    .option = "frontier",
    .argument = "devices|memory",
    .help = "What each number of devices gives or needs",
    .run = run,
};
