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

/* passes.c: a pass of a lane, computation and collectives of its ranks in turn. */
typedef enum { PS_SEGMENT_COMPUTE, PS_SEGMENT_COLLECTIVE, PS_SEGMENT_BUCKET } PsSegmentKind;

typedef struct {
    PsSegmentKind kind;
    double compute_s;
    guint number; /* of the fabric, for replica 0; or of the bucket that is ready */
    double bytes; /* of the collective */
} PsSegment;

/* Whether there are any that a network has to carry. */
gboolean ps_pass_has_collectives(const PsParts *parts, guint stage, guint chunk, PsPass pass);
/* What of the stage's collectives is prepared; for ps_pass_segments. Caller unrefs. */
GArray *ps_pass_known_new(void);
/* Appends the segments of a pass of duration_s, collectives included, to `segments` (PsSegment). */
gboolean ps_pass_segments(const PsParts *parts, const PsStageProgram *program, guint stage,
                          guint chunk, PsPass pass, double duration_s, GArray *known,
                          GArray *segments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
