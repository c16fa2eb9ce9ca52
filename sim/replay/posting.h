/* The order of a lane's sends and receives where one stream does both: step after step what it
 * needs and what it hands on, or as a schedule file spells them out. */
#pragma once

#include "sim/replay/window.h"
#include "sim/schedule/cursor.h"

typedef struct {
    PsCursor cursor; /* of steps; the next one's receives, or its sends, come next */
    gboolean sends;
    const GArray *transfers; /* PsStepTransfer: one batch of a schedule file, instead; or NULL */
    guint place;
    gint64 batch_first;
    PsWindow *outputs; /* steps that have something to send: [chunk * 2 + whether backwards] */
    guint n_outputs;
    gint64 n_taken; /* receives and sends of steps, one after the other */
} PsPosting;

/* steps and transfers are borrowed. */
PsPosting *ps_posting_new(const PsSchedule *schedule, const PsLaneShape *lane, const GArray *steps,
                          const GArray *transfers);
void ps_posting_free(PsPosting *posting);

/* What comes next: all that a step receives, or all that it sends; FALSE where nothing does. */
gboolean ps_posting_peek(const PsPosting *posting, PsStepTransfer *next);
void ps_posting_take(PsPosting *posting);

/* The sends of a step are ready from now on. */
void ps_posting_add_output(PsPosting *posting, const PsStep *step);
gboolean ps_posting_has_output(const PsPosting *posting, const PsStep *step);
void ps_posting_take_output(PsPosting *posting, const PsStep *step);

static inline void ps_posting_set_end(PsPosting *posting, gint64 end)
{
    ps_cursor_set_end(&posting->cursor, end);
}

/* As ps_cursor_n_begun, of what has been posted. */
gint64 ps_posting_n_begun(const PsPosting *posting);
