/* How fast microbatches are completed in the measuring window of a run. */
#pragma once

#include "sim/trace/run.h"

typedef struct {
    gint64 completed;          /* microbatches whose last op ended within the window */
    gint64 completed_in_order; /* the same where one counts once all before it are complete */
    /* Batches of which all that came before was complete at its start, one after the other, from
     * the first to the last that lies in the window as a whole. */
    gint64 n_batches;
    gint64 least_batch_ps, most_batch_ps;
} PsPace;

/* ends_ps[n]: when each microbatch was complete (its share of an amortised resync as well), -1
 * where no row tells: then it counts as complete with the one before it. */
PsPace ps_pace_measure(const PsRunSummary *summary, const gint64 *ends_ps, gint64 n);

/* Whether a time lies within the window; one that begins with the run holds its first moment. */
static inline gboolean ps_in_window(const PsRunSummary *summary, gint64 time_ps)
{
    return (time_ps > summary->window_start_ps || summary->window_start_ps == 0) &&
           time_ps <= summary->window_end_ps;
}
