/* Ring: each rank passes pieces of 1/n to the next; every link of the ring is busy all the time.
 * Bandwidth-optimal (Patarasuk and Yuan, 2009). All-reduce 2(n-1)/n * S/B + 2(n-1) * latency,
 * reduce-scatter and all-gather half of it. A broadcast is passed on along the ring as a pipeline
 * of small pieces: S/B + (n-1) * latency. */
#include "sim/coll/algorithm.h"

static void broadcast(const PsTeam *team, PsPhases *phases)
{
    ps_phases_next(phases, 1);
    for (guint i = 0; i + 1 < team->n_ranks; i++) {
        ps_phases_send(phases, i, i, i + 1, team->bytes);
    }
}

static void build(const PsTeam *team, PsPhases *phases)
{
    if (team->kind == PS_BROADCAST) {
        broadcast(team, phases);
        return;
    }
    guint n = team->n_ranks, times = (team->kind == PS_ALL_REDUCE ? 2 : 1) * (n - 1);
    ps_phases_next(phases, times);
    for (guint i = 0; i < n; i++) {
        ps_phases_send(phases, 0, i, (i + 1) % n, team->bytes * times / n);
    }
}

const PsCollectiveAlgorithm ps_collective_ring = {
    .name = "ring",
    .summary = "pieces go around in a ring",
    .kinds = PS_KIND_BIT(PS_ALL_REDUCE) | PS_KIND_BIT(PS_REDUCE_SCATTER) |
             PS_KIND_BIT(PS_ALL_GATHER) | PS_KIND_BIT(PS_BROADCAST),
    .build = build,
};
