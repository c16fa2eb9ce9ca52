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
};

PsStageWalk *ps_stage_walk_new(const PsCosts *costs, const PsDownsets *downsets)
{
    PsStageWalk *walk = g_new0(PsStageWalk, 1);
    walk->costs = costs;
    walk->downsets = downsets;
    walk->stamps = g_new0(guint, downsets->n_downsets);
    walk->queue = g_new(guint, downsets->n_downsets);
    walk->sums = g_new(PsStageSums, (gsize)downsets->n_downsets * costs->n_degrees);
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
    g_free(walk);
}

static PsStageSums *sums_at(PsStageWalk *walk, guint upper)
{
    return &walk->sums[(gsize)upper * walk->costs->n_degrees];
}

/* What the border costs change by when a layer joins the stage at the top: all its incoming edges
 * enter; its outgoing edges either leave for the lower downset or become internal. */
static gint64 edges_delta(const PsStageWalk *walk, guint v, guint degree)
{
    const PsProfile *profile = walk->costs->profile;
    const PsLayer *layer = &profile->layers[v];
    const PsLayerCost *cost = ps_layer_cost(walk->costs, v, degree);
    const guint64 *lower = ps_downset(walk->downsets, walk->lower);
    gint64 delta = cost->enter_all;
    for (guint i = 0; i < layer->n_outgoing; i++) {
        guint edge = layer->outgoing[i];
        guint target = profile->edges[edge].target;
        if (ps_set_has(lower, target)) {
            delta += cost->leave[i];
            continue;
        }
        const PsLayer *successor = &profile->layers[target];
        guint at = 0;
        while (successor->incoming[at] != edge) {
            at++;
        }
        delta -= ps_layer_cost(walk->costs, target, degree)->enter[at];
    }
    return delta;
}

static void join(const PsStageWalk *walk, const PsStageSums *from, guint v, guint degree,
                 PsStageSums *to)
{
    const PsLayerCost *cost = ps_layer_cost(walk->costs, v, degree);
    *to = *from;
    to->possible &= cost->n_tmpcs > 0;
    if (!to->possible) {
        return;
    }
    const PsTmpcCost *fastest = &cost->tmpcs[cost->fastest];
    to->fast_time += fastest->time;
    to->edges += edges_delta(walk, v, degree);
    to->resync += cost->resync;
    to->fast_memory_per_microbatch += fastest->memory_per_microbatch;
    to->fast_memory_fixed += fastest->memory_fixed;
    to->min_memory_per_microbatch += cost->min_memory_per_microbatch;
    to->min_memory_fixed += cost->min_memory_fixed;
}

/* Queues the covers of a visited set that were not reached before. */
static void extend(PsStageWalk *walk, guint from)
{
    const PsDownsets *downsets = walk->downsets;
    for (guint c = downsets->first_cover[from]; c < downsets->first_cover[from + 1]; c++) {
        const PsCover *cover = &downsets->covers[c];
        if (walk->stamps[cover->next] == walk->stamp) {
            continue;
        }
        walk->stamps[cover->next] = walk->stamp;
        walk->queue[walk->tail++] = cover->next;
        for (guint t = 0; t < walk->costs->n_degrees; t++) {
            join(walk, sums_at(walk, from) + t, cover->layer, t, sums_at(walk, cover->next) + t);
        }
    }
}

void ps_stage_walk_begin(PsStageWalk *walk, guint lower)
{
    walk->lower = lower;
    walk->stamp++;
    walk->head = walk->tail = 0;
    PsStageSums *none = sums_at(walk, lower);
    memset(none, 0, walk->costs->n_degrees * sizeof *none);
    for (guint t = 0; t < walk->costs->n_degrees; t++) {
        none[t].possible = TRUE;
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
