#include "sim/schedule/cursor.h"

void ps_cursor_init(PsCursor *cursor, const PsSchedule *schedule, const PsLaneShape *lane,
                    const GArray *steps)
{
    *cursor = (PsCursor){
        .schedule = schedule,
        .steps = steps,
        .position = {.batch = lane->batch, .in_flight = lane->in_flight, .end = G_MAXINT64},
    };
}

void ps_cursor_take(PsCursor *cursor, const PsStep *step)
{
    if (cursor->steps == NULL) {
        cursor->position.n_forward += step->kind == PS_STEP_FORWARD;
        cursor->position.n_backward += step->kind == PS_STEP_BACKWARD;
    } else if (++cursor->place == cursor->steps->len) {
        cursor->place = 0;
        cursor->batch_first += cursor->position.batch;
    }
}

gboolean ps_cursor_ends_batch(const PsCursor *cursor, const PsStep *step)
{
    if (cursor->steps != NULL) {
        return cursor->place == 0;
    }
    return step->kind == PS_STEP_BACKWARD && (step->index + 1) % cursor->position.batch == 0;
}

gboolean ps_cursor_ends_chunk(const PsCursor *cursor, const PsStep *step)
{
    if (cursor->steps == NULL || cursor->place == 0) {
        return ps_cursor_ends_batch(cursor, step);
    }
    for (guint i = cursor->place; i < cursor->steps->len; i++) {
        const PsStep *next = &g_array_index(cursor->steps, PsStep, i);
        if (next->chunk == step->chunk &&
            (next->kind == PS_STEP_BACKWARD || next->kind == PS_STEP_WEIGHT)) {
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean in_list(const PsCursor *cursor, const PsStep *step)
{
    for (guint i = 0; i < cursor->place; i++) {
        const PsStep *taken = &g_array_index(cursor->steps, PsStep, i);
        gboolean alike = step->kind == PS_STEP_FORWARD
                             ? taken->kind == PS_STEP_FORWARD
                             : taken->kind == PS_STEP_BACKWARD || taken->kind == PS_STEP_INPUT;
        if (alike && taken->chunk == step->chunk &&
            taken->index + cursor->batch_first == step->index) {
            return TRUE;
        }
    }
    return FALSE;
}

gboolean ps_cursor_has_taken(const PsCursor *cursor, const PsStep *step)
{
    if (cursor->steps != NULL) {
        return step->index < cursor->batch_first || in_list(cursor, step);
    }
    const PsLanePosition *position = &cursor->position;
    return step->index <
           (step->kind == PS_STEP_FORWARD ? position->n_forward : position->n_backward);
}

gint64 ps_cursor_n_begun(const PsCursor *cursor, gboolean idle)
{
    const PsLanePosition *position = &cursor->position;
    if (cursor->steps != NULL) {
        return cursor->batch_first + (cursor->place > 0 ? position->batch : 0);
    }
    /* A lane that holds nothing would not do anything else instead. */
    PsStepKind kind;
    gboolean waits = idle && position->n_forward > position->n_backward &&
                     cursor->schedule->next(position, &kind) && kind == PS_STEP_FORWARD;
    return position->n_forward + (waits ? 1 : 0);
}

gint64 ps_cursor_n_finished(const PsCursor *cursor)
{
    return cursor->steps != NULL ? cursor->batch_first : cursor->position.n_backward;
}

/* Counts, per microbatch of the batch, the chunks it is in hand on. */
static void count_alive(const PsCursor *cursor, guint *counts)
{
    guint end = cursor->place > 0 ? cursor->place : cursor->steps->len;
    for (guint i = 0; i < end; i++) {
        const PsStep *taken = &g_array_index(cursor->steps, PsStep, i);
        gboolean last = taken->kind == PS_STEP_BACKWARD || taken->kind == PS_STEP_WEIGHT;
        counts[taken->index] += taken->kind == PS_STEP_FORWARD;
        counts[taken->index] -= last && i + 1 < end;
    }
}

GArray *ps_cursor_alive(const PsCursor *cursor, const PsStep *step)
{
    GArray *alive = g_array_new(FALSE, FALSE, sizeof(gint64));
    const PsLanePosition *position = &cursor->position;
    if (cursor->steps == NULL) {
        gint64 first = position->n_backward - (step->kind == PS_STEP_BACKWARD);
        for (gint64 index = first; index < position->n_forward; index++) {
            g_array_append_val(alive, index);
        }
        return alive;
    }
    g_autofree guint *counts = g_new0(guint, position->batch);
    count_alive(cursor, counts);
    for (gint64 i = 0; i < position->batch; i++) {
        if (counts[i] > 0) {
            gint64 index = step->index / position->batch * position->batch + i;
            g_array_append_val(alive, index);
        }
    }
    return alive;
}
