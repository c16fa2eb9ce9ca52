#include "planner/check/check.h"

#include <math.h>

#include "planner/check/measure.h"
#include "planner/check/reason.h"
#include "sim/base/error.h"
#include "sim/base/units.h"

/* Sums of the same picoseconds in another order may differ in the last digits of a double. */
#define SAME 1e-9

/* The run's own figures beside those measured from its rows. */
typedef struct {
    const char *what;
    double said, measured;
    gboolean share; /* of a whole: a small one is the rest of a large one, and no more exact */
} Claim;

static gboolean differ(const Claim *claim)
{
    double whole = claim->share ? 1 : MAX(fabs(claim->said), fabs(claim->measured));
    return fabs(claim->said - claim->measured) > SAME * whole;
}

static gboolean hold(const PsRun *run, const char *where, const Claim *claims, guint n,
                     GError **error)
{
    for (guint i = 0; i < n; i++) {
        if (differ(&claims[i])) {
            g_autofree char *path = g_build_filename(run->folder, "summary.json", NULL);
            g_autofree char *said = ps_double_format(claims[i].said);
            g_autofree char *measured = ps_double_format(claims[i].measured);
            ps_error(error, PS_ERROR_INPUT,
                     "%s: %s%s is %s (expected %s, which is what the rest of the run gives)", path,
                     where, claims[i].what, said, measured);
            return FALSE;
        }
    }
    return TRUE;
}

/* A run in steady state whose times repeat, or one that is measured as a whole. */
static gboolean has_settled(const PsRunSummary *summary)
{
    const char *start = g_hash_table_lookup(summary->settings, "start");
    return summary->steady || g_strcmp0(start, "steady") != 0;
}

/* What the microbatches completed in the window are to be, by the rows. A run that does not settle
 * counts blocks of which every op has begun: they are complete in order of microbatches, and no
 * more than a batch away from that at either end. */
static double expected_completed(const PsRunSummary *summary, const PsPace *pace)
{
    gint64 said = summary->window_microbatches, batch = summary->setting.microbatches;
    gboolean near = ABS(said - pace->completed_in_order) <= batch;
    return (double)(!has_settled(summary) && near && said > 0 ? said : pace->completed);
}

/* What a stage's times in the window are divided by, where so many microbatches were passed in it.
 * Lanes that do not keep step do more than the window's microbatches; what is begun or ended at the
 * window's ends is less than a batch. */
static double microbatches_of(const PsRunSummary *summary, gint64 passed)
{
    gint64 said = summary->window_microbatches;
    gboolean in_step = ABS(passed - said) <= summary->setting.microbatches;
    return (double)(has_settled(summary) || in_step || passed <= 0 ? said : passed);
}

static gboolean run_claims_hold(const PsRun *run, const PsMeasure *measure, GError **error)
{
    const PsRunSummary *summary = run->summary;
    double window_s = ps_ps_to_seconds(summary->window_end_ps - summary->window_start_ps);
    double completed = expected_completed(summary, &measure->pace);
    const Claim claims[] = {
        {"the number of ops", (double)summary->n_ops, run->ops->len},
        {"makespan_s", ps_ps_to_seconds(summary->makespan_ps),
         ps_ps_to_seconds(measure->makespan_ps)},
        {"the number of microbatches completed in the window", (double)summary->window_microbatches,
         completed},
        {"tps_s", summary->tps_s, window_s / completed},
    };
    if (!hold(run, "", claims, G_N_ELEMENTS(claims), error)) {
        return FALSE;
    }
    double largest_s = 0;
    for (guint i = 0; i < summary->n_stages; i++) {
        const PsRunStage *said = &summary->stages[i];
        largest_s = MAX(largest_s, said->estimate.tps_s);
        double busiest_s = ps_ps_to_seconds(measure->stages[i].busiest_ps);
        const Claim stage_claims[] = {
            {"peak_memory_bytes", said->peak_memory_bytes, measure->stages[i].peak_memory_bytes},
            {"busy_s_per_microbatch", said->busy_s_per_microbatch,
             busiest_s / (double)summary->window_microbatches},
            {"bubble_share", said->bubble_share, 1 - busiest_s / window_s, .share = TRUE},
            {"the estimate's tps_s", said->estimate.tps_s,
             said->estimate.compute_s + said->estimate.edge_s + said->estimate.resync_s},
        };
        g_autofree char *where = g_strdup_printf("stage %u: ", i);
        if (!hold(run, where, stage_claims, G_N_ELEMENTS(stage_claims), error)) {
            return FALSE;
        }
    }
    const Claim estimate = {"estimate_tps_s", summary->estimate_tps_s, largest_s};
    return hold(run, "", &estimate, 1, error);
}

static void compare_stage(const PsRun *run, const PsMeasure *measure, guint i, PsCheckStage *stage)
{
    const PsRunStage *said = &run->summary->stages[i];
    const PsMeasuredStage *measured = &measure->stages[i];
    const PsRunSummary *summary = run->summary;
    double d = said->data_parallel, n = microbatches_of(summary, measured->passed) * d;
    double n_resync = measured->shared > 0 ? microbatches_of(summary, measured->shared) * d : n;
    stage->estimate =
        (PsCheckFigures){said->estimate.tps_s, said->estimate.compute_s, said->estimate.edge_s,
                         said->estimate.resync_s, said->estimate.memory_bytes};
    stage->replay = (PsCheckFigures){
        .compute_s = measured->compute_s / n,
        .edge_s = measured->edge_s / n,
        .resync_s = measured->resync_s / n_resync,
        .memory_bytes = measured->peak_memory_bytes,
    };
    stage->replay.tps_s = stage->replay.compute_s + stage->replay.edge_s + stage->replay.resync_s;
    stage->busy_s = measured->busy_s / n;
    stage->bubble_share = said->bubble_share;
}

/* The stage that needs more memory than a device has, or n_stages. */
static guint overfull_stage(const PsCheck *check)
{
    guint i = 0;
    while (i < check->n_stages &&
           check->stages[i].replay.memory_bytes <= check->memory_bytes * (1 + SAME)) {
        i++;
    }
    return i;
}

static void judge(PsCheck *check)
{
    g_autofree char *tolerance = ps_quantity_format(PS_RATIO, check->tolerance);
    gboolean within = fabs(check->relative_error) <= check->tolerance;
    guint overfull = overfull_stage(check);
    check->passed = within && overfull == check->n_stages;
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "%s: the replay is ", within ? "within tolerance" : "out of tolerance");
    if (fabs(check->relative_error) < SAME) {
        g_string_append(text, "as fast as the estimate");
    } else {
        g_string_append_printf(text, "%.4g %% %s than the estimate",
                               100 * fabs(check->relative_error),
                               check->relative_error > 0 ? "slower" : "faster");
    }
    g_string_append_printf(text, " (%s allowed)", tolerance);
    if (overfull < check->n_stages) {
        g_autofree char *peak =
            ps_quantity_format(PS_BYTES, check->stages[overfull].replay.memory_bytes);
        g_autofree char *has = ps_quantity_format(PS_BYTES, check->memory_bytes);
        g_string_append_printf(text, "; out of memory: stage %u peaks at %s of %s", overfull, peak,
                               has);
    }
    check->verdict = g_string_free(g_steal_pointer(&text), FALSE);
}

static gboolean is_complete(const PsRun *run, GError **error)
{
    if (run->summary->partial) {
        g_autofree char *after =
            ps_quantity_format(PS_SECONDS, ps_ps_to_seconds(run->summary->makespan_ps));
        ps_error(error, PS_ERROR_INPUT, "%s%sthe run %s %s (expected a complete one)",
                 run->folder != NULL ? run->folder : "", run->folder != NULL ? ": " : "",
                 run->summary->stops->len > 0 ? "came to a standstill at" : "was interrupted after",
                 after);
    }
    return !run->summary->partial;
}

PsCheck *ps_check_run(const PsRun *run, double tolerance, GError **error)
{
    g_autoptr(PsMeasure) measure = is_complete(run, error) ? ps_measure(run, error) : NULL;
    if (measure == NULL || !run_claims_hold(run, measure, error)) {
        return NULL;
    }
    const PsRunSummary *summary = run->summary;
    PsCheck *check = g_new0(PsCheck, 1);
    check->estimate_tps_s = summary->estimate_tps_s;
    check->simulated_tps_s = summary->tps_s;
    check->relative_error = summary->tps_s / summary->estimate_tps_s - 1;
    check->exact = ps_run_is_replayable(summary);
    check->reason = ps_reason(summary);
    check->n_stages = summary->n_stages;
    check->stages = g_new0(PsCheckStage, summary->n_stages);
    for (guint i = 0; i < summary->n_stages; i++) {
        compare_stage(run, measure, i, &check->stages[i]);
    }
    if (!has_settled(summary)) {
        double batch = summary->setting.microbatches;
        check->n_batches = measure->pace.n_batches;
        check->least_tps_s = ps_ps_to_seconds(measure->pace.least_batch_ps) / batch;
        check->most_tps_s = ps_ps_to_seconds(measure->pace.most_batch_ps) / batch;
        check->unsettled = ps_unsettled_text(run, measure);
    }
    check->memory_bytes = summary->setting.memory_bytes;
    check->tolerance = tolerance;
    judge(check);
    return check;
}

void ps_check_free(PsCheck *check)
{
    if (check == NULL) {
        return;
    }
    ps_restoration_free(check->restoration);
    g_free(check->reason);
    g_free(check->unsettled);
    g_free(check->verdict);
    g_free(check->stages);
    g_free(check);
}

gboolean ps_check_result(const PsCheck *check, GError **error)
{
    if (!check->passed) {
        ps_error(error, PS_ERROR_NEGATIVE, "%s", check->verdict);
    }
    return check->passed;
}

gboolean ps_check_restore(PsCheck *check, const PsPlan *plan, const PsProfile *profile,
                          GError **error)
{
    if (check->exact) {
        return TRUE;
    }
    check->restoration = ps_restoration_new(plan, profile, error);
    return check->restoration != NULL;
}

gboolean ps_check_parse_tolerance(const char *text, double *tolerance, GError **error)
{
    if (!ps_quantity_parse(PS_RATIO, text, tolerance, error)) {
        g_prefix_error(error, "--tolerance: ");
        return FALSE;
    }
    return TRUE;
}
