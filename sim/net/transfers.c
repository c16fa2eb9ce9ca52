#include "sim/net/transfers.h"

#include "sim/base/error.h"
#include "sim/base/progress.h"
#include "sim/base/units.h"
#include "sim/net/flow-file.h"
#include "sim/net/flows.h"

#define PRIORITY 0

typedef struct {
    PsNetwork *network;
    PsSimulator *simulator;
    PsFlows *flows;
    const GArray *rows;
    gint64 *ends_ps;
    GArray *route; /* guint */
    GArray *loads; /* PsFairLoad */
    PsProgress *progress;
} Transfers;

static const PsFlowRow *row_at(const GArray *rows, guint64 row)
{
    return &g_array_index(rows, PsFlowRow, row);
}

static void end(gpointer owner, guint64 row)
{
    Transfers *transfers = owner;
    transfers->ends_ps[row] = ps_simulator_now(transfers->simulator);
    ps_progress_step(transfers->progress, 1);
}

static void start(gpointer owner, guint64 number)
{
    Transfers *transfers = owner;
    const PsFlowRow *row = row_at(transfers->rows, number);
    double latency_s;
    if (!ps_network_route(transfers->network, row->source, row->destination, transfers->route,
                          &latency_s, NULL)) {
        g_assert_not_reached(); /* all routes have been found before */
    }
    g_array_set_size(transfers->loads, 0);
    for (guint i = 0; i < transfers->route->len; i++) {
        PsFairLoad load = {g_array_index(transfers->route, guint, i), 1};
        g_array_append_val(transfers->loads, load);
    }
    const PsFlowSpec spec = {
        .loads = (const PsFairLoad *)(gpointer)transfers->loads->data,
        .n_loads = transfers->loads->len,
        .bytes = row->bytes,
        .latency_s = latency_s,
        .ended = end,
        .owner = transfers,
        .data = number,
    };
    ps_flows_start(transfers->flows, &spec);
}

/* Every row has a route, and all of them end within the clock. */
static gboolean check(Transfers *transfers, const char *path, GError **error)
{
    const double *capacities = ps_network_capacities(transfers->network);
    double bytes = 0, latencies_s = 0, least_bytes_per_s = G_MAXDOUBLE;
    gint64 last_start_ps = 0;
    for (guint i = 0; i < transfers->rows->len; i++) {
        const PsFlowRow *row = row_at(transfers->rows, i);
        double latency_s;
        if (!ps_network_route(transfers->network, row->source, row->destination, transfers->route,
                              &latency_s, error)) {
            g_prefix_error(error, "%s:%u: ", path, row->line);
            return FALSE;
        }
        for (guint j = 0; j < transfers->route->len; j++) {
            double capacity = capacities[g_array_index(transfers->route, guint, j)];
            least_bytes_per_s = MIN(least_bytes_per_s, capacity);
        }
        bytes += row->bytes;
        latencies_s = MAX(latencies_s, latency_s);
        last_start_ps = MAX(last_start_ps, row->start_ps);
    }
    double other_s = ps_ps_to_seconds(last_start_ps) + latencies_s;
    if (!ps_flows_fit(bytes, least_bytes_per_s, other_s)) {
        ps_error_at(error, path, 0,
                    "%g bytes over links of %g B/s may take longer than the clock runs (expected "
                    "at most 53 days in all)",
                    bytes, least_bytes_per_s);
        return FALSE;
    }
    return TRUE;
}

gboolean ps_transfers_run(PsNetwork *network, const GArray *rows, const char *path, gint64 *ends_ps,
                          GError **error)
{
    g_autoptr(PsSimulator) simulator = ps_simulator_new();
    g_autoptr(PsFlows) flows = ps_flows_new(simulator, ps_network_capacities(network),
                                            ps_network_links(network), PRIORITY);
    g_autoptr(GArray) route = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) loads = g_array_new(FALSE, FALSE, sizeof(PsFairLoad));
    g_autoptr(PsProgress) progress = ps_progress_new("flows", rows->len);
    Transfers transfers = {network, simulator, flows, rows, ends_ps, route, loads, progress};
    if (!check(&transfers, path, error)) {
        return FALSE;
    }
    guint handler = ps_simulator_add_handler(simulator, start, &transfers);
    for (guint i = 0; i < rows->len; i++) {
        ps_simulator_schedule(simulator, row_at(rows, i)->start_ps, PRIORITY, handler, i);
    }
    ps_simulator_run(simulator);
    return TRUE;
}
