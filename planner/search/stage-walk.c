#include "planner/search/stage-walk.h"

#include <string.h>

struct PsStageWalk {
    const PsCosts *costs;
    const PsDownsets *downsets;
    guint lower;
    guint stamp;
    guint *stamps;    /* [n_downsets]: reached in the walk with this stamp */
    guint *queue;     /* reached uppers, in order */
    guint head, tail; /* queue[head - 1] was visited last */
    gboolean pruned;
    PsStageSums *sums; /* [n_downsets][n_degrees] */
    PsLinkSums *links; /* theirs: [n_downsets][n_degrees][n_levels] */
};

PsStageWalk *ps_stage_walk_new(const PsCosts *costs, const PsDownsets *downsets)
{
    PsStageWalk *walk = g_new0(PsStageWalk, 1);
    walk->costs = costs;
    walk->downsets = downsets;
    walk->stamps = g_new0(guint, downsets->n_downsets);
    walk->queue = g_new(guint, downsets->n_downsets);
    gsize n = (gsize)downsets->n_downsets * costs->n_degrees;
    walk->sums = g_new(PsStageSums, n);
    walk->links = g_new(PsLinkSums, n * costs->levels.n);
    for (gsize i = 0; i < n; i++) {
        walk->sums[i].links = &walk->links[i * costs->levels.n];
    }
    return walk;
}

void ps_stage_walk_free(PsStageWalk *walk)
{
    if (walk == NULL) {
        return;
    }
    g_free(walk->stamps);
    g_free(walk->queue);
    g_free(walk->sums);
    g_free(walk->links);
    g_free(walk);
}

static PsStageSums *sums_at(PsStageWalk *walk, guint upper)
{
    return &walk->sums[(gsize)upper * walk->costs->n_degrees];
}

/* What crosses links of the l-th level when a layer joins the stage at the top: all its incoming
 * edges enter; its outgoing edges either leave for the lower downset or become internal. */
static PsLinkSums join_links(const PsCosts *costs, const guint64 *lower, guint v, guint degree,
                             guint l, PsLinkSums sums)
{
    const PsProfile *profile = costs->profile;
    const PsLayer *layer = &profile->layers[v];
    const PsLinkCost *links = &ps_layer_cost(costs, v, degree)->links[l];
    sums.resync += links->resync;
    sums.enter += links->enter_all;
    for (guint i = 0; i < layer->n_outgoing; i++) {
        guint edge = layer->outgoing[i], target = profile->edges[edge].target;
        if (ps_set_has(lower, target)) {
            sums.leave += links->leave[i];
            continue;
        }
        guint at = 0;
        while (profile->layers[target].incoming[at] != edge) {
            at++;
        }
        sums.enter -= ps_layer_cost(costs, target, degree)->links[l].enter[at];
    }
    return sums;
}

/* The layers of the stage that v has edges to are in it already. */
static void join(const PsCosts *costs, const guint64 *lower, const PsStageSums *from, guint v,
                 guint degree, PsStageSums *to)
{
    const PsLayerCost *cost = ps_layer_cost(costs, v, degree);
    to->possible = from->possible && cost->n_tmpcs > 0;
    if (!to->possible) {
        return;
    }
    const PsTmpcCost *fastest = &cost->tmpcs[cost->fastest];
    for (guint l = 0; l < costs->levels.n; l++) {
        to->links[l] = join_links(costs, lower, v, degree, l, from->links[l]);
    }
    to->fast_time = from->fast_time + fastest->time;
    to->fast_memory_per_microbatch =
        from->fast_memory_per_microbatch + fastest->memory_per_microbatch;
    to->fast_memory_fixed = from->fast_memory_fixed + fastest->memory_fixed;
    to->min_memory_per_microbatch =
        from->min_memory_per_microbatch + cost->min_memory_per_microbatch;
    to->min_memory_fixed = from->min_memory_fixed + cost->min_memory_fixed;
}

static void clear(const PsCosts *costs, PsStageSums *sums)
{
    PsLinkSums *links = sums->links;
    memset(links, 0, costs->levels.n * sizeof *links);
    *sums = (PsStageSums){.links = links, .possible = TRUE};
}

void ps_stage_sum(const PsCosts *costs, const guint64 *lower, const guint64 *upper, guint degree,
                  PsStageSums *sums)
{
    clear(costs, sums);
    /* Indices are in topological order. */
    for (guint v = costs->profile->n_layers; v-- > 0;) {
        if (ps_set_has(upper, v) && !ps_set_has(lower, v)) {
            join(costs, lower, sums, v, degree, sums);
        }
    }
}

/* Queues the covers of a visited set that were not reached before. */
static void extend(PsStageWalk *walk, guint from)
{
    const PsDownsets *downsets = walk->downsets;
    const guint64 *lower = ps_downset(downsets, walk->lower);
    for (guint c = downsets->first_cover[from]; c < downsets->first_cover[from + 1]; c++) {
        const PsCover *cover = &downsets->covers[c];
        if (walk->stamps[cover->next] == walk->stamp) {
            continue;
        }
        walk->stamps[cover->next] = walk->stamp;
        walk->queue[walk->tail++] = cover->next;
        for (guint t = 0; t < walk->costs->n_degrees; t++) {
            join(walk->costs, lower, sums_at(walk, from) + t, cover->layer, t,
                 sums_at(walk, cover->next) + t);
        }
    }
}

void ps_stage_walk_begin(PsStageWalk *walk, guint lower)
{
    walk->lower = lower;
    walk->stamp++;
    walk->head = walk->tail = 0;
    for (guint t = 0; t < walk->costs->n_degrees; t++) {
        clear(walk->costs, sums_at(walk, lower) + t);
    }
    extend(walk, lower);
    walk->pruned = TRUE; /* nothing visited yet */
}

gboolean ps_stage_walk_next(PsStageWalk *walk, guint *upper, const PsStageSums **sums)
{
    if (!walk->pruned) {
        extend(walk, walk->queue[walk->head - 1]);
    }
    if (walk->head == walk->tail) {
        return FALSE;
    }
    *upper = walk->queue[walk->head++];
    *sums = sums_at(walk, *upper);
    walk->pruned = FALSE;
    return TRUE;
}

void ps_stage_walk_prune(PsStageWalk *walk)
{
    walk->pruned = TRUE;
}
