/* The candidate stages of a layer graph, and what each costs.
 *
 * A stage is upper \ lower for two downsets lower < upper. A walk fixes lower and visits every
 * upper above it, smaller ones first, keeping sums up to date as layers join: each step costs the
 * degree of the layer that joined. */
#pragma once

#include "planner/search/costs.h"
#include "planner/search/downsets.h"

/* What a stage sends over the links of one level if it sends it there, without the TMPCs' extras.
 */
typedef struct {
    gint64 enter, leave; /* border transfers */
    gint64 resync;       /* grows load·d by this for each (d-1) */
} PsLinkSums;

/* Sums over a stage for one tensor-parallel degree, in quanta. */
typedef struct {
    PsLinkSums *links; /* [n_levels]; the innermost is the fastest */
    gboolean possible; /* every layer can run at this degree */
    gint64 fast_time;  /* sum of the fastest TMPCs' p */
    gint64 fast_memory_per_microbatch, fast_memory_fixed; /* of the fastest TMPCs */
    gint64 min_memory_per_microbatch, min_memory_fixed;   /* lower bounds of any choice */
} PsStageSums;

typedef struct PsStageWalk PsStageWalk;

/* Neither costs nor downsets are copied: they must outlive the walk. */
PsStageWalk *ps_stage_walk_new(const PsCosts *costs, const PsDownsets *downsets);
void ps_stage_walk_free(PsStageWalk *walk);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsStageWalk, ps_stage_walk_free)

void ps_stage_walk_begin(PsStageWalk *walk, guint lower);
/* The next upper, or FALSE after the last. *sums is [n_degrees], valid until the next call. */
gboolean ps_stage_walk_next(PsStageWalk *walk, guint *upper, const PsStageSums **sums);
/* Does not extend the stage just visited; larger ones may still be reached by another road. */
void ps_stage_walk_prune(PsStageWalk *walk);

/* The same sums for one stage by itself; sums->links is the caller's, [n_levels]. */
void ps_stage_sum(const PsCosts *costs, const guint64 *lower, const guint64 *upper, guint degree,
                  PsStageSums *sums);
