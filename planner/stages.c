#include "planner/stages.h"

#include <string.h>

/* ---- walk ---------------------------------------------------------------------------------------
 */

struct PsStageWalk {
    const PsCosts *costs;
    const PsDownsets *downsets;
    guint lower;
    guint stamp;
    guint *stamps;    /* [n_downsets]: reached in the walk with this stamp */
    guint *queue;     /* reached uppers, in order */
    guint head, tail; /* queue[head - 1] was visited last */
    gboolean pruned;
    PsStageSums *sums; /* [n_downsets][n_degrees] */
};

PsStageWalk *ps_stage_walk_new(const PsCosts *costs, const PsDownsets *downsets)
{
    PsStageWalk *walk = g_new0(PsStageWalk, 1);
    walk->costs = costs;
    walk->downsets = downsets;
    walk->stamps = g_new0(guint, downsets->n_downsets);
    walk->queue = g_new(guint, downsets->n_downsets);
    walk->sums = g_new(PsStageSums, (gsize)downsets->n_downsets * costs->n_degrees);
    return walk;
}

void ps_stage_walk_free(PsStageWalk *walk)
{
    if (walk == NULL) {
        return;
    }
    g_free(walk->stamps);
    g_free(walk->queue);
    g_free(walk->sums);
    g_free(walk);
}

static PsStageSums *sums_at(PsStageWalk *walk, guint upper)
{
    return &walk->sums[(gsize)upper * walk->costs->n_degrees];
}

/* What the border costs change by when a layer joins the stage at the top: all its incoming edges
 * enter; its outgoing edges either leave for the lower downset or become internal. */
static gint64 edges_delta(const PsStageWalk *walk, guint v, guint degree)
{
    const PsProfile *profile = walk->costs->profile;
    const PsLayer *layer = &profile->layers[v];
    const PsLayerCost *cost = ps_layer_cost(walk->costs, v, degree);
    const guint64 *lower = ps_downset(walk->downsets, walk->lower);
    gint64 delta = cost->enter_all;
    for (guint i = 0; i < layer->n_outgoing; i++) {
        guint edge = layer->outgoing[i];
        guint target = profile->edges[edge].target;
        if (ps_set_has(lower, target)) {
            delta += cost->leave[i];
            continue;
        }
        const PsLayer *successor = &profile->layers[target];
        guint at = 0;
        while (successor->incoming[at] != edge) {
            at++;
        }
        delta -= ps_layer_cost(walk->costs, target, degree)->enter[at];
    }
    return delta;
}

static void join(const PsStageWalk *walk, const PsStageSums *from, guint v, guint degree,
                 PsStageSums *to)
{
    const PsLayerCost *cost = ps_layer_cost(walk->costs, v, degree);
    *to = *from;
    to->possible &= cost->n_tmpcs > 0;
    if (!to->possible) {
        return;
    }
    const PsTmpcCost *fastest = &cost->tmpcs[cost->fastest];
    to->fast_time += fastest->time;
    to->edges += edges_delta(walk, v, degree);
    to->resync += cost->resync;
    to->fast_memory_per_microbatch += fastest->memory_per_microbatch;
    to->fast_memory_fixed += fastest->memory_fixed;
    to->min_memory_per_microbatch += cost->min_memory_per_microbatch;
    to->min_memory_fixed += cost->min_memory_fixed;
}

/* Queues the covers of a visited set that were not reached before. */
static void extend(PsStageWalk *walk, guint from)
{
    const PsDownsets *downsets = walk->downsets;
    for (guint c = downsets->first_cover[from]; c < downsets->first_cover[from + 1]; c++) {
        const PsCover *cover = &downsets->covers[c];
        if (walk->stamps[cover->next] == walk->stamp) {
            continue;
        }
        walk->stamps[cover->next] = walk->stamp;
        walk->queue[walk->tail++] = cover->next;
        for (guint t = 0; t < walk->costs->n_degrees; t++) {
            join(walk, sums_at(walk, from) + t, cover->layer, t, sums_at(walk, cover->next) + t);
        }
    }
}

void ps_stage_walk_begin(PsStageWalk *walk, guint lower)
{
    walk->lower = lower;
    walk->stamp++;
    walk->head = walk->tail = 0;
    PsStageSums *none = sums_at(walk, lower);
    memset(none, 0, walk->costs->n_degrees * sizeof *none);
    for (guint t = 0; t < walk->costs->n_degrees; t++) {
        none[t].possible = TRUE;
    }
    extend(walk, lower);
    walk->pruned = TRUE; /* nothing visited yet */
}

gboolean ps_stage_walk_next(PsStageWalk *walk, guint *upper, const PsStageSums **sums)
{
    if (!walk->pruned) {
        extend(walk, walk->queue[walk->head - 1]);
    }
    if (walk->head == walk->tail) {
        return FALSE;
    }
    *upper = walk->queue[walk->head++];
    *sums = sums_at(walk, *upper);
    walk->pruned = FALSE;
    return TRUE;
}

void ps_stage_walk_prune(PsStageWalk *walk)
{
    walk->pruned = TRUE;
}

/* ---- solver -------------------------------------------------------------------------------------
 */

typedef struct {
    guint lower, upper;
    guint degree, in_flight;
    guint data_parallel; /* 0 where the choice does not depend on it */
    gint64 time;         /* PS_KNAPSACK_NONE where nothing fits */
} Memo;

struct PsStageSolver {
    const PsCosts *costs;
    const PsDownsets *downsets;
    gint64 memory;
    gboolean fit_only;
    PsKnapsack *knapsack;
    Memo *memos; /* open addressing; upper 0 is an empty slot (no stage ends in downset 0) */
    guint n_memos, mask;
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

PsStageSolver *ps_stage_solver_new(const PsCosts *costs, const PsDownsets *downsets, gint64 memory,
                                   gboolean fit_only)
{
    PsStageSolver *solver = g_new0(PsStageSolver, 1);
    solver->costs = costs;
    solver->downsets = downsets;
    solver->memory = memory;
    solver->fit_only = fit_only;
    solver->knapsack = ps_knapsack_new();
    solver->mask = 4095;
    solver->memos = g_new0(Memo, solver->mask + 1);
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
    g_free(solver->memos);
    g_free(solver->layers);
    g_free(solver->items);
    g_free(solver->choices);
    g_free(solver->indices);
    g_free(solver);
}

static guint64 hash_key(const Memo *key)
{
    guint64 hash = ((guint64)key->lower << 32 | key->upper) * 0x9e3779b97f4a7c15u;
    hash ^= ((guint64)key->in_flight << 32 | key->data_parallel << 8 | key->degree) *
            0xc2b2ae3d27d4eb4fu;
    hash *= 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

static gboolean same_key(const Memo *a, const Memo *b)
{
    return a->lower == b->lower && a->upper == b->upper && a->degree == b->degree &&
           a->in_flight == b->in_flight && a->data_parallel == b->data_parallel;
}

/* The slot that holds the key, or the empty one where it belongs. */
static Memo *find_memo(PsStageSolver *solver, const Memo *key)
{
    guint slot = (guint)hash_key(key) & solver->mask;
    while (solver->memos[slot].upper != 0 && !same_key(&solver->memos[slot], key)) {
        slot = (slot + 1) & solver->mask;
    }
    return &solver->memos[slot];
}

static void remember(PsStageSolver *solver, const Memo *memo)
{
    if (++solver->n_memos > solver->mask / 2) {
        Memo *old = solver->memos;
        guint n_old = solver->mask + 1;
        solver->mask = 2 * n_old - 1;
        solver->memos = g_new0(Memo, solver->mask + 1);
        for (guint i = 0; i < n_old; i++) {
            if (old[i].upper != 0) {
                *find_memo(solver, &old[i]) = old[i];
            }
        }
        g_free(old);
    }
    *find_memo(solver, memo) = *memo;
}

/* What TMPC i of layer v costs beyond the stage sums because edges of it cross the border. */
static gint64 border_extra(const PsStageSolver *solver, const PsStageRun *run, guint v, guint i)
{
    const PsProfile *profile = solver->costs->profile;
    const PsLayer *layer = &profile->layers[v];
    const PsLayerCost *cost = ps_layer_cost(solver->costs, v, run->degree);
    gint64 extra = 0;
    for (guint e = 0; cost->extra_enter != NULL && e < layer->n_incoming; e++) {
        guint source = profile->edges[layer->incoming[e]].source;
        if (!ps_set_has(ps_downset(solver->downsets, run->upper), source)) {
            extra += cost->extra_enter[i * layer->n_incoming + e];
        }
    }
    for (guint e = 0; cost->extra_leave != NULL && e < layer->n_outgoing; e++) {
        guint target = profile->edges[layer->outgoing[e]].target;
        if (ps_set_has(ps_downset(solver->downsets, run->lower), target)) {
            extra += cost->extra_leave[i * layer->n_outgoing + e];
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
    PsItem *item = &solver->items[solver->n_items];
    item->choices = &solver->choices[used];
    solver->layers[solver->n_items++] = v;
    for (guint i = 0; i < cost->n_tmpcs; i++) {
        const PsTmpcCost *tmpc = &cost->tmpcs[i];
        if (mode != MIXED && !in_mode(cost, i, mode)) {
            continue;
        }
        gint64 time = tmpc->time + (run->data_parallel - 1) * tmpc->resync;
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

/* The fastest TMPC of each layer is the best choice if it fits: true unless costs depend on more
 * than the layer, or the restriction couples layers. */
static gboolean fastest_is_best(const PsCosts *costs)
{
    return costs->same_resync && costs->same_borders &&
           costs->restrictions.recompute != PS_RECOMPUTE_ALL_OR_NONE;
}

gboolean ps_stage_may_fit(const PsStageSolver *solver, const PsStageSums *sums, guint in_flight)
{
    return sums->min_memory_per_microbatch * in_flight + sums->min_memory_fixed <= solver->memory;
}

gint64 ps_stage_load(PsStageSolver *solver, const PsStageRun *run, const PsStageSums *sums)
{
    gint64 common = sums->edges + (run->data_parallel - 1) * sums->resync;
    if (fastest_is_best(solver->costs) &&
        sums->fast_memory_per_microbatch * run->in_flight + sums->fast_memory_fixed <=
            solver->memory) {
        return sums->fast_time + common;
    }
    if (!ps_stage_may_fit(solver, sums, run->in_flight)) {
        return PS_KNAPSACK_NONE;
    }
    Memo key = {run->lower,
                run->upper,
                run->degree,
                run->in_flight,
                solver->costs->same_resync ? 0 : run->data_parallel,
                0};
    const Memo *known = find_memo(solver, &key);
    gint64 time = known->time;
    if (known->upper == 0) {
        Mode mode;
        time = solve(solver, run, &mode);
        key.time = time;
        remember(solver, &key);
    }
    return time == PS_KNAPSACK_NONE ? PS_KNAPSACK_NONE : time + common;
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
