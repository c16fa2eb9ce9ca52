/* The state of a running replay, shared by the files that advance it, measure it and explain where
 * it got stuck. Internal to sim/replay. */
#pragma once

#include <glib.h>
#include "sim/engine/simulator.h"
#include "sim/engine/stream.h"
#include "sim/replay/account.h"
#include "sim/replay/meter.h"
#include "sim/replay/posting.h"
#include "sim/replay/program.h"
#include "sim/replay/replay.h"
#include "sim/replay/steady.h"
#include "sim/replay/window.h"
#include "sim/schedule/cursor.h"

typedef enum {
    PS_LANE_IDLE,
    PS_LANE_RUNNING,
    PS_LANE_UPDATING,  /* its compute stream applies gradients */
    PS_LANE_IN_RESYNC, /* its compute stream takes part in a collective */
} PsLaneState;

/* What is delivered to a chunk: activations for its forwards, gradients for its backwards. */
typedef enum { PS_ACTIVATIONS, PS_GRADIENTS, PS_N_FLOWS } PsFlow;

typedef struct {
    guint stage;
    guint replica;
    PsLaneState state;
    PsCursor cursor;
    PsStep step;        /* running, or the last one */
    guint task;         /* and its task */
    PsWindow *inputs;   /* deliveries that have come: [chunk * PS_N_FLOWS + flow] */
    guint n_sending;    /* transfers that it stands still for */
    PsPosting *posting; /* of sends and receives in order; NULL where they have none */
    gint64 n_awaited;   /* steps whose receives were posted, where they are when awaited */
    gint64 n_taken;     /* steps begun */
    gint64 n_done;      /* steps that completed a microbatch's gradients on a chunk */
    gint64 n_reduced;   /* batches whose gradients are reduced */
    gint64 n_applied;   /* and by which its optimizer has changed the weights */
    gint64 n_updated;   /* batches whose weights it has got */
    gint64 n_gathers;   /* joined, where weights are brought together for each step */
    double slowness, link_factor; /* of its devices */
    gint64 stop_ps;               /* when it stops; G_MAXINT64: never */
    gint64 n_gathered;            /* steps that took them */
    gint64 n_scatters;            /* joined, where gradients are scattered after each backward */
} PsLane;

/* The occurrences of one of a stage's collectives: all replicas join each, in order. */
typedef struct {
    PsActivity activity;
    guint n_joined;
} PsOpenJoint;

typedef struct {
    gint64 n_done;
    GArray *open; /* PsOpenJoint: from `first` on, occurrences n_done, n_done + 1, ... */
    guint first;
} PsChannel;

typedef struct PsReplay PsReplay;
typedef struct PsReplayActivity PsReplayActivity;

/* A kind of thing that occupies streams. */
typedef struct {
    /* What it is to one of its streams, for the trace. */
    PsOpKind (*kind)(const PsReplay *replay, const PsReplayActivity *activity, guint lane,
                     PsStreamKind stream);
    /* Row of the block vector that its start goes into, at activity->index; G_MAXUINT: none. */
    guint (*row)(const PsReplay *replay, const PsReplayActivity *activity);
    void (*started)(PsReplay *replay, const PsReplayActivity *activity); /* or NULL */
    void (*finished)(PsReplay *replay, const PsReplayActivity *activity);
} PsActivityClass;

struct PsReplayActivity {
    const PsActivityClass *class;
    guint lane;          /* whose task it is; of a collective, the stage's first lane */
    gint64 index;        /* microbatch since the start of the run, or as the class has it */
    const PsTask *task;  /* of a step or transfer */
    const PsLink *link;  /* of a transfer, or of the part of a step that is one */
    guint joint;         /* of a stage's collective */
    guint fabric_number; /* PS_FLAT: takes the time of its claims */
};

/* A transfer that became ready at the current instant. */
typedef struct {
    const PsTask *task;
    guint lane;
    gint64 microbatch;
} PsReadyTransfer;

struct PsReplay {
    const PsWorkload *workload;
    const PsReplaySettings *settings;
    const PsTraceSink *sink;
    PsFabric *fabric; /* NULL: flat */
    PsProgram *program;
    PsSimulator *simulator;
    PsStreams *streams; /* lane * PS_N_STREAMS + kind */
    PsAccount *account;
    PsMeter *meter;
    PsDraws *draws;
    PsLoader *loader; /* NULL: none */
    PsSteady *steady; /* NULL with start cold */
    PsLane *lanes;
    GArray **lists;     /* PsStep: a batch on a lane of each stage; NULL where batches stream on */
    GArray **transfers; /* PsStepTransfer: likewise, where the schedule says so; else NULL */
    gboolean in_parts;  /* some weight gradients run apart */
    PsChannel **channels; /* [stage][joint] */
    GArray *activities;   /* PsReplayActivity, by PsActivity */
    GArray *ready;        /* PsReadyTransfer */
    GHashTable *meetings; /* gint64, link and microbatch -> PsActivity + 1: one end has come */
    GArray *waking;       /* guint: lanes to look at when all that ends at this instant has ended */
    guint match_handler, close_handler, deliver_handler, bucket_handler, settle_handler;
    guint wake_handler;
    gboolean defers; /* starts of lanes, since what a lane starts first depends on what has ended */
    gboolean closing;
    gboolean stops;     /* some lane stops */
    gboolean settling;  /* at this instant some lane has taken more memory than there is */
    gboolean overran;   /* the clock came near its end: nothing was started any more */
    gint64 block;       /* microbatches */
    gint64 last_end_ps; /* of an op */
    gint64 n_recorded, most_recorded; /* starts, for the search for the steady state */
    guint joint_rows;                 /* per stage: see ps_joint_row */
    PsReplayResult *result;
};

/* What an activity is to one of its streams. */
static inline PsOpKind ps_activity_kind(const PsReplay *replay, PsActivity number, guint lane,
                                        PsStreamKind stream)
{
    const PsReplayActivity *activity = &g_array_index(replay->activities, PsReplayActivity, number);
    return activity->class->kind(replay, activity, lane, stream);
}

/* Global number of a lane's microbatch. */
static inline gint64 ps_lane_microbatch(const PsReplay *replay, const PsLane *lane, gint64 index)
{
    return lane->replica + index * replay->workload->stages[lane->stage].data_parallel;
}

/* The lane that runs a microbatch on a stage. */
static inline guint ps_lane_of(const PsReplay *replay, guint stage, gint64 microbatch)
{
    const PsWorkStage *work = &replay->workload->stages[stage];
    return work->first_lane + (guint)(microbatch % work->data_parallel);
}

static inline const PsStageProgram *ps_lane_program(const PsReplay *replay, const PsLane *lane)
{
    return &replay->program->stages[lane->stage];
}

static inline gboolean ps_lane_has_stopped(const PsReplay *replay, const PsLane *lane)
{
    return replay->stops && ps_simulator_now(replay->simulator) >= lane->stop_ps;
}

/* How long a transfer takes this end of it on a flat network. */
static inline gint64 ps_lane_transfer_ps(const PsLane *lane, gint64 duration_ps)
{
    return lane->link_factor == 1 ? duration_ps
                                  : (gint64)((double)duration_ps * lane->link_factor + 0.5);
}

/* Whether a forward of this lane-local microbatch has the weights it needs. */
static inline gboolean ps_lane_has_weights(const PsReplay *replay, const PsLane *lane, gint64 index)
{
    guint versions = replay->settings->schedule->weight_versions;
    return versions == 0 || !ps_lane_program(replay, lane)->updates ||
           index / lane->cursor.position.batch < lane->n_updated + versions;
}

/* Whether the lane may begin the backward of this lane-local microbatch, which adds to gradients:
 * not as long as so many batches before are still to be reduced as it keeps versions of the
 * weights. (Of schedules with a fixed number of versions the forward has waited for that.) */
static inline gboolean ps_lane_may_add_gradients(const PsReplay *replay, const PsLane *lane,
                                                 gint64 index)
{
    const PsLanePosition *position = &lane->cursor.position;
    guint versions = ps_schedule_versions(replay->settings->schedule, (guint)position->batch,
                                          (guint)position->in_flight);
    return !ps_lane_program(replay, lane)->updates ||
           index / position->batch < lane->n_reduced + versions;
}

/* Link and microbatch as one number. */
#define PS_MICROBATCH_BITS 40
static inline guint64 ps_transfer_number(const PsReplay *replay, const PsLink *link,
                                         gint64 microbatch)
{
    return (guint64)(link - replay->program->links) << PS_MICROBATCH_BITS | (guint64)microbatch;
}

/* At one instant: first what ends, then what lanes start where that must wait for all of it (else
 * they start at once), then the transfers that became ready, then the end of the feed,
 * then what the loader begins, then a look at what lanes hold. */
enum {
    PS_PRIORITY_END,
    PS_PRIORITY_WAKE,
    PS_PRIORITY_MATCH,
    PS_PRIORITY_CLOSE,
    PS_PRIORITY_LOAD,
    PS_PRIORITY_SETTLE
};

/* ---- activities.c: whatever occupies streams ------------------------------------------------ */

PsActivity ps_activity_open(PsReplay *replay, guint n_claims, const PsReplayActivity *content);
/* For duration_ps, or for as long as the fabric takes. */
void ps_activity_claim(PsReplay *replay, PsActivity activity, guint lane, PsStreamKind stream,
                       gint64 duration_ps);
extern const PsStreamFuncs ps_activity_stream_funcs;

/* ---- lane.c: steps -------------------------------------------------------------------------- */

/* Begins the lane's next step, or the update of its weights, if it is idle and has what that needs.
 */
void ps_lane_try_start(PsReplay *replay, guint lane);
/* Event: all that ends at this instant has ended. */
void ps_lane_wake(gpointer replay, guint64 unused);
/* One more input of the microbatch is there; a sample of the loader is. */
void ps_lane_deliver(PsReplay *replay, const PsLink *link, gint64 microbatch);
void ps_lane_deliver_sample(gpointer replay, gint64 sample);

/* ---- transfer.c: between lanes -------------------------------------------------------------- */

/* The microbatch, on its way from this lane; of links that do not take streams, and of serial
 * communication, all that is left of the way is its latency. */
void ps_transfer_forward(PsReplay *replay, const PsLink *link, gint64 microbatch);
/* A send of the lane's step is ready, on streams of its own. */
void ps_transfer_send(PsReplay *replay, guint lane, const PsTask *task, gint64 microbatch);
/* The lane is idle before this step, or has begun or ended one: posts what is due. */
void ps_transfer_await(PsReplay *replay, guint lane, const PsStep *step);
void ps_transfer_advance(PsReplay *replay, guint lane);
/* Event: the transfers that became ready at this instant queue at their streams. */
void ps_transfer_match(gpointer replay, guint64 unused);
/* Event: a transfer arrives after its latency. */
void ps_transfer_arrive(gpointer replay, guint64 transfer_number);

/* ---- update.c: what the replicas of a stage do together, and the end of a batch ------------- */

/* The weights of the lane's next step are there, where they must be brought together for it. Has
 * the lane join in that, once. */
gboolean ps_update_gather(PsReplay *replay, guint lane, const PsStep *step);
/* The lane has begun a step: joins in that for the next one already, where streams are apart. */
void ps_update_gather_ahead(PsReplay *replay, guint lane);
/* The lane's task, which completes gradients of a chunk, starts: buckets become ready on the way.
 */
void ps_update_gradients_start(PsReplay *replay, guint lane, guint chunk, gint64 duration_ps);
/* The lane's step comes to where the bucket is ready, if this is the last one of its batch. */
void ps_update_bucket_done(PsReplay *replay, guint lane, guint bucket);
/* Event: a bucket of a lane is ready. */
void ps_update_bucket_ready(gpointer replay, guint64 lane_and_bucket);
/* The lane has done its step: whatever it has to reduce after it. */
void ps_update_step_done(PsReplay *replay, guint lane);
/* Whether the lane has begun to apply gradients. */
gboolean ps_update_try_apply(PsReplay *replay, guint lane);

/* ---- observe.c: what is measured, and for how long ------------------------------------------ */

/* Microbatches per block of the search for the steady state: see steady.h. */
gint64 ps_observe_block(const PsReplay *replay);
PsSteady *ps_observe_new_steady(PsReplay *replay);
guint ps_observe_joint_rows(const PsReplay *replay);
/* Rows of the block vector: steps, then transfers, then collectives of stages, then samples. */
guint ps_link_row(const PsReplay *replay, const PsLink *link);
guint ps_joint_row(const PsReplay *replay, guint stage, guint joint);
guint ps_loader_row(const PsReplay *replay);
/* Op `index` of a row starts now. */
void ps_observe_record(PsReplay *replay, guint row, gint64 index);
/* The step that the lane has taken starts now. */
void ps_observe_step(PsReplay *replay, const PsLane *lane);
/* The measuring window ends now and has seen so many microbatches. */
void ps_observe_end_window(PsReplay *replay, gint64 microbatches);
/* Microbatches that every stage is through with. */
gint64 ps_observe_count_done(const PsReplay *replay);
/* The same for a window that began with the run. */
void ps_observe_end_whole_run(PsReplay *replay, gint64 microbatches);

/* ---- feed.c: how long microbatches come ----------------------------------------------------- */

/* All lanes do what they can. */
void ps_feed_start(PsReplay *replay);
/* No microbatch from `end` on: lanes with nothing left to do drain. */
void ps_feed_set_end(PsReplay *replay, gint64 end);
/* Event: the steady state is found, or given up. */
void ps_feed_close(gpointer replay, guint64 unused);

/* ---- overflow.c ----------------------------------------------------------------------------- */

/* A lane has just taken more memory than there is. If that lasts beyond this instant, at which
 * something else may be given back, the result says so, the first time. */
void ps_replay_note_overflow(PsReplay *replay);
/* Event: the instant is over. */
void ps_replay_settle(gpointer replay, guint64 unused);

/* ---- deadlock.c ----------------------------------------------------------------------------- */

/* Sets the error to the wait cycle if a lane has steps left; for after the events have run out. */
gboolean ps_replay_check_done(const PsReplay *replay, GError **error) G_GNUC_WARN_UNUSED_RESULT;
