/* Flows: transfers that share the capacity of links, each at its max-min fair rate (fair.h).
 *
 * A flow loads one link or several, each with a weight: at rate x it takes weight * x of a link's
 * capacity. A message loads the links of its route with weight 1; a collective in lock step is one
 * flow that loads every link it uses.
 *
 * Rates change when flows start and end, after all other events of that time. Flows with one
 * bottleneck move at one rate, so that what they move is counted once per link, and the flow of
 * them that ends first has the link's event; the event is void as soon as the link's rate or its
 * first flow changes. A flow ends at the picosecond nearest to its exact end. */
#pragma once

#include <glib.h>
#include "sim/engine/simulator.h"
#include "sim/net/fair.h"

typedef struct PsFlows PsFlows;

typedef struct {
    const PsFairLoad *loads; /* at least one; a link may occur more than once */
    guint n_loads;
    double bytes;            /* to move at rate x, not negative */
    double latency_s;        /* before it loads the links */
    double most_bytes_per_s; /* x is at most this; 0: no bound */
    PsEventFunc ended;       /* called once at the flow's end, at the simulator's time */
    gpointer owner;          /* for `ended` */
    guint64 data;            /* for `ended` */
} PsFlowSpec;

/* Capacities (bytes per second, positive) are copied. priority: of the events at which flows begin
 * to load links, and end. simulator must outlive the flows. */
PsFlows *ps_flows_new(PsSimulator *simulator, const double *capacities_bytes_per_s, guint n_links,
                      guint priority);
void ps_flows_free(PsFlows *flows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsFlows, ps_flows_free)

/* Starts a flow now. spec and its loads are copied. The caller sees to it that all flows together
 * end within the simulator's clock: ps_flows_fit says so. */
void ps_flows_start(PsFlows *flows, const PsFlowSpec *spec);

/* How long so far a link has had at least one flow, and the most at one time. */
gint64 ps_flows_busy_ps(const PsFlows *flows, guint link, guint *peak_flows);

/* Whether flows of this sum of bytes over links of at least this capacity end within the clock. At
 * any time some link is full, so that they take no longer than one after another over the slowest
 * link; other_s is for their latest start and their latencies. */
gboolean ps_flows_fit(double bytes, double least_bytes_per_s, double other_s);
