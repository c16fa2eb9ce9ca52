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

typedef enum { PS_LANE_IDLE, PS_LANE_RUNNING, PS_LANE_IN_RESYNC } PsLaneState;

typedef struct {
    guint stage;
    guint replica;
    PsLaneState state;
    PsLanePosition position;
    PsStepKind step;             /* running */
    gint64 index;                /* its lane-local microbatch */
    guint task;                  /* and task */
    PsWindow inputs[PS_N_STEPS]; /* deliveries that have come, per step */
} PsLane;

/* The all-reduces of a stage after each batch. Up to weight_versions can be open at once. */
typedef struct {
    gint64 n_done;    /* batches whose update is applied */
    PsActivity *open; /* [weight_versions], by batch modulo weight_versions */
    guint *n_joined;  /* [weight_versions] */
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
    PsBatchResync *resyncs; /* per stage */
    GArray *activities;     /* PsReplayActivity, by PsActivity */
    GArray *ready;          /* PsReadyTransfer */
    guint match_handler, close_handler;
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
    return replay->program->stages[lane->stage].batch_resync_ps == 0 ||
           index / lane->position.batch <
               replay->resyncs[lane->stage].n_done + replay->settings->schedule->weight_versions;
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
extern const PsStreamFuncs ps_lane_stream_funcs;
/* What an activity is on one of its streams. */
PsOpKind ps_replay_kind_on_stream(const PsReplayActivity *activity, PsStreamKind stream);

/* ---- feed.c: how long microbatches come, and what is measured meanwhile
 * -------------------------- */

/* Microbatches per block of the search for the steady state: see steady.h. */
gint64 ps_feed_block(const PsReplay *replay);
PsSteady *ps_feed_new_steady(const PsReplay *replay);
/* Rows of the block vector: steps, then transfers, then resyncs. */
guint ps_step_row(const PsLane *lane, PsStepKind step);
guint ps_link_row(const PsReplay *replay, const PsLink *link);
guint ps_resync_row(const PsReplay *replay, guint stage);
/* Op `index` of a row starts now. */
void ps_feed_record(PsReplay *replay, guint row, gint64 index);
/* No microbatch from `end` on: lanes with nothing left to do drain. */
void ps_feed_set_end(PsReplay *replay, gint64 end);
/* Event: the steady state is found, or given up. */
void ps_feed_close(gpointer replay, guint64 unused);
/* The measuring window ends now and has seen so many microbatches. */
void ps_feed_end_window(PsReplay *replay, gint64 microbatches);

/* ---- deadlock.c
 * ---------------------------------------------------------------------------------- */

/* Sets the error to the wait cycle if a lane has steps left; for after the events have run out. */
gboolean ps_replay_check_done(const PsReplay *replay, GError **error) G_GNUC_WARN_UNUSED_RESULT;
