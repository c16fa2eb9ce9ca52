/* The candidate stages of a layer graph, and what each costs.
 *
 * A stage is upper \ lower for two downsets lower < upper. A walk fixes lower and visits every
 * upper above it, smaller ones first, keeping sums up to date as layers join: each step costs the
 * degree of the layer that joined. */
#pragma once

#include "planner/costs.h"
#include "planner/downsets.h"
#include "planner/knapsack.h"

/* Sums over a stage for one tensor-parallel degree, in quanta. */
typedef struct {
    gboolean possible; /* every layer can run at this degree */
    gint64 fast_time;  /* sum of the fastest TMPCs' p */
    gint64 edges;      /* border transfers, without the TMPCs' extras */
    gint64 resync;     /* grows load·d by this for each (d-1), without extras */
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

/* ---- the cheapest way to run a stage ------------------------------------------------------------
 */

typedef struct {
    guint lower, upper; /* downsets */
    guint degree;       /* index into costs->degrees */
    guint data_parallel;
    guint in_flight;
} PsStageRun;

/* Solves the TMPC choice of a stage under the memory of the costs' setting and remembers it. */
typedef struct PsStageSolver PsStageSolver;

/* With fit_only the times of the TMPCs count as 0: the question is only whether the stage fits. */
PsStageSolver *ps_stage_solver_new(const PsCosts *costs, const PsDownsets *downsets, gint64 memory,
                                   gboolean fit_only);
void ps_stage_solver_free(PsStageSolver *solver);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsStageSolver, ps_stage_solver_free)

/* FALSE where no choice fits with so many microbatches in flight; nor does any for a larger stage.
 * TRUE is no promise. */
gboolean ps_stage_may_fit(const PsStageSolver *solver, const PsStageSums *sums, guint in_flight);

/* Least load·d over the TMPC choices that fit, or PS_KNAPSACK_NONE. */
gint64 ps_stage_load(PsStageSolver *solver, const PsStageRun *run, const PsStageSums *sums);

/* The choice behind it: for each layer of the stage, ascending, the index of its TMPC in the
 * layer's set; NULL where nothing fits. *n_layers and *layers tell which layers. Caller frees both.
 */
guint *ps_stage_choice(PsStageSolver *solver, const PsStageRun *run, guint *n_layers,
                       guint **layers);

/* Least memory that any allowed choice takes, whatever the budget. */
gint64 ps_stage_least_memory(PsStageSolver *solver, const PsStageRun *run);
