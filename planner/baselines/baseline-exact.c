#include <math.h>

#include "planner/baselines/baselines.h"
#include "planner/search/explain.h"
#include "planner/search/planning.h"

/* The planner would say so too, but in words. */
static gboolean lacks_memory(const PsProfile *profile, const PsSetting *setting,
                             const PsPlannerOptions *options, double *least_bytes)
{
    gboolean exact;
    g_autoptr(PsDownsets) downsets = ps_planning_downsets(profile, &exact);
    g_autoptr(PsCosts) costs = ps_costs_new(profile, setting, &options->restrictions);
    if (ps_fits(costs, downsets, options->degrees)) {
        return FALSE;
    }
    *least_bytes = ps_least_memory_bytes(costs, downsets, options->degrees, 0);
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
