#include "sim/model/graph.h"

static int compare_nodes(gconstpointer a, gconstpointer b, gpointer user_data)
{
    (void)user_data;
    guint x = GPOINTER_TO_UINT(a), y = GPOINTER_TO_UINT(b);
    return (x > y) - (x < y);
}

/* Every node that was not placed has a source that was not placed either: walking back through
 * them must come round. */
static GArray *find_cycle(guint n_nodes, const PsEdge *edges, guint n_edges,
                          const guint *open_sources)
{
    g_autofree guint *source_of = g_new(guint, n_nodes);
    for (guint e = n_edges; e-- > 0;) {
        if (open_sources[edges[e].source] > 0) {
            source_of[edges[e].target] = edges[e].source;
        }
    }
    guint node = 0;
    while (open_sources[node] == 0) {
        node++;
    }
    for (guint step = 0; step < n_nodes; step++) {
        node = source_of[node];
    }
    guint lowest = node;
    for (guint n = source_of[node]; n != node; n = source_of[n]) {
        lowest = MIN(lowest, n);
    }
    GArray *cycle = g_array_new(FALSE, FALSE, sizeof(guint));
    g_array_append_val(cycle, lowest);
    for (guint n = source_of[lowest]; n != lowest; n = source_of[n]) {
        g_array_insert_val(cycle, 1, n);
    }
    return cycle;
}

/* Targets of each node, grouped: those of node n are targets[first[n]] .. targets[first[n + 1]]. */
static guint *group_targets(guint n_nodes, const PsEdge *edges, guint n_edges, guint **first)
{
    guint *starts = g_new0(guint, (gsize)n_nodes + 1);
    for (guint e = 0; e < n_edges; e++) {
        starts[edges[e].source + 1]++;
    }
    for (guint n = 0; n < n_nodes; n++) {
        starts[n + 1] += starts[n];
    }
    g_autofree guint *next = g_memdup2(starts, sizeof(guint) * ((gsize)n_nodes + 1));
    guint *targets = g_new(guint, n_edges);
    for (guint e = 0; e < n_edges; e++) {
        targets[next[edges[e].source]++] = edges[e].target;
    }
    *first = starts;
    return targets;
}

GArray *ps_graph_order(guint n_nodes, const PsEdge *edges, guint n_edges, guint *order)
{
    g_autofree guint *open_sources = g_new0(guint, n_nodes);
    g_autofree guint *first = NULL;
    g_autofree guint *targets = group_targets(n_nodes, edges, n_edges, &first);
    for (guint e = 0; e < n_edges; e++) {
        open_sources[edges[e].target]++;
    }
    g_autoptr(GSequence) ready = g_sequence_new(NULL);
    for (guint n = 0; n < n_nodes; n++) {
        if (open_sources[n] == 0) {
            g_sequence_append(ready, GUINT_TO_POINTER(n));
        }
    }
    guint placed = 0;
    while (!g_sequence_is_empty(ready)) {
        GSequenceIter *begin = g_sequence_get_begin_iter(ready);
        guint node = GPOINTER_TO_UINT(g_sequence_get(begin));
        g_sequence_remove(begin);
        order[placed++] = node;
        for (guint i = first[node]; i < first[node + 1]; i++) {
            if (--open_sources[targets[i]] == 0) {
                g_sequence_insert_sorted(ready, GUINT_TO_POINTER(targets[i]), compare_nodes, NULL);
            }
        }
    }
    return placed == n_nodes ? NULL : find_cycle(n_nodes, edges, n_edges, open_sources);
}
