#include "planner/search/transit.h"

struct PsTransit {
    const PsCosts *costs;
    PsStageSolver *solver;
    gint64 *uneven; /* [n_downsets][n_degrees][n_levels]: by how much the resyncs of its layers'
                       TMPCs differ at most; NULL where they do not */
    gint64 *caps;   /* [n_divisors] */
    gint64 resync;
};

static gint64 most_extra_resync(const PsCosts *costs, guint layer, guint degree, guint level)
{
    const PsLayerCost *cost = ps_layer_cost(costs, layer, degree);
    const gint64 *extra = cost->links != NULL ? cost->links[level].extra_resync : NULL;
    gint64 most = 0;
    for (guint i = 0; extra != NULL && i < cost->n_tmpcs; i++) {
        most = MAX(most, extra[i]);
    }
    return most;
}

static gsize uneven_at(const PsCosts *costs, guint downset, guint degree, guint level)
{
    return ((gsize)downset * costs->n_degrees + degree) * costs->levels.n + level;
}

static gint64 *sum_uneven(const PsCosts *costs, const PsDownsets *downsets)
{
    gint64 *uneven = g_new0(gint64, uneven_at(costs, downsets->n_downsets, 0, 0));
    for (guint i = 0; i < downsets->n_downsets; i++) {
        for (guint v = 0; v < costs->profile->n_layers; v++) {
            if (!ps_set_has(ps_downset(downsets, i), v)) {
                continue;
            }
            for (guint t = 0; t < costs->n_degrees; t++) {
                for (guint l = 0; l < costs->levels.n; l++) {
                    uneven[uneven_at(costs, i, t, l)] += most_extra_resync(costs, v, t, l);
                }
            }
        }
    }
    return uneven;
}

PsTransit *ps_transit_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver)
{
    PsTransit *transit = g_new0(PsTransit, 1);
    transit->costs = costs;
    transit->solver = solver;
    transit->uneven = costs->same_resync ? NULL : sum_uneven(costs, downsets);
    transit->caps = g_new(gint64, costs->n_divisors);
    return transit;
}

void ps_transit_free(PsTransit *transit)
{
    if (transit != NULL) {
        g_free(transit->uneven);
        g_free(transit->caps);
        g_free(transit);
    }
}

const gint64 *ps_transit_allow(PsTransit *transit, gint64 load, gint64 resync)
{
    for (guint i = 0; i < transit->costs->n_divisors; i++) {
        gint64 d = transit->costs->divisors[i];
        transit->caps[i] = load > G_MAXINT64 / 4 / d ? G_MAXINT64 / 4 : load * d;
    }
    transit->resync = resync;
    return transit->caps;
}

/* r (d - 1) N / d, r what the stage's load·d grows by for each (d - 1). */
gboolean ps_transit_resync_fits(const PsTransit *transit, const PsStageRun *run,
                                const PsStageSums *sums)
{
    double d = run->data_parallel;
    return (double)sums->links[run->crossing.resync].resync * (d - 1) / d *
               transit->costs->setting.microbatches <=
           (double)transit->resync;
}

/* The innermost level that may hold so many devices. */
static guint8 level_of(const PsCosts *costs, guint64 devices)
{
    guint level = 0;
    while (level + 1 < costs->levels.n && costs->levels.level[level].size < devices) {
        level++;
    }
    return (guint8)level;
}

static gint64 uneven(const PsTransit *transit, const PsStageRun *run)
{
    if (transit->uneven == NULL) {
        return 0;
    }
    guint level = run->crossing.resync;
    return transit->uneven[uneven_at(transit->costs, run->upper, run->degree, level)] -
           transit->uneven[uneven_at(transit->costs, run->lower, run->degree, level)];
}

gint64 ps_transit_anywhere(const PsTransit *transit, PsStageRun *run, const PsStageSums *sums,
                           guint divisor)
{
    const PsCosts *costs = transit->costs;
    guint64 devices = (guint64)run->data_parallel * costs->degrees[run->degree];
    guint8 inside = level_of(costs, devices), border = level_of(costs, devices + 1);
    gint64 cap = transit->caps[divisor];
    run->crossing = (PsCrossing){border, border, inside};
    if (run->in_flight > costs->most_in_flight || !ps_transit_resync_fits(transit, run, sums) ||
        ps_stage_load_within(transit->solver, run, sums, cap) > cap) {
        return PS_KNAPSACK_NONE;
    }
    const PsLinkSums *edges = &sums->links[border];
    gint64 resync = sums->links[inside].resync + uneven(transit, run);
    return MAX(ps_stage_load(transit->solver, run, sums) - (run->data_parallel - 1) * resync,
               sums->fast_time + edges->enter + edges->leave);
}
