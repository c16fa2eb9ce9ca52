/* The best TMPCs for a plan whose stages and degrees are given. */
#pragma once

#include "planner/search/costs.h"

/* Chooses TMPCs for every stage without them (`tmpcs` NULL): those of least load within the memory
 * at the stage's in-flight bound, or, where nothing fits, the fastest of those that take least.
 * Returns whether every stage so completed fits.
 *
 * The stages partition the layers, each runs at its tensor-parallel degree, which is one of
 * costs->degrees, and sum d <= min(N, K). Of levels all stages pay the last one: places come
 * later. */
gboolean ps_complete_plan(PsPlan *plan, const PsCosts *costs);

/* Where levels are in force: places the stages of a completed plan (ps_plan_place). The stages that
 * are `free` ([n_stages]; NULL: all) get the TMPCs that are best in each place it tries, where some
 * fit. Returns whether the stages can be placed. */
gboolean ps_complete_places(PsPlan *plan, const PsCosts *costs, const gboolean *free);
