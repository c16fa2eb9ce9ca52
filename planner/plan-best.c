/* The best plan. */
#include "planner/plan-mode.h"
#include "planner/search/planning.h"
#include "sim/base/log.h"
#include "sim/base/units.h"

/* A plan with other degrees may not reach its TPS; then people want to know what a nested one
 * costs. */
static void name_nested(PsPlanning *planning, const PsLayout *layout, const PsPlan *plan)
{
    g_autoptr(PsLayout) nested = ps_planning_nested(planning, layout);
    if (nested == NULL) {
        ps_note("no nested plan fits");
        return;
    }
    const PsProfile *profile = planning->costs->profile;
    g_autoptr(PsPlan) nested_plan = ps_planning_plan(planning, nested);
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    g_autoptr(PsEstimate) nested_estimate = ps_plan_estimate(nested_plan, profile);
    g_autofree char *tps = ps_quantity_format(PS_SECONDS, nested_estimate->tps_s);
    ps_note(
        "the best nested plan has a TPS of %s, %.2g %% above this one's (--degrees nested finds "
        "it, --certify replays both)",
        tps, 100 * (nested_estimate->tps_s / estimate->tps_s - 1));
}

static gboolean run(const PsPlanRequest *request, GError **error)
{
    g_autoptr(PsPlanning) planning =
        ps_planning_new(request->profile, &request->setting, &request->options);
    g_autoptr(PsLayout) layout = ps_planning_best(planning, error);
    if (layout == NULL) {
        return FALSE;
    }
    g_autoptr(PsPlan) plan = ps_planning_plan(planning, layout);
    if (!ps_plan_deliver(request, plan, NULL, error)) {
        return FALSE;
    }
    /* Takes longer than the search for the plan itself; scripts can ask for it. */
    if (request->format == PS_FORMAT_TABLE && !ps_plan_is_replayable(plan)) {
        name_nested(planning, layout, plan);
    }
    return TRUE;
}

const PsPlanMode ps_plan_mode_best = {.run = run};
