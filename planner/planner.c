#include "planner/planner.h"

#include "planner/explain.h"
#include "planner/layout-plan.h"
#include "planner/search.h"
#include "sim/base/error.h"

/* Tables grow with the square of this. */
#define MOST_DOWNSETS 20000

/* The nested layout of the same load, if there is one. */
static PsLayout *prefer_nested(const PsCosts *costs, const PsDownsets *downsets,
                               PsStageSolver *solver, PsLayout *layout)
{
    g_autoptr(PsSearch) search = ps_search_new(costs, downsets, solver, PS_DEGREES_NESTED);
    PsLayout *nested = ps_search_within(search, ps_layout_load(layout), TRUE);
    if (nested == NULL) {
        return layout;
    }
    ps_layout_free(layout);
    return nested;
}

PsPlan *ps_planner_plan(const PsProfile *profile, const PsSetting *setting,
                        const PsPlannerOptions *options, GError **error)
{
    static const PsPlannerOptions whole_space = {0};
    options = options != NULL ? options : &whole_space;
    g_autoptr(PsDownsets) downsets = ps_downsets_new(profile, MOST_DOWNSETS, error);
    if (downsets == NULL) {
        return NULL;
    }
    g_autoptr(PsCosts) costs = ps_costs_new(profile, setting, &options->restrictions);
    g_autoptr(PsStageSolver) solver = ps_stage_solver_new(costs, downsets, costs->memory, FALSE);
    g_autoptr(PsSearch) search = ps_search_new(costs, downsets, solver, options->degrees);
    g_autoptr(PsLayout) layout = ps_search_best(search);
    if (layout == NULL) {
        g_autofree char *why = ps_explain_no_fit(costs, downsets, options->degrees);
        ps_error(error, PS_ERROR_NEGATIVE, "%s: %s", profile->path, why);
        return NULL;
    }
    if (options->degrees == PS_DEGREES_ANY) {
        layout = prefer_nested(costs, downsets, solver, layout);
    }
    PsPlan *plan = ps_layout_to_plan(layout, costs, solver);
    plan->optimal = TRUE;
    return plan;
}
