/* The best plan. */
#include "planner/plan-mode.h"

static gboolean run(const PsPlanRequest *request, GError **error)
{
    g_autoptr(PsPlan) plan =
        ps_planner_plan(request->profile, &request->setting, &request->options, error);
    return plan != NULL && ps_plan_deliver(request, plan, NULL, error);
}

const PsPlanMode ps_plan_mode_best = {.run = run};
