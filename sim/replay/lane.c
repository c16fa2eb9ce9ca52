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

/* What a step waits for; a weight gradient has all it needs once its turn has come. */
static PsWindow *inputs_of(const PsLane *lane, const PsStep *step)
{
    static const PsFlow flows[PS_N_STEPS] = {
        [PS_STEP_FORWARD] = PS_ACTIVATIONS,
        [PS_STEP_BACKWARD] = PS_GRADIENTS,
        [PS_STEP_INPUT] = PS_GRADIENTS,
    };
    return &lane->inputs[step->chunk * PS_N_FLOWS + flows[step->kind]];
}

static gboolean has_inputs(const PsReplay *replay, const PsLane *lane, const PsStep *step)
{
    if (step->kind == PS_STEP_WEIGHT) {
        return TRUE;
    }
    const PsStepProgram *program = ps_program_step(replay->program, lane->stage, step);
    if (ps_window_count(inputs_of(lane, step), step->index) < program->n_inputs) {
        return FALSE;
    }
    if (step->kind == PS_STEP_FORWARD) {
        return ps_lane_has_weights(replay, lane, step->index);
    }
    return replay->lists != NULL || step->index < lane->cursor.position.n_forward;
}

void ps_lane_try_start(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    PsStep step;
    if (lane->state != PS_LANE_IDLE || !ps_cursor_peek(&lane->cursor, &step) ||
        !has_inputs(replay, lane, &step)) {
        return;
    }
    if (ps_simulator_now(replay->simulator) > LAST_START_PS) {
        replay->overran = TRUE;
        return;
    }
    lane->state = PS_LANE_RUNNING;
    lane->step = step;
    lane->task = 0;
    ps_cursor_take(&lane->cursor, &step);
    if (step.kind != PS_STEP_WEIGHT) {
        ps_window_take(inputs_of(lane, &step), step.index);
    }
    if (step.kind == PS_STEP_FORWARD &&
        !ps_account_stash(replay->account, number, 1, ps_simulator_now(replay->simulator))) {
        ps_replay_note_overflow(replay, number);
    }
    ps_feed_record_step(replay, lane);
    run_tasks(replay, number);
}

static void deliver(PsReplay *replay, const PsLink *link, gint64 microbatch)
{
    guint number = ps_lane_of(replay, link->receiver, microbatch);
    guint d = replay->workload->stages[link->receiver].data_parallel;
    PsFlow flow = link->step == PS_STEP_FORWARD ? PS_ACTIVATIONS : PS_GRADIENTS;
    ps_window_add(&replay->lanes[number].inputs[link->receiver_chunk * PS_N_FLOWS + flow],
                  microbatch / d);
    ps_lane_try_start(replay, number);
}

#define MICROBATCH_BITS 40

void ps_lane_arrive(gpointer data, guint64 link_and_microbatch)
{
    PsReplay *replay = data;
    deliver(replay, &replay->program->links[link_and_microbatch >> MICROBATCH_BITS],
            link_and_microbatch & ((G_GUINT64_CONSTANT(1) << MICROBATCH_BITS) - 1));
}

/* The transfer is over but for its latency. */
static void forward_delivery(PsReplay *replay, const PsLink *link, gint64 microbatch)
{
    if (link->latency_ps == 0) {
        deliver(replay, link, microbatch);
        return;
    }
    guint64 number = (guint64)(link - replay->program->links);
    ps_simulator_schedule(replay->simulator, ps_simulator_now(replay->simulator) + link->latency_ps,
                          PS_PRIORITY_END, replay->deliver_handler,
                          number << MICROBATCH_BITS | (guint64)microbatch);
}

/* ---- transfers and collectives on streams of their own --------------------------------------- */

static void send_detached(PsReplay *replay, guint lane, const PsTask *task, gint64 microbatch)
{
    if (task->link->send_ps == 0 && task->link->receive_ps == 0) {
        forward_delivery(replay, task->link, microbatch);
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
    gint64 batch = lane->step.index / lane->cursor.position.batch;
    guint place = (guint)(batch - resync->n_done);
    if (place >= resync->open->len) {
        g_array_set_size(resync->open, place + 1);
    }
    PsOpenResync *open = &g_array_index(resync->open, PsOpenResync, place);
    if (open->n_joined++ == 0) {
        open->activity = open_activity(replay, work->data_parallel,
                                       (PsReplayActivity){NULL, work->first_lane, batch});
    }
    lane->state = serial ? PS_LANE_IN_RESYNC : PS_LANE_IDLE;
    claim(replay, open->activity, number, serial ? PS_STREAM_COMPUTE : PS_STREAM_COLLECTIVE,
          replay->program->stages[lane->stage].batch_resync_ps);
}

static void finish_resync(PsReplay *replay, guint first_lane)
{
    guint stage = replay->lanes[first_lane].stage;
    replay->resyncs[stage].n_done++;
    g_array_remove_index(replay->resyncs[stage].open, 0);
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
    const PsStepProgram *program = ps_program_step(replay->program, lane->stage, &lane->step);
    gint64 microbatch = ps_lane_microbatch(replay, lane, lane->step.index);
    for (guint i = 0; i < program->n_tasks; i++) {
        if (program->tasks[i].kind == PS_OP_SEND && !program->tasks[i].detached) {
            forward_delivery(replay, program->tasks[i].link, microbatch);
        }
    }
    gboolean batch_done = ps_cursor_ends_batch(&lane->cursor, &lane->step);
    lane->state = PS_LANE_IDLE;
    if (batch_done && replay->program->stages[lane->stage].batch_resync_ps > 0) {
        join_resync(replay, number);
    }
    ps_lane_try_start(replay, number);
}

static void finish_task(PsReplay *replay, guint number, const PsTask *task, gint64 microbatch)
{
    gint64 now_ps = ps_simulator_now(replay->simulator);
    if (task->releases) {
        (void)!ps_account_workspace(replay->account, number, -1, now_ps);
        (void)!ps_account_stash(replay->account, number, -1, now_ps);
    } else if (task->kind == PS_OP_SEND && task->detached) {
        forward_delivery(replay, task->link, microbatch);
    }
}

static const gboolean is_step[PS_N_OPS] = {
    [PS_OP_FORWARD] = TRUE,
    [PS_OP_BACKWARD] = TRUE,
    [PS_OP_WEIGHT] = TRUE,
};

/* Goes on with the lane's step until a task takes time. Forward, backward and weight gradient
 * always pass through an event, however short, so that chains of empty ops do not recurse. */
static void run_tasks(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    const PsStepProgram *program = ps_program_step(replay->program, lane->stage, &lane->step);
    gint64 microbatch = ps_lane_microbatch(replay, lane, lane->step.index);
    for (; lane->task < program->n_tasks; lane->task++) {
        const PsTask *task = &program->tasks[lane->task];
        if (task->detached) {
            start_detached(replay, number, task, microbatch);
            continue;
        }
        if (task->takes_workspace && !ps_account_workspace(replay->account, number, 1,
                                                           ps_simulator_now(replay->simulator))) {
            ps_replay_note_overflow(replay, number);
        }
        if (task->duration_ps > 0 || is_step[task->kind]) {
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
    op->chunk = sends ? link->sender_chunk : link->receiver_chunk;
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
        .chunk = activity->task != NULL ? activity->task->chunk : 0,
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
