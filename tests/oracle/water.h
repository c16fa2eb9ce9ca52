/* Max-min fair sharing by brute force, apart from the program's own way: a dense matrix of weights,
 * every rate raised together until a link is full, again and again. */
#pragma once

#include <glib.h>

/* weights: of flow i on link j at i * n_links + j, 0 where it does not cross it; every flow crosses
 * a link. rates: room for one per flow. Flows that are not alive get rate 0. */
void water_filling(const double *capacities, guint n_links, const double *weights,
                   const gboolean *alive, guint n_flows, double *rates);
