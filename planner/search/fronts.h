/* The Pareto fronts of partial layouts that the threshold search keeps.
 *
 * A partial layout matters to the stages before it only through the microbatches it wants in flight
 * (s, the sum of d; or u, see plan.h), s, and the devices used, and less of each is never worse
 * (y can only fall). So each downset keeps its Pareto front of these, one for each shape of the
 * degrees so far where these are restricted to a class. With levels (sim/plan/place.h) a layout
 * matters by its spot as well. */
#pragma once

#include "planner/search/costs.h"
#include "planner/search/degrees.h"
#include "sim/plan/place.h"

/* One way to lay out a downset. */
typedef struct {
    guint sum_data_parallel;
    PsSpot spot;     /* of the first stage */
    guint in_flight; /* y of the first stage */
    guint window;    /* microbatches that it keeps from earlier stages: s or u */
    guint n_stages;
    double squares;         /* sum of squared loads */
    gint64 load;            /* load·d of the first stage, where one level is in force */
    guint lower;            /* the first stage is this downset \ lower ... */
    guint rest_shape, rest; /* ... on top of this entry of lower's front of this shape */
    guint data_parallel, degree;
} PsEntry;

typedef struct PsFronts PsFronts;

/* Empty fronts for n_downsets. costs must outlive them. */
PsFronts *ps_fronts_new(const PsCosts *costs, PsDegrees degrees, guint n_downsets);
void ps_fronts_free(PsFronts *fronts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsFronts, ps_fronts_free)

/* Empties them. With break_ties, entries that tie in devices and sum of d are told apart by stages
 * and squares from here on. */
void ps_fronts_clear(PsFronts *fronts, gboolean break_ties);

guint ps_fronts_n_shapes(const PsFronts *fronts);

/* The first shape from this one on of which a downset has entries; G_MAXUINT where there is none.
 */
guint ps_fronts_next(const PsFronts *fronts, guint downset, guint shape);

/* The entries of one front that has some, by rising sum of d, until the next is added there. */
const PsEntry *ps_front(const PsFronts *fronts, guint downset, guint shape, guint *n_entries);

/* Puts an entry in unless one there dominates it; drops those that it dominates. */
void ps_fronts_add(PsFronts *fronts, guint downset, guint shape, const PsEntry *entry);

/* Quick look before a knapsack is solved for an entry that could not stay; also at the fronts of
 * all shapes that cover the entry's. Needs sum_data_parallel, window, n_stages and spot. */
gboolean ps_fronts_hopeless(const PsFronts *fronts, guint downset, guint shape,
                            const PsEntry *entry);

/* Whether there is any entry of a downset. */
gboolean ps_fronts_reach(const PsFronts *fronts, guint downset);

/* The least of each over a downset's entries; G_MAXUINT where there is none. */
void ps_fronts_least(const PsFronts *fronts, guint downset, guint *window, guint *devices);

/* Of one downset's: fewest devices, least sum of d, and to break ties fewest stages and least
 * squares. NULL where there is none. */
const PsEntry *ps_fronts_best(const PsFronts *fronts, guint downset);
