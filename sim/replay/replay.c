#include "sim/replay/replay.h"

#include "sim/base/error.h"
#include "sim/replay/state.h"

void ps_replay_result_free(PsReplayResult *result)
{
    if (result != NULL) {
        g_free(result->stages);
        g_free(result->out_of_memory);
        g_free(result);
    }
}

static PsLaneShape lane_shape(const PsWorkload *workload, const PsReplaySettings *settings,
                              guint stage)
{
    const PsWorkStage *work = &workload->stages[stage];
    return (PsLaneShape){stage, workload->n_stages, settings->chunks,
                         workload->microbatches / work->data_parallel, work->in_flight};
}

static void init_lists(PsReplay *replay)
{
    const PsWorkload *workload = replay->workload;
    if (!ps_schedule_flushes(replay->settings->schedule)) {
        return;
    }
    replay->lists = g_new(GArray *, workload->n_stages);
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsLaneShape shape = lane_shape(workload, replay->settings, i);
        replay->lists[i] = ps_schedule_list(replay->settings->schedule, &shape);
        for (guint k = 0; k < replay->lists[i]->len; k++) {
            replay->in_parts |= g_array_index(replay->lists[i], PsStep, k).kind == PS_STEP_WEIGHT;
        }
    }
}

static void init_lanes(PsReplay *replay)
{
    const PsWorkload *workload = replay->workload;
    guint n_inputs = replay->settings->chunks * PS_N_FLOWS;
    replay->lanes = g_new0(PsLane, workload->n_lanes);
    replay->resyncs = g_new0(PsBatchResync, workload->n_stages);
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *work = &workload->stages[i];
        const PsLaneShape shape = lane_shape(workload, replay->settings, i);
        replay->resyncs[i].open = g_array_new(FALSE, TRUE, sizeof(PsOpenResync));
        for (guint k = 0; k < work->data_parallel; k++) {
            PsLane *lane = &replay->lanes[work->first_lane + k];
            *lane = (PsLane){.stage = i, .replica = k};
            ps_cursor_init(&lane->cursor, replay->settings->schedule, &shape,
                           replay->lists != NULL ? replay->lists[i] : NULL);
            lane->inputs = g_new(PsWindow, n_inputs);
            for (guint input = 0; input < n_inputs; input++) {
                ps_window_init(&lane->inputs[input]);
            }
        }
    }
}

static void replay_init(PsReplay *replay, const PsWorkload *workload,
                        const PsReplaySettings *settings, const PsTraceSink *sink)
{
    *replay = (PsReplay){.workload = workload, .settings = settings, .sink = sink};
    replay->program = ps_program_new(workload, settings);
    replay->simulator = ps_simulator_new();
    replay->streams = ps_streams_new(replay->simulator, workload->n_lanes * PS_N_STREAMS,
                                     PS_PRIORITY_END, &ps_lane_stream_funcs, replay);
    replay->match_handler =
        ps_simulator_add_handler(replay->simulator, ps_lane_match_transfers, replay);
    replay->close_handler = ps_simulator_add_handler(replay->simulator, ps_feed_close, replay);
    replay->deliver_handler = ps_simulator_add_handler(replay->simulator, ps_lane_arrive, replay);
    replay->account = ps_account_new(workload, settings, sink);
    replay->meter = ps_meter_new(workload);
    replay->activities = g_array_new(FALSE, TRUE, sizeof(PsReplayActivity));
    replay->ready = g_array_new(FALSE, FALSE, sizeof(PsReadyTransfer));
    replay->result = g_new0(PsReplayResult, 1);
    replay->result->n_stages = workload->n_stages;
    replay->result->stages = g_new0(PsReplayStage, workload->n_stages);
    init_lists(replay);
    init_lanes(replay);
    if (settings->start == PS_START_STEADY) {
        replay->block = ps_feed_block(replay);
        replay->steady = ps_feed_new_steady(replay);
    }
}

static void replay_clear(PsReplay *replay)
{
    for (guint i = 0; i < replay->workload->n_lanes; i++) {
        for (guint input = 0; input < replay->settings->chunks * PS_N_FLOWS; input++) {
            ps_window_clear(&replay->lanes[i].inputs[input]);
        }
        g_free(replay->lanes[i].inputs);
    }
    for (guint i = 0; i < replay->workload->n_stages; i++) {
        g_array_unref(replay->resyncs[i].open);
        if (replay->lists != NULL) {
            g_array_unref(replay->lists[i]);
        }
    }
    g_free(replay->lists);
    g_free(replay->lanes);
    g_free(replay->resyncs);
    g_array_unref(replay->activities);
    g_array_unref(replay->ready);
    ps_steady_free(replay->steady);
    ps_meter_free(replay->meter);
    ps_account_free(replay->account);
    ps_streams_free(replay->streams);
    ps_simulator_free(replay->simulator);
    ps_program_free(replay->program);
    ps_replay_result_free(replay->result);
}

static void finish_result(PsReplay *replay)
{
    PsReplayResult *result = replay->result;
    result->makespan_ps = ps_simulator_now(replay->simulator);
    if (replay->steady == NULL) {
        ps_feed_end_window(replay, result->microbatches_simulated);
    }
    for (guint i = 0; i < result->n_stages; i++) {
        PsReplayStage *stage = &result->stages[i];
        ps_account_peak(replay->account, i, &stage->peak_memory_bytes, stage->peak_category_bytes,
                        &stage->peak_stash_microbatches);
    }
}

/* What schedules with chunks need of the pipeline. */
static gboolean check_schedule(const PsWorkload *workload, const PsReplaySettings *settings,
                               GError **error)
{
    const PsSchedule *schedule = settings->schedule;
    const char *name = schedule->name;
    guint batch = workload->microbatches / workload->stages[0].data_parallel;
    if (schedule->n_stages > 0 &&
        (schedule->n_stages != workload->n_stages || schedule->batch != batch)) {
        ps_error(error, PS_ERROR_INPUT,
                 "%s: %u ranks and %u microbatches do not fit the pipeline (expected its %u stages "
                 "and %u microbatches per replica)",
                 name, schedule->n_stages, schedule->batch, workload->n_stages, batch);
        return FALSE;
    }
    for (guint i = 1; schedule->uniform && i < workload->n_stages; i++) {
        if (workload->stages[i].data_parallel != workload->stages[0].data_parallel) {
            ps_error(error, PS_ERROR_INPUT,
                     "schedule %s needs one data-parallel degree for all stages (stage %u has %u, "
                     "stage 0 has %u)",
                     name, i, workload->stages[i].data_parallel, workload->stages[0].data_parallel);
            return FALSE;
        }
    }
    for (guint i = 0; ps_replay_settings_cuts(settings) && i < workload->n_borders; i++) {
        const PsWorkBorder *border = &workload->borders[i];
        if (border->target != border->source + 1) {
            ps_error(error, PS_ERROR_INPUT,
                     "schedule %s needs a chain of stages (an edge of the model skips from stage "
                     "%u to stage %u)",
                     name, border->source, border->target);
            return FALSE;
        }
    }
    return TRUE;
}

PsReplayResult *ps_replay_run(const PsWorkload *workload, const PsReplaySettings *settings,
                              const PsTraceSink *sink, GError **error)
{
    PsReplay replay;
    if (!check_schedule(workload, settings, error)) {
        return NULL;
    }
    replay_init(&replay, workload, settings, sink);
    if (settings->start == PS_START_COLD) {
        ps_feed_set_end(&replay, workload->microbatches);
    } else {
        for (guint i = 0; i < workload->n_lanes; i++) {
            ps_lane_try_start(&replay, i);
        }
    }
    ps_simulator_run(replay.simulator);
    PsReplayResult *result = NULL;
    if (replay.overran) {
        ps_error(error, PS_ERROR_INPUT,
                 "the run takes more than %d days (expected less; a slip of units?)",
                 (int)(G_MAXINT64 / 2 / G_GINT64_CONSTANT(86400000000000000)));
    } else if (ps_replay_check_done(&replay, error)) {
        finish_result(&replay);
        result = g_steal_pointer(&replay.result);
    }
    replay_clear(&replay);
    return result;
}
