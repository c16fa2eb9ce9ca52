#include "sim/replay/replay.h"

#include "sim/base/error.h"
#include "sim/base/interrupt.h"
#include "sim/base/progress.h"
#include "sim/base/text.h"
#include "sim/replay/state.h"

void ps_replay_result_free(PsReplayResult *result)
{
    if (result != NULL) {
        g_free(result->stages);
        g_free(result->standstill);
        g_clear_pointer(&result->stops, g_array_unref);
        g_clear_pointer(&result->links, g_array_unref);
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
    const PsSchedule *schedule = replay->settings->schedule;
    replay->transfers = schedule->transfers != NULL ? g_new(GArray *, workload->n_stages) : NULL;
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsLaneShape shape = lane_shape(workload, replay->settings, i);
        if (replay->transfers != NULL) {
            replay->transfers[i] = g_array_new(FALSE, FALSE, sizeof(PsStepTransfer));
            schedule->transfers(schedule, &shape, replay->transfers[i]);
        }
        replay->lists[i] = ps_schedule_list(replay->settings->schedule, &shape);
        for (guint k = 0; k < replay->lists[i]->len; k++) {
            replay->in_parts |= g_array_index(replay->lists[i], PsStep, k).kind == PS_STEP_WEIGHT;
        }
    }
}

/* The order of sends and receives on one stream, of each lane that has any. */
static PsPosting *make_posting(const PsReplay *replay, const PsLaneShape *shape)
{
    const PsReplaySettings *settings = replay->settings;
    if (settings->streams != PS_STREAMS_SINGLE || replay->program->n_links == 0) {
        return NULL;
    }
    return ps_posting_new(settings->schedule, shape,
                          replay->lists != NULL ? replay->lists[shape->stage] : NULL,
                          replay->transfers != NULL ? replay->transfers[shape->stage] : NULL);
}

/* What the lane's devices suffer. */
static void disturb_lane(PsReplay *replay, PsLane *lane)
{
    const PsDisturbance *disturbance = replay->settings->disturbance;
    const PsWorkStage *work = &replay->workload->stages[lane->stage];
    guint t = work->tensor_parallel;
    const guint *devices = replay->program->devices + work->first_rank + lane->replica * t;
    lane->slowness = lane->link_factor = 1;
    lane->stop_ps = G_MAXINT64;
    for (guint i = 0; disturbance != NULL && i < t; i++) {
        double slowness = ps_disturbance_slowness(disturbance, devices[i], 1);
        double link_factor = ps_disturbance_link_factor(disturbance, devices[i], 1);
        lane->slowness = MAX(lane->slowness, slowness);
        lane->link_factor = MAX(lane->link_factor, link_factor);
        lane->stop_ps = MIN(lane->stop_ps, ps_disturbance_stop_ps(disturbance, devices[i], 1));
    }
    replay->stops = replay->stops || lane->stop_ps < G_MAXINT64;
}

static void init_lane(PsReplay *replay, PsLane *lane, const PsLaneShape *shape)
{
    guint n_inputs = replay->settings->chunks * PS_N_FLOWS;
    ps_cursor_init(&lane->cursor, replay->settings->schedule, shape,
                   replay->lists != NULL ? replay->lists[shape->stage] : NULL);
    lane->posting = make_posting(replay, shape);
    disturb_lane(replay, lane);
    lane->inputs = g_new(PsWindow, n_inputs);
    for (guint input = 0; input < n_inputs; input++) {
        ps_window_init(&lane->inputs[input]);
    }
}

static void init_stages(PsReplay *replay)
{
    const PsWorkload *workload = replay->workload;
    replay->lanes = g_new0(PsLane, workload->n_lanes);
    replay->channels = g_new0(PsChannel *, workload->n_stages);
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *work = &workload->stages[i];
        const PsLaneShape shape = lane_shape(workload, replay->settings, i);
        for (guint k = 0; k < work->data_parallel; k++) {
            PsLane *lane = &replay->lanes[work->first_lane + k];
            *lane = (PsLane){.stage = i, .replica = k};
            init_lane(replay, lane, &shape);
        }
        guint n_joints = replay->program->stages[i].n_joints;
        replay->channels[i] = g_new0(PsChannel, n_joints);
        for (guint k = 0; k < n_joints; k++) {
            replay->channels[i][k].open = g_array_new(FALSE, TRUE, sizeof(PsOpenJoint));
        }
    }
}

static void init_events(PsReplay *replay)
{
    PsSimulator *simulator = replay->simulator;
    replay->streams = ps_streams_new(simulator, replay->workload->n_lanes * PS_N_STREAMS,
                                     PS_PRIORITY_END, &ps_activity_stream_funcs, replay);
    replay->match_handler = ps_simulator_add_handler(simulator, ps_transfer_match, replay);
    replay->close_handler = ps_simulator_add_handler(simulator, ps_feed_close, replay);
    replay->deliver_handler = ps_simulator_add_handler(simulator, ps_transfer_arrive, replay);
    replay->bucket_handler = ps_simulator_add_handler(simulator, ps_update_bucket_ready, replay);
    replay->wake_handler = ps_simulator_add_handler(simulator, ps_lane_wake, replay);
    replay->settle_handler = ps_simulator_add_handler(simulator, ps_replay_settle, replay);
    replay->activities = g_array_new(FALSE, TRUE, sizeof(PsReplayActivity));
    replay->ready = g_array_new(FALSE, FALSE, sizeof(PsReadyTransfer));
    replay->waking = g_array_new(FALSE, FALSE, sizeof(guint));
    replay->meetings = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

static gboolean check_disturbance(const PsReplay *replay, GError **error)
{
    const PsNetwork *network = replay->fabric != NULL ? ps_fabric_network(replay->fabric) : NULL;
    const PsWorkload *workload = replay->workload;
    const PsWorkStage *last = &workload->stages[workload->n_stages - 1];
    guint n_devices = network != NULL
                          ? ps_network_devices(network)
                          : last->first_rank + last->data_parallel * last->tensor_parallel;
    const PsDisturbance *disturbance = replay->settings->disturbance;
    if (!ps_disturbance_check(disturbance, n_devices, network, error)) {
        return FALSE;
    }
    if (network != NULL) {
        ps_disturbance_slow_capacities(disturbance, network, ps_fabric_capacities(replay->fabric));
    }
    return TRUE;
}

/* Compiles the workload; over a network, prepares that. */
static gboolean init_program(PsReplay *replay, GError **error)
{
    const PsReplaySettings *settings = replay->settings;
    replay->simulator = ps_simulator_new();
    if (settings->network == PS_NETWORK_TOPOLOGY) {
        replay->fabric = ps_fabric_new(settings->topology);
    }
    if (!check_disturbance(replay, error)) {
        return FALSE;
    }
    replay->program = ps_program_new(replay->workload, settings, replay->fabric, error);
    const PsWorkStage *last = &replay->workload->stages[replay->workload->n_stages - 1];
    guint n_ranks = last->first_rank + last->data_parallel * last->tensor_parallel;
    return replay->program != NULL &&
           ps_disturbance_check_used(settings->disturbance, replay->program->devices, n_ranks,
                                     error) &&
           (replay->fabric == NULL ||
            ps_fabric_open(replay->fabric, replay->simulator, PS_PRIORITY_END, error));
}

static void sample_prepared(gpointer owner, const PsPreparation *preparation)
{
    const PsReplay *replay = owner;
    gint64 end = replay->result->microbatches_simulated; /* 0 as long as nobody knows */
    gboolean wanted = end == 0 || preparation->sample < end;
    if (wanted && replay->sink != NULL && replay->sink->load != NULL) {
        const PsTraceLoad load = {preparation->server, preparation->sample, preparation->start_ps,
                                  preparation->end_ps};
        replay->sink->load(&load, replay->sink->user_data);
    }
}

static void init_loader(PsReplay *replay)
{
    static const PsLoaderFuncs funcs = {ps_lane_deliver_sample, sample_prepared};
    if (replay->settings->loader != NULL) {
        replay->loader = ps_loader_new(replay->settings->loader, replay->simulator, PS_PRIORITY_END,
                                       PS_PRIORITY_LOAD, &funcs, replay);
    }
}

static gboolean replay_init(PsReplay *replay, const PsWorkload *workload,
                            const PsReplaySettings *settings, const PsTraceSink *sink,
                            GError **error)
{
    *replay = (PsReplay){.workload = workload, .settings = settings, .sink = sink};
    if (!init_program(replay, error)) {
        return FALSE;
    }
    init_events(replay);
    replay->account = ps_account_new(workload, settings, sink);
    replay->meter = ps_meter_new(workload);
    replay->draws = ps_draws_new(settings->disturbance, workload->n_lanes);
    replay->result = g_new0(PsReplayResult, 1);
    replay->result->n_stages = workload->n_stages;
    replay->result->stages = g_new0(PsReplayStage, workload->n_stages);
    init_lists(replay);
    init_stages(replay);
    replay->defers =
        settings->optimizer_bytes_per_s > 0 && !ps_schedule_flushes(settings->schedule);
    init_loader(replay);
    replay->joint_rows = ps_observe_joint_rows(replay);
    /* A run in which something stops goes on until nothing moves any more. */
    if (settings->start == PS_START_STEADY && !replay->stops) {
        replay->block = ps_observe_block(replay);
        replay->steady = ps_observe_new_steady(replay);
    }
    return TRUE;
}

static void clear_lanes(PsReplay *replay)
{
    for (guint i = 0; replay->lanes != NULL && i < replay->workload->n_lanes; i++) {
        for (guint input = 0; input < replay->settings->chunks * PS_N_FLOWS; input++) {
            ps_window_clear(&replay->lanes[i].inputs[input]);
        }
        g_free(replay->lanes[i].inputs);
        ps_posting_free(replay->lanes[i].posting);
    }
    g_free(replay->lanes);
}

static void clear_arrays(GArray **arrays, guint n)
{
    for (guint i = 0; arrays != NULL && i < n; i++) {
        g_array_unref(arrays[i]);
    }
    g_free(arrays);
}

static void clear_channels(PsReplay *replay)
{
    for (guint i = 0; replay->channels != NULL && i < replay->workload->n_stages; i++) {
        for (guint k = 0; k < replay->program->stages[i].n_joints; k++) {
            g_array_unref(replay->channels[i][k].open);
        }
        g_free(replay->channels[i]);
    }
    g_free(replay->channels);
}

static void replay_clear(PsReplay *replay)
{
    clear_lanes(replay);
    clear_channels(replay);
    clear_arrays(replay->lists, replay->workload->n_stages);
    clear_arrays(replay->transfers, replay->workload->n_stages);
    g_clear_pointer(&replay->activities, g_array_unref);
    g_clear_pointer(&replay->ready, g_array_unref);
    g_clear_pointer(&replay->waking, g_array_unref);
    g_clear_pointer(&replay->meetings, g_hash_table_unref);
    ps_steady_free(replay->steady);
    ps_meter_free(replay->meter);
    ps_draws_free(replay->draws);
    ps_loader_free(replay->loader);
    ps_account_free(replay->account);
    ps_streams_free(replay->streams);
    ps_fabric_free(replay->fabric);
    ps_simulator_free(replay->simulator);
    ps_program_free(replay->program);
    ps_replay_result_free(replay->result);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PsReplay, replay_clear)

/* Those of the lanes that had stopped when the run ended. */
static GArray *list_stops(const PsReplay *replay)
{
    GArray *stops = g_array_new(FALSE, FALSE, sizeof(PsRunStop));
    for (guint i = 0; i < replay->workload->n_lanes; i++) {
        const PsRunStop stop = {i, replay->lanes[i].stop_ps};
        if (stop.at_ps < replay->result->makespan_ps) {
            g_array_append_val(stops, stop);
        }
    }
    return stops;
}

static void finish_result(PsReplay *replay)
{
    PsReplayResult *result = replay->result;
    /* Without what the loader prepares in vain at the end. */
    result->makespan_ps = replay->loader != NULL && !result->partial
                              ? replay->last_end_ps
                              : ps_simulator_now(replay->simulator);
    if (result->partial) {
        result->microbatches_simulated = ps_observe_count_done(replay);
    }
    if (result->partial && result->window_microbatches == 0) {
        ps_observe_end_whole_run(replay, MAX(result->microbatches_simulated, 1));
    } else if (replay->settings->start == PS_START_COLD) {
        ps_observe_end_window(replay, result->microbatches_simulated);
    }
    result->stops = replay->stops ? list_stops(replay) : NULL;
    result->links = replay->fabric != NULL ? ps_fabric_links(replay->fabric) : NULL;
    result->microbatches_simulated *= replay->workload->copies;
    result->n_ops *= replay->workload->copies;
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
        g_autofree char *ranks = ps_counted(schedule->n_stages, "rank");
        g_autofree char *given = ps_counted(schedule->batch, "microbatch");
        g_autofree char *stages = ps_counted(workload->n_stages, "stage");
        g_autofree char *expected = ps_counted(batch, "microbatch");
        ps_error(error, PS_ERROR_INPUT,
                 "%s: %s and %s do not fit the pipeline (expected its %s and %s per replica)", name,
                 ranks, given, stages, expected);
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

/* No more is fed from the moment at which the first lane stops: those that need not wait for it
 * would go on for ever. */
static gint64 first_stop(const PsReplay *replay)
{
    gint64 stop_ps = G_MAXINT64;
    for (guint i = 0; i < replay->workload->n_lanes; i++) {
        stop_ps = MIN(stop_ps, replay->lanes[i].stop_ps);
    }
    return stop_ps;
}

#define EVENTS_AT_A_TIME 65536

/* Until nothing happens any more, or somebody interrupts. */
static void run_events(PsReplay *replay)
{
    gint64 expected = replay->settings->start == PS_START_COLD ? replay->workload->microbatches : 0;
    g_autoptr(PsProgress) progress =
        replay->settings->shows_progress ? ps_progress_new("replay", (guint64)expected) : NULL;
    for (gint64 done = 0; ps_simulator_run_some(replay->simulator, EVENTS_AT_A_TIME);) {
        if (ps_interrupt_requested()) {
            replay->result->partial = TRUE;
            return;
        }
        gint64 now_done = ps_observe_count_done(replay);
        ps_progress_step(progress, (guint64)(now_done - done));
        done = now_done;
    }
}

PsReplayResult *ps_replay_run(const PsWorkload *workload, const PsReplaySettings *settings,
                              const PsTraceSink *sink, GError **error)
{
    g_auto(PsReplay) replay = {.workload = workload, .settings = settings};
    if (!check_schedule(workload, settings, error) ||
        !replay_init(&replay, workload, settings, sink, error)) {
        return NULL;
    }
    if (settings->start == PS_START_COLD) {
        ps_feed_set_end(&replay, workload->microbatches);
    } else {
        ps_feed_start(&replay);
    }
    if (replay.loader != NULL) {
        ps_loader_start(replay.loader);
    }
    if (replay.stops && settings->start == PS_START_STEADY) {
        ps_simulator_schedule(replay.simulator, first_stop(&replay), PS_PRIORITY_CLOSE,
                              replay.close_handler, 0);
    }
    run_events(&replay);
    if (replay.overran || (replay.loader != NULL && ps_loader_overran(replay.loader))) {
        ps_error(error, PS_ERROR_INPUT,
                 "the run takes more than %d days (expected less; a slip of units?)",
                 (int)(G_MAXINT64 / 2 / G_GINT64_CONSTANT(86400000000000000)));
        return NULL;
    }
    if (!replay.result->partial && !ps_replay_check_done(&replay, error)) {
        return NULL;
    }
    finish_result(&replay);
    return g_steal_pointer(&replay.result);
}
