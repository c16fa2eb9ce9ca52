/* Bounds on a stage's best TMPC choice from the linear relaxation of its knapsack.
 *
 * From the fastest choice of every layer, steps down the hulls are taken flattest first until the
 * memory fits (Dantzig's bound). The order of the steps depends on degree and microbatches in
 * flight alone, so it is sorted once for each pair and serves every stage. */
#pragma once

#include "planner/search/costs.h"
#include "planner/search/knapsack.h"

/* Of the sum of the chosen TMPCs' times. Both PS_KNAPSACK_NONE where nothing fits. */
typedef struct {
    gint64 lower; /* no choice that fits takes less */
    gint64 upper; /* some choice that fits takes so much */
} PsBounds;

typedef struct PsRelaxation PsRelaxation;

/* For costs whose TMPCs differ in time and memory only. They must outlive it. */
PsRelaxation *ps_relaxation_new(const PsCosts *costs);
void ps_relaxation_free(PsRelaxation *relaxation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsRelaxation, ps_relaxation_free)

/* The stage is upper \ lower (bit sets of layers); `fastest` is the sum of its layers' fastest
 * TMPCs and must not fit into the budget. */
PsBounds ps_relaxation_bounds(PsRelaxation *relaxation, guint degree, guint in_flight,
                              const guint64 *lower, const guint64 *upper, PsChoice fastest,
                              gint64 budget);
