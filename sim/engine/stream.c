#include "sim/engine/stream.h"

#define NONE G_MAXUINT32

/* Claims and activities live in pools and name each other by index. */
typedef struct {
    gint64 duration_ps;
    guint32 activity;
    guint32 stream;
    guint32 next_in_stream;
    guint32 next_in_activity; /* of a free claim: the next free one */
} Claim;

typedef struct {
    gint64 start_ps;
    guint32 n_waiting;    /* claims not yet made, or not yet first in their stream */
    guint32 n_unfinished; /* claims that have not ended */
    guint32 first_claim;  /* of a free activity: the next free one */
} Activity;

typedef struct {
    guint32 first, last; /* claims */
    gboolean busy;       /* the first claim is running */
} Stream;

struct PsStreams {
    PsSimulator *simulator;
    const PsStreamFuncs *funcs;
    gpointer owner;
    guint priority;
    guint handler;
    Stream *streams;
    GArray *claims;     /* Claim */
    GArray *activities; /* Activity */
    guint32 free_claim, free_activity;
};

static inline Claim *claim_at(const PsStreams *streams, guint32 claim)
{
    return &g_array_index(streams->claims, Claim, claim);
}

static inline Activity *activity_at(const PsStreams *streams, guint32 activity)
{
    return &g_array_index(streams->activities, Activity, activity);
}

static void start(PsStreams *streams, guint32 index)
{
    Activity *activity = activity_at(streams, index);
    gint64 now_ps = ps_simulator_now(streams->simulator);
    activity->start_ps = now_ps;
    for (guint32 i = activity->first_claim; i != NONE; i = claim_at(streams, i)->next_in_activity) {
        const Claim *claim = claim_at(streams, i);
        streams->streams[claim->stream].busy = TRUE;
        if (claim->duration_ps == PS_UNTIL_ENDED) {
            continue;
        }
        g_assert(claim->duration_ps <= G_MAXINT64 - now_ps);
        ps_simulator_schedule(streams->simulator, now_ps + claim->duration_ps, streams->priority,
                              streams->handler, i);
    }
    streams->funcs->started(streams->owner, index);
}

static void came_first(PsStreams *streams, guint32 claim)
{
    guint32 activity = claim_at(streams, claim)->activity;
    if (--activity_at(streams, activity)->n_waiting == 0) {
        start(streams, activity);
    }
}

static void claim_ended(gpointer data, guint64 index)
{
    PsStreams *streams = data;
    Claim claim = *claim_at(streams, (guint32)index);
    Stream *stream = &streams->streams[claim.stream];
    gint64 start_ps = activity_at(streams, claim.activity)->start_ps;
    stream->busy = FALSE;
    stream->first = claim.next_in_stream;
    if (stream->first != NONE) {
        came_first(streams, stream->first);
    }
    streams->funcs->released(streams->owner, claim.activity, claim.stream, start_ps);
    if (--activity_at(streams, claim.activity)->n_unfinished > 0) {
        return;
    }
    streams->funcs->finished(streams->owner, claim.activity);
    Activity *activity = activity_at(streams, claim.activity);
    guint32 next;
    for (guint32 i = activity->first_claim; i != NONE; i = next) {
        next = claim_at(streams, i)->next_in_activity;
        claim_at(streams, i)->next_in_activity = streams->free_claim;
        streams->free_claim = i;
    }
    activity->first_claim = streams->free_activity;
    streams->free_activity = claim.activity;
}

void ps_streams_end(PsStreams *streams, PsActivity number)
{
    guint32 next;
    for (guint32 i = activity_at(streams, number)->first_claim; i != NONE; i = next) {
        g_assert(claim_at(streams, i)->duration_ps == PS_UNTIL_ENDED);
        next = claim_at(streams, i)->next_in_activity; /* read before the last one frees all */
        claim_ended(streams, i);
    }
}

PsStreams *ps_streams_new(PsSimulator *simulator, guint n_streams, guint priority,
                          const PsStreamFuncs *funcs, gpointer owner)
{
    PsStreams *streams = g_new0(PsStreams, 1);
    streams->simulator = simulator;
    streams->funcs = funcs;
    streams->owner = owner;
    streams->priority = priority;
    streams->handler = ps_simulator_add_handler(simulator, claim_ended, streams);
    streams->streams = g_new(Stream, MAX(n_streams, 1));
    for (guint i = 0; i < n_streams; i++) {
        streams->streams[i] = (Stream){NONE, NONE, FALSE};
    }
    streams->claims = g_array_new(FALSE, FALSE, sizeof(Claim));
    streams->activities = g_array_new(FALSE, FALSE, sizeof(Activity));
    streams->free_claim = streams->free_activity = NONE;
    return streams;
}

void ps_streams_free(PsStreams *streams)
{
    if (streams != NULL) {
        g_free(streams->streams);
        g_array_unref(streams->claims);
        g_array_unref(streams->activities);
        g_free(streams);
    }
}

PsActivity ps_streams_open(PsStreams *streams, guint n_claims)
{
    g_assert(n_claims > 0);
    Activity activity = {0, n_claims, n_claims, NONE};
    guint32 index = streams->free_activity;
    if (index == NONE) {
        g_array_append_val(streams->activities, activity);
        return streams->activities->len - 1;
    }
    streams->free_activity = activity_at(streams, index)->first_claim;
    *activity_at(streams, index) = activity;
    return index;
}

void ps_streams_claim(PsStreams *streams, PsActivity activity, guint stream, gint64 duration_ps)
{
    Claim claim = {duration_ps, activity, stream, NONE,
                   activity_at(streams, activity)->first_claim};
    guint32 index = streams->free_claim;
    if (index == NONE) {
        index = streams->claims->len;
        g_array_append_val(streams->claims, claim);
    } else {
        streams->free_claim = claim_at(streams, index)->next_in_activity;
        *claim_at(streams, index) = claim;
    }
    activity_at(streams, activity)->first_claim = index;
    Stream *queue = &streams->streams[stream];
    if (queue->first == NONE) {
        queue->first = queue->last = index;
        came_first(streams, index);
    } else {
        claim_at(streams, queue->last)->next_in_stream = index;
        queue->last = index;
    }
}

gboolean ps_streams_first(const PsStreams *streams, guint stream, PsActivity *activity)
{
    guint32 first = streams->streams[stream].first;
    if (first == NONE) {
        return FALSE;
    }
    *activity = claim_at(streams, first)->activity;
    return TRUE;
}

gboolean ps_streams_running(const PsStreams *streams, guint stream, PsActivity *activity,
                            gint64 *start_ps)
{
    const Stream *queue = &streams->streams[stream];
    if (!queue->busy) {
        return FALSE;
    }
    *activity = claim_at(streams, queue->first)->activity;
    *start_ps = activity_at(streams, *activity)->start_ps;
    return TRUE;
}
