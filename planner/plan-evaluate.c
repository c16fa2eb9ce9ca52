/* A plan that somebody else made: legal or not, what it costs, how far from the best one. */
#include <math.h>

#include "planner/evaluate.h"
#include "planner/plan-mode.h"
#include "planner/plan-report.h"
#include "planner/search/scope.h"
#include "sim/base/error.h"
#include "sim/base/units.h"

typedef struct {
    const PsPlanRequest *request;
    const PsEvaluation *evaluation;
    PsEstimate *estimate;                 /* NULL where there is no plan to estimate */
    double best_tps_s, best_nested_tps_s; /* NAN where there is no plan to compare with ... */
    double bound_s;                       /* no plan of the best one's class is below */
    gboolean proven, is_one;              /* the best one meets it; ours is of its class */
    char *among;                          /* what class that is; NULL: all plans */
    GError *why_none;                     /* ... and why */
} Verdict;

static gboolean is_legal(const Verdict *verdict)
{
    return verdict->evaluation->violations->len == 0;
}

static double tps_s(const Verdict *verdict)
{
    return verdict->estimate != NULL ? verdict->estimate->tps_s : NAN;
}

/* ---- the best plans ------------------------------------------------------------------------- */

static PsPlan *best_plan(const PsPlanRequest *request, PsDegrees degrees, GError **error)
{
    PsPlannerOptions options = request->options;
    options.degrees = degrees;
    return ps_planner_plan(request->profile, &request->setting, &options, error);
}

static double plan_tps_s(const PsPlan *plan, const PsProfile *profile)
{
    if (plan == NULL) {
        return NAN;
    }
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    return estimate->tps_s;
}

static void find_best(Verdict *verdict)
{
    const PsPlanRequest *request = verdict->request;
    g_autoptr(PsPlan) best = best_plan(request, request->options.degrees, &verdict->why_none);
    verdict->best_tps_s = verdict->best_nested_tps_s = plan_tps_s(best, request->profile);
    verdict->among = ps_scope_text(&request->options);
    verdict->proven = best != NULL && best->optimal;
    verdict->bound_s = best != NULL ? verdict->best_tps_s / (1 + best->gap) : NAN;
    if (best != NULL && !ps_plan_is_nested(best)) {
        g_autoptr(PsPlan) nested = best_plan(request, PS_DEGREES_NESTED, NULL);
        verdict->best_nested_tps_s = plan_tps_s(nested, request->profile);
    }
}

/* ---- reports -------------------------------------------------------------------------------- */

static char *join_completed(const PsEvaluation *evaluation, const char *separator)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < evaluation->completed->len; i++) {
        g_string_append_printf(text, "%s%u", i > 0 ? separator : "",
                               g_array_index(evaluation->completed, guint, i));
    }
    return g_string_free(text, FALSE);
}

static void print_distance(const Verdict *verdict, PsOutput *output)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (verdict->why_none != NULL) {
        g_string_append_printf(text, "There is no plan to compare with: %s",
                               verdict->why_none->message);
        ps_print_paragraph(output, "%s", text->str);
        return;
    }
    g_autofree char *best = ps_quantity_format(PS_SECONDS, verdict->best_tps_s);
    g_autofree char *own = ps_quantity_format(PS_SECONDS, tps_s(verdict));
    g_autofree char *nested = ps_quantity_format(PS_SECONDS, verdict->best_nested_tps_s);
    g_string_append_printf(text, "The best plan%s%s has TPS %s%s",
                           verdict->among != NULL ? " " : "",
                           verdict->among != NULL ? verdict->among : "", best,
                           verdict->proven ? "" : " (with layers taken together)");
    if (verdict->best_nested_tps_s != verdict->best_tps_s) {
        g_string_append_printf(text, ", the best with nested degrees %s", nested);
    }
    if (verdict->estimate != NULL && is_legal(verdict)) {
        g_string_append_printf(text, ", this one%s %s: %.3f times the best",
                               verdict->is_one ? "" : ", which is none of those,", own,
                               tps_s(verdict) / verdict->best_tps_s);
    }
    g_string_append(text, ".");
    ps_print_paragraph(output, "%s", text->str);
}

static void print_table(const Verdict *verdict, PsOutput *output)
{
    const PsEvaluation *evaluation = verdict->evaluation;
    ps_print_paragraph(output, "%s: %s", verdict->request->argument,
                       is_legal(verdict) ? "legal" : "not legal");
    for (guint i = 0; i < evaluation->violations->len; i++) {
        ps_print_paragraph(output, "- %s", (const char *)evaluation->violations->pdata[i]);
    }
    if (evaluation->plan != NULL && evaluation->completed->len > 0) {
        g_autofree char *stages = join_completed(evaluation, ", ");
        ps_print_paragraph(output, "TMPCs chosen here for stages %s.", stages);
    }
    print_distance(verdict, output);
    if (verdict->estimate != NULL) {
        ps_output_puts(output, "\n");
        ps_plan_report(evaluation->plan, verdict->request->profile, verdict->estimate, NULL,
                       PS_FORMAT_TABLE, output);
    }
}

static void print_csv(const Verdict *verdict, PsOutput *output)
{
    static const PsColumn columns[] = {
        {"file", "file", FALSE},
        {"legal", "legal", FALSE},
        {"tps_s", "TPS", TRUE},
        {"best_tps_s", "best TPS", TRUE},
        {"ratio", "ratio", TRUE},
        {"best_nested_tps_s", "best nested TPS", TRUE},
        {"completed_stages", "completed stages", FALSE},
        {"violations", "violations", FALSE},
    };
    const PsEvaluation *evaluation = verdict->evaluation;
    g_autoptr(PsTable) table = ps_table_new(columns, G_N_ELEMENTS(columns));
    g_autofree char *stages = join_completed(evaluation, " ");
    g_autoptr(GString) violations = g_string_new(NULL);
    for (guint i = 0; i < evaluation->violations->len; i++) {
        g_string_append_printf(violations, "%s%s", i > 0 ? "; " : "",
                               (const char *)evaluation->violations->pdata[i]);
    }
    ps_table_cell(table, verdict->request->argument, NULL);
    ps_table_cell(table, is_legal(verdict) ? "true" : "false", NULL);
    const double figures[] = {tps_s(verdict), verdict->best_tps_s,
                              tps_s(verdict) / verdict->best_tps_s, verdict->best_nested_tps_s};
    for (guint i = 0; i < G_N_ELEMENTS(figures); i++) {
        ps_table_double(table, "%g", figures[i], figures[i]);
    }
    ps_table_cell(table, stages, NULL);
    ps_table_cell(table, violations->str, NULL);
    ps_table_print(table, PS_FORMAT_CSV, output);
}

static void write_plan(const Verdict *verdict, PsJsonWriter *writer)
{
    if (verdict->estimate == NULL) {
        ps_json_put_string(writer, "plan", NULL);
        return;
    }
    ps_json_begin_object(writer, "plan");
    ps_plan_write_members(verdict->evaluation->plan, verdict->request->profile,
                          verdict->request->profile->path, verdict->estimate, writer);
    ps_json_end_object(writer);
}

static void print_json(const Verdict *verdict, PsOutput *output)
{
    const PsEvaluation *evaluation = verdict->evaluation;
    g_autoptr(PsJsonWriter) writer = ps_json_writer_new(output);
    ps_json_begin_object(writer, NULL);
    ps_json_put_string(writer, "file", verdict->request->argument);
    ps_json_put_boolean(writer, "legal", is_legal(verdict));
    ps_json_begin_array(writer, "violations");
    for (guint i = 0; i < evaluation->violations->len; i++) {
        ps_json_put_string(writer, NULL, evaluation->violations->pdata[i]);
    }
    ps_json_end_array(writer);
    ps_json_begin_array(writer, "completed_stages");
    for (guint i = 0; i < evaluation->completed->len; i++) {
        ps_json_put_int(writer, NULL, g_array_index(evaluation->completed, guint, i));
    }
    ps_json_end_array(writer);
    ps_json_put_double(writer, "tps_s", tps_s(verdict));
    ps_json_put_double(writer, "best_tps_s", verdict->best_tps_s);
    ps_json_put_string(writer, "best_among", verdict->among);
    ps_json_put_boolean(writer, "best_proven", verdict->proven);
    ps_json_put_double(writer, "ratio", tps_s(verdict) / verdict->best_tps_s);
    ps_json_put_double(writer, "best_nested_tps_s", verdict->best_nested_tps_s);
    write_plan(verdict, writer);
    ps_json_end_object(writer);
}

static gboolean print(const Verdict *verdict, GError **error)
{
    static void (*const printers[])(const Verdict *, PsOutput *) = {
        [PS_FORMAT_TABLE] = print_table,
        [PS_FORMAT_CSV] = print_csv,
        [PS_FORMAT_JSON] = print_json,
    };
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    printers[verdict->request->format](verdict, output);
    return ps_output_commit(output, error);
}

/* ---- the mode ------------------------------------------------------------------------------- */

static void free_draft(gpointer draft)
{
    ps_draft_free(draft);
}

static gboolean prepare(PsPlanRequest *request, GError **error)
{
    PsDraft *draft = ps_draft_load(request->argument, request->profile, error);
    if (draft != NULL && draft->file->has_setting) {
        request->setting = draft->file->setting;
    }
    request->input = draft;
    request->free_input = free_draft;
    return draft != NULL;
}

static gboolean best_is_open(const Verdict *verdict)
{
    return verdict->why_none == NULL && !verdict->proven;
}

/* A legal plan that is as fast as the best of its class, and of that class, is itself proven best.
 */
static void judge_distance(Verdict *verdict)
{
    find_best(verdict);
    PsPlan *plan = verdict->evaluation->plan;
    if (plan != NULL) {
        verdict->estimate = ps_plan_estimate(plan, verdict->request->profile);
        verdict->is_one = ps_scope_has(&verdict->request->options, plan, verdict->request->profile);
        plan->optimal = is_legal(verdict) && verdict->is_one && verdict->proven &&
                        tps_s(verdict) <= verdict->best_tps_s * (1 + 1e-12);
        plan->gap =
            verdict->is_one && best_is_open(verdict) ? tps_s(verdict) / verdict->bound_s - 1 : 0;
        plan->batch_gap = NAN;
        g_free(plan->among);
        plan->among = plan->optimal ? g_strdup(verdict->among) : NULL;
    }
}

static gboolean deliver(const Verdict *verdict, GError **error)
{
    const PsPlanRequest *request = verdict->request;
    const GPtrArray *violations = verdict->evaluation->violations;
    if (is_legal(verdict) && request->path != NULL &&
        !ps_plan_save(verdict->evaluation->plan, request->profile, verdict->estimate, request->path,
                      error)) {
        return FALSE;
    }
    if (!print(verdict, error)) {
        return FALSE;
    }
    if (!is_legal(verdict)) {
        ps_error(error, PS_ERROR_NEGATIVE, "%s: not legal: %u rule%s broken", request->argument,
                 violations->len, violations->len == 1 ? " is" : "s are");
    }
    return is_legal(verdict);
}

static gboolean run(const PsPlanRequest *request, GError **error)
{
    g_autoptr(PsEvaluation) evaluation =
        ps_evaluate(request->input, request->profile, &request->setting,
                    request->options.restrictions.recompute, error);
    if (evaluation == NULL) {
        return FALSE;
    }
    Verdict verdict = {.request = request, .evaluation = evaluation};
    judge_distance(&verdict);
    gboolean done = deliver(&verdict, error);
    ps_estimate_free(verdict.estimate);
    g_free(verdict.among);
    g_clear_error(&verdict.why_none);
    return done;
}

const PsPlanMode ps_plan_mode_evaluate = {
    .option = "evaluate",
    .argument = "FILE",
    .help = "Judge, and complete, a plan or layout made elsewhere",
    .prepare = prepare,
    .run = run,
};
