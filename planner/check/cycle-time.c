#include "planner/check/cycle-time.h"

#include <math.h>
#include <string.h>

#define SAME 1e-9

/* Node 2·i is the forward of stage i, 2·i + 1 its backward. */
typedef struct {
    guint from, to;
    double delay_s;
    gint64 shift; /* microbatches */
} Arc;

typedef struct {
    guint n_nodes;
    GArray *arcs;
} Graph;

/* Lengths of a stage's steps: all that they charge to the compute stream, transfers at this end and
 * the amortised resync included. */
static void step_lengths(const PsWorkload *workload, guint stage, double *forward_s,
                         double *backward_s)
{
    const PsWorkStage *work = &workload->stages[stage];
    double borders_s = 0;
    for (guint i = 0; i < workload->n_borders; i++) {
        const PsWorkBorder *border = &workload->borders[i];
        borders_s += border->source == stage ? border->source_s : 0;
        borders_s += border->target == stage ? border->target_s : 0;
    }
    *forward_s = work->forward_s + borders_s;
    *backward_s = work->backward_s + work->recompute_s + borders_s +
                  work->resync_s * work->data_parallel / workload->microbatches;
}

static void add_arc(Graph *graph, guint from, guint to, double delay_s, gint64 shift)
{
    Arc arc = {from, to, delay_s, shift};
    g_array_append_val(graph->arcs, arc);
}

/* The stages from `first` on, with these in-flight bounds. */
static Graph make_graph(const PsWorkload *workload, guint first, const guint *in_flight)
{
    Graph graph = {2 * workload->n_stages, g_array_new(FALSE, FALSE, sizeof(Arc))};
    for (guint i = first; i < workload->n_stages; i++) {
        double forward_s, backward_s;
        step_lengths(workload, i, &forward_s, &backward_s);
        gint64 d = workload->stages[i].data_parallel, u = in_flight[i] * d;
        add_arc(&graph, 2 * i, 2 * i + 1, forward_s, d - u);
        add_arc(&graph, 2 * i + 1, 2 * i, backward_s, u);
        for (guint b = 0; b < workload->n_borders; b++) {
            const PsWorkBorder *border = &workload->borders[b];
            if (border->source == i) {
                add_arc(&graph, 2 * i, 2 * border->target, forward_s, 0);
            } else if (border->target == i && border->source >= first) {
                add_arc(&graph, 2 * i + 1, 2 * border->source + 1, backward_s, 0);
            }
        }
    }
    return graph;
}

/* A cycle whose delay exceeds time_s times its shift, by Bellman and Ford's longest paths; its
 * ratio is stored (INFINITY where its shift is not positive). FALSE where there is none. */
static gboolean find_slower_cycle(const Graph *graph, double time_s, double *ratio_s)
{
    g_autofree double *length = g_new0(double, graph->n_nodes);
    g_autofree const Arc **last = g_new0(const Arc *, graph->n_nodes);
    guint changed = 0;
    for (guint round = 0; round <= graph->n_nodes; round++) {
        changed = G_MAXUINT;
        for (guint i = 0; i < graph->arcs->len; i++) {
            const Arc *arc = &g_array_index(graph->arcs, Arc, i);
            double through = length[arc->from] + arc->delay_s - time_s * (double)arc->shift;
            /* A gain within rounding is none, or a cycle of this very ratio would never settle. */
            if (through > length[arc->to] + SAME * 1e-3 * time_s) {
                length[arc->to] = through;
                last[arc->to] = arc;
                changed = arc->to;
            }
        }
        if (changed == G_MAXUINT) {
            return FALSE;
        }
    }
    /* Still changing: n steps back from here lies on a cycle. */
    guint node = changed;
    for (guint i = 0; i < graph->n_nodes; i++) {
        node = last[node]->from;
    }
    double delay_s = 0;
    gint64 shift = 0;
    guint at = node;
    do {
        delay_s += last[at]->delay_s;
        shift += last[at]->shift;
        at = last[at]->from;
    } while (at != node);
    *ratio_s = shift > 0 ? delay_s / (double)shift : INFINITY;
    return TRUE;
}

/* From the largest load of a stage, which is a cycle of its own, on to ever slower cycles. */
static double largest_ratio(const PsWorkload *workload, const Graph *graph)
{
    double time_s = 0;
    for (guint i = 0; i < workload->n_stages; i++) {
        double forward_s, backward_s;
        step_lengths(workload, i, &forward_s, &backward_s);
        time_s = MAX(time_s, (forward_s + backward_s) / workload->stages[i].data_parallel);
    }
    double slower_s;
    while (isfinite(time_s) && find_slower_cycle(graph, time_s, &slower_s) && slower_s > time_s) {
        time_s = slower_s;
    }
    return time_s;
}

double ps_cycle_time(const PsWorkload *workload)
{
    g_autofree guint *in_flight = g_new(guint, workload->n_stages);
    for (guint i = 0; i < workload->n_stages; i++) {
        in_flight[i] = workload->stages[i].in_flight;
    }
    Graph graph = make_graph(workload, 0, in_flight);
    double time_s = largest_ratio(workload, &graph);
    g_array_unref(graph.arcs);
    return time_s;
}

static gboolean fast_enough(const PsWorkload *workload, guint first, const guint *in_flight,
                            double tps_s)
{
    double slower_s;
    Graph graph = make_graph(workload, first, in_flight);
    gboolean slower = find_slower_cycle(&graph, tps_s * (1 + SAME), &slower_s);
    g_array_unref(graph.arcs);
    return !slower;
}

guint *ps_least_in_flight(const PsWorkload *workload, double tps_s)
{
    guint *in_flight = g_new0(guint, workload->n_stages);
    for (guint i = workload->n_stages; i-- > 0;) {
        do {
            in_flight[i]++;
        } while (!fast_enough(workload, i, in_flight, tps_s));
    }
    return in_flight;
}
