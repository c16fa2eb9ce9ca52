/* Order of a directed graph. */
#pragma once

#include "sim/model/profile.h"

/* Fills order[n_nodes]: sources first, and of those whose sources are all out the lowest first
 * (Kahn). Returns NULL; or, where edges form a cycle, its nodes (guint) along the edges, beginning
 * with the lowest, which is not repeated at the end. Caller frees. */
GArray *ps_graph_order(guint n_nodes, const PsEdge *edges, guint n_edges, guint *order);
