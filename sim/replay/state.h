/* The state of a running replay, shared by the files that advance it, measure it and explain where
 * it got stuck. Internal to sim/replay. */
#pragma once

#include <glib.h>
#include "sim/engine/simulator.h"
#include "sim/engine/stream.h"
#include "sim/replay/account.h"
#include "sim/replay/meter.h"
#include "sim/replay/program.h"
#include "sim/replay/replay.h"
#include "sim/replay/steady.h"
#include "sim/replay/window.h"
#include "sim/schedule/cursor.h"

typedef enum { PS_LANE_IDLE, PS_LANE_RUNNING, PS_LANE_IN_RESYNC } PsLaneState;

/* What is delivered to a chunk: activations for its forwards, gradients for its backwards. */
typedef enum { PS_ACTIVATIONS, PS_GRADIENTS, PS_N_FLOWS } PsFlow;

typedef struct {
    guint stage;
    guint replica;
    PsLaneState state;
    PsCursor cursor;
    PsStep step;      /* running */
    guint task;       /* and its task */
    PsWindow *inputs; /* deliveries that have come: [chunk * PS_N_FLOWS + flow] */
} PsLane;

/* The all-reduce of a stage after a batch, until it is done. */
typedef struct {
    PsActivity activity;
    guint n_joined; /* replicas */
} PsOpenResync;

typedef struct {
    gint64 n_done; /* batches whose update is applied */
    GArray *open;  /* PsOpenResync: batches n_done, n_done + 1, ... */
} PsBatchResync;

/* A transfer, resync or step that occupies streams. */
typedef struct {
    const PsTask *task; /* NULL for the resync of a batch */
    guint lane;         /* whose task it is; for the resync of a batch, the stage's first lane */
    gint64 index;       /* microbatch since the start of the run, or batch */
} PsReplayActivity;

/* A transfer that became ready at the current instant. */
typedef struct {
    const PsTask *task;
    guint lane;
    gint64 microbatch;
} PsReadyTransfer;

typedef struct {
    const PsWorkload *workload;
    const PsReplaySettings *settings;
    const PsTraceSink *sink;
    PsProgram *program;
    PsSimulator *simulator;
    PsStreams *streams; /* lane * PS_N_STREAMS + kind */
    PsAccount *account;
    PsMeter *meter;
    PsSteady *steady; /* NULL with start cold */
    PsLane *lanes;
    GArray **lists;    /* PsStep: a batch on a lane of each stage; NULL where batches stream on */
    gboolean in_parts; /* some weight gradients run apart */
    PsBatchResync *resyncs; /* per stage */
    GArray *activities;     /* PsReplayActivity, by PsActivity */
    GArray *ready;          /* PsReadyTransfer */
    guint match_handler, close_handler, deliver_handler;
    gboolean closing;
    gboolean overran; /* the clock came near its end: nothing was started any more */
    gint64 block;     /* microbatches */
    PsReplayResult *result;
} PsReplay;

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

/* Whether a forward of this lane-local microbatch has the weights it needs. */
static inline gboolean ps_lane_has_weights(const PsReplay *replay, const PsLane *lane, gint64 index)
{
    guint versions = replay->settings->schedule->weight_versions;
    return versions == 0 || replay->program->stages[lane->stage].batch_resync_ps == 0 ||
           index / lane->cursor.position.batch < replay->resyncs[lane->stage].n_done + versions;
}

/* At one instant: first what ends, then the transfers that became ready, then the end of the feed.
 */
enum { PS_PRIORITY_END, PS_PRIORITY_MATCH, PS_PRIORITY_CLOSE };

/* ---- lane.c: lanes and their transfers ----------------------------------------------------------
 */

/* Begins the lane's next step if it is idle and has what the step needs. */
void ps_lane_try_start(PsReplay *replay, guint lane);
/* Event: the transfers that became ready at this instant queue at their streams. */
void ps_lane_match_transfers(gpointer replay, guint64 unused);
/* Event: a transfer arrives after its latency. */
void ps_lane_arrive(gpointer replay, guint64 link_and_microbatch);
extern const PsStreamFuncs ps_lane_stream_funcs;
/* What an activity is on one of its streams. */
PsOpKind ps_replay_kind_on_stream(const PsReplayActivity *activity, PsStreamKind stream);

/* ---- feed.c: how long microbatches come, and what is measured meanwhile
 * -------------------------- */

/* Microbatches per block of the search for the steady state: see steady.h. */
gint64 ps_feed_block(const PsReplay *replay);
PsSteady *ps_feed_new_steady(const PsReplay *replay);
/* Rows of the block vector: steps, then transfers, then resyncs. */
guint ps_link_row(const PsReplay *replay, const PsLink *link);
guint ps_resync_row(const PsReplay *replay, guint stage);
/* Op `index` of a row starts now. */
void ps_feed_record(PsReplay *replay, guint row, gint64 index);
/* The step that the lane has taken starts now. */
void ps_feed_record_step(PsReplay *replay, const PsLane *lane);
/* No microbatch from `end` on: lanes with nothing left to do drain. */
void ps_feed_set_end(PsReplay *replay, gint64 end);
/* Event: the steady state is found, or given up. */
void ps_feed_close(gpointer replay, guint64 unused);
/* The measuring window ends now and has seen so many microbatches. */
void ps_feed_end_window(PsReplay *replay, gint64 microbatches);

/* ---- overflow.c --------------------------------------------------------------------------------
 */

/* The lane has just taken more memory than there is: says so in the result, the first time. */
void ps_replay_note_overflow(PsReplay *replay, guint lane);

/* ---- deadlock.c
 * ---------------------------------------------------------------------------------- */

/* Sets the error to the wait cycle if a lane has steps left; for after the events have run out. */
gboolean ps_replay_check_done(const PsReplay *replay, GError **error) G_GNUC_WARN_UNUSED_RESULT;
