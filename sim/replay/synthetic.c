#include "sim/replay/synthetic.h"

#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/base/units.h"
#include "sim/replay/record.h"

#define MOST_STAGES 100000
#define MOST_MICROBATCHES 100000000
/* Forwards in all: a replay takes some 300 ns for one and its backward. */
#define MOST_FORWARDS 1000000000

enum { STAGES, MICROBATCHES, FORWARD, BACKWARD, WEIGHT, HOP, CHUNKS, N_FIELDS };

static const struct {
    const char *name;
    guint64 most; /* of a count; 0: a time */
    gboolean needed;
} fields[N_FIELDS] = {
    [STAGES] = {"stages", MOST_STAGES, TRUE},
    [MICROBATCHES] = {"microbatches", MOST_MICROBATCHES, TRUE},
    [FORWARD] = {"forward", 0, TRUE},
    [BACKWARD] = {"backward", 0, TRUE},
    [WEIGHT] = {"weight", 0, FALSE},
    [HOP] = {"hop", 0, FALSE},
    [CHUNKS] = {"chunks", 1024, FALSE},
};

typedef struct {
    gboolean given[N_FIELDS];
    guint64 counts[N_FIELDS];
    double times_s[N_FIELDS];
} Line;

static guint find_field(const char *name, GError **error)
{
    const char *names[N_FIELDS + 1] = {NULL};
    for (guint i = 0; i < N_FIELDS; i++) {
        names[i] = fields[i].name;
        if (g_str_equal(name, names[i])) {
            return i;
        }
    }
    g_autofree char *suggestion = ps_suggest_text(name, names);
    ps_error(error, PS_ERROR_USAGE, "unknown field \"%s\"%s", name, suggestion);
    return N_FIELDS;
}

static gboolean parse_field(Line *line, const char *word, GError **error)
{
    const char *equals = strchr(word, '=');
    if (equals == NULL) {
        ps_error(error, PS_ERROR_USAGE, "\"%s\" has no value (expected NAME=VALUE)", word);
        return FALSE;
    }
    g_autofree char *name = g_strndup(word, (gsize)(equals - word));
    guint field = find_field(name, error);
    if (field == N_FIELDS) {
        return FALSE;
    }
    if (line->given[field]) {
        ps_error(error, PS_ERROR_USAGE, "%s is given twice", name);
        return FALSE;
    }
    line->given[field] = TRUE;
    gboolean fine =
        fields[field].most > 0
            ? ps_count_parse(equals + 1, 1, fields[field].most, &line->counts[field], error)
            : ps_quantity_parse(PS_SECONDS, equals + 1, &line->times_s[field], error);
    if (!fine) {
        g_prefix_error(error, "%s: ", name);
    }
    return fine;
}

static gboolean parse_line(Line *line, const char *text, GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(text, " \t", -1);
    for (guint i = 0; words[i] != NULL; i++) {
        if (*words[i] != '\0' && !parse_field(line, words[i], error)) {
            return FALSE;
        }
    }
    for (guint i = 0; i < N_FIELDS; i++) {
        if (fields[i].needed && !line->given[i]) {
            ps_error(error, PS_ERROR_USAGE, "%s is missing", fields[i].name);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean apply_chunks(const Line *line, PsReplaySettings *settings, GError **error)
{
    const PsSchedule *schedule = settings->schedule;
    if (!line->given[CHUNKS]) {
        return TRUE;
    }
    if (schedule->max_chunks == 1) {
        ps_error(error, PS_ERROR_USAGE, "schedule %s does not use chunks (expected none)",
                 schedule->name);
        return FALSE;
    }
    settings->chunks = (guint)line->counts[CHUNKS];
    return ps_schedule_check_chunks(schedule, settings->chunks, error);
}

static PsWorkload *make_workload(const Line *line, GError **error)
{
    guint p = (guint)line->counts[STAGES];
    g_autoptr(PsWorkload) workload = ps_workload_new(p, p - 1, (guint)line->counts[MICROBATCHES]);
    for (guint i = 0; i < p; i++) {
        workload->stages[i] = (PsWorkStage){
            .data_parallel = 1,
            .tensor_parallel = 1,
            .in_flight = p - i,
            .forward_s = line->times_s[FORWARD],
            .backward_s = line->times_s[BACKWARD] + line->times_s[WEIGHT],
            .weight_gradient_s = line->times_s[WEIGHT],
        };
    }
    workload->wrap.latency_s = line->times_s[HOP];
    for (guint i = 0; i + 1 < p; i++) {
        workload->borders[i] =
            (PsWorkBorder){.source = i, .target = i + 1, .latency_s = line->times_s[HOP]};
    }
    if (!ps_workload_finish(workload, error)) {
        return NULL;
    }
    return g_steal_pointer(&workload);
}

static gboolean within_reason(const PsWorkload *workload, guint chunks, GError **error)
{
    double forwards = (double)workload->n_stages * workload->microbatches * chunks;
    if (forwards > MOST_FORWARDS) {
        ps_error(error, PS_ERROR_USAGE,
                 "stages, microbatches and chunks make %.3g forwards (expected at most %d)",
                 forwards, MOST_FORWARDS);
        return FALSE;
    }
    return TRUE;
}

PsSynthetic *ps_synthetic_parse(const char *text, PsReplaySettings *settings, GError **error)
{
    Line line = {0};
    GError *cause = NULL;
    PsWorkload *workload = NULL;
    if (parse_line(&line, text, &cause) && apply_chunks(&line, settings, &cause)) {
        workload = make_workload(&line, &cause);
    }
    if (workload != NULL && !within_reason(workload, settings->chunks, &cause)) {
        g_clear_pointer(&workload, ps_workload_free);
    }
    if (workload == NULL) {
        ps_error(error, PS_ERROR_USAGE, "--synthetic: %s", cause->message);
        g_error_free(cause);
        return NULL;
    }
    PsSynthetic *synthetic = g_new0(PsSynthetic, 1);
    synthetic->text = g_strdup(text);
    synthetic->workload = workload;
    synthetic->work_s = line.times_s[FORWARD] + line.times_s[BACKWARD] + line.times_s[WEIGHT];
    return synthetic;
}

void ps_synthetic_free(PsSynthetic *synthetic)
{
    if (synthetic != NULL) {
        g_free(synthetic->text);
        ps_workload_free(synthetic->workload);
        g_free(synthetic);
    }
}

/* The planner's closed form of equal stages without transfers of its own: the work of one. */
static void describe(const PsSynthetic *synthetic, PsRunSummary *summary)
{
    summary->synthetic = g_strdup(synthetic->text);
    summary->setting.devices = synthetic->workload->n_stages;
    summary->setting.microbatches = synthetic->workload->microbatches;
    summary->time_unit_s = 1;
    summary->estimate_tps_s = synthetic->work_s;
    summary->nested = TRUE;
    for (guint i = 0; i < summary->n_stages; i++) {
        PsRunStage *stage = &summary->stages[i];
        stage->layers = g_strdup("");
        stage->estimate = (PsStageEstimate){
            .in_flight = synthetic->workload->stages[i].in_flight,
            .compute_s = synthetic->work_s,
            .tps_s = synthetic->work_s,
        };
    }
}

PsRun *ps_synthetic_replay(const PsSynthetic *synthetic, const PsReplaySettings *settings,
                           const char *folder, GError **error)
{
    PsReplaySettings cold = *settings;
    cold.start = PS_START_COLD;
    g_autoptr(PsRun) run = ps_run_new(synthetic->workload->n_stages);
    describe(synthetic, run->summary);
    if (!ps_replay_record(run, synthetic->workload, &cold, folder, 0, error)) {
        return NULL;
    }
    return g_steal_pointer(&run);
}

double ps_synthetic_bubble_rate(const PsSynthetic *synthetic, const PsRunSummary *summary)
{
    double makespan_s = ps_ps_to_seconds(summary->makespan_ps);
    double work_s = synthetic->workload->microbatches * synthetic->work_s;
    /* Less than the clock can tell is the rounding of the parts. */
    double idle_s = makespan_s - work_s;
    return fabs(idle_s) < 1e-12 ? 0 : idle_s / makespan_s;
}
