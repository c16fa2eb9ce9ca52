/* Bruck's all-to-all (Bruck, Ho, Kipnis, Upfal, Weathersby, 1997): in step k each rank passes on to
 * the one 2^k places further all pieces whose way has bit k set, so that they arrive after log2 n
 * steps: ceil(log2 n) * latency + sum over k of pieces(k)/n * S/B, log2(n)/2 * S/B for powers of
 * two. For small messages. */
#include "sim/coll/algorithm.h"

static guint count_with_bit(guint n, guint bit)
{
    guint pieces = 0;
    for (guint way = 1; way < n; way++) {
        pieces += (way & bit) != 0;
    }
    return pieces;
}

static void build(const PsTeam *team, PsPhases *phases)
{
    guint n = team->n_ranks;
    for (guint bit = 1; bit < n; bit *= 2) {
        double bytes = team->bytes * count_with_bit(n, bit) / n;
        ps_phases_next(phases, 1);
        for (guint i = 0; i < n; i++) {
            ps_phases_send(phases, 0, i, (i + bit) % n, bytes);
        }
    }
}

const PsCollectiveAlgorithm ps_collective_bruck = {
    .name = "bruck",
    .summary = "pieces travel along the bits of their way",
    .kinds = PS_KIND_BIT(PS_ALL_TO_ALL),
    .build = build,
};
