#include "planner/flush.h"

#include "planner/search/planning.h"

double ps_flush_batch_s(const PsPlan *plan, const PsProfile *profile)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    double passage_s = 0, resync_s = 0;
    for (guint i = 0; i < plan->n_stages; i++) {
        const PsStageEstimate *stage = &estimate->stages[i];
        passage_s += (stage->compute_s + stage->edge_s) * plan->stages[i].data_parallel;
        resync_s = MAX(resync_s, stage->resync_s * plan->setting.microbatches);
    }
    return (plan->setting.microbatches - 1) * estimate->tps_s + passage_s + resync_s;
}

/* Each layer at its fastest, whatever the degree. */
static double least_passage_s(const PsCosts *costs)
{
    double sum_s = 0;
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        gint64 least = G_MAXINT64;
        for (guint t = 0; t < costs->n_degrees; t++) {
            const PsLayerCost *layer = ps_layer_cost(costs, v, t);
            least = layer->n_tmpcs > 0 ? MIN(least, layer->min_time) : least;
        }
        sum_s += (double)least * costs->time_quantum_s;
    }
    return sum_s;
}

PsPlan *ps_flush_plan(const PsProfile *profile, const PsSetting *setting,
                      const PsPlannerOptions *options, guint n, double *gap, GError **error)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    g_autoptr(GPtrArray) top = ps_planning_top(planning, n, error);
    if (top == NULL) {
        return NULL;
    }
    g_autoptr(PsPlan) best = NULL;
    double best_s = 0, least_tps_s = 0;
    for (guint i = 0; i < top->len; i++) {
        g_autoptr(PsPlan) plan = ps_planning_plan(planning, top->pdata[i]);
        g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
        double batch_s = ps_flush_batch_s(plan, profile);
        least_tps_s = i == 0 ? estimate->tps_s / (1 + plan->gap) : least_tps_s;
        if (best == NULL || batch_s < best_s) {
            best_s = batch_s;
            ps_plan_free(best);
            best = g_steal_pointer(&plan);
        }
    }
    best->optimal = FALSE; /* in steady state perhaps, but that was not the question */
    double bound_s = (setting->microbatches - 1) * least_tps_s + least_passage_s(planning->costs);
    *gap = best_s / bound_s - 1;
    return g_steal_pointer(&best);
}
