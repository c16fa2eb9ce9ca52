#include "planner/check/reason.h"

#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/replay/settings.h"

static guint degree(const PsRunSummary *summary, guint stage)
{
    return summary->stages[stage].data_parallel;
}

/* Where the degrees first turn, having gone the other way before, or G_MAXUINT. */
static guint find_turn(const PsRunSummary *summary)
{
    gboolean rose = FALSE, fell = FALSE;
    for (guint i = 1; i < summary->n_stages; i++) {
        rose |= degree(summary, i) > degree(summary, i - 1);
        fell |= degree(summary, i) < degree(summary, i - 1);
        if (rose && fell) {
            return i;
        }
    }
    return G_MAXUINT;
}

/* The first stage whose degree neither divides nor is divided by the one before, or G_MAXUINT. */
static guint find_misfit(const PsRunSummary *summary)
{
    for (guint i = 1; i < summary->n_stages; i++) {
        guint a = degree(summary, i - 1), b = degree(summary, i);
        if (a % b != 0 && b % a != 0) {
            return i;
        }
    }
    return G_MAXUINT;
}

gboolean ps_run_is_replayable(const PsRunSummary *summary)
{
    const char *rule = g_hash_table_lookup(summary->settings, "in-flight");
    return summary->nested || g_strcmp0(rule, ps_in_flight_names[PS_IN_FLIGHT_SUFFICIENT]) == 0;
}

static void add_degrees(GString *text, const PsRunSummary *summary)
{
    if (summary->nested) {
        g_string_append(text, "exact: the data-parallel degrees are nested (they run one way and "
                              "each divides its larger neighbour), so in-flight bounds y = "
                              "ceil(s/d) are enough to reach the estimate.");
        return;
    }
    if (ps_run_is_replayable(summary)) {
        g_string_append(text,
                        "exact: the in-flight bounds are sufficient (y = 1 + ceil(u/d), u the "
                        "microbatches that the stage after wants in flight), so whatever "
                        "the degrees, the estimate is reached.");
        return;
    }
    g_string_append(text, "optimistic: the data-parallel degrees are not nested (");
    guint misfit = find_misfit(summary), turn = find_turn(summary);
    if (misfit != G_MAXUINT) {
        g_string_append_printf(text,
                               "d = %u of stage %u and d = %u of stage %u: neither divides "
                               "the other",
                               degree(summary, misfit - 1), misfit - 1, degree(summary, misfit),
                               misfit);
    }
    if (turn != G_MAXUINT) {
        g_string_append_printf(text, "%sd turns at stage %u, from %u to %u",
                               misfit != G_MAXUINT ? "; " : "", turn, degree(summary, turn - 1),
                               degree(summary, turn));
    }
    g_string_append(text, "). Microbatches go to replicas in turn; with in-flight bounds of y = "
                          "ceil(s/d) replicas then wait for microbatches that others hold back, so "
                          "the estimate may not be reached.");
}

static void add_switches(GString *text, const PsRunSummary *summary)
{
    guint n = 0;
    for (const PsSwitch *one = ps_switches; one->name != NULL; one++) {
        const char *value = g_hash_table_lookup(summary->settings, one->name);
        if (value == NULL || g_strcmp0(value, one->piper) == 0) {
            continue;
        }
        g_string_append_printf(text, "%s%s=%s (planner: %s)",
                               n++ == 0 ? " The run also differs from the planner's assumptions in "
                                        : ", ",
                               one->name, value, one->piper);
    }
    if (n > 0) {
        g_string_append(text, ".");
    } else {
        g_string_append(text, " All switches are on the planner's side.");
    }
}

char *ps_reason(const PsRunSummary *summary)
{
    GString *text = g_string_new(NULL);
    add_degrees(text, summary);
    add_switches(text, summary);
    return g_string_free(text, FALSE);
}

static void add_batches(GString *text, const PsRunSummary *summary, const PsPace *pace)
{
    double batch = MAX(summary->setting.microbatches, 1);
    g_autofree char *least =
        ps_quantity_format(PS_SECONDS, ps_ps_to_seconds(pace->least_batch_ps) / batch);
    g_autofree char *most =
        ps_quantity_format(PS_SECONDS, ps_ps_to_seconds(pace->most_batch_ps) / batch);
    g_autofree char *batches = ps_counted((guint64)pace->n_batches, "batch");
    if (pace->n_batches == 0) {
        g_string_append(text, " No batch lies in the window as a whole.");
    } else if (g_str_equal(least, most)) {
        g_string_append_printf(text, " Each of the %s in the window takes %s per microbatch.",
                               batches, least);
    } else {
        g_string_append_printf(text, " The %s in the window take from %s to %s per microbatch.",
                               batches, least, most);
    }
}

#define MOST_TOLD 4

/* Replicas that keep each other waiting, by collectives of a batch, stay together in the long run.
 */
static void add_leads(GString *text, const PsRunSummary *summary, const PsMeasure *measure)
{
    guint n = 0;
    if (g_strcmp0(g_hash_table_lookup(summary->settings, "resync"), "batch") == 0) {
        return;
    }
    for (guint i = 0; i < summary->n_stages; i++) {
        const PsMeasuredStage *stage = &measure->stages[i];
        gint64 gained = stage->lead_after - stage->lead_before;
        if (gained > summary->stages[i].estimate.in_flight && n++ < MOST_TOLD) {
            const char *before =
                n > 1 ? ", "
                      : " Replicas drift apart: in the window the fastest gains on the slowest ";
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT "%s on stage %u", before, gained,
                                   n > 1 ? "" : " microbatches", i);
        }
    }
    if (n > MOST_TOLD) {
        g_string_append_printf(text, ", and more on %u others", n - MOST_TOLD);
    }
    if (n > 0) {
        g_string_append(text, ". What is counted is what all have done, so the slowest set the "
                              "pace; times of stages are means of what their replicas did.");
    }
}

/* Shares of an amortised resync, for which nobody waits. */
static void add_backlog(GString *text, const PsRunSummary *summary, const PsMeasure *measure)
{
    for (guint i = 0; i < summary->n_stages; i++) {
        const PsMeasuredStage *stage = &measure->stages[i];
        if (stage->shared > 0 && stage->passed - stage->shared > summary->setting.microbatches) {
            g_string_append_printf(text,
                                   " The amortised resync sets the pace: in the window stage %u "
                                   "passes %" G_GINT64_FORMAT " microbatches and reduces the "
                                   "gradients of %" G_GINT64_FORMAT ".",
                                   i, stage->passed, stage->shared);
            return;
        }
    }
}

char *ps_unsettled_text(const PsRun *run, const PsMeasure *measure)
{
    GString *text = g_string_new("not settled: the times of the run do not repeat.");
    add_batches(text, run->summary, &measure->pace);
    add_leads(text, run->summary, measure);
    add_backlog(text, run->summary, measure);
    if (measure->n_vanished > 0) {
        g_string_append_printf(
            text, " %" G_GINT64_FORMAT " forwards and backwards took no time and left no row.",
            measure->n_vanished);
    }
    return g_string_free(text, FALSE);
}
