/* A lane's way through its schedule: which step is next, batch after batch. */
#pragma once

#include <glib.h>
#include "sim/schedule/schedule.h"

typedef struct {
    const PsSchedule *schedule;
    const GArray *steps; /* PsStep: one batch, where the schedule flushes; else NULL */
    guint place;         /* in steps */
    gint64 batch_first;  /* index of the first microbatch of the batch under way */
    PsLanePosition position;
} PsCursor;

/* steps (of ps_schedule_list) is borrowed; NULL for a schedule that streams. No end is known yet.
 */
void ps_cursor_init(PsCursor *cursor, const PsSchedule *schedule, const PsLaneShape *lane,
                    const GArray *steps);

/* No microbatch from `end` on; of a schedule that flushes, the end of a batch. */
static inline void ps_cursor_set_end(PsCursor *cursor, gint64 end)
{
    cursor->position.end = end;
}

/* The next step; FALSE where the lane has done all. */
static inline gboolean ps_cursor_peek(const PsCursor *cursor, PsStep *step)
{
    const PsLanePosition *position = &cursor->position;
    if (cursor->steps != NULL) {
        if (cursor->batch_first >= position->end) {
            return FALSE;
        }
        *step = g_array_index(cursor->steps, PsStep, cursor->place);
        step->index += cursor->batch_first;
        return TRUE;
    }
    step->chunk = 0;
    gboolean more = cursor->schedule->next(position, &step->kind);
    step->index = step->kind == PS_STEP_FORWARD ? position->n_forward : position->n_backward;
    return more;
}

/* Begins the step that was peeked at. */
void ps_cursor_take(PsCursor *cursor, const PsStep *step);

/* Whether `step`, the last one taken, is the last of its batch. */
gboolean ps_cursor_ends_batch(const PsCursor *cursor, const PsStep *step);

/* Whether `step`, the last one taken, a backward or weight gradient, is the last of its batch on
 * its chunk. */
gboolean ps_cursor_ends_chunk(const PsCursor *cursor, const PsStep *step);

/* Whether the step has been taken: a forward, or a backward or input gradient (which count as the
 * same). */
gboolean ps_cursor_has_taken(const PsCursor *cursor, const PsStep *step);

/* The microbatches in hand on any chunk, in ascending order: begun, and their last step not taken
 * before `step`, the last one taken. gint64; caller unrefs. */
GArray *ps_cursor_alive(const PsCursor *cursor, const PsStep *step);

/* How many microbatches are through: of a schedule that flushes, whole batches of them. */
gint64 ps_cursor_n_finished(const PsCursor *cursor);

/* How many microbatches have begun, or will whatever the end: a forward that the lane waits for
 * counts if it holds microbatches. Whole batches where the schedule flushes. */
gint64 ps_cursor_n_begun(const PsCursor *cursor, gboolean idle);
