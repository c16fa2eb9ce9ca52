#include "planner/search/knapsack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A partial choice for the first items; no other one of the same length is as cheap and as small.
 */
typedef struct {
    gint64 cost;
    gint64 memory;
    guint parent; /* among the states of one item fewer */
    guint choice;
} State;

/* An item whose cheapest choice is not its smallest too. */
typedef struct {
    PsItem item;
    guint place;   /* among all items */
    double margin; /* how much its best choice is ahead of the others at the multiplier */
} OpenItem;

/* Scratch that only grows. Plain arrays: the search inside the search spends its time here. */
struct PsKnapsack {
    guint item_room, choice_room, state_room;
    OpenItem *open;    /* [item_room] */
    double *suffix;    /* [item_room + 1]: Lagrangian bound on what the items from here on add */
    guint *starts;     /* [item_room + 2]: where the states of so many placed items begin */
    PsHullStep *steps; /* [choice_room] */
    guint *cursors;    /* [choice_room] */
    State *states;     /* [state_room], one range per number of items placed */
};

PsKnapsack *ps_knapsack_new(void)
{
    return g_new0(PsKnapsack, 1);
}

void ps_knapsack_free(PsKnapsack *knapsack)
{
    if (knapsack == NULL) {
        return;
    }
    g_free(knapsack->open);
    g_free(knapsack->suffix);
    g_free(knapsack->starts);
    g_free(knapsack->steps);
    g_free(knapsack->cursors);
    g_free(knapsack->states);
    g_free(knapsack);
}

static void make_room(PsKnapsack *knapsack, const PsItem *items, guint n_items)
{
    guint n_choices = 0;
    for (guint i = 0; i < n_items; i++) {
        n_choices += items[i].n_choices;
    }
    if (n_items > knapsack->item_room) {
        knapsack->item_room = n_items;
        knapsack->open = g_renew(OpenItem, knapsack->open, n_items);
        knapsack->suffix = g_renew(double, knapsack->suffix, n_items + 1);
        knapsack->starts = g_renew(guint, knapsack->starts, n_items + 2);
    }
    if (n_choices > knapsack->choice_room) {
        knapsack->choice_room = n_choices;
        knapsack->steps = g_renew(PsHullStep, knapsack->steps, n_choices);
        knapsack->cursors = g_renew(guint, knapsack->cursors, n_choices);
    }
}

static void make_room_for_states(PsKnapsack *knapsack, guint n_states)
{
    if (n_states > knapsack->state_room) {
        knapsack->state_room = MAX(n_states, 2 * knapsack->state_room);
        knapsack->states = g_renew(State, knapsack->states, knapsack->state_room);
    }
}

guint ps_item_cheapest(const PsItem *item)
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

guint ps_hull_steps(PsHullStep *steps, guint n, const PsItem *item, guint item_index)
{
    guint at = ps_item_cheapest(item);
    for (guint order = 0;; order++) {
        const PsChoice *from = &item->choices[at];
        PsHullStep best = {.slope = INFINITY, .item = item_index, .order = order};
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
            return n;
        }
        steps[n++] = best;
    }
}

static int compare_steps(const void *a, const void *b)
{
    const PsHullStep *x = a, *y = b;
    if (x->slope != y->slope) {
        return x->slope < y->slope ? -1 : 1;
    }
    if (x->item != y->item) {
        return x->item < y->item ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1;
}

void ps_hull_sort(PsHullStep *steps, guint n)
{
    qsort(steps, n, sizeof *steps, compare_steps);
}

/* Completes the choice before the step that would make it fit by the cheapest single step that
 * does, then takes back the dearest step that the memory left over allows. Only steps next in their
 * item's order count, so what comes out can be chosen. */
static gint64 round_up(const PsKnapsack *knapsack, guint n_steps, guint n_taken, gint64 cost,
                       gint64 memory, gint64 budget)
{
    const guint *taken = knapsack->cursors; /* steps of each item */
    const PsHullStep *chosen = NULL;
    for (guint i = n_taken; i < n_steps; i++) {
        const PsHullStep *step = &knapsack->steps[i];
        if (step->order == taken[step->item] && memory - step->memory <= budget &&
            (chosen == NULL || step->cost < chosen->cost)) {
            chosen = step;
        }
    }
    gint64 left = budget - (memory - chosen->memory), regained = 0;
    for (guint i = 0; i < n_taken; i++) {
        const PsHullStep *step = &knapsack->steps[i];
        if (step->order + 1 == taken[step->item] && step->item != chosen->item &&
            step->memory <= left) {
            regained = MAX(regained, step->cost);
        }
    }
    return cost + chosen->cost - regained;
}

/* Walks down the hulls from the cheapest choices, flattest step first, until the budget is met.
 * Returns the slope of the last step: the multiplier of the linear relaxation. *upper is the cost
 * of a feasible choice near it. */
static double relax(PsKnapsack *knapsack, guint n_items, gint64 cost, gint64 memory, gint64 budget,
                    gint64 *upper)
{
    guint n_steps = 0, n_taken = 0;
    for (guint i = 0; i < n_items; i++) {
        n_steps = ps_hull_steps(knapsack->steps, n_steps, &knapsack->open[i].item, i);
        knapsack->cursors[i] = 0;
    }
    ps_hull_sort(knapsack->steps, n_steps);
    while (memory - knapsack->steps[n_taken].memory > budget) {
        const PsHullStep *step = &knapsack->steps[n_taken++];
        cost += step->cost;
        memory -= step->memory;
        knapsack->cursors[step->item]++;
    }
    *upper = round_up(knapsack, n_steps, n_taken, cost, memory, budget);
    return knapsack->steps[n_taken].slope;
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

static int compare_margins(const void *a, const void *b)
{
    const OpenItem *x = a, *y = b;
    if (x->margin != y->margin) {
        return x->margin > y->margin ? -1 : 1;
    }
    return x->place < y->place ? -1 : 1;
}

/* Puts items whose best choice is far ahead first: the lists of states then stay short until the
 * few items are left that are in doubt. */
static void decided_first(PsKnapsack *knapsack, guint n_items, double multiplier)
{
    for (guint i = 0; i < n_items; i++) {
        OpenItem *open = &knapsack->open[i];
        double best = INFINITY, second = INFINITY;
        for (guint c = 0; c < open->item.n_choices; c++) {
            double cost = (double)open->item.choices[c].cost +
                          multiplier * (double)open->item.choices[c].memory;
            second = MIN(second, MAX(best, cost));
            best = MIN(best, cost);
        }
        open->margin = second - best;
    }
    qsort(knapsack->open, n_items, sizeof *knapsack->open, compare_margins);
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

/* Joins the item to the states of the first n items. Returns where the new states end. */
static guint place_item(PsKnapsack *knapsack, const PsItem *item, guint n, guint end,
                        const Pruning *pruning)
{
    guint begin = knapsack->starts[n], n_previous = end - begin;
    make_room_for_states(knapsack, end + n_previous * item->n_choices);
    memset(knapsack->cursors, 0, item->n_choices * sizeof *knapsack->cursors);
    knapsack->starts[n + 1] = end;
    gint64 least_cost = G_MAXINT64;
    State candidate;
    while (
        next_candidate(knapsack->states + begin, n_previous, item, knapsack->cursors, &candidate) &&
        candidate.memory <= pruning->budget) {
        double bound = (double)candidate.cost + pruning->multiplier * (double)candidate.memory +
                       knapsack->suffix[n + 1];
        if (candidate.cost < least_cost && bound <= pruning->limit) {
            least_cost = candidate.cost;
            knapsack->states[end++] = candidate;
        }
    }
    return end;
}

static void trace_choices(const PsKnapsack *knapsack, guint n_items, guint last, guint *chosen)
{
    for (guint i = n_items; i > 0; i--) {
        const State *state = &knapsack->states[knapsack->starts[i] + last];
        chosen[knapsack->open[i - 1].place] = state->choice;
        last = state->parent;
    }
}

/* Dynamic programming over lists of undominated states, kept short by the Lagrangian bound. */
static gint64 search(PsKnapsack *knapsack, guint n_items, gint64 budget, double multiplier,
                     gint64 upper, guint *chosen)
{
    double *suffix = knapsack->suffix;
    suffix[n_items] = 0;
    for (guint i = n_items; i > 0; i--) {
        suffix[i - 1] = suffix[i] + reduced_cost(&knapsack->open[i - 1].item, multiplier);
    }
    /* The slack covers the rounding of the bound; it only ever keeps a state too many. */
    double at_budget = (double)upper + multiplier * (double)budget;
    Pruning pruning = {budget, multiplier, at_budget + 1e-12 * (at_budget + suffix[0]) + 1};

    make_room_for_states(knapsack, 1);
    knapsack->states[0] = (State){0};
    knapsack->starts[0] = 0;
    guint end = 1;
    for (guint i = 0; i < n_items; i++) {
        end = place_item(knapsack, &knapsack->open[i].item, i, end, &pruning);
    }
    guint start = knapsack->starts[n_items], last = end - 1; /* costs fall along a list */
    g_assert(last >= start);
    if (chosen != NULL) {
        trace_choices(knapsack, n_items, last - start, chosen);
    }
    return knapsack->states[last].cost;
}

/* Sums over the cheapest choices, and the items that are open to change. */
typedef struct {
    gint64 cost, memory;           /* of all items */
    gint64 open_cost, open_memory; /* of the open ones */
    gint64 least_memory;
    guint n_open;
} Start;

static Start take_cheapest(PsKnapsack *knapsack, const PsItem *items, guint n_items, guint *chosen)
{
    Start start = {0};
    for (guint i = 0; i < n_items; i++) {
        guint best = ps_item_cheapest(&items[i]);
        const PsChoice *choice = &items[i].choices[best];
        gint64 least = ps_item_least_memory(&items[i]);
        start.cost += choice->cost;
        start.memory += choice->memory;
        start.least_memory += least;
        if (least < choice->memory) {
            start.open_cost += choice->cost;
            start.open_memory += choice->memory;
            knapsack->open[start.n_open++] = (OpenItem){items[i], i, 0};
        }
        if (chosen != NULL) {
            chosen[i] = best;
        }
    }
    return start;
}

gint64 ps_knapsack_solve(PsKnapsack *knapsack, const PsItem *items, guint n_items, gint64 budget,
                         guint *chosen)
{
    make_room(knapsack, items, n_items);
    Start start = take_cheapest(knapsack, items, n_items, chosen);
    if (start.least_memory > budget) {
        return PS_KNAPSACK_NONE;
    }
    if (start.memory <= budget) {
        return start.cost;
    }
    gint64 open_budget = budget - (start.memory - start.open_memory);
    gint64 upper;
    double multiplier =
        relax(knapsack, start.n_open, start.open_cost, start.open_memory, open_budget, &upper);
    decided_first(knapsack, start.n_open, multiplier);
    return start.cost - start.open_cost +
           search(knapsack, start.n_open, open_budget, multiplier, upper, chosen);
}
