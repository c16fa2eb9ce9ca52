/* Double binary tree (Sanders, Speck, Traff, 2009): two binary trees, each for one half of the
 * vector, such that no rank has children in both (but for the one at the edge). Pieces are small,
 * so that a tree is a pipeline: its latency is its depth, its rate that of the busiest rank.
 *
 * All-reduce goes up and down both trees: 2S/B + 2 ceil(log2 n) * latency for n >= 4 (S/B for n =
 * 2, 1.5 S/B for n = 3, where no rank has two children). A broadcast goes from the root to the
 * roots of two trees over the other ranks: S/B + (1 + ceil(log2(n-1))) * latency. */
#include "sim/coll/algorithm.h"

/* Parent of a rank other than 0 in the tree whose leaves are the odd ranks (as NCCL builds it). */
static guint parent_of(guint rank, guint n)
{
    guint bit = rank & -rank;
    guint parent = (rank ^ bit) | bit << 1;
    return parent < n ? parent : rank ^ bit;
}

static guint depth_of(guint rank, guint n)
{
    guint depth = 0;
    for (; rank != 0; rank = parent_of(rank, n)) {
        depth++;
    }
    return depth;
}

/* Which rank stands at a place of the second tree: mirrored or, for odd n, shifted by one, inner
 * ranks of one tree are leaves of the other. */
static guint second(guint place, guint n)
{
    return n % 2 == 0 ? n - 1 - place : (place + 1) % n;
}

static void all_reduce(const PsTeam *team, PsPhases *phases)
{
    guint n = team->n_ranks;
    guint deepest = 0;
    for (guint i = 1; i < n; i++) {
        deepest = MAX(deepest, depth_of(i, n));
    }
    double half = team->bytes / 2;
    ps_phases_next(phases, 1);
    for (guint i = 1; i < n; i++) {
        guint up = parent_of(i, n), depth = depth_of(i, n);
        ps_phases_send(phases, deepest - depth, i, up, half);
        ps_phases_send(phases, deepest - depth, second(i, n), second(up, n), half);
        ps_phases_send(phases, deepest + depth - 1, up, i, half);
        ps_phases_send(phases, deepest + depth - 1, second(up, n), second(i, n), half);
    }
}

static void broadcast(const PsTeam *team, PsPhases *phases)
{
    guint n = team->n_ranks - 1; /* of the trees: without the root */
    double half = team->bytes / 2;
    ps_phases_next(phases, 1);
    ps_phases_send(phases, 0, 0, 1, half);
    ps_phases_send(phases, 0, 0, 1 + second(0, n), half);
    for (guint i = 1; i < n; i++) {
        guint up = parent_of(i, n), depth = depth_of(i, n);
        ps_phases_send(phases, depth, 1 + up, 1 + i, half);
        ps_phases_send(phases, depth, 1 + second(up, n), 1 + second(i, n), half);
    }
}

static void build(const PsTeam *team, PsPhases *phases)
{
    if (team->kind == PS_BROADCAST) {
        broadcast(team, phases);
    } else {
        all_reduce(team, phases);
    }
}

const PsCollectiveAlgorithm ps_collective_tree = {
    .name = "tree",
    .summary = "two binary trees, one for each half",
    .kinds = PS_KIND_BIT(PS_ALL_REDUCE) | PS_KIND_BIT(PS_BROADCAST),
    .build = build,
};
