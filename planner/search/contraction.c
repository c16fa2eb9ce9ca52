#include "planner/search/contraction.h"

#include <math.h>

typedef struct {
    guint into, from;
} Merge;

struct PsContraction {
    guint n_layers;
    Merge *merges; /* [n_layers - 1], in order */
};

/* The graph as it is contracted so far; a group has the number of its first layer. */
typedef struct {
    guint n, n_words;
    gboolean *gone;   /* taken in by another */
    double *work;     /* least device-time */
    guint64 *next;    /* [n][n_words]: groups that edges lead to */
    guint64 *reached; /* [n][n_words]: groups that paths lead to */
} Graph;

static guint64 *row(guint64 *rows, const Graph *graph, guint group)
{
    return rows + (gsize)group * graph->n_words;
}

static gboolean has(const guint64 *set, guint group)
{
    return set[group / 64] >> (group % 64) & 1;
}

static void put(guint64 *set, guint group, gboolean in)
{
    guint64 bit = (guint64)1 << (group % 64);
    set[group / 64] = in ? set[group / 64] | bit : set[group / 64] & ~bit;
}

static void add_all(guint64 *set, const guint64 *others, guint n_words)
{
    for (guint i = 0; i < n_words; i++) {
        set[i] |= others[i];
    }
}

static double least_work(const PsLayer *layer)
{
    double least = INFINITY;
    for (guint s = 0; s < layer->n_sets; s++) {
        for (guint i = 0; i < layer->sets[s].n_tmpcs; i++) {
            least = fmin(least, layer->sets[s].degree * layer->sets[s].tmpcs[i].time_s);
        }
    }
    return least;
}

static void graph_init(Graph *graph, const PsProfile *profile)
{
    guint n = profile->n_layers;
    gsize n_bits = (n + 63) / 64;
    *graph = (Graph){n,
                     (guint)n_bits,
                     g_new0(gboolean, n),
                     g_new(double, n),
                     g_new0(guint64, n * n_bits),
                     g_new0(guint64, n * n_bits)};
    for (guint v = n; v-- > 0;) { /* indices are in topological order */
        const PsLayer *layer = &profile->layers[v];
        graph->work[v] = least_work(layer);
        for (guint e = 0; e < layer->n_outgoing; e++) {
            guint target = profile->edges[layer->outgoing[e]].target;
            put(row(graph->next, graph, v), target, TRUE);
            put(row(graph->reached, graph, v), target, TRUE);
            add_all(row(graph->reached, graph, v), row(graph->reached, graph, target),
                    graph->n_words);
        }
    }
}

static void graph_clear(Graph *graph)
{
    g_free(graph->gone);
    g_free(graph->work);
    g_free(graph->next);
    g_free(graph->reached);
}

/* Whether an edge is the only way from one group to another. */
static gboolean is_only_way(const Graph *graph, guint from, guint to)
{
    const guint64 *next = row(graph->next, graph, from);
    if (!has(next, to)) {
        return FALSE;
    }
    for (guint x = 0; x < graph->n; x++) {
        if (x != to && has(next, x) && has(row(graph->reached, graph, x), to)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* What speaks against taking two groups together; infinite where a path would leave and come back.
 */
static double reluctance(const Graph *graph, guint a, guint b)
{
    double work = graph->work[a] + graph->work[b];
    if (has(row(graph->reached, graph, a), b)) {
        return is_only_way(graph, a, b) ? work : INFINITY;
    }
    if (has(row(graph->reached, graph, b), a)) {
        return is_only_way(graph, b, a) ? work : INFINITY;
    }
    return 2 * work; /* strangers */
}

static guint lightest(const Graph *graph)
{
    guint best = graph->n;
    for (guint v = 0; v < graph->n; v++) {
        if (!graph->gone[v] && (best == graph->n || graph->work[v] < graph->work[best])) {
            best = v;
        }
    }
    return best;
}

/* There always is one: of the groups that edges lead to or come from, the nearest. */
static guint best_partner(const Graph *graph, guint group)
{
    guint best = graph->n;
    double least = INFINITY;
    for (guint v = 0; v < graph->n; v++) {
        if (v != group && !graph->gone[v]) {
            double against = reluctance(graph, group, v);
            if (against < least || best == graph->n) {
                best = v;
                least = against;
            }
        }
    }
    g_assert(isfinite(least));
    return best;
}

static void merge(Graph *graph, guint into, guint from)
{
    guint64 *next = row(graph->next, graph, into), *reached = row(graph->reached, graph, into);
    graph->gone[from] = TRUE;
    graph->work[into] += graph->work[from];
    add_all(next, row(graph->next, graph, from), graph->n_words);
    add_all(reached, row(graph->reached, graph, from), graph->n_words);
    for (guint i = 0; i < 2; i++) {
        put(i == 0 ? next : reached, into, FALSE);
        put(i == 0 ? next : reached, from, FALSE);
    }
    for (guint x = 0; x < graph->n; x++) {
        guint64 *after = row(graph->next, graph, x), *behind = row(graph->reached, graph, x);
        if (x == into || graph->gone[x]) {
            continue;
        }
        if (has(after, from)) {
            put(after, from, FALSE);
            put(after, into, TRUE);
        }
        if (has(behind, from) || has(behind, into)) {
            add_all(behind, reached, graph->n_words);
            put(behind, from, FALSE);
            put(behind, into, TRUE);
        }
    }
}

PsContraction *ps_contraction_new(const PsProfile *profile)
{
    PsContraction *contraction = g_new0(PsContraction, 1);
    contraction->n_layers = profile->n_layers;
    contraction->merges = g_new(Merge, profile->n_layers);
    Graph graph;
    graph_init(&graph, profile);
    for (guint i = 0; i + 1 < profile->n_layers; i++) {
        guint into = lightest(&graph), from = best_partner(&graph, into);
        contraction->merges[i] = (Merge){into, from};
        merge(&graph, into, from);
    }
    graph_clear(&graph);
    return contraction;
}

void ps_contraction_free(PsContraction *contraction)
{
    if (contraction != NULL) {
        g_free(contraction->merges);
        g_free(contraction);
    }
}

guint *ps_contraction_groups(const PsContraction *contraction, guint n_groups)
{
    guint n = contraction->n_layers, n_merges = n - MIN(n_groups, n);
    guint *group_of = g_new(guint, n);
    for (guint v = 0; v < n; v++) {
        group_of[v] = v;
    }
    /* Backwards: where a group goes is known before those that it has taken in. */
    for (guint i = n_merges; i-- > 0;) {
        group_of[contraction->merges[i].from] = group_of[contraction->merges[i].into];
    }
    return group_of;
}
