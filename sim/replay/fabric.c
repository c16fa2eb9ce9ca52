#include "sim/replay/fabric.h"

#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/coll/collective-runs.h"

typedef struct {
    PsCollective *collective; /* a message is one phase without an algorithm */
    gint64 delay_ps;          /* where nothing is to be moved: takes just this */
    guint64 n_started;
    guint first_load; /* of its phases, in `loads` */
} Prepared;

typedef struct {
    PsEventFunc ended;
    gpointer owner;
    guint64 data;
} Delayed;

struct PsFabric {
    PsNetwork *network;
    double *capacities_bytes_per_s; /* by link of the network */
    GArray *prepared;               /* Prepared */
    GArray *all_loads;              /* PsFairLoad: as prepared, over all links, in bytes */
    guint n_deciders;
    guint *class_of; /* by link of the network: the decider that is loaded alike */
    PsSimulator *simulator;
    PsFlows *flows;
    PsCollectiveRuns *runs;
    GArray *delayed; /* Delayed: what waits for its delay, by the number of its event */
    GArray *unused_delayed;
    guint priority, delay_handler;
};

PsFabric *ps_fabric_new(const PsTopology *topology)
{
    PsFabric *fabric = g_new0(PsFabric, 1);
    fabric->network = ps_network_new(topology);
    guint n_links = ps_network_links(fabric->network);
    fabric->capacities_bytes_per_s =
        g_memdup2(ps_network_capacities(fabric->network), n_links * sizeof(double));
    fabric->prepared = g_array_new(FALSE, FALSE, sizeof(Prepared));
    fabric->all_loads = g_array_new(FALSE, FALSE, sizeof(PsFairLoad));
    fabric->delayed = g_array_new(FALSE, FALSE, sizeof(Delayed));
    fabric->unused_delayed = g_array_new(FALSE, FALSE, sizeof(guint));
    return fabric;
}

void ps_fabric_free(PsFabric *fabric)
{
    if (fabric == NULL) {
        return;
    }
    for (guint i = 0; i < fabric->prepared->len; i++) {
        ps_collective_free(g_array_index(fabric->prepared, Prepared, i).collective);
    }
    ps_collective_runs_free(fabric->runs);
    ps_flows_free(fabric->flows);
    ps_network_free(fabric->network);
    g_free(fabric->capacities_bytes_per_s);
    g_free(fabric->class_of);
    g_array_unref(fabric->prepared);
    g_array_unref(fabric->all_loads);
    g_array_unref(fabric->delayed);
    g_array_unref(fabric->unused_delayed);
    g_free(fabric);
}

PsNetwork *ps_fabric_network(const PsFabric *fabric)
{
    return fabric->network;
}

double *ps_fabric_capacities(PsFabric *fabric)
{
    return fabric->capacities_bytes_per_s;
}

/* ---- preparing ------------------------------------------------------------------------------ */

static guint add_prepared(PsFabric *fabric, PsCollective *collective)
{
    Prepared prepared = {.collective = collective, .first_load = fabric->all_loads->len};
    for (guint i = 0; i < collective->n_phases; i++) {
        PsPhase *phase = &collective->phases[i];
        for (guint k = 0; k < phase->n_loads; k++) {
            PsFairLoad load = {phase->loads[k].link, phase->loads[k].weight * phase->bytes};
            g_array_append_val(fabric->all_loads, load);
        }
    }
    g_array_append_val(fabric->prepared, prepared);
    return fabric->prepared->len - 1;
}

static int compare_loads(const void *a, const void *b)
{
    const PsFairLoad *left = a, *right = b;
    return (left->link > right->link) - (left->link < right->link);
}

/* Sums the loads of each link up; returns how many links there are. */
static guint merge_loads(PsFairLoad *loads, guint n)
{
    guint n_links = 0;
    qsort(loads, n, sizeof *loads, compare_loads);
    for (guint i = 0; i < n; i++) {
        if (n_links > 0 && loads[n_links - 1].link == loads[i].link) {
            loads[n_links - 1].weight += loads[i].weight;
        } else {
            loads[n_links++] = loads[i];
        }
    }
    return n_links;
}

/* The routes of a message as the links they load, each by as many bytes as cross it. */
static gboolean find_loads(PsFabric *fabric, const PsMessage *message, GArray *loads,
                           double *latency_s, GError **error)
{
    g_autoptr(GArray) route = g_array_new(FALSE, FALSE, sizeof(guint));
    *latency_s = 0;
    for (guint i = 0; i < message->n; i++) {
        double one_s;
        if (!ps_network_route(fabric->network, message->sources[i], message->destinations[i], route,
                              &one_s, error)) {
            return FALSE;
        }
        *latency_s = MAX(*latency_s, one_s);
        for (guint k = 0; k < route->len; k++) {
            PsFairLoad load = {g_array_index(route, guint, k), message->bytes};
            g_array_append_val(loads, load);
        }
    }
    return TRUE;
}

/* The phase in which each pair moves `bytes`, all at one rate: a link that several pairs cross
 * gives each its share. loads are in bytes. */
static PsPhase make_phase(const PsFabric *fabric, PsFairLoad *loads, guint n, double bytes,
                          double latency_s)
{
    const double *capacities_bytes_per_s = ps_network_capacities(fabric->network);
    PsPhase phase = {.latency_s = latency_s, .bytes = bytes, .n_loads = n, .loads = loads};
    double moving_s = 0;
    for (guint i = 0; i < n; i++) {
        moving_s = MAX(moving_s, loads[i].weight / capacities_bytes_per_s[loads[i].link]);
        loads[i].weight /= bytes;
    }
    phase.time_s = latency_s + moving_s;
    return phase;
}

gboolean ps_fabric_add_message(PsFabric *fabric, const PsMessage *message, guint *number,
                               GError **error)
{
    double latency_s;
    g_autoptr(GArray) loads = g_array_new(FALSE, FALSE, sizeof(PsFairLoad));
    if (!find_loads(fabric, message, loads, &latency_s, error)) {
        return FALSE;
    }
    latency_s += message->overhead_s;
    PsCollective *collective = g_new0(PsCollective, 1);
    collective->time_s = latency_s;
    guint n = message->bytes > 0 ? merge_loads((PsFairLoad *)(gpointer)loads->data, loads->len) : 0;
    if (n > 0) {
        PsFairLoad *own = g_memdup2(loads->data, n * sizeof *own);
        collective->n_phases = 1;
        collective->phases = g_new(PsPhase, 1);
        *collective->phases = make_phase(fabric, own, n, message->bytes, latency_s);
        collective->time_s = collective->phases->time_s;
    }
    *number = add_prepared(fabric, collective);
    g_array_index(fabric->prepared, Prepared, *number).delay_ps =
        n > 0 ? 0 : ps_seconds_to_ps(latency_s);
    return TRUE;
}

gboolean ps_fabric_add_collective(PsFabric *fabric, const PsCollectiveCall *call,
                                  const char *algorithm, guint *number, GError **error)
{
    PsCollective *collective = ps_collective_new(fabric->network, call, algorithm, error);
    if (collective == NULL) {
        return FALSE;
    }
    *number = add_prepared(fabric, collective);
    return TRUE;
}

double ps_fabric_time_s(const PsFabric *fabric, guint number)
{
    return g_array_index(fabric->prepared, Prepared, number).collective->time_s;
}

/* ---- deciders ------------------------------------------------------------------------------- */

/* All that loads a link: by phase in order of preparation, how many bytes. */
typedef struct {
    guint64 phase;
    double bytes;
} Use;

typedef struct {
    guint link;
    double capacity_bytes_per_s;
    GArray *uses; /* Use */
} Column;

static int compare_columns(const void *a, const void *b)
{
    const Column *left = a, *right = b;
    if (left->uses->len != right->uses->len) {
        return left->uses->len < right->uses->len ? -1 : 1;
    }
    for (guint i = 0; i < left->uses->len; i++) {
        const Use *x = &g_array_index(left->uses, Use, i), *y = &g_array_index(right->uses, Use, i);
        if (x->phase != y->phase) {
            return x->phase < y->phase ? -1 : 1;
        }
        if (x->bytes != y->bytes) {
            return x->bytes < y->bytes ? -1 : 1;
        }
    }
    return 0;
}

static int compare_columns_to_the_link(const void *a, const void *b)
{
    int order = compare_columns(a, b);
    const Column *left = a, *right = b;
    if (order == 0 && left->capacity_bytes_per_s != right->capacity_bytes_per_s) {
        return left->capacity_bytes_per_s < right->capacity_bytes_per_s ? -1 : 1;
    }
    return order != 0 ? order : (left->link > right->link) - (left->link < right->link);
}

/* A column for each link of the network. */
static Column *collect_columns(const PsFabric *fabric, guint n_links)
{
    Column *columns = g_new(Column, n_links);
    for (guint i = 0; i < n_links; i++) {
        columns[i] =
            (Column){i, fabric->capacities_bytes_per_s[i], g_array_new(FALSE, FALSE, sizeof(Use))};
    }
    Use use = {0};
    for (guint i = 0; i < fabric->prepared->len; i++) {
        const Prepared *prepared = &g_array_index(fabric->prepared, Prepared, i);
        guint place = prepared->first_load;
        for (guint p = 0; p < prepared->collective->n_phases; p++, use.phase++) {
            for (guint k = 0; k < prepared->collective->phases[p].n_loads; k++) {
                const PsFairLoad *load = &g_array_index(fabric->all_loads, PsFairLoad, place++);
                use.bytes = load->weight;
                g_array_append_val(columns[load->link].uses, use);
            }
        }
    }
    return columns;
}

/* Keeps the loads on links that are deciders, under the deciders' numbers. */
static void reduce_loads(PsFabric *fabric, const guint *decider_of)
{
    for (guint i = 0; i < fabric->prepared->len; i++) {
        PsCollective *collective = g_array_index(fabric->prepared, Prepared, i).collective;
        for (guint p = 0; p < collective->n_phases; p++) {
            PsPhase *phase = &collective->phases[p];
            guint n = 0;
            for (guint k = 0; k < phase->n_loads; k++) {
                guint decider = decider_of[phase->loads[k].link];
                if (decider != G_MAXUINT) {
                    phase->loads[n++] = (PsFairLoad){decider, phase->loads[k].weight};
                }
            }
            phase->n_loads = n;
        }
    }
}

/* Numbers the deciders; returns their capacities. */
static double *find_deciders(PsFabric *fabric)
{
    guint n_links = ps_network_links(fabric->network);
    g_autofree Column *columns = collect_columns(fabric, n_links);
    g_autofree guint *decider_of = g_new(guint, n_links);
    fabric->class_of = g_new(guint, n_links);
    double *capacities_bytes_per_s = g_new(double, n_links);
    qsort(columns, n_links, sizeof *columns, compare_columns_to_the_link);
    for (guint i = 0; i < n_links; i++) {
        gboolean decides = columns[i].uses->len > 0 &&
                           (i == 0 || compare_columns(&columns[i - 1], &columns[i]) != 0);
        decider_of[columns[i].link] = decides ? fabric->n_deciders : G_MAXUINT;
        if (decides) {
            capacities_bytes_per_s[fabric->n_deciders++] = columns[i].capacity_bytes_per_s;
        }
        fabric->class_of[columns[i].link] =
            columns[i].uses->len > 0 ? fabric->n_deciders - 1 : G_MAXUINT;
    }
    for (guint i = 0; i < n_links; i++) {
        g_array_unref(columns[i].uses);
    }
    reduce_loads(fabric, decider_of);
    return capacities_bytes_per_s;
}

/* ---- running -------------------------------------------------------------------------------- */

static void delay_over(gpointer owner, guint64 data)
{
    PsFabric *fabric = owner;
    guint place = (guint)data;
    Delayed delayed = g_array_index(fabric->delayed, Delayed, place);
    g_array_append_val(fabric->unused_delayed, place);
    delayed.ended(delayed.owner, delayed.data);
}

/* Each of them is under way a few times at once at most. */
#define MOST_AT_ONCE 1000

static gboolean check_fit(const PsFabric *fabric, GError **error)
{
    double least_bytes_per_s = G_MAXDOUBLE, bytes = 0, other_s = 0;
    for (guint i = 0; i < ps_network_links(fabric->network); i++) {
        least_bytes_per_s = MIN(least_bytes_per_s, fabric->capacities_bytes_per_s[i]);
    }
    for (guint i = 0; i < fabric->prepared->len; i++) {
        const PsCollective *collective = g_array_index(fabric->prepared, Prepared, i).collective;
        other_s = MAX(other_s, collective->time_s);
        for (guint p = 0; p < collective->n_phases; p++) {
            bytes += collective->phases[p].bytes;
        }
    }
    if (!ps_flows_fit(bytes * MOST_AT_ONCE, least_bytes_per_s, other_s)) {
        ps_error(error, PS_ERROR_INPUT,
                 "the network may take longer than the clock lasts for what crosses it (expected "
                 "less; a slip of units?)");
        return FALSE;
    }
    return TRUE;
}

gboolean ps_fabric_open(PsFabric *fabric, PsSimulator *simulator, guint priority, GError **error)
{
    if (!check_fit(fabric, error)) {
        return FALSE;
    }
    g_autofree double *capacities_bytes_per_s = find_deciders(fabric);
    fabric->simulator = simulator;
    fabric->priority = priority;
    fabric->delay_handler = ps_simulator_add_handler(simulator, delay_over, fabric);
    fabric->flows = ps_flows_new(simulator, capacities_bytes_per_s, fabric->n_deciders, priority);
    fabric->runs = ps_collective_runs_new(fabric->flows);
    return TRUE;
}

static void start_delay(PsFabric *fabric, gint64 delay_ps, Delayed delayed)
{
    guint place = fabric->delayed->len;
    if (fabric->unused_delayed->len > 0) {
        place = g_array_index(fabric->unused_delayed, guint, fabric->unused_delayed->len - 1);
        g_array_set_size(fabric->unused_delayed, fabric->unused_delayed->len - 1);
        g_array_index(fabric->delayed, Delayed, place) = delayed;
    } else {
        g_array_append_val(fabric->delayed, delayed);
    }
    ps_simulator_schedule(fabric->simulator, ps_simulator_now(fabric->simulator) + delay_ps,
                          fabric->priority, fabric->delay_handler, place);
}

void ps_fabric_start(PsFabric *fabric, guint number, PsEventFunc ended, gpointer owner,
                     guint64 data)
{
    Prepared *prepared = &g_array_index(fabric->prepared, Prepared, number);
    prepared->n_started++;
    if (prepared->collective->n_phases > 0) {
        ps_collective_runs_start(fabric->runs, prepared->collective, ended, owner, data);
    } else {
        start_delay(fabric, prepared->delay_ps, (Delayed){ended, owner, data});
    }
}

guint ps_fabric_deciders(const PsFabric *fabric)
{
    return fabric->n_deciders;
}

/* What has been put on each link of the network. Caller frees. */
static double *sum_moved_bytes(const PsFabric *fabric)
{
    double *moved_bytes = g_new0(double, ps_network_links(fabric->network));
    for (guint i = 0; i < fabric->prepared->len; i++) {
        const Prepared *prepared = &g_array_index(fabric->prepared, Prepared, i);
        guint end = i + 1 < fabric->prepared->len
                        ? g_array_index(fabric->prepared, Prepared, i + 1).first_load
                        : fabric->all_loads->len;
        for (guint k = prepared->first_load; k < end; k++) {
            const PsFairLoad *load = &g_array_index(fabric->all_loads, PsFairLoad, k);
            moved_bytes[load->link] += (double)prepared->n_started * load->weight;
        }
    }
    return moved_bytes;
}

GArray *ps_fabric_links(const PsFabric *fabric)
{
    GArray *links = ps_run_links_new();
    g_autofree double *moved_bytes = sum_moved_bytes(fabric);
    for (guint i = 0; i < ps_network_links(fabric->network); i++) {
        if (moved_bytes[i] > 0) {
            PsRunLink link = {
                .link = i,
                .name = ps_network_link_name(fabric->network, i),
                .capacity_bytes_per_s = fabric->capacities_bytes_per_s[i],
                .moved_bytes = moved_bytes[i],
            };
            link.busy_ps = ps_flows_busy_ps(fabric->flows, fabric->class_of[i], &link.peak_flows);
            g_array_append_val(links, link);
        }
    }
    return links;
}
