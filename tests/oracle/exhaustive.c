#include "tests/oracle/exhaustive.h"

#include <math.h>

#define MOST_STAGES 16

/* A stage of a partial plan, last stage first. */
typedef struct {
    guint layers; /* as a bit mask */
    guint d, t, in_flight;
    guint start, leave; /* first device from the end; level of its border with the stage behind */
} Stage;

typedef struct {
    const PsProfile *profile;
    const PsSetting *setting;
    const PsExhaustiveRules *rules;
    gboolean minimise_memory;
    PsExhaustive best;
    GArray *all;         /* of PsExhaustive; NULL where only the best is asked for */
    GHashTable *indices; /* where in `all` the stages and degrees are */
    GHashTable *costs;   /* of stages met before */
    Stage stages[MOST_STAGES];
    guint degrees[MOST_STAGES];    /* d of each */
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

static gboolean runs_at(const Search *search, guint layers, guint t)
{
    for (guint v = 0; v < search->profile->n_layers; v++) {
        if ((layers >> v & 1) && ps_layer_set(&search->profile->layers[v], t) == NULL) {
            return FALSE;
        }
    }
    return TRUE;
}

/* Load of a stage at one TMPC choice (choice: mixed-radix digits, one per layer of the stage).
 * Returns FALSE when the choice is used up. */
typedef struct {
    double load_s, memory_bytes;
} Figures;

/* The levels that a stage pays. */
typedef struct {
    guint enter, leave, resync;
} Paid;

/* B of the i-th level, or B where there are none. */
static double bandwidth(const Search *search, guint i)
{
    return search->setting->levels.n > 0 ? search->setting->levels.level[i].bandwidth_bytes_per_s
                                         : search->setting->bandwidth_bytes_per_s;
}

static gboolean evaluate(const Search *search, const Stage *stage, Paid paid, guint choice,
                         Figures *figures)
{
    const PsProfile *profile = search->profile;
    double d = stage->d, n = search->setting->microbatches;
    double compute = 0, enter = 0, leave = 0, weights = 0, memory = 0;
    for (guint v = 0; v < profile->n_layers; v++) {
        if (!(stage->layers >> v & 1)) {
            continue;
        }
        const PsTmpcSet *set = ps_layer_set(&profile->layers[v], stage->t);
        const PsTmpc *tmpc = &set->tmpcs[choice % set->n_tmpcs];
        choice /= set->n_tmpcs;
        compute += tmpc->time_s;
        weights += tmpc->weight_bytes;
        memory += tmpc->memory_per_microbatch_bytes * stage->in_flight + tmpc->memory_fixed_bytes;
        for (guint i = 0; i < profile->layers[v].n_incoming; i++) {
            const PsEdge *edge = &profile->edges[profile->layers[v].incoming[i]];
            if (!(stage->layers >> edge->source & 1)) {
                enter += 2 * (edge->bytes + tmpc->sync_forward_bytes[i]);
            }
        }
        for (guint i = 0; i < profile->layers[v].n_outgoing; i++) {
            const PsEdge *edge = &profile->edges[profile->layers[v].outgoing[i]];
            if (!(stage->layers >> edge->target & 1)) {
                leave += 2 * (edge->bytes + tmpc->sync_backward_bytes[i]);
            }
        }
    }
    figures->load_s = compute / d + enter / (d * bandwidth(search, paid.enter)) +
                      leave / (d * bandwidth(search, paid.leave)) +
                      4 * (d - 1) * weights / (d * n) / bandwidth(search, paid.resync);
    figures->memory_bytes = memory;
    return choice == 0;
}

/* What is minimised: load within the memory, or memory alone. */
static double least_cost(const Search *search, const Stage *stage, Paid paid)
{
    double best = INFINITY;
    Figures figures;
    for (guint choice = 0; evaluate(search, stage, paid, choice, &figures); choice++) {
        if (!choice_allowed(search, stage->layers, stage->t, choice)) {
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

static double stage_cost(Search *search, const Stage *stage, Paid paid)
{
    gint64 key = stage->layers;
    const guint digits[] = {stage->d,   stage->t,   stage->in_flight,
                            paid.enter, paid.leave, paid.resync};
    for (guint i = 0; i < G_N_ELEMENTS(digits); i++) {
        g_assert(digits[i] < 64);
        key = key * 64 + digits[i];
    }
    double *known = g_hash_table_lookup(search->costs, &key);
    if (known == NULL) {
        known = g_new(double, 1);
        *known = least_cost(search, stage, paid);
        g_hash_table_insert(search->costs, g_memdup2(&key, sizeof key), known);
    }
    return *known;
}

/* ---- levels --------------------------------------------------------------------------------- */

/* The innermost level with a group that has all devices from first to last. */
static guint level_of(const Search *search, guint first, guint last)
{
    guint i = 0;
    while (i + 1 < search->setting->levels.n && first / search->setting->levels.level[i].size !=
                                                    last / search->setting->levels.level[i].size) {
        i++;
    }
    return i;
}

/* Every tensor-parallel group within one group of the innermost level with as many devices. */
static gboolean groups_are_held(const Search *search, guint start, guint d, guint t)
{
    const PsLevels *levels = &search->setting->levels;
    for (guint i = 0; i < levels->n; i++) {
        if (levels->level[i].size >= t) {
            for (guint r = 0; r < d; r++) {
                guint first = start + r * t, last = first + t - 1;
                if (first / levels->level[i].size != last / levels->level[i].size) {
                    return FALSE;
                }
            }
            return TRUE;
        }
    }
    return TRUE;
}

static guint end_of(const Stage *stage)
{
    return stage->start + stage->d * stage->t;
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

/* One entry for each choice of stages and degrees: of its placements the best. */
static void list(Search *search, const PsExhaustive *plan)
{
    GString *key = g_string_new(NULL);
    for (guint i = 0; i < plan->n_stages; i++) {
        const Stage *stage = &search->stages[i];
        g_string_append_printf(key, "%u %u %u;", stage->layers, stage->d, stage->t);
    }
    gpointer index;
    if (!g_hash_table_lookup_extended(search->indices, key->str, NULL, &index)) {
        g_hash_table_insert(search->indices, g_strdup(key->str),
                            GUINT_TO_POINTER(search->all->len));
        g_array_append_val(search->all, *plan);
    } else if (better(plan, &g_array_index(search->all, PsExhaustive, GPOINTER_TO_UINT(index)),
                      TRUE)) {
        g_array_index(search->all, PsExhaustive, GPOINTER_TO_UINT(index)) = *plan;
    }
    g_string_free(key, TRUE);
}

/* The first stage of the partial plan is joined at this level; FALSE where that cannot be best. */
static gboolean count_cost(Search *search, PsExhaustive *partial, guint enter)
{
    if (partial->n_stages == 0) {
        return TRUE;
    }
    const Stage *stage = &search->stages[partial->n_stages - 1];
    Paid paid = {enter, stage->leave, level_of(search, stage->start, end_of(stage) - 1)};
    double cost = stage_cost(search, stage, paid);
    partial->tps_s = fmax(partial->tps_s, cost);
    gboolean hopeless = search->best.feasible && search->all == NULL &&
                        partial->tps_s > search->best.tps_s * (1 + 1e-9);
    return isfinite(cost) && !hopeless;
}

static void complete(Search *search, PsExhaustive plan)
{
    plan.feasible = TRUE;
    plan.nested = is_nested(search->degrees, plan.n_stages);
    if ((search->rules->nested && !plan.nested) ||
        (search->rules->uniform && !is_uniform(search->degrees, plan.n_stages)) ||
        !count_cost(search, &plan, 0)) {
        return;
    }
    if (search->all != NULL) {
        list(search, &plan);
    }
    if (better(&plan, &search->best, search->rules->sufficient)) {
        search->best = plan;
    }
}

static void extend(Search *search, guint done, PsExhaustive partial);

/* Puts one stage in front of what is done, behind every number of idle devices. */
static void put(Search *search, guint done, PsExhaustive partial, Stage stage)
{
    const Stage *behind = partial.n_stages > 0 ? &search->stages[partial.n_stages - 1] : NULL;
    guint from = partial.devices, k = search->setting->devices;
    guint most_idle = search->setting->levels.n > 0 ? k : 0;
    for (stage.start = from; stage.start <= from + most_idle && end_of(&stage) <= k;
         stage.start++) {
        if (!groups_are_held(search, stage.start, stage.d, stage.t)) {
            continue;
        }
        PsExhaustive next = partial;
        stage.leave =
            level_of(search, behind != NULL ? behind->start : stage.start, end_of(&stage) - 1);
        if (!count_cost(search, &next, stage.leave)) {
            continue;
        }
        next.devices = end_of(&stage);
        next.sum_data_parallel += stage.d;
        search->degrees[next.n_stages] = stage.d;
        search->stages[next.n_stages++] = stage;
        extend(search, done | stage.layers, next);
    }
}

/* `done` is laid out; puts every possible stage in front of it. */
static void extend(Search *search, guint done, PsExhaustive partial)
{
    guint all = (1u << search->profile->n_layers) - 1;
    if (done == all) {
        complete(search, partial);
        return;
    }
    guint n = search->setting->microbatches, k = search->setting->devices;
    guint most_d = search->rules->one_replica ? 1 : MIN(n, k);
    guint most_t = search->rules->one_rank ? 1 : k;
    for (guint layers = 1; layers <= all; layers++) {
        if ((layers & done) != 0 || !closed_under_successors(search->profile, done | layers)) {
            continue;
        }
        for (guint d = 1; d <= most_d && partial.sum_data_parallel + d <= MIN(n, k); d++) {
            guint in_flight = (partial.sum_data_parallel + d + d - 1) / d;
            if (search->rules->sufficient) {
                in_flight = 1 + (search->wanted[partial.n_stages] + d - 1) / d;
                search->wanted[partial.n_stages + 1] = in_flight * d;
                if (in_flight * d > n) {
                    continue;
                }
            }
            for (guint t = 1; t <= most_t && n % d == 0 && partial.devices + d * t <= k; t++) {
                if (runs_at(search, layers, t)) {
                    put(search, done, partial, (Stage){layers, d, t, in_flight});
                }
            }
        }
    }
}

static void run(Search *search)
{
    search->costs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    search->indices = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    extend(search, 0, (PsExhaustive){0});
    g_hash_table_unref(search->costs);
    g_hash_table_unref(search->indices);
}

PsExhaustive ps_exhaustive_best(const PsProfile *profile, const PsSetting *setting,
                                const PsExhaustiveRules *rules)
{
    Search search = {.profile = profile, .setting = setting, .rules = rules};
    run(&search);
    return search.best;
}

double ps_exhaustive_least_memory(const PsProfile *profile, const PsSetting *setting,
                                  const PsExhaustiveRules *rules)
{
    Search search = {
        .profile = profile, .setting = setting, .rules = rules, .minimise_memory = TRUE};
    run(&search);
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
    Search search = {.profile = profile, .setting = setting, .rules = rules, .all = all};
    run(&search);
    g_array_sort(all, compare);
    return all;
}
