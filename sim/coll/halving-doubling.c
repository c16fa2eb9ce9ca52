/* Recursive halving and doubling (Rabenseifner; Thakur, Rabenseifner, Gropp, 2005): ranks exchange
 * halves with a partner, then quarters with one twice as far away, and so on; an all-gather goes
 * the same way back. Few steps: all-reduce 2(n-1)/n * S/B + 2 log2(n) * latency for n a power of
 * two, reduce-scatter and all-gather half of it.
 *
 * For an all-reduce among other numbers, the first ranks beyond the largest power of two p fold
 * their vectors into their neighbours' before and get the result after: 2S/B + 2 latencies more. */
#include "sim/coll/algorithm.h"

typedef struct {
    PsPhases *phases;
    guint n_pairs; /* of the first ranks, folded into one each */
    double bytes;
} Exchange;

/* Rank at a place among the p that take part. */
static guint rank_at(const Exchange *exchange, guint place)
{
    return place < exchange->n_pairs ? 2 * place : place + exchange->n_pairs;
}

/* Every place exchanges bytes / (2 distance) with the one at that distance. */
static void exchange_at(const Exchange *exchange, guint p, guint distance)
{
    ps_phases_next(exchange->phases, 1);
    for (guint i = 0; i < p; i++) {
        ps_phases_send(exchange->phases, 0, rank_at(exchange, i), rank_at(exchange, i ^ distance),
                       exchange->bytes / (2 * distance));
    }
}

/* From the odd ones of the pairs to the even ones, or back. */
static void fold(const Exchange *exchange, gboolean back)
{
    if (exchange->n_pairs == 0) {
        return;
    }
    ps_phases_next(exchange->phases, 1);
    for (guint i = 0; i < exchange->n_pairs; i++) {
        ps_phases_send(exchange->phases, 0, 2 * i + !back, 2 * i + back, exchange->bytes);
    }
}

static guint power_of_two_below(guint n)
{
    guint p = 1;
    while (p <= n / 2) {
        p *= 2;
    }
    return p;
}

static char *fault(const PsTeam *team)
{
    if (team->kind == PS_ALL_REDUCE || power_of_two_below(team->n_ranks) == team->n_ranks) {
        return NULL;
    }
    return g_strdup_printf("%u ranks (expected a power of two)", team->n_ranks);
}

static void build(const PsTeam *team, PsPhases *phases)
{
    guint p = power_of_two_below(team->n_ranks);
    Exchange exchange = {phases, team->n_ranks - p, team->bytes};
    fold(&exchange, FALSE);
    for (guint distance = 1; distance < p && team->kind != PS_ALL_GATHER; distance *= 2) {
        exchange_at(&exchange, p, distance);
    }
    for (guint distance = p / 2; distance >= 1 && team->kind != PS_REDUCE_SCATTER; distance /= 2) {
        exchange_at(&exchange, p, distance);
    }
    fold(&exchange, TRUE);
}

const PsCollectiveAlgorithm ps_collective_halving_doubling = {
    .name = "halving-doubling",
    .summary = "partners at doubling distances exchange halving pieces",
    .kinds =
        PS_KIND_BIT(PS_ALL_REDUCE) | PS_KIND_BIT(PS_REDUCE_SCATTER) | PS_KIND_BIT(PS_ALL_GATHER),
    .fault = fault,
    .build = build,
};
