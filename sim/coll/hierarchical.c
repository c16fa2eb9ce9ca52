/* Hierarchical all-reduce: a ring reduce-scatter inside each node of l ranks, then rings across the
 * m nodes, one for each place in a node, each with its 1/l of the vector, then an all-gather
 * inside: 2(l-1)/l * S/B_inside + 2(l-1) * latency_inside
 *     + 2(m-1)/m * S/(l*B_across) + 2(m-1) * latency_across */
#include "sim/base/text.h"
#include "sim/coll/algorithm.h"

/* Ranks by node, in the order in which the call names them: of node i those from i * size on. */
typedef struct {
    guint n_nodes, size;
    guint *ranks;
} Nodes;

static void nodes_clear(Nodes *nodes)
{
    g_free(nodes->ranks);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Nodes, nodes_clear)

/* ranks is NULL where the nodes do not have the same number of ranks, two or more each. */
static Nodes find_nodes(const PsTeam *team)
{
    guint n = team->n_ranks;
    g_autoptr(GHashTable) places = g_hash_table_new(NULL, NULL); /* node -> its place + 1 */
    g_autofree guint *sizes = g_new0(guint, n), *node_of = g_new(guint, n);
    Nodes nodes = {0, 0, NULL};
    for (guint i = 0; i < n; i++) {
        gpointer key = GUINT_TO_POINTER(team->nodes[i]);
        guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, key));
        if (place == 0) {
            place = ++nodes.n_nodes;
            g_hash_table_insert(places, key, GUINT_TO_POINTER(place));
        }
        node_of[i] = place - 1;
        sizes[place - 1]++;
    }
    nodes.size = sizes[0];
    for (guint i = 0; i < nodes.n_nodes; i++) {
        if (sizes[i] != nodes.size || sizes[i] < 2 || nodes.n_nodes < 2) {
            return nodes;
        }
        sizes[i] = 0;
    }
    nodes.ranks = g_new(guint, n);
    for (guint i = 0; i < n; i++) {
        nodes.ranks[node_of[i] * nodes.size + sizes[node_of[i]]++] = i;
    }
    return nodes;
}

static char *fault(const PsTeam *team)
{
    g_auto(Nodes) nodes = find_nodes(team);
    if (nodes.ranks != NULL) {
        return NULL;
    }
    g_autofree char *on = ps_counted(nodes.n_nodes, "node");
    return g_strdup_printf("%u ranks on %s (expected two nodes or more with the same number of "
                           "ranks, two or more)",
                           team->n_ranks, on);
}

static void rings_inside(const Nodes *nodes, double bytes, PsPhases *phases)
{
    ps_phases_next(phases, nodes->size - 1);
    for (guint i = 0; i < nodes->n_nodes; i++) {
        const guint *ranks = nodes->ranks + i * nodes->size;
        for (guint j = 0; j < nodes->size; j++) {
            ps_phases_send(phases, 0, ranks[j], ranks[(j + 1) % nodes->size],
                           bytes * (nodes->size - 1) / nodes->size);
        }
    }
}

static void build(const PsTeam *team, PsPhases *phases)
{
    g_auto(Nodes) nodes = find_nodes(team);
    guint n = nodes.n_nodes, times = 2 * (n - 1);
    rings_inside(&nodes, team->bytes, phases);
    ps_phases_next(phases, times);
    for (guint i = 0; i < team->n_ranks; i++) {
        ps_phases_send(phases, 0, nodes.ranks[i], nodes.ranks[(i + nodes.size) % team->n_ranks],
                       team->bytes / nodes.size * times / n);
    }
    rings_inside(&nodes, team->bytes, phases);
}

const PsCollectiveAlgorithm ps_collective_hierarchical = {
    .name = "hierarchical",
    .summary = "rings inside the nodes, then across",
    .kinds = PS_KIND_BIT(PS_ALL_REDUCE),
    .fault = fault,
    .build = build,
};
