/* The pending events of a simulation, in the order (time, priority, sequence).
 *
 * - Time is a non-negative count of picoseconds. Of events at one time the lowest priority number
 *   comes first; of events with equal time and priority the one pushed first. Nothing else (no
 *   address, no hash) ever decides, so the order of a run is a function of its pushes.
 * - Push, pop and cancel take O(1) amortised where times are spread and O(log n) at worst (many
 *   events at one time). Memory grows geometrically and is kept: a run that has reached its largest
 *   number of pending events allocates no more.
 * - At most 2^26 events can be pending (the program aborts beyond, as if out of memory).
 *
 * Not thread-safe; each simulation has its own queue. */
#pragma once

#include <glib.h>

/* Priorities are 0 .. PS_N_PRIORITIES - 1. */
#define PS_N_PRIORITIES 16

typedef struct {
    gint64 time_ps;
    guint32 handler; /* the owner's: what to do */
    guint64 data;    /* the owner's: with what */
} PsEvent;

/* Names one push for ever: a handle is not used again for a later event until 2^32 events have
 * taken the same place. Never 0. */
typedef guint64 PsEventHandle;

typedef struct PsEventQueue PsEventQueue;

PsEventQueue *ps_event_queue_new(void);
void ps_event_queue_free(PsEventQueue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsEventQueue, ps_event_queue_free)

PsEventHandle ps_event_queue_push(PsEventQueue *queue, gint64 time_ps, guint priority,
                                  guint32 handler, guint64 data);
/* FALSE where the event has been popped or cancelled already. */
gboolean ps_event_queue_cancel(PsEventQueue *queue, PsEventHandle handle);
/* Takes the first event out; FALSE where none is left. */
gboolean ps_event_queue_pop(PsEventQueue *queue, PsEvent *event);
/* Events pending: pushed, and neither popped nor cancelled. */
gsize ps_event_queue_size(const PsEventQueue *queue);
