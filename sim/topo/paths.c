#include "sim/topo/paths.h"

/* All best paths from one vertex: the last link of the path to each, and its latency. */
typedef struct {
    guint *last_links; /* PS_NO_LINK: none */
    double *latencies_s;
} Tree;

struct PsPaths {
    const PsLinkList *list;
    guint *first_out; /* of each vertex, and an end: its links are out[first_out[v]] ... */
    guint *out;       /* links by source, then in file order */
    Tree *trees;      /* by source vertex, made when asked for */
};

PsPaths *ps_paths_new(const PsLinkList *list)
{
    PsPaths *paths = g_new0(PsPaths, 1);
    paths->list = list;
    paths->first_out = g_new0(guint, list->n_vertices + 2);
    paths->out = g_new(guint, list->n_links);
    paths->trees = g_new0(Tree, list->n_vertices);
    /* Counting sort, shifted by one so that filling leaves the starts in place. */
    for (guint i = 0; i < list->n_links; i++) {
        paths->first_out[list->links[i].source + 2]++;
    }
    for (guint v = 1; v <= list->n_vertices; v++) {
        paths->first_out[v + 1] += paths->first_out[v];
    }
    for (guint i = 0; i < list->n_links; i++) {
        paths->out[paths->first_out[list->links[i].source + 1]++] = i;
    }
    return paths;
}

void ps_paths_free(PsPaths *paths)
{
    if (paths == NULL) {
        return;
    }
    for (guint v = 0; v < paths->list->n_vertices; v++) {
        g_free(paths->trees[v].last_links);
        g_free(paths->trees[v].latencies_s);
    }
    g_free(paths->trees);
    g_free(paths->first_out);
    g_free(paths->out);
    g_free(paths);
}

guint ps_paths_first_link(const PsPaths *paths, guint vertex)
{
    guint first = paths->first_out[vertex];
    return first < paths->first_out[vertex + 1] ? paths->out[first] : PS_NO_LINK;
}

/* Offers a vertex one more hop away its path over `link`. */
static void relax(const PsPaths *paths, Tree *tree, guint *hops, guint link, GArray *next)
{
    const PsTopologyLink *l = &paths->list->links[link];
    guint v = l->destination;
    double latency_s = tree->latencies_s[l->source] + l->latency_s;
    guint n_hops = hops[l->source] + 1;
    if (hops[v] == G_MAXUINT) {
        hops[v] = n_hops;
        g_array_append_val(next, v);
    } else if (hops[v] < n_hops || tree->latencies_s[v] < latency_s ||
               (tree->latencies_s[v] == latency_s && tree->last_links[v] < link)) {
        return;
    }
    tree->latencies_s[v] = latency_s;
    tree->last_links[v] = link;
}

/* Breadth first: all vertices of one distance are final before the next distance begins. */
static void grow(PsPaths *paths, guint root)
{
    guint n = paths->list->n_vertices;
    Tree *tree = &paths->trees[root];
    tree->last_links = g_new(guint, n);
    tree->latencies_s = g_new0(double, n);
    g_autofree guint *hops = g_new(guint, n);
    for (guint v = 0; v < n; v++) {
        tree->last_links[v] = PS_NO_LINK;
        hops[v] = G_MAXUINT;
    }
    hops[root] = 0;
    g_autoptr(GArray) queue = g_array_new(FALSE, FALSE, sizeof(guint));
    g_array_append_val(queue, root);
    for (guint i = 0; i < queue->len; i++) {
        guint v = g_array_index(queue, guint, i);
        for (guint j = paths->first_out[v]; j < paths->first_out[v + 1]; j++) {
            relax(paths, tree, hops, paths->out[j], queue);
        }
    }
}

gboolean ps_paths_find(PsPaths *paths, guint source, guint destination, GArray *links,
                       double *latency_s)
{
    Tree *tree = &paths->trees[source];
    if (tree->last_links == NULL) {
        grow(paths, source);
    }
    g_array_set_size(links, 0);
    for (guint v = destination; v != source;) {
        guint link = tree->last_links[v];
        if (link == PS_NO_LINK) {
            return FALSE;
        }
        g_array_append_val(links, link);
        v = paths->list->links[link].source;
    }
    for (guint i = 0; i < links->len / 2; i++) {
        guint *a = &g_array_index(links, guint, i);
        guint *b = &g_array_index(links, guint, links->len - 1 - i);
        guint held = *a;
        *a = *b;
        *b = held;
    }
    *latency_s = tree->latencies_s[destination];
    return TRUE;
}
