#include "planner/search/costs.h"

#include <math.h>

#define SUM_LIMIT 0x1p58  /* what the sum of everything must stay below */
#define TERM_LIMIT 0x1p52 /* what each number must stay below, for doubles to hold it exactly */

const char *const ps_recompute_names[PS_N_RECOMPUTE + 1] = {
    [PS_RECOMPUTE_PER_LAYER] = "per-layer",
    [PS_RECOMPUTE_ALL_OR_NONE] = "all-or-none",
    [PS_RECOMPUTE_ALL] = "all",
    [PS_RECOMPUTE_NONE] = "none",
};

/* 2·bytes/B: an activation there and its gradient back. */
static double border_s(const PsLevel *level, double bytes)
{
    return 2 * bytes / level->bandwidth_bytes_per_s;
}

static double resync_s(const PsCosts *costs, const PsLevel *level, const PsTmpc *tmpc)
{
    return 4 * tmpc->weight_bytes / (costs->setting.microbatches * level->bandwidth_bytes_per_s);
}

/* The last level, which is the slowest. */
static const PsLevel *last_level(const PsCosts *costs)
{
    return &costs->levels.level[costs->levels.n - 1];
}

static gint64 to_quanta(double value, double quantum)
{
    return (gint64)floor(value / quantum + 0.5);
}

/* Upper bounds of all sums that the planner can form, and of their terms. */
typedef struct {
    double sum, term;
} Bounds;

/* The smallest power of ten at which both stay below their limits, from 10^floor_exponent up. */
static double choose_quantum(Bounds bounds, int floor_exponent)
{
    int exponent = floor_exponent;
    while (bounds.sum / pow(10, exponent) >= SUM_LIMIT ||
           bounds.term / pow(10, exponent) >= TERM_LIMIT) {
        exponent++;
    }
    return pow(10, exponent);
}

static void add_term(Bounds *bounds, double term)
{
    bounds->term = MAX(bounds->term, term);
}

/* The most that a layer can take with a TMPC. */
static double layer_time_s(const PsCosts *costs, const PsLayer *layer, const PsTmpc *tmpc,
                           guint most, Bounds *time_s)
{
    const PsLevel *level = last_level(costs);
    double resync = resync_s(costs, level, tmpc), sum = tmpc->time_s + most * resync;
    add_term(time_s, tmpc->time_s);
    add_term(time_s, resync);
    for (guint e = 0; e < layer->n_incoming; e++) {
        double border = border_s(level, costs->profile->edges[layer->incoming[e]].bytes +
                                            tmpc->sync_forward_bytes[e]);
        add_term(time_s, border);
        sum += border;
    }
    for (guint e = 0; e < layer->n_outgoing; e++) {
        double border = border_s(level, costs->profile->edges[layer->outgoing[e]].bytes +
                                            tmpc->sync_backward_bytes[e]);
        add_term(time_s, border);
        sum += border;
    }
    return sum;
}

static void add_layer(const PsCosts *costs, const PsLayer *layer, guint most, Bounds *time_s,
                      Bounds *memory_bytes)
{
    double time = 0, memory = 0;
    for (guint s = 0; s < layer->n_sets; s++) {
        for (guint i = 0; i < layer->sets[s].n_tmpcs; i++) {
            const PsTmpc *tmpc = &layer->sets[s].tmpcs[i];
            add_term(memory_bytes, tmpc->memory_per_microbatch_bytes);
            add_term(memory_bytes, tmpc->memory_fixed_bytes);
            time = MAX(time, layer_time_s(costs, layer, tmpc, most, time_s));
            memory =
                MAX(memory, tmpc->memory_per_microbatch_bytes * most + tmpc->memory_fixed_bytes);
        }
    }
    time_s->sum += time;
    memory_bytes->sum += memory;
}

static void choose_quanta(PsCosts *costs)
{
    Bounds time_s = {0}, memory_bytes = {0};
    add_term(&memory_bytes, costs->setting.memory_bytes);
    memory_bytes.sum = costs->setting.memory_bytes;
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        add_layer(costs, &costs->profile->layers[v], costs->most_in_flight, &time_s, &memory_bytes);
    }
    costs->time_quantum_s = choose_quantum(time_s, -24);
    costs->memory_quantum_bytes = choose_quantum(memory_bytes, -9);
}

static void collect_degrees(PsCosts *costs)
{
    g_autoptr(GArray) degrees = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        const PsLayer *layer = &costs->profile->layers[v];
        for (guint s = 0; s < layer->n_sets; s++) {
            guint degree = layer->sets[s].degree, at = 0;
            if (degree >
                (costs->restrictions.forbid_tensor_parallel ? 1 : costs->setting.devices)) {
                continue;
            }
            while (at < degrees->len && g_array_index(degrees, guint, at) < degree) {
                at++;
            }
            gboolean known = at < degrees->len && g_array_index(degrees, guint, at) == degree;
            if (!known) {
                g_array_insert_val(degrees, at, degree);
            }
        }
    }
    costs->n_degrees = degrees->len;
    costs->degrees = g_memdup2(degrees->data, degrees->len * sizeof(guint));
}

static void collect_divisors(PsCosts *costs)
{
    guint n = costs->setting.microbatches;
    guint most = costs->restrictions.forbid_data_parallel ? 1 : MIN(n, costs->setting.devices);
    g_autoptr(GArray) divisors = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint d = 1; d <= most; d++) {
        if (n % d == 0) {
            g_array_append_val(divisors, d);
        }
    }
    costs->n_divisors = divisors->len;
    costs->divisors = g_memdup2(divisors->data, divisors->len * sizeof(guint));
}

typedef const double *(*SyncOf)(const PsTmpc *tmpc);
static const double *sync_forward(const PsTmpc *tmpc)
{
    return tmpc->sync_forward_bytes;
}
static const double *sync_backward(const PsTmpc *tmpc)
{
    return tmpc->sync_backward_bytes;
}

/* Border costs of one side: the least over the TMPCs, and in *extra what each has beyond it. */
static gint64 *border_costs(const PsCosts *costs, const PsLevel *level, const PsTmpcSet *set,
                            const PsLayerCost *cost, const guint *edges, guint n_edges,
                            SyncOf sync_of, gint64 **extra)
{
    gint64 *least = g_new0(gint64, n_edges);
    g_autofree gint64 *all = g_new0(gint64, (gsize)n_edges * cost->n_tmpcs);
    gboolean differs = FALSE;
    for (guint e = 0; e < n_edges; e++) {
        double bytes = costs->profile->edges[edges[e]].bytes;
        least[e] = G_MAXINT64;
        for (guint i = 0; i < cost->n_tmpcs; i++) {
            double sum = bytes + sync_of(&set->tmpcs[cost->tmpcs[i].index])[e];
            gint64 quanta = to_quanta(border_s(level, sum), costs->time_quantum_s);
            all[i * n_edges + e] = quanta;
            least[e] = MIN(least[e], quanta);
        }
        for (guint i = 0; i < cost->n_tmpcs; i++) {
            all[i * n_edges + e] -= least[e];
            differs |= all[i * n_edges + e] != 0;
        }
    }
    *extra = differs ? g_steal_pointer(&all) : NULL;
    return least;
}

/* The least over the TMPCs, and in *extra what each has beyond it. */
static gint64 resync_costs(const PsCosts *costs, const PsLevel *level, const PsTmpcSet *set,
                           const PsLayerCost *cost, gint64 **extra)
{
    g_autofree gint64 *all = g_new0(gint64, cost->n_tmpcs);
    gint64 least = G_MAXINT64;
    gboolean differs = FALSE;
    for (guint i = 0; i < cost->n_tmpcs; i++) {
        const PsTmpc *tmpc = &set->tmpcs[cost->tmpcs[i].index];
        all[i] = to_quanta(resync_s(costs, level, tmpc), costs->time_quantum_s);
        least = MIN(least, all[i]);
    }
    for (guint i = 0; i < cost->n_tmpcs; i++) {
        all[i] -= least;
        differs |= all[i] != 0;
    }
    *extra = differs ? g_steal_pointer(&all) : NULL;
    return least;
}

static void find_least(PsLayerCost *layer)
{
    layer->min_memory_per_microbatch = layer->min_memory_fixed = G_MAXINT64;
    for (guint i = 0; i < layer->n_tmpcs; i++) {
        const PsTmpcCost *tmpc = &layer->tmpcs[i], *fastest = &layer->tmpcs[layer->fastest];
        layer->min_memory_per_microbatch =
            MIN(layer->min_memory_per_microbatch, tmpc->memory_per_microbatch);
        layer->min_memory_fixed = MIN(layer->min_memory_fixed, tmpc->memory_fixed);
        if (tmpc->time < fastest->time ||
            (tmpc->time == fastest->time &&
             tmpc->memory_per_microbatch < fastest->memory_per_microbatch)) {
            layer->fastest = i;
        }
    }
    layer->min_time = layer->tmpcs[layer->fastest].time;
}

/* Whether the restriction lets a layer use a TMPC; one that leaves it none does not hold for it. */
static gboolean allowed(const PsTmpcSet *set, guint index, PsRecompute recompute)
{
    if (recompute != PS_RECOMPUTE_ALL && recompute != PS_RECOMPUTE_NONE) {
        return TRUE;
    }
    gboolean wanted = recompute == PS_RECOMPUTE_ALL, any = FALSE;
    for (guint i = 0; i < set->n_tmpcs; i++) {
        any |= set->tmpcs[i].recomputes == wanted;
    }
    return !any || set->tmpcs[index].recomputes == wanted;
}

static void fill_tmpcs(const PsCosts *costs, const PsTmpcSet *set, PsLayerCost *cost)
{
    cost->tmpcs = g_new0(PsTmpcCost, set->n_tmpcs);
    for (guint i = 0; i < set->n_tmpcs; i++) {
        const PsTmpc *tmpc = &set->tmpcs[i];
        if (!allowed(set, i, costs->restrictions.recompute)) {
            continue;
        }
        cost->tmpcs[cost->n_tmpcs++] = (PsTmpcCost){
            .time = to_quanta(tmpc->time_s, costs->time_quantum_s),
            .memory_per_microbatch =
                to_quanta(tmpc->memory_per_microbatch_bytes, costs->memory_quantum_bytes),
            .memory_fixed = to_quanta(tmpc->memory_fixed_bytes, costs->memory_quantum_bytes),
            .index = i,
            .recomputes = tmpc->recomputes,
        };
    }
}

static void fill_links(const PsCosts *costs, const PsLayer *layer, const PsTmpcSet *set,
                       const PsLayerCost *cost, guint i)
{
    const PsLevel *level = &costs->levels.level[i];
    PsLinkCost *links = &cost->links[i];
    links->resync = resync_costs(costs, level, set, cost, &links->extra_resync);
    links->enter = border_costs(costs, level, set, cost, layer->incoming, layer->n_incoming,
                                sync_forward, &links->extra_enter);
    links->leave = border_costs(costs, level, set, cost, layer->outgoing, layer->n_outgoing,
                                sync_backward, &links->extra_leave);
    for (guint e = 0; e < layer->n_incoming; e++) {
        links->enter_all += links->enter[e];
    }
}

static void fill_layer(const PsCosts *costs, const PsLayer *layer, guint degree, PsLayerCost *cost)
{
    const PsTmpcSet *set = ps_layer_set(layer, degree);
    cost->links = g_new0(PsLinkCost, costs->levels.n);
    if (set == NULL) {
        return;
    }
    fill_tmpcs(costs, set, cost);
    for (guint i = 0; i < costs->levels.n; i++) {
        fill_links(costs, layer, set, cost, i);
    }
    find_least(cost);
}

static void find_shortcuts(PsCosts *costs)
{
    costs->same_resync = costs->same_borders = TRUE;
    for (guint i = 0; i < costs->profile->n_layers * costs->n_degrees; i++) {
        for (guint j = 0; j < costs->levels.n; j++) {
            const PsLinkCost *links = &costs->layers[i].links[j];
            costs->same_borders &= links->extra_enter == NULL && links->extra_leave == NULL;
            costs->same_resync &= links->extra_resync == NULL;
        }
    }
}

PsCosts *ps_costs_new(const PsProfile *profile, const PsSetting *setting,
                      const PsRestrictions *restrictions)
{
    PsCosts *costs = g_new0(PsCosts, 1);
    costs->profile = profile;
    costs->setting = *setting;
    costs->levels = ps_setting_levels(setting);
    costs->most_in_flight = MIN(setting->devices, setting->microbatches);
    if (setting->in_flight == PS_IN_FLIGHT_SUFFICIENT) {
        costs->most_in_flight *= 2; /* each stage adds less than 2·d to u */
    }
    costs->restrictions = *restrictions;
    choose_quanta(costs);
    costs->memory = to_quanta(setting->memory_bytes, costs->memory_quantum_bytes);
    collect_degrees(costs);
    collect_divisors(costs);
    costs->layers = g_new0(PsLayerCost, (gsize)profile->n_layers * costs->n_degrees);
    for (guint v = 0; v < profile->n_layers; v++) {
        for (guint t = 0; t < costs->n_degrees; t++) {
            fill_layer(costs, &profile->layers[v], costs->degrees[t],
                       &costs->layers[v * costs->n_degrees + t]);
        }
    }
    find_shortcuts(costs);
    return costs;
}

static void free_links(PsLinkCost *links)
{
    g_free(links->extra_resync);
    g_free(links->enter);
    g_free(links->leave);
    g_free(links->extra_enter);
    g_free(links->extra_leave);
}

void ps_costs_free(PsCosts *costs)
{
    if (costs == NULL) {
        return;
    }
    for (guint i = 0; i < costs->profile->n_layers * costs->n_degrees; i++) {
        PsLayerCost *layer = &costs->layers[i];
        g_free(layer->tmpcs);
        for (guint j = 0; j < costs->levels.n; j++) {
            free_links(&layer->links[j]);
        }
        g_free(layer->links);
    }
    g_free(costs->layers);
    g_free(costs->degrees);
    g_free(costs->divisors);
    g_free(costs);
}
