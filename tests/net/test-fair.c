/* Max-min fair rates: textbook cases, and random ones against brute force. */
#include "sim/net/fair.h"
#include "tests/harness/harness.h"
#include "tests/oracle/water.h"

/* What the owner of the rates is told: which flows have a link as their bottleneck. */
typedef struct {
    PsFair *fair;
    guint n_begun, n_ended; /* links */
    GHashTable *bottlenecks;
} Owner;

static void on_begin(gpointer owner, guint link)
{
    (void)link;
    ((Owner *)owner)->n_begun++;
}

static void on_moved(gpointer owner, guint flow, guint from, guint to)
{
    GHashTable *bottlenecks = ((Owner *)owner)->bottlenecks;
    guint known = GPOINTER_TO_UINT(g_hash_table_lookup(bottlenecks, GUINT_TO_POINTER(flow)));
    ck_assert_uint_eq(known, from == PS_FAIR_NONE ? 0 : from + 1);
    ck_assert_uint_ne(from, to);
    g_hash_table_insert(bottlenecks, GUINT_TO_POINTER(flow), GUINT_TO_POINTER(to + 1));
}

static void on_end(gpointer owner, guint link)
{
    (void)link;
    ((Owner *)owner)->n_ended++;
}

static const PsFairFuncs funcs = {on_begin, on_moved, on_end};

static void owner_clear(Owner *owner)
{
    ps_fair_free(owner->fair);
    g_hash_table_unref(owner->bottlenecks);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Owner, owner_clear)

static void owner_open(Owner *owner, const double *capacities, guint n_links)
{
    *owner = (Owner){ps_fair_new(capacities, n_links, &funcs, owner), 0, 0,
                     g_hash_table_new(NULL, NULL)};
}

static guint add(Owner *owner, guint n_links, const guint *links)
{
    g_autofree PsFairLoad *loads = g_new(PsFairLoad, n_links);
    for (guint i = 0; i < n_links; i++) {
        loads[i] = (PsFairLoad){links[i], 1};
    }
    return ps_fair_add(owner->fair, loads, n_links, 0);
}

static void drop(Owner *owner, guint flow)
{
    ps_fair_remove(owner->fair, flow);
    g_hash_table_remove(owner->bottlenecks, GUINT_TO_POINTER(flow));
}

static double rate(const Owner *owner, guint flow)
{
    guint link = ps_fair_bottleneck(owner->fair, flow);
    ck_assert_uint_eq(
        GPOINTER_TO_UINT(g_hash_table_lookup(owner->bottlenecks, GUINT_TO_POINTER(flow))),
        link + 1);
    return ps_fair_level(owner->fair, link);
}

/* ---- textbook ------------------------------------------------------------------------------- */

/* One long flow over three links of capacity 1, one short flow on each: all get 1/2. */
START_TEST(parking_lot)
{
    const double capacities[] = {1, 1, 1};
    g_auto(Owner) owner;
    owner_open(&owner, capacities, 3);
    guint flows[4] = {add(&owner, 3, (guint[]){0, 1, 2})};
    for (guint i = 0; i < 3; i++) {
        flows[i + 1] = add(&owner, 1, &i);
    }
    ps_fair_update(owner.fair);
    for (guint i = 0; i < 4; i++) {
        ck_assert_double_eq(rate(&owner, flows[i]), 0.5);
    }
}
END_TEST

/* As in Bertsekas and Gallager, Data Networks, 1992, section 6.5.2: three flows share the first
 * link of capacity 1, 1/3 each; the flow that meets one of them on the second gets the other 2/3.
 */
START_TEST(what_others_cannot_use)
{
    const double capacities[] = {1, 1, 2};
    g_auto(Owner) owner;
    owner_open(&owner, capacities, 3);
    guint through = add(&owner, 2, (guint[]){0, 1});
    guint here[] = {add(&owner, 1, (guint[]){0}), add(&owner, 1, (guint[]){0})};
    guint there = add(&owner, 1, (guint[]){1}), alone = add(&owner, 1, (guint[]){2});
    ps_fair_update(owner.fair);
    ck_assert_double_eq_tol(rate(&owner, through), 1.0 / 3, 1e-15);
    ck_assert_double_eq_tol(rate(&owner, here[0]), 1.0 / 3, 1e-15);
    ck_assert_double_eq_tol(rate(&owner, here[1]), 1.0 / 3, 1e-15);
    ck_assert_double_eq_tol(rate(&owner, there), 2.0 / 3, 1e-15);
    ck_assert_double_eq(rate(&owner, alone), 2);
    drop(&owner, through);
    ps_fair_update(owner.fair);
    ck_assert_double_eq(rate(&owner, here[0]), 0.5);
    ck_assert_double_eq(rate(&owner, there), 1);
}
END_TEST

/* Bounds: of three flows on a link of 9 one may have 1, one 4; the third gets the other 4. */
START_TEST(bounded_rates)
{
    const double capacities[] = {9};
    const PsFairLoad load = {0, 1};
    g_auto(Owner) owner;
    owner_open(&owner, capacities, 1);
    const double most[] = {1, 4.5, 0}, expected[] = {1, 4, 4};
    guint flows[3];
    for (guint i = 0; i < 3; i++) {
        flows[i] = ps_fair_add(owner.fair, &load, 1, most[i]);
    }
    ps_fair_update(owner.fair);
    for (guint i = 0; i < 3; i++) {
        ck_assert_double_eq(rate(&owner, flows[i]), expected[i]);
    }
    drop(&owner, flows[2]);
    ps_fair_update(owner.fair);
    ck_assert_double_eq(rate(&owner, flows[1]), 4.5);
}
END_TEST

/* A flow that takes twice the capacity of its rate: x + 2x = 6; over one link twice: the same. */
START_TEST(weights_count)
{
    const double capacities[] = {6, 6};
    const PsFairLoad twice[] = {{0, 2}}, both[] = {{1, 1}, {1, 1}};
    g_auto(Owner) owner;
    owner_open(&owner, capacities, 2);
    guint heavy = ps_fair_add(owner.fair, twice, 1, 0), light = add(&owner, 1, (guint[]){0});
    guint again = ps_fair_add(owner.fair, both, 2, 0), once = add(&owner, 1, (guint[]){1});
    ps_fair_update(owner.fair);
    ck_assert_double_eq(rate(&owner, heavy), 2);
    ck_assert_double_eq(rate(&owner, light), 2);
    ck_assert_double_eq(rate(&owner, again), 2);
    ck_assert_double_eq(rate(&owner, once), 2);
}
END_TEST

/* What a change does not change is left alone. Pairs of links with one flow each: the first one of
 * a pair is its bottleneck. A flow over the first ones of two pairs changes both of their levels.
 */
START_TEST(follows_the_change)
{
    double capacities[100];
    g_auto(Owner) owner;
    for (guint i = 0; i < G_N_ELEMENTS(capacities); i++) {
        capacities[i] = 1 + i;
    }
    owner_open(&owner, capacities, G_N_ELEMENTS(capacities));
    for (guint i = 0; i < G_N_ELEMENTS(capacities); i += 2) {
        add(&owner, 2, (guint[]){i, i + 1});
    }
    ps_fair_update(owner.fair);
    ck_assert_uint_eq(owner.n_begun, 50);
    guint bridge = add(&owner, 2, (guint[]){10, 20});
    ps_fair_update(owner.fair);
    ck_assert_uint_eq(owner.n_begun, 52);
    ps_fair_update(owner.fair);
    ck_assert_uint_eq(owner.n_begun, 52);
    drop(&owner, bridge);
    ps_fair_update(owner.fair);
    ck_assert_uint_eq(owner.n_begun, 54);
    ck_assert_uint_eq(owner.n_ended, 54);
}
END_TEST

/* ---- random --------------------------------------------------------------------------------- */

#define MOST_LINKS 24
#define MOST_FLOWS 48

typedef struct {
    Owner owner;
    GRand *rand;
    guint n_links;
    gboolean chain; /* flows cross links in a row, so that changes travel far */
    double capacities[MOST_LINKS + MOST_FLOWS]; /* of links, and bounds of flows */
    double weights[MOST_FLOWS * (MOST_LINKS + MOST_FLOWS)];
    gboolean alive[MOST_FLOWS];
    guint numbers[MOST_FLOWS];
} Game;

/* The flow crosses a few links, some twice; half of the flows have a bound. */
static void start(Game *game, guint flow)
{
    PsFairLoad loads[8];
    guint width = game->n_links + MOST_FLOWS;
    guint n = (guint)g_rand_int_range(game->rand, 1, game->chain ? 4 : 9);
    guint first = (guint)g_rand_int_range(game->rand, 0, (int)game->n_links);
    double *weights = &game->weights[flow * width];
    for (guint j = 0; j < width; j++) {
        weights[j] = 0;
    }
    for (guint i = 0; i < n; i++) {
        guint link = game->chain ? (first + i) % game->n_links
                                 : (guint)g_rand_int_range(game->rand, 0, (int)game->n_links);
        double weight = g_rand_boolean(game->rand) ? 1 : g_rand_double_range(game->rand, 0.1, 2);
        loads[i] = (PsFairLoad){link, weight};
        weights[link] += weight;
    }
    double most = g_rand_boolean(game->rand) ? g_rand_double_range(game->rand, 0.1, 5) : 0;
    game->capacities[game->n_links + flow] = most;
    weights[game->n_links + flow] = most > 0;
    game->alive[flow] = TRUE;
    game->numbers[flow] = ps_fair_add(game->owner.fair, loads, n, most);
}

static void stop(Game *game, guint flow)
{
    game->alive[flow] = FALSE;
    drop(&game->owner, game->numbers[flow]);
}

static void compare(const Game *game)
{
    double rates[MOST_FLOWS];
    water_filling(game->capacities, game->n_links + MOST_FLOWS, game->weights, game->alive,
                  MOST_FLOWS, rates);
    for (guint i = 0; i < MOST_FLOWS; i++) {
        if (game->alive[i]) {
            double got = rate(&game->owner, game->numbers[i]);
            ck_assert_double_eq_tol(got / rates[i], 1, 1e-9);
        }
    }
}

/* Flows come and go, several at a time; after each update all rates are those of brute force. */
START_TEST(random_sharing)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("random_sharing"));
    for (guint round = 0; round < 100; round++) {
        Game game = {.rand = rand,
                     .n_links = (guint)g_rand_int_range(rand, 1, MOST_LINKS + 1),
                     .chain = g_rand_boolean(rand)};
        for (guint j = 0; j < game.n_links; j++) {
            game.capacities[j] = g_rand_boolean(rand) ? 1 : g_rand_double_range(rand, 0.1, 10);
        }
        owner_open(&game.owner, game.capacities, game.n_links);
        for (guint step = 0; step < 60; step++) {
            for (gint change = g_rand_int_range(rand, 1, 5); change > 0; change--) {
                guint flow = (guint)g_rand_int_range(rand, 0, MOST_FLOWS);
                if (game.alive[flow]) {
                    stop(&game, flow);
                } else {
                    start(&game, flow);
                }
            }
            ps_fair_update(game.owner.fair);
            compare(&game);
            ck_assert_uint_eq(game.owner.n_begun, game.owner.n_ended);
        }
        owner_clear(&game.owner);
    }
}
END_TEST

PS_TEST_MAIN("fair", parking_lot, what_others_cannot_use, bounded_rates, weights_count,
             follows_the_change, random_sharing)
