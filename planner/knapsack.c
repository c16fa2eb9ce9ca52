#include "planner/knapsack.h"

#include <math.h>

/* A partial choice for the first items; no other one of the same length is as cheap and as small.
 */
typedef struct {
    gint64 cost;
    gint64 memory;
    guint parent; /* among the states of one item fewer */
    guint choice;
} State;

/* A step down the lower convex hull of an item's choices: dearer, smaller. */
typedef struct {
    double slope; /* cost per unit of memory saved */
    gint64 cost, memory;
    guint item, order; /* steps of one item are taken in their order: slopes rise along a hull */
} Step;

struct PsKnapsack {
    GArray *states; /* State, one range per number of items placed */
    GArray *starts; /* guint, where the ranges begin */
    GArray *steps;
    GArray *cursors;
    GArray *suffix; /* double, Lagrangian bound on what the items from here on add */
};

PsKnapsack *ps_knapsack_new(void)
{
    PsKnapsack *knapsack = g_new0(PsKnapsack, 1);
    knapsack->states = g_array_new(FALSE, FALSE, sizeof(State));
    knapsack->starts = g_array_new(FALSE, FALSE, sizeof(guint));
    knapsack->steps = g_array_new(FALSE, FALSE, sizeof(Step));
    knapsack->cursors = g_array_new(FALSE, FALSE, sizeof(guint));
    knapsack->suffix = g_array_new(FALSE, FALSE, sizeof(double));
    return knapsack;
}

void ps_knapsack_free(PsKnapsack *knapsack)
{
    if (knapsack == NULL) {
        return;
    }
    g_array_unref(knapsack->states);
    g_array_unref(knapsack->starts);
    g_array_unref(knapsack->steps);
    g_array_unref(knapsack->cursors);
    g_array_unref(knapsack->suffix);
    g_free(knapsack);
}

static guint cheapest(const PsItem *item)
{
    guint best = 0;
    for (guint i = 1; i < item->n_choices; i++) {
        const PsChoice *a = &item->choices[i], *b = &item->choices[best];
        if (a->cost < b->cost || (a->cost == b->cost && a->memory < b->memory)) {
            best = i;
        }
    }
    return best;
}

gint64 ps_item_least_memory(const PsItem *item)
{
    gint64 least = item->choices[0].memory;
    for (guint i = 1; i < item->n_choices; i++) {
        least = MIN(least, item->choices[i].memory);
    }
    return least;
}

static void add_hull_steps(GArray *steps, const PsItem *item, guint item_index)
{
    guint at = cheapest(item);
    for (guint order = 0;; order++) {
        const PsChoice *from = &item->choices[at];
        Step best = {.slope = INFINITY, .item = item_index, .order = order};
        for (guint i = 0; i < item->n_choices; i++) {
            const PsChoice *to = &item->choices[i];
            if (to->memory >= from->memory) {
                continue;
            }
            double slope = (double)(to->cost - from->cost) / (double)(from->memory - to->memory);
            gint64 saved = from->memory - to->memory;
            if (slope < best.slope || (slope == best.slope && saved > best.memory)) {
                best.slope = slope;
                best.cost = to->cost - from->cost;
                best.memory = saved;
                at = i;
            }
        }
        if (isinf(best.slope)) {
            return;
        }
        g_array_append_val(steps, best);
    }
}

static gint compare_steps(gconstpointer a, gconstpointer b)
{
    const Step *x = a, *y = b;
    if (x->slope != y->slope) {
        return x->slope < y->slope ? -1 : 1;
    }
    if (x->item != y->item) {
        return x->item < y->item ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1;
}

/* Walks down the hulls from the cheapest choices, flattest step first, until the budget is met.
 * Returns the slope of the last step: the multiplier of the linear relaxation. *upper is the cost
 * of the feasible choice reached. */
static double relax(PsKnapsack *knapsack, const PsItem *items, guint n_items, gint64 cost,
                    gint64 memory, gint64 budget, gint64 *upper)
{
    g_array_set_size(knapsack->steps, 0);
    for (guint i = 0; i < n_items; i++) {
        add_hull_steps(knapsack->steps, &items[i], i);
    }
    g_array_sort(knapsack->steps, compare_steps);
    double slope = 0;
    for (guint i = 0; i < knapsack->steps->len && memory > budget; i++) {
        const Step *step = &g_array_index(knapsack->steps, Step, i);
        cost += step->cost;
        memory -= step->memory;
        slope = step->slope;
    }
    *upper = cost;
    return slope;
}

static double reduced_cost(const PsItem *item, double multiplier)
{
    double best = INFINITY;
    for (guint i = 0; i < item->n_choices; i++) {
        best =
            MIN(best, (double)item->choices[i].cost + multiplier * (double)item->choices[i].memory);
    }
    return best;
}

/* The next candidate in order of (memory, cost) among the previous states joined with each choice.
 * cursors[c] is how many previous states choice c has used up. */
static gboolean next_candidate(const State *previous, guint n_previous, const PsItem *item,
                               guint *cursors, State *candidate)
{
    guint best = G_MAXUINT;
    for (guint c = 0; c < item->n_choices; c++) {
        if (cursors[c] == n_previous) {
            continue;
        }
        const State *from = &previous[cursors[c]];
        gint64 memory = from->memory + item->choices[c].memory;
        gint64 cost = from->cost + item->choices[c].cost;
        if (best == G_MAXUINT || memory < candidate->memory ||
            (memory == candidate->memory && cost < candidate->cost)) {
            *candidate = (State){cost, memory, cursors[c], c};
            best = c;
        }
    }
    if (best == G_MAXUINT) {
        return FALSE;
    }
    cursors[best]++;
    return TRUE;
}

typedef struct {
    gint64 budget;
    double multiplier;
    double limit; /* a state whose bound is above this cannot lead to an optimum */
} Pruning;

static void place_item(PsKnapsack *knapsack, const PsItem *item, double suffix,
                       const Pruning *pruning)
{
    guint n_starts = knapsack->starts->len;
    guint begin = g_array_index(knapsack->starts, guint, n_starts - 1);
    guint end = knapsack->states->len;
    g_array_set_size(knapsack->cursors, item->n_choices);
    guint *cursors = (guint *)(void *)knapsack->cursors->data;
    for (guint c = 0; c < item->n_choices; c++) {
        cursors[c] = 0;
    }
    g_array_append_val(knapsack->starts, end);
    gint64 least_cost = G_MAXINT64;
    State candidate;
    while (next_candidate((State *)(void *)knapsack->states->data + begin, end - begin, item,
                          cursors, &candidate)) {
        if (candidate.memory > pruning->budget) {
            break;
        }
        double bound =
            (double)candidate.cost + pruning->multiplier * (double)candidate.memory + suffix;
        if (candidate.cost < least_cost && bound <= pruning->limit) {
            least_cost = candidate.cost;
            g_array_append_val(knapsack->states, candidate);
        }
    }
}

static void trace_choices(const PsKnapsack *knapsack, guint n_items, guint last, guint *chosen)
{
    for (guint i = n_items; i > 0; i--) {
        guint start = g_array_index(knapsack->starts, guint, i);
        const State *state = &g_array_index(knapsack->states, State, start + last);
        chosen[i - 1] = state->choice;
        last = state->parent;
    }
}

/* Dynamic programming over lists of undominated states, kept short by the Lagrangian bound. */
static gint64 search(PsKnapsack *knapsack, const PsItem *items, guint n_items, gint64 budget,
                     double multiplier, gint64 upper, guint *chosen)
{
    g_array_set_size(knapsack->suffix, n_items + 1);
    double *suffix = (double *)(void *)knapsack->suffix->data;
    suffix[n_items] = 0;
    for (guint i = n_items; i > 0; i--) {
        suffix[i - 1] = suffix[i] + reduced_cost(&items[i - 1], multiplier);
    }
    /* The slack covers the rounding of the bound; it only ever keeps a state too many. */
    double at_budget = (double)upper + multiplier * (double)budget;
    Pruning pruning = {budget, multiplier, at_budget + 1e-12 * (at_budget + suffix[0]) + 1};

    g_array_set_size(knapsack->states, 0);
    g_array_set_size(knapsack->starts, 0);
    State root = {0};
    guint zero = 0;
    g_array_append_val(knapsack->starts, zero);
    g_array_append_val(knapsack->states, root);
    for (guint i = 0; i < n_items; i++) {
        place_item(knapsack, &items[i], suffix[i + 1], &pruning);
    }
    guint start = g_array_index(knapsack->starts, guint, n_items);
    guint last = knapsack->states->len - 1; /* cheapest: costs fall along a list */
    g_assert(last >= start);
    if (chosen != NULL) {
        trace_choices(knapsack, n_items, last - start, chosen);
    }
    return g_array_index(knapsack->states, State, last).cost;
}

gint64 ps_knapsack_solve(PsKnapsack *knapsack, const PsItem *items, guint n_items, gint64 budget,
                         guint *chosen)
{
    gint64 cost = 0, memory = 0, least = 0;
    for (guint i = 0; i < n_items; i++) {
        guint best = cheapest(&items[i]);
        cost += items[i].choices[best].cost;
        memory += items[i].choices[best].memory;
        least += ps_item_least_memory(&items[i]);
        if (chosen != NULL) {
            chosen[i] = best;
        }
    }
    if (least > budget) {
        return PS_KNAPSACK_NONE;
    }
    if (memory <= budget) {
        return cost;
    }
    gint64 upper;
    double multiplier = relax(knapsack, items, n_items, cost, memory, budget, &upper);
    return search(knapsack, items, n_items, budget, multiplier, upper, chosen);
}
