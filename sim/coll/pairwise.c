/* Pairwise exchange: in step k each rank sends 1/n to the one k places further. All-to-all in
 * (n-1)/n * S/B + (n-1) * latency. */
#include "sim/coll/algorithm.h"

/* Messages, and the loads of links that are kept for them, grow with the square: half a gigabyte.
 */
#define MOST_RANKS 4096u

static void build(const PsTeam *team, PsPhases *phases)
{
    guint n = team->n_ranks;
    for (guint k = 1; k < n; k++) {
        ps_phases_next(phases, 1); /* the next distance begins when all have done this one */
        for (guint i = 0; i < n; i++) {
            ps_phases_send(phases, 0, i, (i + k) % n, team->bytes / n);
        }
    }
}

static char *fault(const PsTeam *team)
{
    return team->n_ranks > MOST_RANKS
               ? g_strdup_printf("%u ranks (expected at most %u, which send %u messages)",
                                 team->n_ranks, MOST_RANKS, MOST_RANKS * (MOST_RANKS - 1))
               : NULL;
}

const PsCollectiveAlgorithm ps_collective_pairwise = {
    .name = "pairwise",
    .summary = "each to each, one distance after another",
    .kinds = PS_KIND_BIT(PS_ALL_TO_ALL),
    .fault = fault,
    .build = build,
};
