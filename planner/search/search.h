/* The search under one threshold T on stage loads (design section 3): dynamic programming over
 * downsets from the sink finds the best ways to lay a downset out with every load within T
 * (fronts.h), of those that can still be completed (rest.h).
 *
 * Where degrees are not restricted to a class and bounds are Piper's, a stage on top of a front
 * entry needs only the least d that stays within T, since a larger one costs more of each.
 *
 * With levels (sim/plan/place.h) the level at which edges enter the first stage of a layout is only
 * known with the stage before. So an entry says which levels keep
 * that stage within T, and the stage before must join it at one of them. */
#pragma once

#include "planner/search/rest.h"

typedef struct PsSearch PsSearch;

/* All of these must outlive the search; rest is that of the same costs, downsets and solver. */
PsSearch *ps_search_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver,
                        PsRest *rest, PsDegrees degrees);
void ps_search_free(PsSearch *search);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsSearch, ps_search_free)

/* Searches on fewer devices than the setting's (which is the default). */
void ps_search_set_devices(PsSearch *search, guint devices);

/* Work spread over its devices, in time quanta: no layout has a smaller largest load. */
gint64 ps_search_least_load(const PsSearch *search);

/* A part of the search space: the layouts that end, at the sink, with the last n_fixed stages of
 * `base`, and whose stage before those is none of the excluded. */
typedef struct {
    const PsLayout *base; /* may be NULL where n_fixed is 0 */
    guint n_fixed;
    const PsStageRun *excluded;
    guint n_excluded;
} PsSubspace;

/* A layout of the subspace (NULL: the whole space) with every load within the threshold, or NULL
 * where there is none: the fewest devices, of these the least sum of d; with break_ties, of these
 * the fewest stages, and of these the least sum of squared loads. */
PsLayout *ps_search_within(PsSearch *search, const PsSubspace *subspace, PsThreshold threshold,
                           gboolean break_ties);

/* Lets all searches that share its rest learn from the last search, which was in the whole space:
 * those within no larger thresholds leave out more. */
void ps_search_learn(PsSearch *search);
