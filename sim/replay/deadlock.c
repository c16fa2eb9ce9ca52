#include "sim/base/error.h"
#include "sim/replay/state.h"

/* Which lane an unfinished lane waits for. Once events have run out no op is running, so what a
 * lane has begun it has done. */

static guint number_of(const PsReplay *replay, const PsLane *lane)
{
    return (guint)(lane - replay->lanes);
}

/* A replica of the lane's stage that has not done its last backward of the batch. */
static guint missing_replica(const PsReplay *replay, const PsLane *lane, gint64 batch)
{
    guint first = replay->workload->stages[lane->stage].first_lane;
    guint number = first;
    while (ps_cursor_n_finished(&replay->lanes[number].cursor) >=
           (batch + 1) * lane->cursor.position.batch) {
        number++;
        g_assert(replay->lanes[number].stage == lane->stage);
    }
    return number;
}

static gboolean sender_has_done(const PsReplay *replay, const PsLink *link, gint64 microbatch)
{
    const PsLane *sender = &replay->lanes[ps_lane_of(replay, link->sender, microbatch)];
    gint64 d = replay->workload->stages[link->sender].data_parallel;
    const PsStep step = {link->step, link->sender_chunk, microbatch / d};
    return ps_cursor_has_taken(&sender->cursor, &step);
}

static guint missing_sender(const PsReplay *replay, const PsLane *lane, const PsStep *step,
                            gint64 microbatch)
{
    const PsStepProgram *program = ps_program_step(replay->program, lane->stage, step);
    for (guint i = 0; i < program->n_inputs; i++) {
        if (!sender_has_done(replay, program->inputs[i], microbatch)) {
            return ps_lane_of(replay, program->inputs[i]->sender, microbatch);
        }
    }
    return number_of(replay, lane); /* a backward before its own forward */
}

/* Describes what the lane waits in (caller frees) and finds the lane it waits for. */
static char *describe_wait(const PsReplay *replay, guint number, guint *waits_for)
{
    const PsLane *lane = &replay->lanes[number];
    const char *op = NULL;
    gint64 index;
    PsStep step;
    if (lane->state == PS_LANE_IN_RESYNC) {
        op = "resync of batch";
        index = lane->step.index / lane->cursor.position.batch;
        *waits_for = missing_replica(replay, lane, index);
    } else if (!ps_cursor_peek(&lane->cursor, &step)) {
        *waits_for = number;
        return g_strdup_printf("lane %u (stage %u, replica %u) has finished", number, lane->stage,
                               lane->replica);
    } else if (step.kind == PS_STEP_FORWARD && !ps_lane_has_weights(replay, lane, step.index)) {
        op = "forward for the weights of batch";
        index = lane->n_updated;
        *waits_for = missing_replica(replay, lane, index);
    } else {
        op = step.kind == PS_STEP_FORWARD ? "forward of microbatch" : "backward of microbatch";
        index = ps_lane_microbatch(replay, lane, step.index);
        *waits_for = missing_sender(replay, lane, &step, index);
    }
    return g_strdup_printf("lane %u (stage %u, replica %u) waits in %s %" G_GINT64_FORMAT, number,
                           lane->stage, lane->replica, op, index);
}

gboolean ps_replay_check_done(const PsReplay *replay, GError **error)
{
    guint n_lanes = replay->workload->n_lanes, number = 0;
    PsStep step;
    while (number < n_lanes && replay->lanes[number].state == PS_LANE_IDLE &&
           !ps_cursor_peek(&replay->lanes[number].cursor, &step)) {
        number++;
    }
    if (number == n_lanes) {
        return TRUE;
    }
    /* After as many steps as there are lanes, the walk is on the cycle. */
    for (guint i = 0; i < n_lanes; i++) {
        g_free(describe_wait(replay, number, &number));
    }
    g_autoptr(GString) cycle = g_string_new("deadlock: ");
    guint first = number;
    do {
        g_autofree char *wait = describe_wait(replay, number, &number);
        g_string_append_printf(cycle, "%s -> ", wait);
    } while (number != first);
    g_string_append_printf(cycle, "lane %u", first);
    ps_error(error, PS_ERROR_NEGATIVE, "%s", cycle->str);
    return FALSE;
}
