#include "planner/search/knapsack.h"
#include "tests/harness/harness.h"

/* Every combination of choices. */
static gint64 brute_force(const PsItem *items, guint n_items, gint64 budget, gint64 *least_memory)
{
    if (n_items == 0) {
        *least_memory = 0;
        return budget >= 0 ? 0 : PS_KNAPSACK_NONE;
    }
    gint64 best = PS_KNAPSACK_NONE, best_memory = 0;
    for (guint i = 0; i < items[0].n_choices; i++) {
        gint64 memory;
        gint64 rest =
            brute_force(items + 1, n_items - 1, budget - items[0].choices[i].memory, &memory);
        if (rest == PS_KNAPSACK_NONE) {
            continue;
        }
        rest += items[0].choices[i].cost;
        memory += items[0].choices[i].memory;
        if (rest < best || (rest == best && memory < best_memory)) {
            best = rest;
            best_memory = memory;
        }
    }
    *least_memory = best_memory;
    return best;
}

static void fill(GRand *random, PsChoice *choices, guint n, gint32 cost_range, gint32 memory_range)
{
    for (guint i = 0; i < n; i++) {
        choices[i] = (PsChoice){g_rand_int_range(random, 0, cost_range),
                                g_rand_int_range(random, 0, memory_range)};
    }
}

/* Small ranges make ties and dominated choices common, large ones make sums distinct. */
START_TEST(agrees_with_brute_force)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("agrees_with_brute_force"));
    g_autoptr(PsKnapsack) knapsack = ps_knapsack_new();
    for (guint round = 0; round < 20000; round++) {
        PsChoice choices[6][3];
        PsItem items[6];
        guint n = (guint)g_rand_int_range(random, 0, 7);
        gint32 cost_range = g_rand_boolean(random) ? 4 : 1000000;
        gint32 memory_range = g_rand_boolean(random) ? 4 : 1000000;
        for (guint i = 0; i < n; i++) {
            items[i] = (PsItem){(guint)g_rand_int_range(random, 1, 4), choices[i]};
            fill(random, choices[i], items[i].n_choices, cost_range, memory_range);
        }
        gint64 budget = g_rand_int_range(random, 0, memory_range * 4);
        gint64 memory, chosen_cost = 0, chosen_memory = 0;
        gint64 expected = brute_force(items, n, budget, &memory);
        guint chosen[6];
        ck_assert_int_eq(ps_knapsack_solve(knapsack, items, n, budget, chosen), expected);
        for (guint i = 0; expected != PS_KNAPSACK_NONE && i < n; i++) {
            chosen_cost += items[i].choices[chosen[i]].cost;
            chosen_memory += items[i].choices[chosen[i]].memory;
        }
        if (expected != PS_KNAPSACK_NONE) {
            ck_assert_int_eq(chosen_cost, expected);
            ck_assert_int_le(chosen_memory, budget);
        }
    }
}
END_TEST

/* n items that cost 0 at memory 2 or 1 at memory 1, budget 2n - k: exactly k must pay. Large values
 * check that the bound's rounding cuts nothing off. */
START_TEST(pays_for_exactly_what_it_must)
{
    g_autoptr(PsKnapsack) knapsack = ps_knapsack_new();
    const gint64 unit = G_GINT64_CONSTANT(1000000000000000);
    const PsChoice choices[] = {{0, 2 * unit}, {unit, unit}};
    enum { N = 400 };
    PsItem items[N];
    for (guint i = 0; i < N; i++) {
        items[i] = (PsItem){2, choices};
    }
    for (guint k = 0; k <= N; k += 7) {
        ck_assert_int_eq(ps_knapsack_solve(knapsack, items, N, (2 * N - k) * unit, NULL), k * unit);
        if (k > 0) {
            ck_assert_int_eq(ps_knapsack_solve(knapsack, items, N, (2 * N - k) * unit + 1, NULL),
                             k * unit);
        }
    }
    ck_assert_int_eq(ps_knapsack_solve(knapsack, items, N, N * unit - 1, NULL), PS_KNAPSACK_NONE);
}
END_TEST

PS_TEST_MAIN("knapsack", agrees_with_brute_force, pays_for_exactly_what_it_must)
