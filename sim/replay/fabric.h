/* The network under a replay: messages and collectives that are prepared before the run, each under
 * a number, and started during it, sharing links at their max-min fair rates (sim/net/flows.h).
 *
 * Links that all that was prepared loads alike (the adapters of a lane's ranks, which act in lock
 * step) act as one: their flows are the same at any time, so the one with least capacity decides.
 * Only these deciders are simulated; the rates are those of the whole network. */
#pragma once

#include "sim/coll/collective.h"
#include "sim/trace/run.h"

typedef struct PsFabric PsFabric;

/* topology must outlive the fabric. */
PsFabric *ps_fabric_new(const PsTopology *topology);
void ps_fabric_free(PsFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsFabric, ps_fabric_free)

PsNetwork *ps_fabric_network(const PsFabric *fabric);

/* Bytes per second of every link, to be lowered before ps_fabric_open. */
double *ps_fabric_capacities(PsFabric *fabric);

/* What some lane sends to another: at the same time, for each i, `bytes` from device sources[i] to
 * destinations[i]. overhead_s is added to the latency of the longest route. */
typedef struct {
    const guint *sources, *destinations;
    guint n;
    double bytes; /* not negative */
    double overhead_s;
} PsMessage;

/* Prepare a message or a collective: numbers count up from 0. Errors (*number is then undefined):
 * those of ps_network_route and ps_collective_new. */
gboolean ps_fabric_add_message(PsFabric *fabric, const PsMessage *message, guint *number,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean ps_fabric_add_collective(PsFabric *fabric, const PsCollectiveCall *call,
                                  const char *algorithm, guint *number,
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* With the links to itself, and unslowed. */
double ps_fabric_time_s(const PsFabric *fabric, guint number);

/* All is prepared. priority: of the events at which something ends. FALSE with error (INPUT) where
 * it could take longer than the clock lasts. */
gboolean ps_fabric_open(PsFabric *fabric, PsSimulator *simulator, guint priority,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Starts what has this number now; `ended` is called once with owner and data at its end. */
void ps_fabric_start(PsFabric *fabric, guint number, PsEventFunc ended, gpointer owner,
                     guint64 data);

/* How many of the network's links are simulated. */
guint ps_fabric_deciders(const PsFabric *fabric);
/* What the links of the network have carried so far, in ascending order; those that carried
 * nothing are left out. Caller unrefs. */
GArray *ps_fabric_links(const PsFabric *fabric);
