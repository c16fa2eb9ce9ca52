/* A workload compiled for given settings: what each stage does in a step, in picoseconds. */
#pragma once

#include <glib.h>
#include "sim/replay/settings.h"
#include "sim/replay/workload.h"
#include "sim/trace/trace.h"

/* One direction of a border. Links are ordered by sender, then distance (nearest first). */
typedef struct {
    guint sender, receiver; /* stages */
    PsStepKind step;        /* the receiver's step that waits for it, and the sender's that sends */
    gint64 send_ps, receive_ps;
    double send_bytes, receive_bytes;
} PsLink;

typedef struct {
    PsOpKind kind;
    gboolean detached; /* runs on a stream of its own while the lane goes on */
    gboolean takes_workspace;
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
    PsStepProgram steps[PS_N_STEPS];
    gint64 batch_resync_ps; /* of the collective after each batch; 0 where there is none */
} PsStageProgram;

typedef struct {
    guint n_links;
    PsLink *links;
    guint n_stages;
    PsStageProgram *stages;
} PsProgram;

PsProgram *ps_program_new(const PsWorkload *workload, const PsReplaySettings *settings);
void ps_program_free(PsProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsProgram, ps_program_free)
