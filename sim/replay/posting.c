#include "sim/replay/posting.h"

PsPosting *ps_posting_new(const PsSchedule *schedule, const PsLaneShape *lane, const GArray *steps,
                          const GArray *transfers)
{
    PsPosting *posting = g_new0(PsPosting, 1);
    ps_cursor_init(&posting->cursor, schedule, lane, steps);
    posting->transfers = transfers;
    posting->n_outputs = 2 * lane->chunks;
    posting->outputs = g_new(PsWindow, posting->n_outputs);
    for (guint i = 0; i < posting->n_outputs; i++) {
        ps_window_init(&posting->outputs[i]);
    }
    return posting;
}

void ps_posting_free(PsPosting *posting)
{
    if (posting != NULL) {
        for (guint i = 0; i < posting->n_outputs; i++) {
            ps_window_clear(&posting->outputs[i]);
        }
        g_free(posting->outputs);
        g_free(posting);
    }
}

gboolean ps_posting_peek(const PsPosting *posting, PsStepTransfer *next)
{
    if (posting->transfers == NULL) {
        next->sends = posting->sends;
        return ps_cursor_peek(&posting->cursor, &next->step);
    }
    if (posting->transfers->len == 0 || posting->batch_first >= posting->cursor.position.end) {
        return FALSE;
    }
    *next = g_array_index(posting->transfers, PsStepTransfer, posting->place);
    next->step.index += posting->batch_first;
    return TRUE;
}

void ps_posting_take(PsPosting *posting)
{
    PsStep step;
    posting->n_taken++;
    if (posting->transfers != NULL) {
        if (++posting->place == posting->transfers->len) {
            posting->place = 0;
            posting->batch_first += posting->cursor.position.batch;
        }
    } else if (posting->sends && ps_cursor_peek(&posting->cursor, &step)) {
        ps_cursor_take(&posting->cursor, &step);
        posting->sends = FALSE;
    } else {
        posting->sends = TRUE;
    }
}

static PsWindow *output_of(const PsPosting *posting, const PsStep *step)
{
    return &posting->outputs[2 * step->chunk + (step->kind != PS_STEP_FORWARD)];
}

void ps_posting_add_output(PsPosting *posting, const PsStep *step)
{
    ps_window_add(output_of(posting, step), step->index);
}

gboolean ps_posting_has_output(const PsPosting *posting, const PsStep *step)
{
    return ps_window_count(output_of(posting, step), step->index) > 0;
}

void ps_posting_take_output(PsPosting *posting, const PsStep *step)
{
    ps_window_take(output_of(posting, step), step->index);
}

gint64 ps_posting_n_begun(const PsPosting *posting)
{
    if (posting->transfers != NULL) {
        return posting->batch_first + (posting->place > 0 ? posting->cursor.position.batch : 0);
    }
    PsCursor ahead = posting->cursor;
    PsStep step;
    if (posting->sends && ps_cursor_peek(&ahead, &step)) {
        ps_cursor_take(&ahead, &step); /* its receives are posted */
    }
    return ps_cursor_n_begun(&ahead, FALSE);
}
