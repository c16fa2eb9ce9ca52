/* The threshold search (design section 3): for a threshold T on stage loads, dynamic programming
 * over downsets from the sink finds the best way to lay a downset out with every load within T;
 * bisection over T ends with a certificate.
 *
 * A partial layout matters to the stages before it only through the microbatches it wants in flight
 * (s, the sum of d; or u, see plan.h), s, and the devices used, and less of each is never worse
 * (y can only fall). So each downset keeps its Pareto front of these, one for each shape of the
 * degrees so far where these are restricted to a class. Where they are not and bounds are Piper's,
 * a stage on top of a front entry needs only the least d that stays within T, since a larger one
 * costs more of each.
 *
 * With levels (sim/plan/place.h) a layout matters by its spot as well, and the level at which edges
 * enter its first stage is only known with the stage before. So an entry says which levels keep
 * that stage within T, and the stage before must join it at one of them. */
#pragma once

#include "planner/search/degrees.h"
#include "planner/search/stage-solver.h"

/* A load bound: the fraction numerator/denominator in time quanta, inclusive unless strict. */
typedef struct {
    gint64 numerator, denominator;
    gboolean strict;
} PsThreshold;

#define PS_NO_THRESHOLD ((PsThreshold){G_MAXINT64, 1, FALSE})

typedef struct {
    guint n_stages;
    PsStageRun *runs; /* pipeline order: the first holds the model's sources */
    gint64 *loads;    /* load·d of each */
    guint devices;    /* with idle ones between stages, and up to the border behind the last */
    guint sum_data_parallel;
} PsLayout;

PsLayout *ps_layout_copy(const PsLayout *layout);
void ps_layout_free(PsLayout *layout);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsLayout, ps_layout_free)

/* The largest load of a layout, as an inclusive threshold. */
PsThreshold ps_layout_load(const PsLayout *layout);

/* Work spread over all devices, in time quanta: no layout has a smaller largest load. */
gint64 ps_least_load(const PsCosts *costs);

typedef struct PsSearch PsSearch;

/* costs, downsets and solver must outlive the search. */
PsSearch *ps_search_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver,
                        PsDegrees degrees);
void ps_search_free(PsSearch *search);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsSearch, ps_search_free)

/* Searches on fewer devices than the setting's (which is the default). */
void ps_search_set_devices(PsSearch *search, guint devices);

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

/* The layout of least largest load in the subspace (NULL: the whole space), ties broken as above,
 * or NULL where nothing fits. Proven: no layout there has a smaller largest load, in the costs'
 * quanta. `floor` (may be NULL) is a load that the caller knows none to be below. */
PsLayout *ps_search_best(PsSearch *search, const PsSubspace *subspace, const PsThreshold *floor);

/* The same, but any layout of that load, with ties as they come. */
PsLayout *ps_search_least(PsSearch *search, const PsSubspace *subspace, const PsThreshold *floor);
