/* What the files that compile a program share. Internal to sim/replay. */
#pragma once

#include "sim/replay/program.h"

typedef struct {
    const PsWorkload *workload;
    const PsReplaySettings *settings;
    PsFabric *fabric;     /* NULL where the network is flat */
    const guint *devices; /* of each rank, on a network */
} PsParts;

static inline guint64 ps_lcm(guint64 a, guint64 b)
{
    guint64 x = a, y = b;
    while (y != 0) {
        guint64 rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* links.c: links of the program, with their messages. */
gboolean ps_program_make_links(PsProgram *program, const PsParts *parts,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* joints.c: what a stage does after a batch and among its replicas. */
gboolean ps_program_make_joints(PsStageProgram *program, const PsParts *parts, guint stage,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
