#include "sim/replay/state.h"

PsActivity ps_activity_open(PsReplay *replay, guint n_claims, const PsReplayActivity *content)
{
    PsActivity activity = ps_streams_open(replay->streams, n_claims);
    if (activity >= replay->activities->len) {
        g_array_set_size(replay->activities, activity + 1);
    }
    g_array_index(replay->activities, PsReplayActivity, activity) = *content;
    return activity;
}

static const PsReplayActivity *activity_at(const PsReplay *replay, PsActivity number)
{
    return &g_array_index(replay->activities, PsReplayActivity, number);
}

void ps_activity_claim(PsReplay *replay, PsActivity activity, guint lane, PsStreamKind stream,
                       gint64 duration_ps)
{
    gboolean flat = activity_at(replay, activity)->fabric_number == PS_FLAT;
    ps_streams_claim(replay->streams, activity, lane * PS_N_STREAMS + stream,
                     flat ? duration_ps : PS_UNTIL_ENDED);
}

/* Whether one of those who take part has stopped, so that it does not end. */
static gboolean is_dead(const PsReplay *replay, const PsReplayActivity *activity)
{
    const PsLane *lane = &replay->lanes[activity->lane];
    gint64 stop_ps = lane->stop_ps;
    if (!replay->stops) {
        return FALSE;
    }
    if (activity->link != NULL && activity->task == NULL) {
        guint receiver = ps_lane_of(replay, activity->link->receiver, activity->index);
        stop_ps = MIN(stop_ps, replay->lanes[receiver].stop_ps);
    }
    guint d = replay->workload->stages[lane->stage].data_parallel;
    for (guint i = 0; activity->joint != PS_NO_JOINT && i < d; i++) {
        stop_ps = MIN(stop_ps, lane[i].stop_ps);
    }
    return ps_simulator_now(replay->simulator) > stop_ps;
}

static void fabric_ended(gpointer owner, guint64 activity)
{
    PsReplay *replay = owner;
    ps_streams_end(replay->streams, (PsActivity)activity);
}

static void activity_started(gpointer owner, PsActivity number)
{
    PsReplay *replay = owner;
    const PsReplayActivity activity = *activity_at(replay, number);
    guint row = activity.class->row(replay, &activity);
    if (row != G_MAXUINT) {
        ps_observe_record(replay, row, activity.index);
    }
    if (activity.class->started != NULL) {
        activity.class->started(replay, &activity);
    }
    if (activity.fabric_number != PS_FLAT) {
        ps_fabric_start(replay->fabric, activity.fabric_number, fabric_ended, replay, number);
    }
}

/* Bytes, chunk and peer of an op on one stream. */
static void describe_transfer(const PsReplay *replay, const PsReplayActivity *activity,
                              PsTraceOp *op)
{
    const PsLink *link = activity->link;
    gboolean sends = op->kind == PS_OP_SEND;
    op->microbatch = activity->index;
    op->bytes = sends ? link->send_bytes : link->receive_bytes;
    op->chunk = sends ? link->sender_chunk : link->receiver_chunk;
    op->peer = ps_lane_of(replay, sends ? link->receiver : link->sender, activity->index);
}

static PsTraceOp describe(const PsReplay *replay, const PsReplayActivity *activity,
                          guint lane_number, PsStreamKind stream, PsOpKind kind)
{
    const PsLane *lane = &replay->lanes[lane_number];
    const PsWorkStage *work = &replay->workload->stages[lane->stage];
    PsTraceOp op = {
        .lane = lane_number,
        .stage = lane->stage,
        .replica = lane->replica,
        .rank = work->first_rank + lane->replica * work->tensor_parallel,
        .stream = stream,
        .kind = kind,
        .microbatch = -1,
        .peer = -1,
    };
    if (activity->link != NULL) {
        describe_transfer(replay, activity, &op);
    } else if (activity->task != NULL) {
        op.microbatch = activity->index;
        op.chunk = activity->task->chunk;
        op.bytes = activity->task->bytes;
    } else if (activity->joint != PS_NO_JOINT) {
        const PsJoint *joint = &replay->program->stages[lane->stage].joints[activity->joint];
        op.chunk = joint->chunk;
        op.bytes = joint->bytes;
    }
    return op;
}

static void stream_released(gpointer owner, PsActivity number, guint stream, gint64 start_ps)
{
    PsReplay *replay = owner;
    const PsReplayActivity *activity = activity_at(replay, number);
    gint64 end_ps = ps_simulator_now(replay->simulator);
    if (end_ps == start_ps || is_dead(replay, activity)) {
        return;
    }
    replay->last_end_ps = end_ps;
    guint lane = stream / PS_N_STREAMS;
    PsStreamKind stream_kind = stream % PS_N_STREAMS;
    PsOpKind kind = activity->class->kind(replay, activity, lane, stream_kind);
    ps_meter_add(replay->meter, lane, stream_kind, kind, end_ps - start_ps);
    replay->result->n_ops++;
    if (replay->sink != NULL && replay->sink->op != NULL) {
        PsTraceOp op = describe(replay, activity, lane, stream_kind, kind);
        op.start_ps = start_ps;
        op.end_ps = end_ps;
        replay->sink->op(&op, replay->sink->user_data);
    }
}

static void activity_finished(gpointer owner, PsActivity number)
{
    PsReplay *replay = owner;
    const PsReplayActivity activity = *activity_at(replay, number);
    if (!is_dead(replay, &activity)) {
        activity.class->finished(replay, &activity);
    }
}

const PsStreamFuncs ps_activity_stream_funcs = {activity_started, stream_released,
                                                activity_finished};
