#include "planner/search/planner.h"

#include "planner/search/planning.h"

PsPlan *ps_planner_plan(const PsProfile *profile, const PsSetting *setting,
                        const PsPlannerOptions *options, GError **error)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    g_autoptr(PsLayout) layout = ps_planning_best(planning, error);
    return layout != NULL ? ps_planning_plan(planning, layout) : NULL;
}
