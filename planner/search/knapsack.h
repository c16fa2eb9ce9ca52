/* The multiple-choice knapsack inside a stage: one TMPC per layer, least total cost within a memory
 * budget. Exact, for any number of choices. */
#pragma once

#include <glib.h>

typedef struct {
    gint64 cost;
    gint64 memory;
} PsChoice;

typedef struct {
    guint n_choices;
    const PsChoice *choices; /* non-negative */
} PsItem;

/* The choice of least cost, of equals the one of least memory. */
guint ps_item_cheapest(const PsItem *item);

/* A step down the lower convex hull of an item's choices: dearer, smaller. */
typedef struct {
    double slope; /* cost per unit of memory saved */
    gint64 cost, memory;
    guint item, order; /* steps of one item are taken in their order: slopes rise along a hull */
} PsHullStep;

/* Appends the steps from the item's cheapest choice to n steps; returns
 * how many there are then: at most n_choices - 1 more. */
guint ps_hull_steps(PsHullStep *steps, guint n, const PsItem *item, guint item_index);
/* Flattest first, the steps of an item in their order. */
void ps_hull_sort(PsHullStep *steps, guint n);

/* The memory of its smallest choice. */
gint64 ps_item_least_memory(const PsItem *item);

#define PS_KNAPSACK_NONE G_MAXINT64

/* Scratch memory that calls reuse; one per thread. */
typedef struct PsKnapsack PsKnapsack;
PsKnapsack *ps_knapsack_new(void);
void ps_knapsack_free(PsKnapsack *knapsack);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsKnapsack, ps_knapsack_free)

/* Least total cost with total memory <= budget, or PS_KNAPSACK_NONE. chosen (may be NULL) receives
 * the choice of each item; of equal costs the one with the least memory is taken. */
gint64 ps_knapsack_solve(PsKnapsack *knapsack, const PsItem *items, guint n_items, gint64 budget,
                         guint *chosen);
