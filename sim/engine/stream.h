/* Streams: resources that work through activities one at a time, in the order they were claimed.
 *
 * An activity claims one stream or several (a computation one, a transfer a sender and a receiver,
 * a collective every member), each for a duration of its own. It starts once all its claims have
 * been made and every one of them is first in its stream; all start together, and each stream is
 * free again when its own claim has lasted its time. An activity is finished when its last claim
 * is. Claims of one activity may be made at different times: whoever comes first waits, and keeps
 * its stream waiting behind it. A claim may also last until its owner ends it. */
#pragma once

#include <glib.h>
#include "sim/engine/simulator.h"

typedef struct PsStreams PsStreams;

/* Small numbers, used again after the activity has finished; fit to index an owner's array. */
typedef guint PsActivity;

/* Called at the current time of the simulator; each may open activities and make claims. The
 * stream is free (and the next claim may have started) when `released` is called. */
typedef struct {
    void (*started)(gpointer owner, PsActivity activity);
    void (*released)(gpointer owner, PsActivity activity, guint stream, gint64 start_ps);
    void (*finished)(gpointer owner, PsActivity activity);
} PsStreamFuncs;

/* priority: of the events at which claims end. simulator and funcs must outlive the streams. */
PsStreams *ps_streams_new(PsSimulator *simulator, guint n_streams, guint priority,
                          const PsStreamFuncs *funcs, gpointer owner);
void ps_streams_free(PsStreams *streams);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsStreams, ps_streams_free)

/* A new activity that will have n_claims (at least 1) claims, then its claims. The activity may
 * start inside the call that makes the last one. */
PsActivity ps_streams_open(PsStreams *streams, guint n_claims);
void ps_streams_claim(PsStreams *streams, PsActivity activity, guint stream, gint64 duration_ps);

/* As duration_ps of every claim of an activity: they last until ps_streams_end. */
#define PS_UNTIL_ENDED (-1)
/* Ends the activity, which has started and whose claims are PS_UNTIL_ENDED, now. */
void ps_streams_end(PsStreams *streams, PsActivity activity);

/* The activity that occupies the stream, or that it waits with; FALSE where it has none to do. */
gboolean ps_streams_first(const PsStreams *streams, guint stream, PsActivity *activity);

/* The activity that occupies the stream and since when; FALSE where none does. */
gboolean ps_streams_running(const PsStreams *streams, guint stream, PsActivity *activity,
                            gint64 *start_ps);
