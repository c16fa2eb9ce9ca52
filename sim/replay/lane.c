#include <stdlib.h>

#include "sim/replay/state.h"

PsOpKind ps_replay_kind_on_stream(const PsReplayActivity *activity, PsStreamKind stream)
{
    if (activity->task == NULL) {
        return PS_OP_RESYNC;
    }
    return stream == PS_STREAM_RECEIVE ? PS_OP_RECEIVE : activity->task->kind;
}

/* ---- lanes ---------------------------------------------------------------------------------- */

/* Half the clock's range; the other half is room for what is under way. */
#define LAST_START_PS (G_MAXINT64 / 2)

static void run_tasks(PsReplay *replay, guint number);

static PsActivity open_activity(PsReplay *replay, guint n_claims, PsReplayActivity content)
{
    PsActivity activity = ps_streams_open(replay->streams, n_claims);
    if (activity >= replay->activities->len) {
        g_array_set_size(replay->activities, activity + 1);
    }
    g_array_index(replay->activities, PsReplayActivity, activity) = content;
    return activity;
}

static void claim(PsReplay *replay, PsActivity activity, guint lane, PsStreamKind stream,
                  gint64 duration_ps)
{
    ps_streams_claim(replay->streams, activity, lane * PS_N_STREAMS + stream, duration_ps);
}

static gboolean has_inputs(const PsReplay *replay, const PsLane *lane, PsStepKind step)
{
    const PsStepProgram *program = &replay->program->stages[lane->stage].steps[step];
    if (ps_window_first(&lane->inputs[step]) < program->n_inputs) {
        return FALSE;
    }
    return step == PS_STEP_FORWARD ? ps_lane_has_weights(replay, lane, lane->position.n_forward)
                                   : lane->position.n_backward < lane->position.n_forward;
}

void ps_lane_try_start(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    PsStepKind step;
    if (lane->state != PS_LANE_IDLE || !replay->settings->schedule->next(&lane->position, &step) ||
        !has_inputs(replay, lane, step)) {
        return;
    }
    if (ps_simulator_now(replay->simulator) > LAST_START_PS) {
        replay->overran = TRUE;
        return;
    }
    lane->state = PS_LANE_RUNNING;
    lane->step = step;
    lane->task = 0;
    lane->index =
        step == PS_STEP_FORWARD ? lane->position.n_forward++ : lane->position.n_backward++;
    ps_window_shift(&lane->inputs[step]);
    if (step == PS_STEP_FORWARD) {
        ps_account_stash(replay->account, number, 1, ps_simulator_now(replay->simulator));
    }
    ps_feed_record(replay, ps_step_row(lane, step), ps_lane_microbatch(replay, lane, lane->index));
    run_tasks(replay, number);
}

static void deliver(PsReplay *replay, const PsLink *link, gint64 microbatch)
{
    guint number = ps_lane_of(replay, link->receiver, microbatch);
    guint d = replay->workload->stages[link->receiver].data_parallel;
    ps_window_add(&replay->lanes[number].inputs[link->step], microbatch / d);
    ps_lane_try_start(replay, number);
}

/* ---- transfers and collectives on streams of their own --------------------------------------- */

static void send_detached(PsReplay *replay, guint lane, const PsTask *task, gint64 microbatch)
{
    if (task->link->send_ps == 0 && task->link->receive_ps == 0) {
        deliver(replay, task->link, microbatch);
        return;
    }
    if (replay->ready->len == 0) {
        ps_simulator_schedule(replay->simulator, ps_simulator_now(replay->simulator),
                              PS_PRIORITY_MATCH, replay->match_handler, 0);
    }
    PsReadyTransfer transfer = {task, lane, microbatch};
    g_array_append_val(replay->ready, transfer);
}

/* Links are ordered by sender and distance, all in one array. */
static int compare_ready(const void *a, const void *b)
{
    const PsReadyTransfer *left = a, *right = b;
    if (left->microbatch != right->microbatch) {
        return left->microbatch < right->microbatch ? -1 : 1;
    }
    return (left->task->link > right->task->link) - (left->task->link < right->task->link);
}

void ps_lane_match_transfers(gpointer data, guint64 unused G_GNUC_UNUSED)
{
    PsReplay *replay = data;
    qsort(replay->ready->data, replay->ready->len, sizeof(PsReadyTransfer), compare_ready);
    for (guint i = 0; i < replay->ready->len; i++) {
        PsReadyTransfer transfer = g_array_index(replay->ready, PsReadyTransfer, i);
        const PsLink *link = transfer.task->link;
        guint receiver = ps_lane_of(replay, link->receiver, transfer.microbatch);
        PsActivity activity = open_activity(
            replay, 2, (PsReplayActivity){transfer.task, transfer.lane, transfer.microbatch});
        claim(replay, activity, transfer.lane, PS_STREAM_SEND, link->send_ps);
        claim(replay, activity, receiver, PS_STREAM_RECEIVE, link->receive_ps);
    }
    g_array_set_size(replay->ready, 0);
}

static void start_detached(PsReplay *replay, guint number, const PsTask *task, gint64 microbatch)
{
    if (task->kind == PS_OP_SEND) {
        send_detached(replay, number, task, microbatch);
    } else if (task->duration_ps > 0) {
        PsActivity activity =
            open_activity(replay, 1, (PsReplayActivity){task, number, microbatch});
        claim(replay, activity, number, PS_STREAM_COLLECTIVE, task->duration_ps);
    }
}

/* The lane has done its last backward of a batch. Where compute streams do it, it waits. */
static void join_resync(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    const PsWorkStage *work = &replay->workload->stages[lane->stage];
    PsBatchResync *resync = &replay->resyncs[lane->stage];
    gboolean serial = replay->settings->communication == PS_COMMUNICATION_SERIAL;
    gint64 batch = lane->index / lane->position.batch;
    guint place = (guint)(batch % replay->settings->schedule->weight_versions);
    if (resync->n_joined[place] == 0) {
        resync->open[place] = open_activity(replay, work->data_parallel,
                                            (PsReplayActivity){NULL, work->first_lane, batch});
    }
    PsActivity activity = resync->open[place];
    resync->n_joined[place] = (resync->n_joined[place] + 1) % work->data_parallel;
    lane->state = serial ? PS_LANE_IN_RESYNC : PS_LANE_IDLE;
    claim(replay, activity, number, serial ? PS_STREAM_COMPUTE : PS_STREAM_COLLECTIVE,
          replay->program->stages[lane->stage].batch_resync_ps);
}

static void finish_resync(PsReplay *replay, guint first_lane)
{
    guint stage = replay->lanes[first_lane].stage;
    replay->resyncs[stage].n_done++;
    for (guint i = 0; i < replay->workload->stages[stage].data_parallel; i++) {
        PsLane *lane = &replay->lanes[first_lane + i];
        if (lane->state == PS_LANE_IN_RESYNC) {
            lane->state = PS_LANE_IDLE;
        }
        ps_lane_try_start(replay, first_lane + i);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void finish_step(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    const PsStepProgram *program = &replay->program->stages[lane->stage].steps[lane->step];
    for (guint i = 0; i < program->n_tasks; i++) {
        if (program->tasks[i].kind == PS_OP_SEND && !program->tasks[i].detached) {
            deliver(replay, program->tasks[i].link, ps_lane_microbatch(replay, lane, lane->index));
        }
    }
    gboolean batch_done =
        lane->step == PS_STEP_BACKWARD && (lane->index + 1) % lane->position.batch == 0;
    lane->state = PS_LANE_IDLE;
    if (batch_done && replay->program->stages[lane->stage].batch_resync_ps > 0) {
        join_resync(replay, number);
    }
    ps_lane_try_start(replay, number);
}

static void finish_task(PsReplay *replay, guint number, const PsTask *task, gint64 microbatch)
{
    gint64 now_ps = ps_simulator_now(replay->simulator);
    if (task->kind == PS_OP_BACKWARD) {
        ps_account_workspace(replay->account, number, FALSE, now_ps);
        ps_account_stash(replay->account, number, -1, now_ps);
    } else if (task->kind == PS_OP_SEND && task->detached) {
        deliver(replay, task->link, microbatch);
    }
}

/* Goes on with the lane's step until a task takes time. Forward and backward always pass through
 * an event, however short, so that chains of empty ops do not recurse. */
static void run_tasks(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    const PsStepProgram *program = &replay->program->stages[lane->stage].steps[lane->step];
    gint64 microbatch = ps_lane_microbatch(replay, lane, lane->index);
    for (; lane->task < program->n_tasks; lane->task++) {
        const PsTask *task = &program->tasks[lane->task];
        if (task->detached) {
            start_detached(replay, number, task, microbatch);
            continue;
        }
        if (task->takes_workspace) {
            ps_account_workspace(replay->account, number, TRUE,
                                 ps_simulator_now(replay->simulator));
        }
        if (task->duration_ps > 0 || task->kind == PS_OP_FORWARD || task->kind == PS_OP_BACKWARD) {
            PsActivity activity =
                open_activity(replay, 1, (PsReplayActivity){task, number, microbatch});
            claim(replay, activity, number, PS_STREAM_COMPUTE, task->duration_ps);
            return;
        }
        finish_task(replay, number, task, microbatch);
    }
    finish_step(replay, number);
}

/* ---- what streams report --------------------------------------------------------------------- */

static void activity_started(gpointer data, PsActivity number)
{
    PsReplay *replay = data;
    const PsReplayActivity *activity = &g_array_index(replay->activities, PsReplayActivity, number);
    if (activity->task == NULL) {
        ps_feed_record(replay, ps_resync_row(replay, replay->lanes[activity->lane].stage),
                       activity->index);
    } else if (activity->task->detached) {
        ps_feed_record(replay,
                       activity->task->link != NULL
                           ? ps_link_row(replay, activity->task->link)
                           : ps_resync_row(replay, replay->lanes[activity->lane].stage),
                       activity->index);
    }
}

/* Bytes and peer of an op on one stream. */
static void describe_transfer(const PsReplay *replay, const PsReplayActivity *activity,
                              PsTraceOp *op)
{
    const PsLink *link = activity->task->link;
    gboolean sends = op->kind == PS_OP_SEND;
    op->bytes = sends ? link->send_bytes : link->receive_bytes;
    op->peer = ps_lane_of(replay, sends ? link->receiver : link->sender, activity->index);
}

static void stream_released(gpointer data, PsActivity number, guint stream, gint64 start_ps)
{
    PsReplay *replay = data;
    const PsReplayActivity *activity = &g_array_index(replay->activities, PsReplayActivity, number);
    gint64 end_ps = ps_simulator_now(replay->simulator);
    if (end_ps == start_ps) {
        return;
    }
    guint lane_number = stream / PS_N_STREAMS;
    PsStreamKind stream_kind = stream % PS_N_STREAMS;
    PsOpKind kind = ps_replay_kind_on_stream(activity, stream_kind);
    ps_meter_add(replay->meter, lane_number, stream_kind, kind, end_ps - start_ps);
    replay->result->n_ops++;
    if (replay->sink == NULL || replay->sink->op == NULL) {
        return;
    }
    const PsLane *lane = &replay->lanes[lane_number];
    const PsWorkStage *work = &replay->workload->stages[lane->stage];
    PsTraceOp op = {
        .lane = lane_number,
        .stage = lane->stage,
        .replica = lane->replica,
        .rank = work->first_rank + lane->replica * work->tensor_parallel,
        .stream = stream_kind,
        .kind = kind,
        .microbatch = activity->task != NULL ? activity->index : -1,
        .start_ps = start_ps,
        .end_ps = end_ps,
        .bytes = activity->task != NULL ? activity->task->bytes : work->resync_bytes,
        .peer = -1,
    };
    if (activity->task != NULL && activity->task->link != NULL) {
        describe_transfer(replay, activity, &op);
    }
    replay->sink->op(&op, replay->sink->user_data);
}

static void activity_finished(gpointer data, PsActivity number)
{
    PsReplay *replay = data;
    PsReplayActivity activity = g_array_index(replay->activities, PsReplayActivity, number);
    if (activity.task == NULL) {
        finish_resync(replay, activity.lane);
        return;
    }
    finish_task(replay, activity.lane, activity.task, activity.index);
    if (!activity.task->detached) {
        replay->lanes[activity.lane].task++;
        run_tasks(replay, activity.lane);
    }
}

const PsStreamFuncs ps_lane_stream_funcs = {activity_started, stream_released, activity_finished};
