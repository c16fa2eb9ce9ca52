/* Pairwise exchange: in step k each rank sends 1/n to the one k places further. All-to-all in
 * (n-1)/n * S/B + (n-1) * latency. */
#include "sim/coll/algorithm.h"

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

const PsCollectiveAlgorithm ps_collective_pairwise = {
    .name = "pairwise",
    .summary = "each to each, one distance after another",
    .kinds = PS_KIND_BIT(PS_ALL_TO_ALL),
    .build = build,
};
