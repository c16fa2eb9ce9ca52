#include <math.h>

#include "planner/baselines.h"
#include "planner/explain.h"

/* Graphs with more are left to the planner, which knows a way around. */
#define MOST_DOWNSETS 20000

/* The planner would say so too, but in words. */
static gboolean lacks_memory(const PsProfile *profile, const PsSetting *setting,
                             const PsPlannerOptions *options, double *least_bytes)
{
    g_autoptr(PsDownsets) downsets = ps_downsets_new(profile, MOST_DOWNSETS, NULL);
    g_autoptr(PsCosts) costs = ps_costs_new(profile, setting, &options->restrictions);
    if (downsets == NULL || ps_fits(costs, downsets, options->degrees)) {
        return FALSE;
    }
    *least_bytes = ps_least_memory_bytes(costs, downsets, options->degrees);
    return TRUE;
}

PsBaselineResult ps_baseline_exact(const PsProfile *profile, const PsSetting *setting,
                                   const PsPlannerOptions *options)
{
    PsBaselineResult result = {NULL, NAN, NULL};
    if (lacks_memory(profile, setting, options, &result.least_memory_bytes)) {
        return result;
    }
    g_autoptr(GError) error = NULL;
    result.plan = ps_planner_plan(profile, setting, options, &error);
    if (result.plan == NULL) {
        result.reason = g_strdup(error->message);
    }
    return result;
}
