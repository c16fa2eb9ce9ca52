/* A workload compiled for given settings: what each stage does in a step, in picoseconds. */
#pragma once

#include <glib.h>
#include "sim/replay/settings.h"
#include "sim/replay/workload.h"
#include "sim/trace/trace.h"

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
} PsLink;

typedef struct {
    PsOpKind kind;
    guint chunk;
    gboolean detached; /* runs on a stream of its own while the lane goes on */
    gboolean takes_workspace;
    gboolean releases;  /* the microbatch's stash and workspace, when it ends */
    gint64 duration_ps; /* 0 for detached sends: see the link */
    double bytes;
    const PsLink *link; /* of a send or receive */
} PsTask;

typedef struct {
    PsTask *tasks; /* in order */
    guint n_tasks;
    guint n_inputs; /* deliveries the step waits for */
} PsStepProgram;

typedef struct {
    PsStepProgram *steps;   /* [chunk * PS_N_STEPS + kind] */
    gint64 batch_resync_ps; /* of the collective after each batch; 0 where there is none */
} PsStageProgram;

typedef struct {
    guint n_links;
    PsLink *links;
    guint n_stages, n_chunks;
    PsStageProgram *stages;
} PsProgram;

/* settings fit the workload (ps_replay_run has seen to it). */
PsProgram *ps_program_new(const PsWorkload *workload, const PsReplaySettings *settings);
void ps_program_free(PsProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsProgram, ps_program_free)

static inline const PsStepProgram *ps_program_step(const PsProgram *program, guint stage,
                                                   const PsStep *step)
{
    return &program->stages[stage].steps[step->chunk * PS_N_STEPS + step->kind];
}
