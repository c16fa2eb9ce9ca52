#include <stdlib.h>

#include "sim/replay/state.h"

/* Half the clock's range; the other half is room for what is under way. */
#define LAST_START_PS (G_MAXINT64 / 2)

static void run_tasks(PsReplay *replay, guint number);

/* ---- before a step -------------------------------------------------------------------------- */

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
    if (ps_window_count(inputs_of(lane, step), step->index) < program->n_deliveries) {
        return FALSE;
    }
    if (step->kind == PS_STEP_FORWARD) {
        return ps_lane_has_weights(replay, lane, step->index);
    }
    return (replay->lists != NULL || step->index < lane->cursor.position.n_forward) &&
           ps_lane_may_add_gradients(replay, lane, step->index);
}

/* Buffers of the step's inputs are free once it reads them. */
static void release_inputs(PsReplay *replay, guint number, const PsStep *step)
{
    const PsStepProgram *program =
        ps_program_step(replay->program, replay->lanes[number].stage, step);
    for (guint i = 0; i < program->n_inputs; i++) {
        if (!ps_link_is_instant(program->inputs[i])) {
            gint64 bytes = (gint64)(program->inputs[i]->receive_bytes + 0.5);
            (void)!ps_account_buffer(replay->account, number, -bytes,
                                     ps_simulator_now(replay->simulator));
        }
    }
}

static void take_sample(PsReplay *replay, const PsLane *lane, const PsStep *step)
{
    if (replay->loader != NULL && step->kind == PS_STEP_FORWARD &&
        lane->stage == replay->program->first_stage &&
        step->chunk == replay->program->first_chunk) {
        ps_loader_taken(replay->loader, ps_lane_microbatch(replay, lane, step->index));
    }
}

static void take_step(PsReplay *replay, guint number, const PsStep *step)
{
    PsLane *lane = &replay->lanes[number];
    lane->state = PS_LANE_RUNNING;
    lane->step = *step;
    lane->task = 0;
    lane->n_taken++;
    lane->n_awaited = lane->n_taken;
    ps_cursor_take(&lane->cursor, step);
    if (step->kind != PS_STEP_WEIGHT) {
        ps_window_take(inputs_of(lane, step), step->index);
        lane->n_gathered++;
        if (replay->settings->communication != PS_COMMUNICATION_SERIAL) {
            release_inputs(replay, number, step);
        }
        take_sample(replay, lane, step);
    }
    if (step->kind == PS_STEP_FORWARD &&
        !ps_account_stash(replay->account, number, 1, ps_simulator_now(replay->simulator))) {
        ps_replay_note_overflow(replay);
    }
    ps_observe_step(replay, lane);
    ps_update_gather_ahead(replay, number);
    ps_transfer_advance(replay, number);
}

static void start(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    PsStep step;
    if (lane->state != PS_LANE_IDLE || ps_lane_has_stopped(replay, lane) ||
        ps_update_try_apply(replay, number) || !ps_cursor_peek(&lane->cursor, &step)) {
        return;
    }
    if (ps_simulator_now(replay->simulator) > LAST_START_PS) {
        replay->overran = TRUE;
        return;
    }
    ps_transfer_await(replay, number, &step);
    if (lane->n_sending > 0 || !ps_update_gather(replay, number, &step) ||
        !has_inputs(replay, lane, &step)) {
        return;
    }
    take_step(replay, number, &step);
    run_tasks(replay, number);
}

void ps_lane_try_start(PsReplay *replay, guint number)
{
    if (!replay->defers) {
        start(replay, number);
        return;
    }
    if (replay->waking->len == 0) {
        ps_simulator_schedule(replay->simulator, ps_simulator_now(replay->simulator),
                              PS_PRIORITY_WAKE, replay->wake_handler, 0);
    }
    g_array_append_val(replay->waking, number);
}

static int compare_lanes(const void *a, const void *b)
{
    guint left = *(const guint *)a, right = *(const guint *)b;
    return (left > right) - (left < right);
}

void ps_lane_wake(gpointer owner, guint64 unused G_GNUC_UNUSED)
{
    PsReplay *replay = owner;
    g_autoptr(GArray) lanes = replay->waking;
    replay->waking = g_array_new(FALSE, FALSE, sizeof(guint));
    qsort(lanes->data, lanes->len, sizeof(guint), compare_lanes);
    for (guint i = 0; i < lanes->len; i++) {
        start(replay, g_array_index(lanes, guint, i));
    }
}

static void deliver(PsReplay *replay, guint stage, guint chunk, PsFlow flow, gint64 microbatch)
{
    guint number = ps_lane_of(replay, stage, microbatch);
    guint d = replay->workload->stages[stage].data_parallel;
    ps_window_add(&replay->lanes[number].inputs[chunk * PS_N_FLOWS + flow], microbatch / d);
    ps_lane_try_start(replay, number);
}

void ps_lane_deliver(PsReplay *replay, const PsLink *link, gint64 microbatch)
{
    deliver(replay, link->receiver, link->receiver_chunk,
            link->step == PS_STEP_FORWARD ? PS_ACTIVATIONS : PS_GRADIENTS, microbatch);
}

void ps_lane_deliver_sample(gpointer owner, gint64 sample)
{
    PsReplay *replay = owner;
    ps_observe_record(replay, ps_loader_row(replay), sample);
    deliver(replay, replay->program->first_stage, replay->program->first_chunk, PS_ACTIVATIONS,
            sample);
}

/* ---- the tasks of a step -------------------------------------------------------------------- */

static PsOpKind task_kind(const PsReplay *replay G_GNUC_UNUSED, const PsReplayActivity *activity,
                          guint lane G_GNUC_UNUSED, PsStreamKind stream G_GNUC_UNUSED)
{
    return activity->task->kind;
}

static guint task_row(const PsReplay *replay, const PsReplayActivity *activity)
{
    return activity->task->detached ? ps_joint_row(replay, replay->lanes[activity->lane].stage, 0)
                                    : G_MAXUINT;
}

static void finish_task(PsReplay *replay, guint number, const PsTask *task)
{
    if (task->releases) {
        gint64 now_ps = ps_simulator_now(replay->simulator);
        (void)!ps_account_workspace(replay->account, number, -1, now_ps);
        (void)!ps_account_stash(replay->account, number, -1, now_ps);
    }
}

static void task_finished(PsReplay *replay, const PsReplayActivity *activity)
{
    finish_task(replay, activity->lane, activity->task);
    if (!activity->task->detached) {
        replay->lanes[activity->lane].task++;
        run_tasks(replay, activity->lane);
    }
}

static const PsActivityClass task_class = {task_kind, task_row, NULL, task_finished};

/* How long the task takes this lane now, on a flat network. */
static gint64 draw_duration(PsReplay *replay, guint number, const PsTask *task)
{
    const PsLane *lane = &replay->lanes[number];
    if (ps_task_computes(task)) {
        return ps_draws_duration_ps(replay->draws, number, lane->slowness, task->duration_ps);
    }
    return task->collective == PS_FLAT ? ps_lane_transfer_ps(lane, task->duration_ps)
                                       : task->duration_ps;
}

static void occupy(PsReplay *replay, guint number, const PsTask *task, PsStreamKind stream)
{
    const PsLane *lane = &replay->lanes[number];
    const PsReplayActivity content = {
        .class = &task_class,
        .lane = number,
        .index = ps_lane_microbatch(replay, lane, lane->step.index),
        .task = task,
        .link = task->link,
        .joint = PS_NO_JOINT,
        .fabric_number = task->collective != PS_FLAT ? task->collective + lane->replica : PS_FLAT,
    };
    gint64 duration_ps = draw_duration(replay, number, task);
    if (task->gradients) {
        ps_update_gradients_start(replay, number, task->chunk, duration_ps);
    }
    PsActivity activity = ps_activity_open(replay, 1, &content);
    ps_activity_claim(replay, activity, number, stream, duration_ps);
}

static void finish_step(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    const PsStepProgram *program = ps_program_step(replay->program, lane->stage, &lane->step);
    gint64 microbatch = ps_lane_microbatch(replay, lane, lane->step.index);
    for (guint i = 0; i < program->n_tasks; i++) {
        if (program->tasks[i].kind == PS_OP_SEND && !program->tasks[i].detached) {
            ps_transfer_forward(replay, program->tasks[i].link, microbatch);
        }
    }
    lane->state = PS_LANE_IDLE;
    lane->n_done += lane->step.kind == PS_STEP_BACKWARD || lane->step.kind == PS_STEP_WEIGHT;
    if (lane->posting != NULL && program->n_sends > 0) {
        ps_posting_add_output(lane->posting, &lane->step);
        ps_transfer_advance(replay, number);
    }
    ps_update_step_done(replay, number);
    ps_lane_try_start(replay, number);
}

/* Does what takes no time of the lane's own. */
static gboolean start_detached(PsReplay *replay, guint number, const PsTask *task)
{
    const PsLane *lane = &replay->lanes[number];
    if (task->detached && task->kind == PS_OP_SEND) {
        ps_transfer_send(replay, number, task, ps_lane_microbatch(replay, lane, lane->step.index));
    } else if (task->bucket != PS_NO_JOINT) {
        ps_update_bucket_done(replay, number, task->bucket);
        finish_task(replay, number, task);
        return TRUE;
    } else if (task->detached && task->duration_ps > 0) {
        occupy(replay, number, task, PS_STREAM_COLLECTIVE);
    }
    return task->detached;
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
    for (; lane->task < program->n_tasks; lane->task++) {
        const PsTask *task = &program->tasks[lane->task];
        if (start_detached(replay, number, task)) {
            continue;
        }
        if (task->takes_workspace && !ps_account_workspace(replay->account, number, 1,
                                                           ps_simulator_now(replay->simulator))) {
            ps_replay_note_overflow(replay);
        }
        if (task->duration_ps > 0 || is_step[task->kind] || task->collective != PS_FLAT) {
            occupy(replay, number, task, PS_STREAM_COMPUTE);
            return;
        }
        finish_task(replay, number, task);
    }
    finish_step(replay, number);
}
