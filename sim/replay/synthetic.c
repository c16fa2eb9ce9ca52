#include "sim/replay/synthetic.h"

#include <math.h>

#include "sim/base/error.h"
#include "sim/base/fields.h"
#include "sim/base/units.h"
#include "sim/replay/record.h"

#define MOST_STAGES 100000
#define MOST_MICROBATCHES 100000000
/* Forwards in all: a replay takes some 300 ns for one and its backward. */
#define MOST_FORWARDS 1000000000

enum { STAGES, MICROBATCHES, FORWARD, BACKWARD, WEIGHT, HOP, CHUNKS, N_FIELDS };

#define TIME(name, example)                                                                        \
    {                                                                                              \
        name, PS_FIELD_QUANTITY, example, 0, G_MAXDOUBLE, PS_SECONDS                               \
    }

static const PsField fields[N_FIELDS] = {
    [STAGES] = {"stages", PS_FIELD_COUNT, "8", 1, MOST_STAGES},
    [MICROBATCHES] = {"microbatches", PS_FIELD_COUNT, "24", 1, MOST_MICROBATCHES},
    [FORWARD] = TIME("forward", "18ms"),
    [BACKWARD] = TIME("backward", "18ms"),
    [WEIGHT] = TIME("weight", NULL),
    [HOP] = TIME("hop", NULL),
    [CHUNKS] = {"chunks", PS_FIELD_COUNT, NULL, 1, 1024},
};

static gboolean apply_chunks(const PsFieldValue *line, PsReplaySettings *settings, GError **error)
{
    const PsSchedule *schedule = settings->schedule;
    if (!line[CHUNKS].given) {
        return TRUE;
    }
    if (schedule->max_chunks == 1) {
        ps_error(error, PS_ERROR_USAGE, "schedule %s does not use chunks (expected none)",
                 schedule->name);
        return FALSE;
    }
    settings->chunks = (guint)line[CHUNKS].number;
    return ps_schedule_check_chunks(schedule, settings->chunks, error);
}

static PsWorkload *make_workload(const PsFieldValue *line, GError **error)
{
    guint p = (guint)line[STAGES].number;
    g_autoptr(PsWorkload) workload = ps_workload_new(p, p - 1, (guint)line[MICROBATCHES].number);
    for (guint i = 0; i < p; i++) {
        workload->stages[i] = (PsWorkStage){
            .data_parallel = 1,
            .tensor_parallel = 1,
            .in_flight = p - i,
            .forward_s = line[FORWARD].number,
            .backward_s = line[BACKWARD].number + line[WEIGHT].number,
            .weight_gradient_s = line[WEIGHT].number,
        };
    }
    workload->wrap.latency_s = line[HOP].number;
    for (guint i = 0; i + 1 < p; i++) {
        workload->borders[i] =
            (PsWorkBorder){.source = i, .target = i + 1, .latency_s = line[HOP].number};
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
    PsFieldValue line[N_FIELDS] = {0};
    GError *cause = NULL;
    PsWorkload *workload = NULL;
    if (ps_fields_parse(text, fields, N_FIELDS, line, &cause) &&
        apply_chunks(line, settings, &cause)) {
        workload = make_workload(line, &cause);
    }
    double work_s = line[FORWARD].number + line[BACKWARD].number + line[WEIGHT].number;
    ps_fields_clear(line, N_FIELDS);
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
    synthetic->work_s = work_s;
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
