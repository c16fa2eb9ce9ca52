#include "planner/search/stage-solver.h"

#include <string.h>

#include "planner/search/relaxation.h"

/* What is known of the stages on top of one downset. */
typedef struct {
    guint upper; /* 0: an empty slot (no stage ends in downset 0) */
    guint degree, in_flight;
    guint64 way; /* d and the levels crossed; 0 where the choice does not depend on them */
    /* Of the sum of the best choice's times; equal once it was solved. */
    PsBounds time;
} Memo;

/* Open addressing. A walk asks for one downset's stages only, so these lie close together. */
typedef struct {
    Memo *memos;
    guint n_memos, mask;
} Table;

struct PsStageSolver {
    const PsCosts *costs;
    const PsDownsets *downsets;
    gint64 memory;
    gboolean fit_only;
    PsKnapsack *knapsack;
    PsRelaxation *relaxation; /* NULL where the choice depends on more than layer and memory */
    Table *tables;            /* [n_downsets] */
    /* The stage at hand; room for all layers. */
    guint n_items;
    guint *layers;
    PsItem *items;
    PsChoice *choices;
    guint *indices; /* of each choice in its layer's TMPC set */
};

/* Choices of all layers at the degree that has most. */
static guint most_choices(const PsCosts *costs)
{
    guint most = 0;
    for (guint t = 0; t < costs->n_degrees; t++) {
        guint n = 0;
        for (guint v = 0; v < costs->profile->n_layers; v++) {
            n += ps_layer_cost(costs, v, t)->n_tmpcs;
        }
        most = MAX(most, n);
    }
    return most;
}

/* The fastest TMPC of each layer is the best choice if it fits: true unless costs depend on more
 * than the layer, or the restriction couples layers. */
static gboolean fastest_is_best(const PsCosts *costs)
{
    return costs->same_resync && costs->same_borders &&
           costs->restrictions.recompute != PS_RECOMPUTE_ALL_OR_NONE;
}

PsStageSolver *ps_stage_solver_new(const PsCosts *costs, const PsDownsets *downsets, gint64 memory,
                                   gboolean fit_only)
{
    PsStageSolver *solver = g_new0(PsStageSolver, 1);
    solver->costs = costs;
    solver->downsets = downsets;
    solver->memory = memory;
    solver->fit_only = fit_only;
    solver->knapsack = ps_knapsack_new();
    if (fastest_is_best(costs) && !fit_only) {
        solver->relaxation = ps_relaxation_new(costs);
    }
    solver->tables = g_new0(Table, downsets->n_downsets);
    solver->layers = g_new(guint, costs->profile->n_layers);
    solver->items = g_new(PsItem, costs->profile->n_layers);
    solver->choices = g_new(PsChoice, most_choices(costs));
    solver->indices = g_new(guint, most_choices(costs));
    return solver;
}

void ps_stage_solver_free(PsStageSolver *solver)
{
    if (solver == NULL) {
        return;
    }
    ps_knapsack_free(solver->knapsack);
    ps_relaxation_free(solver->relaxation);
    for (guint i = 0; i < solver->downsets->n_downsets; i++) {
        g_free(solver->tables[i].memos);
    }
    g_free(solver->tables);
    g_free(solver->layers);
    g_free(solver->items);
    g_free(solver->choices);
    g_free(solver->indices);
    g_free(solver);
}

static guint hash_key(const Memo *key)
{
    guint64 hash = (guint64)key->upper << 32 | key->in_flight << 8 | key->degree;
    hash = (hash ^ key->way * 0xc2b2ae3d27d4eb4fu) * 0x9e3779b97f4a7c15u;
    return (guint)(hash >> 32);
}

static gboolean same_key(const Memo *a, const Memo *b)
{
    return a->upper == b->upper && a->degree == b->degree && a->in_flight == b->in_flight &&
           a->way == b->way;
}

/* The slot that holds the key, or the empty one where it belongs. */
static Memo *find_memo(const Table *table, const Memo *key)
{
    guint slot = hash_key(key) & table->mask;
    while (table->memos[slot].upper != 0 && !same_key(&table->memos[slot], key)) {
        slot = (slot + 1) & table->mask;
    }
    return &table->memos[slot];
}

static void grow(Table *table)
{
    Table old = *table;
    guint size = old.memos == NULL ? 16 : 2 * (old.mask + 1);
    table->mask = size - 1;
    table->memos = g_new0(Memo, size);
    for (guint i = 0; old.memos != NULL && i <= old.mask; i++) {
        if (old.memos[i].upper != 0) {
            *find_memo(table, &old.memos[i]) = old.memos[i];
        }
    }
    g_free(old.memos);
}

/* What TMPC i of layer v costs beyond the stage sums because edges of it cross the border. */
static gint64 border_extra(const PsStageSolver *solver, const PsStageRun *run, guint v, guint i)
{
    const PsProfile *profile = solver->costs->profile;
    const PsLayer *layer = &profile->layers[v];
    const PsLinkCost *links = ps_layer_cost(solver->costs, v, run->degree)->links;
    const PsLinkCost *in = &links[run->crossing.enter], *out = &links[run->crossing.leave];
    gint64 extra = 0;
    for (guint e = 0; in->extra_enter != NULL && e < layer->n_incoming; e++) {
        guint source = profile->edges[layer->incoming[e]].source;
        if (!ps_set_has(ps_downset(solver->downsets, run->upper), source)) {
            extra += in->extra_enter[i * layer->n_incoming + e];
        }
    }
    for (guint e = 0; out->extra_leave != NULL && e < layer->n_outgoing; e++) {
        guint target = profile->edges[layer->outgoing[e]].target;
        if (ps_set_has(ps_downset(solver->downsets, run->lower), target)) {
            extra += out->extra_leave[i * layer->n_outgoing + e];
        }
    }
    return extra;
}

/* A way of choosing TMPCs for a whole stage: any mixture, or the ones that recompute, or not. */
typedef enum { MIXED, PLAIN, RECOMPUTING } Mode;

/* Whether a mode other than MIXED lets a layer use a TMPC; all, where it has none in the mode. */
static gboolean in_mode(const PsLayerCost *cost, guint index, Mode mode)
{
    gboolean any = FALSE;
    for (guint i = 0; i < cost->n_tmpcs; i++) {
        any |= cost->tmpcs[i].recomputes == (mode == RECOMPUTING);
    }
    return !any || cost->tmpcs[index].recomputes == (mode == RECOMPUTING);
}

/* Adds a layer's choices behind the `used` ones laid out before it; returns how many there are
 * then. */
static guint add_item(PsStageSolver *solver, const PsStageRun *run, guint v, Mode mode, guint used)
{
    const PsLayerCost *cost = ps_layer_cost(solver->costs, v, run->degree);
    const gint64 *resync = cost->links[run->crossing.resync].extra_resync;
    PsItem *item = &solver->items[solver->n_items];
    item->choices = &solver->choices[used];
    solver->layers[solver->n_items++] = v;
    for (guint i = 0; i < cost->n_tmpcs; i++) {
        const PsTmpcCost *tmpc = &cost->tmpcs[i];
        if (mode != MIXED && !in_mode(cost, i, mode)) {
            continue;
        }
        gint64 time = tmpc->time;
        if (resync != NULL) {
            time += (run->data_parallel - 1) * resync[i];
        }
        if (!solver->costs->same_borders) {
            time += border_extra(solver, run, v, i);
        }
        solver->choices[used] = (PsChoice){
            .cost = solver->fit_only ? 0 : time,
            .memory = tmpc->memory_per_microbatch * run->in_flight + tmpc->memory_fixed,
        };
        solver->indices[used++] = tmpc->index;
    }
    item->n_choices = (guint)(&solver->choices[used] - item->choices);
    return used;
}

static void lay_out_items(PsStageSolver *solver, const PsStageRun *run, Mode mode)
{
    const guint64 *lower = ps_downset(solver->downsets, run->lower);
    const guint64 *upper = ps_downset(solver->downsets, run->upper);
    guint used = 0;
    solver->n_items = 0;
    for (guint w = 0; w < solver->downsets->n_words; w++) {
        for (guint64 bits = upper[w] & ~lower[w]; bits != 0; bits &= bits - 1) {
            used = add_item(solver, run, w * 64 + (guint)__builtin_ctzll(bits), mode, used);
        }
    }
}

static gint64 solve_mode(PsStageSolver *solver, const PsStageRun *run, Mode mode, guint *chosen)
{
    lay_out_items(solver, run, mode);
    return ps_knapsack_solve(solver->knapsack, solver->items, solver->n_items, solver->memory,
                             chosen);
}

/* The modes to try, best first among equals. */
static guint modes_of(const PsStageSolver *solver, const Mode **modes)
{
    static const Mode uniform[] = {PLAIN, RECOMPUTING}, mixed[] = {MIXED};
    gboolean all_or_none = solver->costs->restrictions.recompute == PS_RECOMPUTE_ALL_OR_NONE;
    *modes = all_or_none ? uniform : mixed;
    return all_or_none ? G_N_ELEMENTS(uniform) : G_N_ELEMENTS(mixed);
}

static gint64 solve(PsStageSolver *solver, const PsStageRun *run, Mode *best_mode)
{
    const Mode *modes;
    guint n_modes = modes_of(solver, &modes);
    gint64 best = PS_KNAPSACK_NONE;
    *best_mode = modes[0];
    for (guint i = 0; i < n_modes; i++) {
        gint64 time = solve_mode(solver, run, modes[i], NULL);
        if (time < best) {
            best = time;
            *best_mode = modes[i];
        }
    }
    return best;
}

gboolean ps_stage_may_fit(const PsStageSolver *solver, const PsStageSums *sums, guint in_flight)
{
    return sums->min_memory_per_microbatch * in_flight + sums->min_memory_fixed <= solver->memory;
}

PsCandidates ps_candidates_begin(const PsStageSolver *solver, PsStageWalk *walk, const gint64 *caps,
                                 guint lower)
{
    ps_stage_walk_begin(walk, lower);
    return (PsCandidates){solver, walk, caps, NULL, solver->costs->n_degrees, TRUE};
}

static gboolean may_keep(const PsCandidates *candidates, guint lower, const PsStageSums *sums)
{
    const PsCosts *costs = candidates->solver->costs;
    guint least_in_flight = lower == 0 ? 1 : 2; /* y = ceil(s/d), and later stages add to s */
    return sums->possible && sums->fast_time <= candidates->caps[costs->n_divisors - 1] &&
           ps_stage_may_fit(candidates->solver, sums, least_in_flight);
}

gboolean ps_candidates_next(PsCandidates *candidates, PsStageRun *run, const PsStageSums **sums)
{
    guint n_degrees = candidates->solver->costs->n_degrees;
    for (;;) {
        while (candidates->next_degree < n_degrees) {
            run->degree = candidates->next_degree++;
            *sums = &candidates->sums[run->degree];
            if (may_keep(candidates, run->lower, *sums)) {
                candidates->any = TRUE;
                return TRUE;
            }
        }
        if (!candidates->any) {
            ps_stage_walk_prune(candidates->walk);
        }
        if (!ps_stage_walk_next(candidates->walk, &run->upper, &candidates->sums)) {
            return FALSE;
        }
        candidates->next_degree = 0;
        candidates->any = FALSE;
    }
}

guint ps_stage_least_divisor(const PsCosts *costs, const PsStageSums *sums, const gint64 *caps)
{
    const PsLinkSums *links = &sums->links[0];
    gint64 once = sums->fast_time + links->enter + links->leave;
    guint i = 0;
    while (i < costs->n_divisors && once + (costs->divisors[i] - 1) * links->resync > caps[i]) {
        i++;
    }
    return i;
}

/* The part of load·d that no choice changes. */
static gint64 common_load(const PsStageRun *run, const PsStageSums *sums)
{
    const PsLinkSums *links = sums->links;
    return links[run->crossing.enter].enter + links[run->crossing.leave].leave +
           (run->data_parallel - 1) * links[run->crossing.resync].resync;
}

/* TRUE where no knapsack is needed: the fastest choice fits, or nothing does. */
static gboolean settle(const PsStageSolver *solver, const PsStageRun *run, const PsStageSums *sums,
                       gint64 *load)
{
    if (fastest_is_best(solver->costs) &&
        sums->fast_memory_per_microbatch * run->in_flight + sums->fast_memory_fixed <=
            solver->memory) {
        *load = sums->fast_time + common_load(run, sums);
        return TRUE;
    }
    *load = PS_KNAPSACK_NONE;
    return !ps_stage_may_fit(solver, sums, run->in_flight);
}

static PsBounds relax(const PsStageSolver *solver, const PsStageRun *run, const PsStageSums *sums)
{
    if (solver->relaxation == NULL) {
        return (PsBounds){0, PS_KNAPSACK_NONE};
    }
    PsChoice fastest = {sums->fast_time, sums->fast_memory_per_microbatch * run->in_flight +
                                             sums->fast_memory_fixed};
    return ps_relaxation_bounds(solver->relaxation, run->degree, run->in_flight,
                                ps_downset(solver->downsets, run->lower),
                                ps_downset(solver->downsets, run->upper), fastest, solver->memory);
}

static guint64 way_of(const PsStageSolver *solver, const PsStageRun *run)
{
    if (solver->costs->same_resync && solver->costs->same_borders) {
        return 0;
    }
    const PsCrossing *crossing = &run->crossing;
    return (guint64)run->data_parallel << 24 | crossing->enter << 16 | crossing->leave << 8 |
           crossing->resync;
}

/* What is known of the stage's best time: bounds at least. Valid until the next call. */
static Memo *look_up(PsStageSolver *solver, const PsStageRun *run, const PsStageSums *sums)
{
    Memo key = {.upper = run->upper,
                .degree = run->degree,
                .in_flight = run->in_flight,
                .way = way_of(solver, run)};
    Table *table = &solver->tables[run->lower];
    if (table->n_memos >= table->mask / 2) {
        grow(table);
    }
    Memo *known = find_memo(table, &key);
    if (known->upper == 0) {
        key.time = relax(solver, run, sums);
        *known = key;
        table->n_memos++;
    }
    return known;
}

static gint64 add(gint64 time, gint64 common)
{
    return time == PS_KNAPSACK_NONE ? PS_KNAPSACK_NONE : time + common;
}

gint64 ps_stage_load_within(PsStageSolver *solver, const PsStageRun *run, const PsStageSums *sums,
                            gint64 cap)
{
    gint64 load;
    if (settle(solver, run, sums, &load)) {
        return load;
    }
    Memo *known = look_up(solver, run, sums);
    gint64 common = common_load(run, sums);
    if (known->time.lower != known->time.upper && known->time.lower <= cap - common &&
        known->time.upper > cap - common) {
        Mode mode;
        known->time.lower = known->time.upper = solve(solver, run, &mode);
    }
    gboolean within = known->time.upper <= cap - common;
    return add(within ? known->time.upper : known->time.lower, common);
}

gint64 ps_stage_load(PsStageSolver *solver, const PsStageRun *run, const PsStageSums *sums)
{
    gint64 load;
    if (settle(solver, run, sums, &load)) {
        return load;
    }
    Memo *known = look_up(solver, run, sums);
    if (known->time.lower != known->time.upper) {
        Mode mode;
        known->time.lower = known->time.upper = solve(solver, run, &mode);
    }
    return add(known->time.upper, common_load(run, sums));
}

guint *ps_stage_choice(PsStageSolver *solver, const PsStageRun *run, guint *n_layers,
                       guint **layers)
{
    Mode mode;
    if (solve(solver, run, &mode) == PS_KNAPSACK_NONE) {
        return NULL;
    }
    lay_out_items(solver, run, mode);
    *n_layers = solver->n_items;
    *layers = g_memdup2(solver->layers, *n_layers * sizeof(guint));
    guint *chosen = g_new0(guint, *n_layers);
    solve_mode(solver, run, mode, chosen);
    const guint *indices = solver->indices;
    for (guint i = 0; i < *n_layers; i++) {
        chosen[i] = indices[chosen[i]];
        indices += solver->items[i].n_choices;
    }
    return chosen;
}

gint64 ps_stage_least_memory(PsStageSolver *solver, const PsStageRun *run)
{
    const Mode *modes;
    guint n_modes = modes_of(solver, &modes);
    gint64 least = G_MAXINT64;
    for (guint i = 0; i < n_modes; i++) {
        lay_out_items(solver, run, modes[i]);
        gint64 memory = 0;
        for (guint j = 0; j < solver->n_items; j++) {
            memory += ps_item_least_memory(&solver->items[j]);
        }
        least = MIN(least, memory);
    }
    return least;
}
