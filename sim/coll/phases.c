#include "sim/coll/phases.h"

struct PsPhases {
    PsNetwork *network;
    const guint *ranks; /* [n_groups][n_ranks] */
    guint n_ranks, n_groups;
    const PsProtocol *protocol;
    GArray *phases; /* PsPhase */
    GError *error;  /* the first */
    /* Of the phase at hand: */
    guint times;
    GArray *step_latencies_s; /* double: latest message of each step */
    double *link_bytes;       /* by link */
    GArray *used_links;       /* guint: those with bytes */
    double *sent_bytes;       /* by device */
    GArray *senders;          /* guint: those with bytes */
    GArray *route;            /* guint */
};

PsPhases *ps_phases_new(PsNetwork *network, const guint *ranks, guint n_ranks, guint n_groups)
{
    PsPhases *phases = g_new0(PsPhases, 1);
    phases->network = network;
    phases->ranks = ranks;
    phases->n_ranks = n_ranks;
    phases->n_groups = n_groups;
    phases->phases = g_array_new(FALSE, FALSE, sizeof(PsPhase));
    phases->step_latencies_s = g_array_new(FALSE, TRUE, sizeof(double));
    phases->link_bytes = g_new0(double, ps_network_links(network));
    phases->used_links = g_array_new(FALSE, FALSE, sizeof(guint));
    phases->sent_bytes = g_new0(double, ps_network_devices(network));
    phases->senders = g_array_new(FALSE, FALSE, sizeof(guint));
    phases->route = g_array_new(FALSE, FALSE, sizeof(guint));
    return phases;
}

static void drop_phases(PsPhases *phases)
{
    for (guint i = 0; i < phases->phases->len; i++) {
        g_free(g_array_index(phases->phases, PsPhase, i).loads);
    }
    g_array_set_size(phases->phases, 0);
}

void ps_phases_free(PsPhases *phases)
{
    if (phases == NULL) {
        return;
    }
    drop_phases(phases);
    g_clear_error(&phases->error);
    g_array_unref(phases->phases);
    g_array_unref(phases->step_latencies_s);
    g_free(phases->link_bytes);
    g_array_unref(phases->used_links);
    g_free(phases->sent_bytes);
    g_array_unref(phases->senders);
    g_array_unref(phases->route);
    g_free(phases);
}

/* Adds to a sum, and to the list of sums in use if it is the first; bytes are positive. */
static void count(double *sums, GArray *used, guint index, double bytes)
{
    if (sums[index] == 0) {
        g_array_append_val(used, index);
    }
    sums[index] += bytes;
}

/* The largest sum; all are 0 again. */
static double take_largest(double *sums, GArray *used)
{
    double largest = 0;
    for (guint i = 0; i < used->len; i++) {
        guint index = g_array_index(used, guint, i);
        largest = MAX(largest, sums[index]);
        sums[index] = 0;
    }
    g_array_set_size(used, 0);
    return largest;
}

static double steps_latency_s(const PsPhases *phases)
{
    double sum_s = 0;
    for (guint i = 0; i < phases->step_latencies_s->len; i++) {
        sum_s += g_array_index(phases->step_latencies_s, double, i);
    }
    return phases->times * sum_s;
}

/* Completes the phase at hand, if there is one. */
static void end_phase(PsPhases *phases)
{
    guint n = phases->used_links->len;
    if (n == 0) {
        return;
    }
    const guint *links = (const guint *)(gpointer)phases->used_links->data;
    const double *capacities = ps_network_capacities(phases->network);
    PsPhase phase = {
        .latency_s = steps_latency_s(phases), .n_loads = n, .loads = g_new(PsFairLoad, n)};
    double moving_s = 0;
    for (guint i = 0; i < n; i++) {
        double bytes = phases->link_bytes[links[i]];
        phase.loads[i] = (PsFairLoad){links[i], bytes};
        moving_s = MAX(moving_s, bytes / capacities[links[i]]);
    }
    phase.bytes = take_largest(phases->link_bytes, phases->used_links);
    for (guint i = 0; i < n; i++) {
        phase.loads[i].weight /= phase.bytes;
    }
    double most_sent_bytes = take_largest(phases->sent_bytes, phases->senders);
    if (phases->protocol != NULL) {
        double bandwidth_bytes_per_s = phases->protocol->bandwidth_bytes_per_s;
        phase.most_bytes_per_s = bandwidth_bytes_per_s * (phase.bytes / most_sent_bytes);
        moving_s = MAX(moving_s, most_sent_bytes / bandwidth_bytes_per_s);
    }
    phase.time_s = phase.latency_s + moving_s;
    g_array_append_val(phases->phases, phase);
}

void ps_phases_next(PsPhases *phases, guint times)
{
    end_phase(phases);
    phases->times = times;
    g_array_set_size(phases->step_latencies_s, 0);
}

static void send_between(PsPhases *phases, guint step, guint from, guint to, double bytes)
{
    double latency_s;
    if (phases->error != NULL ||
        !ps_network_route(phases->network, from, to, phases->route, &latency_s, &phases->error)) {
        return;
    }
    if (phases->protocol != NULL) {
        bytes = MAX(bytes, phases->times * phases->protocol->grain_bytes);
    }
    for (guint i = 0; i < phases->route->len; i++) {
        guint link = g_array_index(phases->route, guint, i);
        count(phases->link_bytes, phases->used_links, link, bytes);
    }
    count(phases->sent_bytes, phases->senders, from, bytes);
    if (step >= phases->step_latencies_s->len) {
        g_array_set_size(phases->step_latencies_s, step + 1);
    }
    double *latest_s = &g_array_index(phases->step_latencies_s, double, step);
    *latest_s = MAX(*latest_s, latency_s);
}

void ps_phases_send(PsPhases *phases, guint step, guint source, guint destination, double bytes)
{
    for (guint i = 0; i < phases->n_groups; i++) {
        const guint *ranks = phases->ranks + (gsize)i * phases->n_ranks;
        send_between(phases, step, ranks[source], ranks[destination], bytes);
    }
}

gboolean ps_phases_build(PsPhases *phases, const PsCollectiveAlgorithm *algorithm,
                         const PsTeam *team, const PsProtocol *protocol, GError **error)
{
    drop_phases(phases);
    phases->protocol = protocol;
    algorithm->build(team, phases);
    end_phase(phases);
    if (phases->error != NULL) {
        g_propagate_error(error, g_steal_pointer(&phases->error));
        return FALSE;
    }
    return TRUE;
}

double ps_phases_time_s(const PsPhases *phases)
{
    double sum_s = 0;
    for (guint i = 0; i < phases->phases->len; i++) {
        sum_s += g_array_index(phases->phases, PsPhase, i).time_s;
    }
    return sum_s;
}

PsPhase *ps_phases_steal(PsPhases *phases, guint *n)
{
    *n = phases->phases->len;
    PsPhase *stolen = (PsPhase *)(gpointer)g_array_free(phases->phases, FALSE);
    phases->phases = g_array_new(FALSE, FALSE, sizeof(PsPhase));
    return stolen;
}
