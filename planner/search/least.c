#include "planner/search/least.h"

/* What the first search is for: later ones know what the rest of a layout needs. */
static PsLayout *search_and_learn(PsSearch *search, const PsSubspace *subspace,
                                  PsThreshold threshold)
{
    PsLayout *layout = ps_search_within(search, subspace, threshold, FALSE);
    if (layout != NULL && subspace == NULL) {
        ps_search_learn(search);
    }
    return layout;
}

/* A first feasible layout: thresholds at distances from the lower bound that double, since near it
 * the search prunes most; then none at all. *infeasible is raised to the largest that failed. */
static PsLayout *first_layout(PsSearch *search, const PsSubspace *subspace, gint64 *infeasible)
{
    double bound = (double)MAX(*infeasible, 1);
    for (double distance = 0.002; distance < 100; distance *= 2) {
        double limit = bound * (1 + distance);
        if (limit >= (double)(G_MAXINT64 / 4)) {
            break;
        }
        PsThreshold threshold = {(gint64)limit, 1, FALSE};
        PsLayout *layout = search_and_learn(search, subspace, threshold);
        if (layout != NULL) {
            return layout;
        }
        *infeasible = threshold.numerator;
    }
    return ps_search_within(search, subspace, PS_NO_THRESHOLD, FALSE);
}

/* Bisection until the gap is small, then alternately "anything strictly better?", which either ends
 * the search with the proof or brings a better layout, and a halving of what gap is left. */
PsLayout *ps_search_least(PsSearch *search, const PsSubspace *subspace, const PsThreshold *floor)
{
    gint64 infeasible = ps_search_least_load(search) - 1;
    if (floor != NULL) {
        g_autoptr(PsLayout) at_floor = ps_search_within(search, subspace, *floor, FALSE);
        if (at_floor != NULL) {
            return g_steal_pointer(&at_floor);
        }
        infeasible = MAX(infeasible, floor->numerator / floor->denominator);
    }
    g_autoptr(PsLayout) best = first_layout(search, subspace, &infeasible);
    if (best == NULL) {
        return NULL;
    }
    PsThreshold load = ps_layout_load(best);
    gboolean halve = TRUE, proven = FALSE;
    while (!proven) {
        gint64 feasible = load.numerator / load.denominator;
        gint64 gap = feasible - infeasible;
        halve = gap > 1 && (halve || gap > feasible / 256);
        PsThreshold trial = load;
        trial.strict = TRUE;
        if (halve) {
            trial = (PsThreshold){infeasible + gap / 2, 1, FALSE};
        }
        PsLayout *better = search_and_learn(search, subspace, trial);
        if (better != NULL) {
            ps_layout_free(best);
            best = better;
            load = ps_layout_load(best);
        } else if (halve) {
            infeasible = trial.numerator;
        } else {
            proven = TRUE;
        }
        halve = !halve;
    }
    return g_steal_pointer(&best);
}

PsLayout *ps_search_best(PsSearch *search, const PsSubspace *subspace, const PsThreshold *floor)
{
    g_autoptr(PsLayout) any = ps_search_least(search, subspace, floor);
    return any != NULL
               ? ps_search_within(search, subspace, ps_threshold_tied(ps_layout_load(any)), TRUE)
               : NULL;
}
