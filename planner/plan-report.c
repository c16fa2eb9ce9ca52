#include "planner/plan-report.h"

#include "planner/check/cycle-time.h"
#include "planner/place-report.h"
#include "planner/search/planning.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

static const PsColumn columns[] = {
    {"stage", "stage", TRUE},
    {"data_parallel", "d", TRUE},
    {"tensor_parallel", "t", TRUE},
    {"in_flight", "y", TRUE},
    {"compute_s", "compute", TRUE},
    {"edge_s", "edge", TRUE},
    {"resync_s", "resync", TRUE},
    {"tps_s", "total", TRUE},
    {"memory_bytes", "memory", TRUE},
    {"memory_share", "of M", TRUE},
    {"layers", "layers (redone)", FALSE},
    {"recomputed_layers", NULL, FALSE},
    PS_PLACE_COLUMNS,
};
/* People see the recomputed layers in brackets behind the layers, scripts in a column; places are
 * there where the setting has levels, for people in a table of their own. */
#define N_FLAT (G_N_ELEMENTS(columns) - PS_N_PLACE_COLUMNS)
#define N_SHOWN (N_FLAT - 1)

static guint n_columns(const PsPlan *plan, gboolean people)
{
    return people ? N_SHOWN : ps_setting_is_flat(&plan->setting) ? N_FLAT : G_N_ELEMENTS(columns);
}

/* What a run of a plan with degrees that are not nested really takes. */
static void print_cycle_time(const PsPlan *plan, const PsProfile *profile,
                             const PsEstimate *estimate, PsOutput *output)
{
    g_autoptr(PsWorkload) workload =
        ps_plan_is_replayable(plan) ? NULL : ps_workload_from_plan(plan, profile, NULL);
    if (workload == NULL) {
        return;
    }
    double cycle_s = ps_cycle_time(workload);
    g_autofree char *text = ps_quantity_format(PS_SECONDS, cycle_s);
    double excess = cycle_s / estimate->tps_s - 1;
    if (excess < 1e-9) {
        ps_output_puts(output, "degrees not nested, yet a run reaches this TPS\n");
    } else {
        ps_print_paragraph(
            output, "degrees not nested: with these in-flight bounds a run takes %s (+%.1f%%)",
            text, 100 * excess);
    }
}

/* "p.json: 42 layers; 64 devices of 80 GiB at 25 GB/s; N = 256", or with levels the bandwidths in a
 * line below. */
static void print_setting(const PsSetting *setting, const PsProfile *profile, PsOutput *output)
{
    g_autofree char *name = g_path_get_basename(profile->path);
    g_autofree char *layers = ps_counted(profile->n_layers, "layer");
    g_autofree char *memory = ps_quantity_format(PS_BYTES, setting->memory_bytes);
    g_autofree char *bandwidth = ps_quantity_format(PS_BYTES_PER_S, setting->bandwidth_bytes_per_s);
    gboolean flat = ps_setting_is_flat(setting);
    g_autofree char *devices = ps_counted(setting->devices, "device");
    ps_print_paragraph(output, "%s: %s; %s of %s%s%s; N = %u", name, layers, devices, memory,
                       flat ? " at " : "", flat ? bandwidth : "", setting->microbatches);
    if (!flat) {
        g_autofree char *levels = ps_place_levels_text(setting);
        ps_print_paragraph(output, "levels: %s", levels);
    }
}

static char *claim_of(const PsPlan *plan)
{
    if (plan->optimal) {
        return g_strdup_printf("optimal: proven, no plan%s%s is faster under the cost model",
                               plan->among != NULL ? " " : "",
                               plan->among != NULL ? plan->among : "");
    }
    if (plan->gap > 0) {
        g_autofree char *gap = ps_percent_up(plan->gap);
        return g_strdup_printf("not proven optimal: at most %s above the optimum (more than %d "
                               "downsets; planned with layers taken together)",
                               gap, PS_MOST_DOWNSETS);
    }
    return g_strdup("not proven optimal");
}

static void print_summary(const PsPlan *plan, const PsProfile *profile, const PsEstimate *estimate,
                          const char *claim, PsOutput *output)
{
    g_autofree char *tps = ps_quantity_format(PS_SECONDS, estimate->tps_s);
    g_autofree char *stages = ps_counted(plan->n_stages, "stage");
    g_autofree char *devices = ps_counted(estimate->devices_used, "device");
    print_setting(&plan->setting, profile, output);
    ps_print_paragraph(output, "TPS %s per microbatch (%.4g/s); %s, %s, sum of d %u", tps,
                       1 / estimate->tps_s, stages, devices, estimate->sum_data_parallel);
    g_autofree char *own = claim == NULL ? claim_of(plan) : NULL;
    ps_print_paragraph(output, "%s", claim != NULL ? claim : own);
    if (plan->setting.in_flight == PS_IN_FLIGHT_SUFFICIENT) {
        ps_output_puts(output, "in-flight bounds sufficient: a run reaches this TPS\n");
    }
    print_cycle_time(plan, profile, estimate, output);
    ps_output_puts(output, "\n");
}

static void add_row(PsTable *table, const PsPlan *plan, const PsProfile *profile,
                    const PsEstimate *estimate, guint i, const PsTimeScale *scale, gboolean people)
{
    const PsStage *stage = &plan->stages[i];
    const PsStageEstimate *cost = &estimate->stages[i];
    ps_table_int(table, i);
    ps_table_int(table, stage->data_parallel);
    ps_table_int(table, stage->tensor_parallel);
    ps_table_int(table, cost->in_flight);
    const double times_s[] = {cost->compute_s, cost->edge_s, cost->resync_s, cost->tps_s};
    for (guint k = 0; k < G_N_ELEMENTS(times_s); k++) {
        ps_table_double(table, scale->format, times_s[k] / scale->unit_s, times_s[k]);
    }
    g_autofree char *memory = ps_quantity_format(PS_BYTES, cost->memory_bytes);
    g_autofree char *memory_exact = ps_double_format(cost->memory_bytes);
    ps_table_cell(table, memory, memory_exact);
    double share = cost->memory_bytes / plan->setting.memory_bytes;
    ps_table_double(table, "%.0f%%", 100 * share, share);
    g_autofree char *layers = ps_plan_layer_ranges(profile, stage);
    g_autofree char *recomputed = ps_plan_recompute_ranges(profile, stage);
    if (!people) {
        ps_table_cell(table, layers, NULL);
        ps_table_cell(table, recomputed, NULL);
        if (!ps_setting_is_flat(&plan->setting)) {
            ps_place_add_cells(table, plan, i);
        }
        return;
    }
    g_autofree char *both =
        *recomputed != '\0' ? g_strdup_printf("%s (%s)", layers, recomputed) : g_strdup(layers);
    ps_table_cell(table, both, NULL);
}

static void write_json(const PsPlan *plan, const PsProfile *profile, const char *profile_path,
                       const PsEstimate *estimate, PsOutput *output)
{
    g_autoptr(PsJsonWriter) writer = ps_json_writer_new(output);
    ps_json_begin_object(writer, NULL);
    ps_plan_write_members(plan, profile, profile_path, estimate, writer);
    ps_json_end_object(writer);
}

void ps_plan_report(const PsPlan *plan, const PsProfile *profile, const PsEstimate *estimate,
                    const char *claim, PsFormat format, PsOutput *output)
{
    if (format == PS_FORMAT_JSON) {
        write_json(plan, profile, profile->path, estimate, output);
        return;
    }
    gboolean people = format == PS_FORMAT_TABLE;
    g_autoptr(PsTable) table = ps_table_new(columns, n_columns(plan, people));
    PsTimeScale scale = ps_time_scale(estimate->tps_s);
    for (guint i = 0; i < plan->n_stages; i++) {
        add_row(table, plan, profile, estimate, i, &scale, people);
    }
    if (people) {
        print_summary(plan, profile, estimate, claim, output);
    }
    ps_table_print(table, format, output);
    if (people) {
        ps_output_printf(output, "times in %s per microbatch, each divided by d\n", scale.unit);
        if (!ps_setting_is_flat(&plan->setting)) {
            ps_output_puts(output, "\n");
            ps_place_report(plan, output);
        }
    }
}

PsOutput *ps_plan_open(const PsPlan *plan, const PsProfile *profile, const PsEstimate *estimate,
                       const char *path, char **sha256, GError **error)
{
    if (g_str_equal(profile->path, "-")) {
        ps_error(error, PS_ERROR_USAGE,
                 "a plan names its profile, and standard input cannot be found again (expected a "
                 "profile in a file)");
        return NULL;
    }
    g_autoptr(PsDigest) digest = ps_digest_new();
    g_autoptr(PsOutput) output = ps_output_open(path, error);
    if (output == NULL) {
        return NULL;
    }
    ps_output_digest(output, digest);
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *profile_path = ps_path_from(folder, profile->path);
    write_json(plan, profile, profile_path, estimate, output);
    ps_output_digest(output, NULL);
    if (!ps_output_settle(output, error)) {
        return NULL;
    }
    *sha256 = ps_digest_finish(digest);
    return g_steal_pointer(&output);
}

gboolean ps_plan_save(const PsPlan *plan, const PsProfile *profile, const PsEstimate *estimate,
                      const char *path, GError **error)
{
    g_autofree char *sha256 = NULL;
    g_autoptr(PsOutput) output = ps_plan_open(plan, profile, estimate, path, &sha256, error);
    return output != NULL && ps_output_commit(output, error);
}

static guint figure_of(const PsPlan *plan, guint stage, PsStageFigure figure)
{
    const PsStage *one = &plan->stages[stage];
    return figure == PS_STAGE_LAYERS            ? one->n_layers
           : figure == PS_STAGE_TENSOR_PARALLEL ? one->tensor_parallel
                                                : one->data_parallel;
}

char *ps_plan_figures_text(const PsPlan *plan, PsStageFigure figure, gboolean folded)
{
    GString *text = g_string_new(NULL);
    for (guint begin = 0, end; begin < plan->n_stages; begin = end) {
        guint first = figure_of(plan, begin, figure);
        for (end = begin + 1; folded && end < plan->n_stages; end++) {
            if (figure_of(plan, end, figure) != first) {
                break;
            }
        }
        g_string_append_printf(text, "%s%u", begin > 0 ? " " : "", first);
        if (end - begin > 1 && end - begin < plan->n_stages) {
            g_string_append_printf(text, "*%u", end - begin);
        }
    }
    return g_string_free(text, FALSE);
}
