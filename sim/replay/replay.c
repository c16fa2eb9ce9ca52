#include "sim/replay/replay.h"

#include "sim/base/error.h"
#include "sim/replay/state.h"

void ps_replay_result_free(PsReplayResult *result)
{
    if (result != NULL) {
        g_free(result->stages);
        g_free(result);
    }
}

static void init_lanes(PsReplay *replay)
{
    const PsWorkload *workload = replay->workload;
    guint n_versions = replay->settings->schedule->weight_versions;
    replay->lanes = g_new0(PsLane, workload->n_lanes);
    replay->resyncs = g_new0(PsBatchResync, workload->n_stages);
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *work = &workload->stages[i];
        replay->resyncs[i].open = g_new0(PsActivity, n_versions);
        replay->resyncs[i].n_joined = g_new0(guint, n_versions);
        for (guint k = 0; k < work->data_parallel; k++) {
            PsLane *lane = &replay->lanes[work->first_lane + k];
            *lane = (PsLane){.stage = i, .replica = k};
            lane->position.batch = workload->microbatches / work->data_parallel;
            lane->position.in_flight = work->in_flight;
            lane->position.end = G_MAXINT64;
            for (guint step = 0; step < PS_N_STEPS; step++) {
                ps_window_init(&lane->inputs[step]);
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
    replay->account = ps_account_new(workload, settings->schedule->weight_versions > 1, sink);
    replay->meter = ps_meter_new(workload);
    replay->activities = g_array_new(FALSE, TRUE, sizeof(PsReplayActivity));
    replay->ready = g_array_new(FALSE, FALSE, sizeof(PsReadyTransfer));
    replay->result = g_new0(PsReplayResult, 1);
    replay->result->n_stages = workload->n_stages;
    replay->result->stages = g_new0(PsReplayStage, workload->n_stages);
    init_lanes(replay);
    if (settings->start == PS_START_STEADY) {
        replay->block = ps_feed_block(replay);
        replay->steady = ps_feed_new_steady(replay);
    }
}

static void replay_clear(PsReplay *replay)
{
    for (guint i = 0; i < replay->workload->n_lanes; i++) {
        for (guint step = 0; step < PS_N_STEPS; step++) {
            ps_window_clear(&replay->lanes[i].inputs[step]);
        }
    }
    for (guint i = 0; i < replay->workload->n_stages; i++) {
        g_free(replay->resyncs[i].open);
        g_free(replay->resyncs[i].n_joined);
    }
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

PsReplayResult *ps_replay_run(const PsWorkload *workload, const PsReplaySettings *settings,
                              const PsTraceSink *sink, GError **error)
{
    PsReplay replay;
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
