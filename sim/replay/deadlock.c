#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/replay/state.h"

/* Who waits for whom, once events have run out: no op is running then (but on what has stopped), so
 * what a lane has begun it has done. Lanes wait, and so do the streams of their transfers, for the
 * lane at the other end or the stream of it. */
typedef struct {
    guint lane;
    gboolean transfers; /* the stream that its sends are on, not the lane itself */
} Node;

static gboolean same(Node a, Node b)
{
    return a.lane == b.lane && a.transfers == b.transfers;
}

static guint number_of(const PsReplay *replay, const PsLane *lane)
{
    return (guint)(lane - replay->lanes);
}

static gboolean has_stopped(const PsReplay *replay, guint number)
{
    return ps_lane_has_stopped(replay, &replay->lanes[number]);
}

/* The replica of the lane's stage that keeps the others waiting: one that has stopped, or else the
 * one that has done least. */
static guint missing_replica(const PsReplay *replay, const PsLane *lane)
{
    const PsWorkStage *work = &replay->workload->stages[lane->stage];
    guint missing = work->first_lane;
    for (guint i = work->first_lane; i < work->first_lane + work->data_parallel; i++) {
        if (has_stopped(replay, i)) {
            return i;
        }
        if (replay->lanes[i].n_taken < replay->lanes[missing].n_taken) {
            missing = i;
        }
    }
    return missing;
}

static gboolean sender_has_done(const PsReplay *replay, const PsLink *link, gint64 microbatch)
{
    guint number = ps_lane_of(replay, link->sender, microbatch);
    gint64 d = replay->workload->stages[link->sender].data_parallel;
    const PsStep step = {link->step, link->sender_chunk, microbatch / d};
    return !has_stopped(replay, number) &&
           ps_cursor_has_taken(&replay->lanes[number].cursor, &step);
}

/* What keeps the inputs of a step: a sender that has not done its part, or else the transfers. */
static Node missing_input(const PsReplay *replay, const PsLane *lane, const PsStep *step,
                          gint64 microbatch)
{
    const PsStepProgram *program = ps_program_step(replay->program, lane->stage, step);
    for (guint i = 0; i < program->n_inputs; i++) {
        if (!sender_has_done(replay, program->inputs[i], microbatch)) {
            return (Node){ps_lane_of(replay, program->inputs[i]->sender, microbatch), FALSE};
        }
    }
    for (guint i = 0; i < program->n_inputs; i++) {
        guint sender = ps_lane_of(replay, program->inputs[i]->sender, microbatch);
        PsActivity first;
        if (ps_streams_first(replay->streams, sender * PS_N_STREAMS + PS_STREAM_SEND, &first)) {
            return (Node){sender, TRUE};
        }
    }
    return (Node){number_of(replay, lane), FALSE}; /* a backward before its own forward */
}

/* ---- what one waits in ---------------------------------------------------------------------- */

static char *describe_transfers(const PsReplay *replay, Node node, Node *waits_for)
{
    PsActivity first, there;
    gboolean waits =
        ps_streams_first(replay->streams, node.lane * PS_N_STREAMS + PS_STREAM_SEND, &first);
    g_assert(waits);
    const PsReplayActivity *transfer = &g_array_index(replay->activities, PsReplayActivity, first);
    guint receiver = ps_lane_of(replay, transfer->link->receiver, transfer->index);
    guint other = receiver == node.lane ? transfer->lane : receiver;
    gboolean single = replay->settings->streams == PS_STREAMS_SINGLE;
    guint stream = other * PS_N_STREAMS + (single ? PS_STREAM_SEND : PS_STREAM_RECEIVE);
    gboolean busy = ps_streams_first(replay->streams, stream, &there) && there != first;
    *waits_for = (Node){other, busy && single};
    return g_strdup_printf("a %s of lane %u waits in microbatch %" G_GINT64_FORMAT,
                           receiver == node.lane ? "receive" : "send", node.lane, transfer->index);
}

static const char *input_text(const PsStep *step)
{
    return step->kind == PS_STEP_FORWARD ? "forward of microbatch" : "backward of microbatch";
}

static gboolean waits_for_gather(const PsReplay *replay, const PsLane *lane)
{
    guint gather = ps_lane_program(replay, lane)->gather;
    return gather != PS_NO_JOINT && lane->n_gathers > lane->n_gathered &&
           replay->channels[lane->stage][gather].n_done <= lane->n_gathered;
}

static gboolean waits_for_resync(const PsReplay *replay, const PsLane *lane, const PsStep *step)
{
    return (step->kind == PS_STEP_BACKWARD || step->kind == PS_STEP_INPUT) &&
           !ps_lane_may_add_gradients(replay, lane, step->index);
}

static char *describe_lane(const PsReplay *replay, Node node, Node *waits_for)
{
    const PsLane *lane = &replay->lanes[node.lane];
    PsStep step;
    const char *op;
    gint64 index;
    *waits_for = node;
    if (has_stopped(replay, node.lane)) {
        return g_strdup_printf("lane %u (stage %u, replica %u) has stopped", node.lane, lane->stage,
                               lane->replica);
    }
    if (lane->state == PS_LANE_IN_RESYNC) {
        op = "resync of batch";
        index = lane->step.index / lane->cursor.position.batch;
        waits_for->lane = missing_replica(replay, lane);
    } else if (lane->n_sending > 0) {
        op = "the sends of microbatch";
        index = ps_lane_microbatch(replay, lane, lane->step.index);
        waits_for->transfers = TRUE;
    } else if (!ps_cursor_peek(&lane->cursor, &step)) {
        return g_strdup_printf("lane %u (stage %u, replica %u) has finished", node.lane,
                               lane->stage, lane->replica);
    } else if (step.kind == PS_STEP_FORWARD && !ps_lane_has_weights(replay, lane, step.index)) {
        op = "forward for the weights of batch";
        index = lane->n_updated;
        waits_for->lane = missing_replica(replay, lane);
    } else if (waits_for_resync(replay, lane, &step)) {
        op = "backward for the resync of batch";
        index = lane->n_reduced;
        waits_for->lane = missing_replica(replay, lane);
    } else if (waits_for_gather(replay, lane)) {
        op = "the gathering of weights for microbatch";
        index = ps_lane_microbatch(replay, lane, step.index);
        waits_for->lane = missing_replica(replay, lane);
    } else {
        op = input_text(&step);
        index = ps_lane_microbatch(replay, lane, step.index);
        *waits_for = missing_input(replay, lane, &step, index);
    }
    return g_strdup_printf("lane %u (stage %u, replica %u) waits in %s %" G_GINT64_FORMAT,
                           node.lane, lane->stage, lane->replica, op, index);
}

/* Caller frees. */
static char *describe_wait(const PsReplay *replay, Node node, Node *waits_for)
{
    return (node.transfers ? describe_transfers : describe_lane)(replay, node, waits_for);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static gboolean has_more(const PsReplay *replay, guint number)
{
    const PsLane *lane = &replay->lanes[number];
    PsStep step;
    return lane->state != PS_LANE_IDLE || ps_cursor_peek(&lane->cursor, &step);
}

#define MOST_TOLD 8

static char *describe_cycle(const PsReplay *replay, Node node)
{
    /* After as many steps as there are nodes, the walk is on the cycle. */
    for (guint i = 0; i < 2 * replay->workload->n_lanes; i++) {
        g_free(describe_wait(replay, node, &node));
    }
    GString *cycle = g_string_new("deadlock: ");
    Node first = node;
    guint n = 0;
    do {
        g_autofree char *wait = describe_wait(replay, node, &node);
        if (n++ < MOST_TOLD) {
            g_string_append_printf(cycle, "%s -> ", wait);
        }
    } while (!same(node, first));
    if (n > MOST_TOLD) {
        g_string_append_printf(cycle, "%u more -> ", n - MOST_TOLD);
    }
    g_string_append_printf(cycle, "lane %u", first.lane);
    return g_string_free(cycle, FALSE);
}

/* Those that have stopped first, then the others. */
static char *describe_standstill(const PsReplay *replay)
{
    guint n_told = 0, n = 0;
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < 2 * replay->workload->n_lanes; i++) {
        guint number = i % replay->workload->n_lanes;
        gboolean stopped = has_stopped(replay, number);
        if (stopped != (i < replay->workload->n_lanes) || !has_more(replay, number)) {
            continue;
        }
        Node next;
        g_autofree char *wait = describe_wait(replay, (Node){number, FALSE}, &next);
        if (n++ < MOST_TOLD) {
            g_string_append_printf(text, "%s%s", n_told++ > 0 ? "; " : "", wait);
            if (!stopped) {
                g_string_append_printf(text, " for lane %u", next.lane);
            }
        }
    }
    if (n > MOST_TOLD) {
        g_string_append_printf(text, "; and %u more", n - MOST_TOLD);
    }
    g_autofree char *time =
        ps_quantity_format(PS_SECONDS, ps_ps_to_seconds(ps_simulator_now(replay->simulator)));
    g_string_prepend(text, ": ");
    g_string_prepend(text, time);
    g_string_prepend(text, "standstill at ");
    return g_string_free(text, FALSE);
}

gboolean ps_replay_check_done(const PsReplay *replay, GError **error)
{
    guint n_lanes = replay->workload->n_lanes, number = 0;
    while (number < n_lanes && !has_more(replay, number)) {
        number++;
    }
    if (number == n_lanes) {
        return TRUE;
    }
    for (guint i = 0; replay->stops && i < n_lanes; i++) {
        if (has_stopped(replay, i) && has_more(replay, i)) {
            replay->result->partial = TRUE;
            replay->result->standstill = describe_standstill(replay);
            return TRUE;
        }
    }
    g_autofree char *cycle = describe_cycle(replay, (Node){number, FALSE});
    ps_error(error, PS_ERROR_STUCK, "%s", cycle);
    return FALSE;
}
