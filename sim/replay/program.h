/* A workload compiled for given settings: what each stage does in a step and after a batch, in
 * picoseconds, or, over a network, by the numbers of what is prepared there. */
#pragma once

#include <glib.h>
#include "sim/replay/fabric.h"
#include "sim/replay/settings.h"
#include "sim/replay/workload.h"
#include "sim/trace/trace.h"

/* Instead of a number of the fabric: takes the time that is foretold. */
#define PS_FLAT G_MAXUINT

/* One direction of a border between two places of the pipeline. Links are ordered by sender, its
 * chunk, then distance (nearest first). */
typedef struct {
    guint sender, receiver; /* stages */
    guint sender_chunk, receiver_chunk;
    guint distance;  /* in stages, where there are no chunks */
    PsStepKind step; /* PS_STEP_FORWARD: activations; PS_STEP_BACKWARD: gradients */
    double send_s, receive_s;
    gint64 send_ps, receive_ps; /* the same on the clock */
    gint64 latency_ps;          /* after the longer of both */
    double send_bytes, receive_bytes;
    guint message, n_messages; /* of the fabric: of microbatch n, message + n mod n_messages;
                                  message is PS_FLAT on a flat network */
} PsLink;

/* Whether what crosses is there at once: within a stage, or on a flat network for no bytes. */
static inline gboolean ps_link_is_instant(const PsLink *link)
{
    return link->sender == link->receiver ||
           (link->message == PS_FLAT && link->send_ps == 0 && link->receive_ps == 0);
}

typedef struct {
    PsOpKind kind;
    guint chunk;
    gboolean detached; /* runs on a stream of its own while the lane goes on */
    gboolean takes_workspace;
    gboolean releases;  /* the microbatch's stash and workspace, when it ends */
    gboolean gradients; /* those of the weights are done when it ends */
    gint64 duration_ps; /* 0 for detached sends: see the link */
    double bytes;
    const PsLink *link; /* of a send or receive */
    guint collective;   /* of the fabric, for replica 0; the others' follow. PS_FLAT elsewhere */
    guint bucket;       /* takes no time: a bucket is ready here, or PS_NO_JOINT */
} PsTask;

#define PS_NO_JOINT G_MAXUINT

static inline gboolean ps_task_computes(const PsTask *task)
{
    return task->link == NULL && task->collective == PS_FLAT && task->kind != PS_OP_RESYNC;
}

typedef struct {
    PsTask *tasks; /* in order */
    guint n_tasks;
    const PsLink **inputs; /* what must be delivered before the step */
    guint n_inputs;
    guint n_deliveries; /* that the step waits for: the inputs, and a sample of the loader */
    guint n_sends;      /* that take time */
} PsStepProgram;

/* A collective of the replicas of a stage, which all join it. */
typedef struct {
    PsOpKind kind; /* PS_OP_RESYNC, PS_OP_REDUCE_SCATTER or PS_OP_ALL_GATHER */
    guint chunk;
    double ready; /* of a bucket: the share of the chunk's last gradients that it waits for */
    gint64 duration_ps;
    guint collective; /* of the fabric, or PS_FLAT */
    double bytes;     /* moved by each lane */
} PsJoint;

typedef struct {
    PsStepProgram *steps; /* [chunk * PS_N_STEPS + kind] */
    PsJoint *joints;
    guint n_joints;
    guint n_buckets;  /* the first joints: gradients, once per batch */
    guint parameters; /* the joint that shares updated weights out, once per batch */
    guint gather;     /* the joint that brings weights together before each forward and backward */
    guint scatter;    /* the joint that reduces gradients after each backward */
    gint64 optimizer_ps;
    gboolean updates; /* something of this takes time after a batch */
} PsStageProgram;

typedef struct {
    guint n_links;
    PsLink *links;
    guint n_stages, n_chunks;
    PsStageProgram *stages;
    guint first_stage, first_chunk; /* where microbatches come in */
    guint *devices;                 /* of each rank */
} PsProgram;

/* settings fit the workload (ps_replay_run has seen to it). fabric: where the network is not flat,
 * a fresh one in which all that crosses it is prepared; else NULL. Errors are those of routes and
 * collectives. */
PsProgram *ps_program_new(const PsWorkload *workload, const PsReplaySettings *settings,
                          PsFabric *fabric, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_program_free(PsProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsProgram, ps_program_free)

static inline const PsStepProgram *ps_program_step(const PsProgram *program, guint stage,
                                                   const PsStep *step)
{
    return &program->stages[stage].steps[step->chunk * PS_N_STEPS + step->kind];
}
