#include "planner/search/planner.h"

#include "planner/search/planning.h"

PsPlan *ps_planner_plan(const PsProfile *profile, const PsSetting *setting,
                        const PsPlannerOptions *options, GError **error)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    g_autoptr(PsLayout) layout = ps_planning_best(planning, error);
    return layout != NULL ? ps_planning_plan(planning, layout) : NULL;
}

const char *ps_planner_claim(const PsPlannerOptions *options)
{
    const PsRestrictions *restrictions = &options->restrictions;
    gboolean restricted =
        options->degrees != PS_DEGREES_ANY || restrictions->forbid_data_parallel ||
        restrictions->forbid_tensor_parallel || restrictions->recompute != PS_RECOMPUTE_PER_LAYER;
    return restricted ? "optimal within its restrictions: proven, no such plan is faster" : NULL;
}
