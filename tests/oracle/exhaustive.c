#include "tests/oracle/exhaustive.h"

#include <math.h>

#define MOST_STAGES 16

typedef struct {
    const PsProfile *profile;
    const PsSetting *setting;
    const PsExhaustiveRules *rules;
    gboolean minimise_memory;
    PsExhaustive best;
    GArray *all;                   /* of PsExhaustive; NULL where only the best is asked for */
    guint degrees[MOST_STAGES];    /* of the partial plan at hand, last stage first */
    guint wanted[MOST_STAGES + 1]; /* u of its first i stages; 0 for none */
} Search;

/* Layers as bit masks. */
static gboolean closed_under_successors(const PsProfile *profile, guint set)
{
    for (guint e = 0; e < profile->n_edges; e++) {
        if ((set >> profile->edges[e].source & 1) && !(set >> profile->edges[e].target & 1)) {
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean is_nested(const guint *d, guint n)
{
    gboolean rises = FALSE, falls = FALSE;
    for (guint i = 1; i < n; i++) {
        rises |= d[i] > d[i - 1];
        falls |= d[i] < d[i - 1];
        if (d[i] % d[i - 1] != 0 && d[i - 1] % d[i] != 0) {
            return FALSE;
        }
    }
    return !(rises && falls);
}

static gboolean is_uniform(const guint *d, guint n)
{
    for (guint i = 1; i < n; i++) {
        if (d[i] != d[0]) {
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean offers(const PsTmpcSet *set, gboolean recomputes)
{
    for (guint i = 0; i < set->n_tmpcs; i++) {
        if (set->tmpcs[i].recomputes == recomputes) {
            return TRUE;
        }
    }
    return FALSE;
}

/* Whether the rules on recompute allow a choice of TMPCs. */
static gboolean choice_allowed(const Search *search, guint stage, guint t, guint choice)
{
    gboolean some_plain = FALSE, some_recompute = FALSE;
    for (guint v = 0; v < search->profile->n_layers; v++) {
        if (!(stage >> v & 1)) {
            continue;
        }
        const PsTmpcSet *set = ps_layer_set(&search->profile->layers[v], t);
        gboolean recomputes = set->tmpcs[choice % set->n_tmpcs].recomputes;
        choice /= set->n_tmpcs;
        if (offers(set, TRUE) && offers(set, FALSE)) {
            some_plain |= !recomputes;
            some_recompute |= recomputes;
        }
    }
    return !(search->rules->same_recompute && some_plain && some_recompute) &&
           !(search->rules->all_recompute && some_plain) &&
           !(search->rules->no_recompute && some_recompute);
}

/* Load of a stage at one TMPC choice (choice: mixed-radix digits, one per layer of the stage).
 * Returns FALSE when the choice is used up. */
typedef struct {
    double load_s, memory_bytes;
} Figures;

static gboolean evaluate(const Search *search, guint stage, guint d, guint t, guint in_flight,
                         guint choice, Figures *figures)
{
    const PsProfile *profile = search->profile;
    double bandwidth = search->setting->bandwidth_bytes_per_s;
    double compute = 0, bytes = 0, weights = 0, memory = 0;
    for (guint v = 0; v < profile->n_layers; v++) {
        if (!(stage >> v & 1)) {
            continue;
        }
        const PsTmpcSet *set = ps_layer_set(&profile->layers[v], t);
        const PsTmpc *tmpc = &set->tmpcs[choice % set->n_tmpcs];
        choice /= set->n_tmpcs;
        compute += tmpc->time_s;
        weights += tmpc->weight_bytes;
        memory += tmpc->memory_per_microbatch_bytes * in_flight + tmpc->memory_fixed_bytes;
        for (guint i = 0; i < profile->layers[v].n_incoming; i++) {
            const PsEdge *edge = &profile->edges[profile->layers[v].incoming[i]];
            if (!(stage >> edge->source & 1)) {
                bytes += 2 * (edge->bytes + tmpc->sync_forward_bytes[i]);
            }
        }
        for (guint i = 0; i < profile->layers[v].n_outgoing; i++) {
            const PsEdge *edge = &profile->edges[profile->layers[v].outgoing[i]];
            if (!(stage >> edge->target & 1)) {
                bytes += 2 * (edge->bytes + tmpc->sync_backward_bytes[i]);
            }
        }
    }
    figures->load_s =
        compute / d + bytes / (d * bandwidth) +
        4.0 * (d - 1) * weights / (d * (double)search->setting->microbatches) / bandwidth;
    figures->memory_bytes = memory;
    return choice == 0;
}

/* What is minimised: load within the memory, or memory alone. */
static double stage_cost(const Search *search, guint stage, guint d, guint t, guint in_flight)
{
    for (guint v = 0; v < search->profile->n_layers; v++) {
        if ((stage >> v & 1) && ps_layer_set(&search->profile->layers[v], t) == NULL) {
            return INFINITY;
        }
    }
    double best = INFINITY;
    Figures figures;
    for (guint choice = 0; evaluate(search, stage, d, t, in_flight, choice, &figures); choice++) {
        if (!choice_allowed(search, stage, t, choice)) {
            continue;
        }
        if (search->minimise_memory) {
            best = fmin(best, figures.memory_bytes);
        } else if (figures.memory_bytes <= search->setting->memory_bytes) {
            best = fmin(best, figures.load_s);
        }
    }
    return best;
}

/* indifferent: whether degrees are nested does not matter. */
static gboolean better(const PsExhaustive *a, const PsExhaustive *b, gboolean indifferent)
{
    if (!b->feasible || fabs(a->tps_s - b->tps_s) > 1e-12 * b->tps_s) {
        return !b->feasible || a->tps_s < b->tps_s;
    }
    if (a->nested != b->nested && !indifferent) {
        return a->nested;
    }
    if (a->devices != b->devices) {
        return a->devices < b->devices;
    }
    if (a->sum_data_parallel != b->sum_data_parallel) {
        return a->sum_data_parallel < b->sum_data_parallel;
    }
    return a->n_stages < b->n_stages;
}

/* `done` is laid out; puts every possible stage in front of it. */
static void extend(Search *search, guint done, PsExhaustive partial)
{
    guint all = (1u << search->profile->n_layers) - 1;
    if (done == all) {
        partial.feasible = TRUE;
        partial.nested = is_nested(search->degrees, partial.n_stages);
        if (search->rules->nested && !partial.nested) {
            return;
        }
        if (search->rules->uniform && !is_uniform(search->degrees, partial.n_stages)) {
            return;
        }
        if (search->all != NULL) {
            g_array_append_val(search->all, partial);
        }
        if (better(&partial, &search->best, search->rules->sufficient)) {
            search->best = partial;
        }
        return;
    }
    guint n = search->setting->microbatches, k = search->setting->devices;
    guint most_d = search->rules->one_replica ? 1 : MIN(n, k);
    guint most_t = search->rules->one_rank ? 1 : k;
    for (guint stage = 1; stage <= all; stage++) {
        if ((stage & done) != 0 || !closed_under_successors(search->profile, done | stage)) {
            continue;
        }
        for (guint d = 1; d <= most_d && partial.sum_data_parallel + d <= MIN(n, k); d++) {
            for (guint t = 1; t <= most_t && n % d == 0 && partial.devices + d * t <= k; t++) {
                PsExhaustive next = partial;
                next.devices += d * t;
                next.sum_data_parallel += d;
                next.n_stages++;
                guint in_flight = (next.sum_data_parallel + d - 1) / d;
                if (search->rules->sufficient) {
                    in_flight = 1 + (search->wanted[partial.n_stages] + d - 1) / d;
                    search->wanted[next.n_stages] = in_flight * d;
                    if (in_flight * d > n) {
                        continue;
                    }
                }
                double cost = stage_cost(search, stage, d, t, in_flight);
                next.tps_s = fmax(next.tps_s, cost);
                if (isfinite(cost)) {
                    search->degrees[partial.n_stages] = d;
                    extend(search, done | stage, next);
                }
            }
        }
    }
}

PsExhaustive ps_exhaustive_best(const PsProfile *profile, const PsSetting *setting,
                                const PsExhaustiveRules *rules)
{
    Search search = {profile, setting, rules, FALSE, {0}, NULL, {0}, {0}};
    extend(&search, 0, (PsExhaustive){0});
    return search.best;
}

double ps_exhaustive_least_memory(const PsProfile *profile, const PsSetting *setting,
                                  const PsExhaustiveRules *rules)
{
    Search search = {profile, setting, rules, TRUE, {0}, NULL, {0}, {0}};
    extend(&search, 0, (PsExhaustive){0});
    return search.best.tps_s;
}

static gint compare(gconstpointer a, gconstpointer b)
{
    const PsExhaustive *x = a, *y = b;
    if (fabs(x->tps_s - y->tps_s) > 1e-12 * y->tps_s) {
        return x->tps_s < y->tps_s ? -1 : 1;
    }
    if (x->devices != y->devices) {
        return x->devices < y->devices ? -1 : 1;
    }
    if (x->sum_data_parallel != y->sum_data_parallel) {
        return x->sum_data_parallel < y->sum_data_parallel ? -1 : 1;
    }
    return (x->n_stages > y->n_stages) - (x->n_stages < y->n_stages);
}

GArray *ps_exhaustive_all(const PsProfile *profile, const PsSetting *setting,
                          const PsExhaustiveRules *rules)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(PsExhaustive));
    Search search = {profile, setting, rules, FALSE, {0}, all, {0}, {0}};
    extend(&search, 0, (PsExhaustive){0});
    g_array_sort(all, compare);
    return all;
}
