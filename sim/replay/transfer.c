#include <stdlib.h>

#include "sim/replay/state.h"

/* Three ways of posting a transfer to the streams of its two ends:
 * - streams of their own each way: both ends at once, when it is ready to be sent;
 * - blocking: the sender's when its step is done, the receiver's when it comes to the step that
 *   needs it, and neither goes on meanwhile;
 * - one stream for both ways: each end in the order of its schedule, whenever it gets there. */

static gint64 now(const PsReplay *replay)
{
    return ps_simulator_now(replay->simulator);
}

static void hold_buffer(PsReplay *replay, guint lane, double bytes, gint sign)
{
    if (!ps_account_buffer(replay->account, lane, sign * (gint64)(bytes + 0.5), now(replay))) {
        ps_replay_note_overflow(replay);
    }
}

/* ---- arriving ------------------------------------------------------------------------------- */

void ps_transfer_arrive(gpointer data, guint64 number)
{
    PsReplay *replay = data;
    ps_lane_deliver(replay, &replay->program->links[number >> PS_MICROBATCH_BITS],
                    number & ((G_GUINT64_CONSTANT(1) << PS_MICROBATCH_BITS) - 1));
}

static void deliver_after(PsReplay *replay, const PsLink *link, gint64 microbatch, gint64 wait_ps)
{
    if (wait_ps == 0) {
        ps_lane_deliver(replay, link, microbatch);
        return;
    }
    ps_simulator_schedule(replay->simulator, now(replay) + wait_ps, PS_PRIORITY_END,
                          replay->deliver_handler, ps_transfer_number(replay, link, microbatch));
}

void ps_transfer_forward(PsReplay *replay, const PsLink *link, gint64 microbatch)
{
    deliver_after(replay, link, microbatch, link->sender != link->receiver ? link->latency_ps : 0);
}

/* How much longer than the sender the receiver of an eager message, which holds no stream for it,
 * is busy with it. */
static gint64 eager_rest_ps(const PsReplay *replay, const PsLink *link, gint64 microbatch)
{
    if (replay->settings->messages != PS_MESSAGES_EAGER) {
        return 0;
    }
    const PsLane *sender = &replay->lanes[ps_lane_of(replay, link->sender, microbatch)];
    const PsLane *receiver = &replay->lanes[ps_lane_of(replay, link->receiver, microbatch)];
    gint64 rest_ps = ps_lane_transfer_ps(receiver, link->receive_ps) -
                     ps_lane_transfer_ps(sender, link->send_ps);
    return MAX(rest_ps, 0);
}

static PsOpKind transfer_kind(const PsReplay *replay G_GNUC_UNUSED,
                              const PsReplayActivity *activity, guint lane,
                              PsStreamKind stream G_GNUC_UNUSED)
{
    return lane == activity->lane ? PS_OP_SEND : PS_OP_RECEIVE;
}

static guint transfer_row(const PsReplay *replay, const PsReplayActivity *activity)
{
    return ps_link_row(replay, activity->link);
}

static void transfer_started(PsReplay *replay, const PsReplayActivity *activity)
{
    const PsLink *link = activity->link;
    hold_buffer(replay, ps_lane_of(replay, link->receiver, activity->index), link->receive_bytes,
                1);
}

static void transfer_finished(PsReplay *replay, const PsReplayActivity *activity)
{
    PsLane *sender = &replay->lanes[activity->lane];
    hold_buffer(replay, activity->lane, activity->link->send_bytes, -1);
    if (activity->link->message == PS_FLAT) {
        deliver_after(replay, activity->link, activity->index,
                      activity->link->latency_ps +
                          eager_rest_ps(replay, activity->link, activity->index));
    } else {
        ps_lane_deliver(replay, activity->link, activity->index);
    }
    if (sender->n_sending > 0) {
        sender->n_sending--;
        ps_lane_try_start(replay, activity->lane);
    }
}

static const PsActivityClass transfer_class = {transfer_kind, transfer_row, transfer_started,
                                               transfer_finished};

/* ---- posting -------------------------------------------------------------------------------- */

static PsActivity open_transfer(PsReplay *replay, const PsLink *link, gint64 microbatch)
{
    const PsReplayActivity content = {
        .class = &transfer_class,
        .lane = ps_lane_of(replay, link->sender, microbatch),
        .index = microbatch,
        .link = link,
        .joint = PS_NO_JOINT,
        .fabric_number = link->message == PS_FLAT
                             ? PS_FLAT
                             : link->message + (guint)(microbatch % link->n_messages),
    };
    gboolean eager = replay->settings->messages == PS_MESSAGES_EAGER;
    return ps_activity_open(replay, eager ? 1 : 2, &content);
}

static void claim_send(PsReplay *replay, PsActivity activity, const PsLink *link, gint64 microbatch)
{
    guint lane = ps_lane_of(replay, link->sender, microbatch);
    ps_activity_claim(replay, activity, lane, PS_STREAM_SEND,
                      ps_lane_transfer_ps(&replay->lanes[lane], link->send_ps));
}

static void claim_receive(PsReplay *replay, PsActivity activity, const PsLink *link,
                          gint64 microbatch)
{
    gboolean single = replay->settings->streams == PS_STREAMS_SINGLE;
    guint lane = ps_lane_of(replay, link->receiver, microbatch);
    ps_activity_claim(replay, activity, lane, single ? PS_STREAM_SEND : PS_STREAM_RECEIVE,
                      ps_lane_transfer_ps(&replay->lanes[lane], link->receive_ps));
}

/* One end comes to a transfer; the first one there opens it. */
static void meet(PsReplay *replay, const PsLink *link, gint64 microbatch, gboolean sends)
{
    gint64 key = (gint64)ps_transfer_number(replay, link, microbatch);
    guint known = GPOINTER_TO_UINT(g_hash_table_lookup(replay->meetings, &key));
    PsActivity activity = known > 0 ? known - 1 : open_transfer(replay, link, microbatch);
    if (known > 0) {
        g_hash_table_remove(replay->meetings, &key);
    } else if (replay->settings->messages == PS_MESSAGES_RENDEZVOUS) {
        g_hash_table_insert(replay->meetings, g_memdup2(&key, sizeof key),
                            GUINT_TO_POINTER(activity + 1));
    }
    (sends ? claim_send : claim_receive)(replay, activity, link, microbatch);
}

static void post_receives(PsReplay *replay, const PsLane *lane, const PsStep *step)
{
    const PsStepProgram *program = ps_program_step(replay->program, lane->stage, step);
    if (replay->settings->messages == PS_MESSAGES_EAGER) {
        return;
    }
    for (guint i = 0; i < program->n_inputs; i++) {
        if (!ps_link_is_instant(program->inputs[i])) {
            meet(replay, program->inputs[i], ps_lane_microbatch(replay, lane, step->index), FALSE);
        }
    }
}

void ps_transfer_await(PsReplay *replay, guint number, const PsStep *step)
{
    PsLane *lane = &replay->lanes[number];
    if (replay->settings->communication == PS_COMMUNICATION_BLOCKING &&
        lane->n_awaited == lane->n_taken) {
        lane->n_awaited++;
        post_receives(replay, lane, step);
    }
}

static void post_sends(PsReplay *replay, const PsLane *lane, const PsStep *step)
{
    const PsStepProgram *program = ps_program_step(replay->program, lane->stage, step);
    for (guint i = 0; i < program->n_tasks; i++) {
        const PsLink *link = program->tasks[i].link;
        if (link != NULL && !ps_link_is_instant(link)) {
            meet(replay, link, ps_lane_microbatch(replay, lane, step->index), TRUE);
        }
    }
}

/* Receives are posted so far ahead where nothing that is to be sent holds them back. */
#define MOST_AHEAD 1024

void ps_transfer_advance(PsReplay *replay, guint number)
{
    PsLane *lane = &replay->lanes[number];
    PsStepTransfer next;
    while (lane->posting != NULL && lane->posting->n_taken < 2 * lane->n_taken + MOST_AHEAD &&
           ps_posting_peek(lane->posting, &next)) {
        gboolean has_sends =
            next.sends && ps_program_step(replay->program, lane->stage, &next.step)->n_sends > 0;
        if (has_sends && !ps_posting_has_output(lane->posting, &next.step)) {
            return;
        }
        ps_posting_take(lane->posting);
        if (has_sends) {
            ps_posting_take_output(lane->posting, &next.step);
            post_sends(replay, lane, &next.step);
        } else if (!next.sends) {
            post_receives(replay, lane, &next.step);
        }
    }
}

void ps_transfer_send(PsReplay *replay, guint number, const PsTask *task, gint64 microbatch)
{
    PsLane *lane = &replay->lanes[number];
    if (ps_link_is_instant(task->link)) {
        ps_transfer_forward(replay, task->link, microbatch);
        return;
    }
    hold_buffer(replay, number, task->link->send_bytes, 1);
    if (lane->posting != NULL) {
        return; /* in its turn */
    }
    if (replay->settings->communication == PS_COMMUNICATION_BLOCKING) {
        lane->n_sending++;
        meet(replay, task->link, microbatch, TRUE);
        return;
    }
    if (replay->ready->len == 0) {
        ps_simulator_schedule(replay->simulator, now(replay), PS_PRIORITY_MATCH,
                              replay->match_handler, 0);
    }
    PsReadyTransfer transfer = {task, number, microbatch};
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

void ps_transfer_match(gpointer data, guint64 unused G_GNUC_UNUSED)
{
    PsReplay *replay = data;
    qsort(replay->ready->data, replay->ready->len, sizeof(PsReadyTransfer), compare_ready);
    for (guint i = 0; i < replay->ready->len; i++) {
        PsReadyTransfer transfer = g_array_index(replay->ready, PsReadyTransfer, i);
        const PsLink *link = transfer.task->link;
        PsActivity activity = open_transfer(replay, link, transfer.microbatch);
        claim_send(replay, activity, link, transfer.microbatch);
        if (replay->settings->messages == PS_MESSAGES_RENDEZVOUS) {
            claim_receive(replay, activity, link, transfer.microbatch);
        }
    }
    g_array_set_size(replay->ready, 0);
}
