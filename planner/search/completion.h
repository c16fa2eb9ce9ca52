/* How much passage (passage.h) completing a partial layout adds at the least.
 *
 * Passes from the sources, as in rest.h, in which a device has a price: on each downset the least
 * sum of (passage + price · d·t) over the stages outside, each with no more in flight than the
 * downset's layout of least window asks for. Less price · (devices that are left), that is a lower
 * bound whatever the price (Lagrangian relaxation); of two prices, one at which the whole takes
 * more devices than there are and one at which it does not, the better is taken. */
#pragma once

#include "planner/search/rest.h"
#include "planner/search/transit.h"

typedef struct PsCompletion PsCompletion;

/* What is passed must outlive it; transit says what stages are allowed. */
PsCompletion *ps_completion_new(const PsCosts *costs, const PsDownsets *downsets,
                                PsStageSolver *solver, const PsTransit *transit);
void ps_completion_free(PsCompletion *completion);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsCompletion, ps_completion_free)

/* Looks for good prices under the demand, from those of the last call. windows and most_devices:
 * [n_downsets], as rest.h has them for it. Returns the bound on whole layouts: PS_KNAPSACK_NONE
 * where there are none. */
gint64 ps_completion_prepare(PsCompletion *completion, const PsDemand *demand, const guint *windows,
                             const guint *most_devices);

/* For a layout of a downset that takes so many devices; PS_KNAPSACK_NONE where it cannot be
 * completed. */
gint64 ps_completion_bound(const PsCompletion *completion, guint downset, guint devices);
