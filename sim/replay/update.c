#include "sim/base/units.h"
#include "sim/replay/state.h"

/* After a batch a stage's gradients are reduced (all at its end, or bucket by bucket during the
 * last backwards, or after each backward where they are sharded), each lane applies them to its
 * weights, or to its share of them, and shared weights are brought together again. */

static const PsJoint *joint_of(const PsReplay *replay, const PsReplayActivity *activity)
{
    guint stage = replay->lanes[activity->lane].stage;
    return &replay->program->stages[stage].joints[activity->joint];
}

static gboolean is_serial(const PsReplay *replay)
{
    return replay->settings->communication == PS_COMMUNICATION_SERIAL;
}

/* ---- collectives of a stage ----------------------------------------------------------------- */

static void joint_finished(PsReplay *replay, const PsReplayActivity *activity);

static PsOpKind joint_kind(const PsReplay *replay, const PsReplayActivity *activity,
                           guint lane G_GNUC_UNUSED, PsStreamKind stream G_GNUC_UNUSED)
{
    return joint_of(replay, activity)->kind;
}

static guint joint_row(const PsReplay *replay, const PsReplayActivity *activity)
{
    return ps_joint_row(replay, replay->lanes[activity->lane].stage, activity->joint);
}

static const PsActivityClass joint_class = {joint_kind, joint_row, NULL, joint_finished};

/* The lane comes to occurrence `index` of a collective; the first lane there opens it. */
static void join(PsReplay *replay, guint number, guint joint, gint64 index)
{
    PsLane *lane = &replay->lanes[number];
    const PsWorkStage *work = &replay->workload->stages[lane->stage];
    const PsJoint *program = &replay->program->stages[lane->stage].joints[joint];
    PsChannel *channel = &replay->channels[lane->stage][joint];
    guint place = channel->first + (guint)(index - channel->n_done);
    if (place >= channel->open->len) {
        g_array_set_size(channel->open, place + 1);
    }
    PsOpenJoint *open = &g_array_index(channel->open, PsOpenJoint, place);
    if (open->n_joined++ == 0) {
        const PsReplayActivity content = {.class = &joint_class,
                                          .lane = work->first_lane,
                                          .index = index,
                                          .joint = joint,
                                          .fabric_number = program->collective};
        open->activity = ps_activity_open(replay, work->data_parallel, &content);
    }
    if (is_serial(replay)) {
        lane->state = PS_LANE_IN_RESYNC;
    }
    ps_activity_claim(replay, open->activity, number,
                      is_serial(replay) ? PS_STREAM_COMPUTE : PS_STREAM_COLLECTIVE,
                      ps_lane_transfer_ps(lane, program->duration_ps));
}

/* ---- weights that are brought together ------------------------------------------------------ */

static void hold_weights(PsReplay *replay, guint number, gint sign)
{
    const PsWorkStage *work = &replay->workload->stages[replay->lanes[number].stage];
    gint64 bytes = (gint64)(work->gradient_bytes / replay->settings->chunks + 0.5);
    if (!ps_account_buffer(replay->account, number, sign * bytes,
                           ps_simulator_now(replay->simulator))) {
        ps_replay_note_overflow(replay);
    }
}

/* Joins in the gathering for a step, unless the lane has, or has not got the weights yet. */
static void join_gather(PsReplay *replay, guint number, const PsStep *step)
{
    PsLane *lane = &replay->lanes[number];
    guint gather = ps_lane_program(replay, lane)->gather;
    gboolean stale =
        step->kind == PS_STEP_FORWARD && !ps_lane_has_weights(replay, lane, step->index);
    if (gather != PS_NO_JOINT && step->kind != PS_STEP_WEIGHT && !stale &&
        lane->n_gathers == lane->n_gathered) {
        hold_weights(replay, number, 1);
        join(replay, number, gather, lane->n_gathers++);
    }
}

gboolean ps_update_gather(PsReplay *replay, guint number, const PsStep *step)
{
    const PsLane *lane = &replay->lanes[number];
    guint gather = ps_lane_program(replay, lane)->gather;
    if (gather == PS_NO_JOINT || step->kind == PS_STEP_WEIGHT) {
        return TRUE;
    }
    join_gather(replay, number, step);
    return replay->channels[lane->stage][gather].n_done > lane->n_gathered;
}

void ps_update_gather_ahead(PsReplay *replay, guint number)
{
    PsStep next;
    if (!is_serial(replay) && ps_cursor_peek(&replay->lanes[number].cursor, &next)) {
        join_gather(replay, number, &next);
    }
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* Whether the lane's step is the last of its batch that adds to the gradients of its chunk. */
static gboolean completes_gradients(const PsLane *lane)
{
    if (lane->step.kind != PS_STEP_BACKWARD && lane->step.kind != PS_STEP_WEIGHT) {
        return FALSE;
    }
    return ps_cursor_ends_chunk(&lane->cursor, &lane->step);
}

static gint64 batch_of(const PsLane *lane)
{
    return lane->step.index / lane->cursor.position.batch;
}

#define BUCKET_BITS 24

void ps_update_gradients_start(PsReplay *replay, guint number, guint chunk, gint64 duration_ps)
{
    const PsLane *lane = &replay->lanes[number];
    const PsStageProgram *program = ps_lane_program(replay, lane);
    if (replay->settings->bucket_bytes == 0 || !completes_gradients(lane)) {
        return;
    }
    for (guint i = 0; i < program->n_buckets; i++) {
        const PsJoint *bucket = &program->joints[i];
        if (bucket->chunk == chunk && bucket->ready < 1) {
            gint64 wait_ps = (gint64)(bucket->ready * (double)duration_ps);
            ps_simulator_schedule(replay->simulator, ps_simulator_now(replay->simulator) + wait_ps,
                                  PS_PRIORITY_END, replay->bucket_handler,
                                  (guint64)number << BUCKET_BITS | i);
        }
    }
}

void ps_update_bucket_done(PsReplay *replay, guint number, guint bucket)
{
    const PsLane *lane = &replay->lanes[number];
    if (completes_gradients(lane)) {
        join(replay, number, bucket, batch_of(lane));
    }
}

void ps_update_bucket_ready(gpointer owner, guint64 lane_and_bucket)
{
    PsReplay *replay = owner;
    guint number = (guint)(lane_and_bucket >> BUCKET_BITS);
    join(replay, number, lane_and_bucket & ((1u << BUCKET_BITS) - 1),
         batch_of(&replay->lanes[number]));
}

/* Joins in the buckets that are ready when the step is done. */
static void join_last_buckets(PsReplay *replay, guint number)
{
    const PsLane *lane = &replay->lanes[number];
    const PsStageProgram *program = ps_lane_program(replay, lane);
    gboolean whole = replay->settings->bucket_bytes == 0;
    if (whole ? !ps_cursor_ends_batch(&lane->cursor, &lane->step) : !completes_gradients(lane)) {
        return;
    }
    for (guint i = 0; i < program->n_buckets; i++) {
        const PsJoint *bucket = &program->joints[i];
        if (whole || (bucket->chunk == lane->step.chunk && bucket->ready >= 1)) {
            join(replay, number, i, batch_of(lane));
        }
    }
}

/* Backwards of a batch on one lane, each of which scatters its gradients. */
static gint64 scatters_per_batch(const PsReplay *replay, const PsLane *lane)
{
    return lane->cursor.position.batch * replay->settings->chunks;
}

static void join_scatter(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    guint scatter = ps_lane_program(replay, lane)->scatter;
    if (lane->step.kind == PS_STEP_BACKWARD || lane->step.kind == PS_STEP_WEIGHT) {
        join(replay, number, scatter, lane->n_scatters++);
        hold_weights(replay, number, 1); /* the gradients, until they are scattered */
    }
}

void ps_update_step_done(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    const PsStageProgram *program = ps_lane_program(replay, lane);
    if (program->gather != PS_NO_JOINT && lane->step.kind != PS_STEP_WEIGHT) {
        hold_weights(replay, number, -1);
    }
    if (program->scatter != PS_NO_JOINT) {
        join_scatter(replay, number);
    } else if (program->n_buckets > 0) {
        join_last_buckets(replay, number);
    } else if (program->updates && ps_cursor_ends_batch(&lane->cursor, &lane->step)) {
        lane->n_reduced++;
    }
}

/* ---- applying them -------------------------------------------------------------------------- */

static void applied(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    guint parameters = ps_lane_program(replay, lane)->parameters;
    gint64 batch = lane->n_applied++;
    if (parameters == PS_NO_JOINT) {
        lane->n_updated++;
    } else {
        join(replay, number, parameters, batch);
    }
}

static PsOpKind optimizer_kind(const PsReplay *replay G_GNUC_UNUSED,
                               const PsReplayActivity *activity G_GNUC_UNUSED,
                               guint lane G_GNUC_UNUSED, PsStreamKind stream G_GNUC_UNUSED)
{
    return PS_OP_OPTIMIZER;
}

static guint no_row(const PsReplay *replay G_GNUC_UNUSED,
                    const PsReplayActivity *activity G_GNUC_UNUSED)
{
    return G_MAXUINT; /* it starts when a step or a collective ends */
}

static void optimizer_finished(PsReplay *replay, const PsReplayActivity *activity)
{
    replay->lanes[activity->lane].state = PS_LANE_IDLE;
    applied(replay, activity->lane);
    ps_lane_try_start(replay, activity->lane);
}

static const PsActivityClass optimizer_class = {optimizer_kind, no_row, NULL, optimizer_finished};

gboolean ps_update_try_apply(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    gint64 duration_ps = ps_lane_program(replay, lane)->optimizer_ps;
    if (lane->n_applied == lane->n_reduced) {
        return FALSE;
    }
    if (duration_ps == 0) {
        applied(replay, number);
        return lane->state != PS_LANE_IDLE;
    }
    const PsReplayActivity content = {.class = &optimizer_class,
                                      .lane = number,
                                      .index = lane->n_applied,
                                      .joint = PS_NO_JOINT,
                                      .fabric_number = PS_FLAT};
    lane->state = PS_LANE_UPDATING;
    PsActivity activity = ps_activity_open(replay, 1, &content);
    ps_activity_claim(replay, activity, number, PS_STREAM_COMPUTE,
                      ps_draws_duration_ps(replay->draws, number, lane->slowness, duration_ps));
    return TRUE;
}

/* ---- what a collective has done ------------------------------------------------------------- */

/* Whether all buckets of one more batch are reduced. */
static gboolean batch_reduced(const PsReplay *replay, const PsLane *lane)
{
    const PsStageProgram *program = ps_lane_program(replay, lane);
    const PsChannel *channels = replay->channels[lane->stage];
    for (guint i = 0; i < program->n_buckets; i++) {
        if (channels[i].n_done <= lane->n_reduced) {
            return FALSE;
        }
    }
    return TRUE;
}

/* What one lane of the stage has from it. */
static void take_part(PsReplay *replay, guint number, guint joint)
{
    PsLane *lane = &replay->lanes[number];
    const PsStageProgram *program = ps_lane_program(replay, lane);
    if (joint < program->n_buckets) {
        lane->n_reduced += batch_reduced(replay, lane);
    } else if (joint == program->parameters) {
        lane->n_updated++;
    } else if (joint == program->scatter) {
        gint64 n_done = replay->channels[lane->stage][joint].n_done;
        hold_weights(replay, number, -1);
        lane->n_reduced += n_done % scatters_per_batch(replay, lane) == 0;
    }
    if (lane->state == PS_LANE_IN_RESYNC) {
        lane->state = PS_LANE_IDLE;
    }
}

static void joint_finished(PsReplay *replay, const PsReplayActivity *activity)
{
    guint stage = replay->lanes[activity->lane].stage;
    guint d = replay->workload->stages[stage].data_parallel;
    PsChannel *channel = &replay->channels[stage][activity->joint];
    channel->n_done++;
    if (++channel->first > channel->open->len / 2) {
        g_array_remove_range(channel->open, 0, channel->first);
        channel->first = 0;
    }
    for (guint i = 0; i < d; i++) {
        take_part(replay, activity->lane + i, activity->joint);
    }
    for (guint i = 0; i < d; i++) {
        ps_lane_try_start(replay, activity->lane + i);
    }
}
