/* The best plans, not only the best one. */
#include "planner/plan-list.h"
#include "planner/plan-report.h"
#include "planner/search/planning.h"
#include "planner/search/scope.h"
#include "sim/base/units.h"

#define MOST_PLANS 1000

static gboolean run(const PsPlanRequest *request, GError **error)
{
    guint64 n;
    if (!ps_count_parse(request->argument, 1, MOST_PLANS, &n, error)) {
        g_prefix_error(error, "--top: ");
        return FALSE;
    }
    g_autoptr(PsPlanning) planning =
        ps_planning_new(request->profile, &request->setting, &request->options);
    g_autoptr(GPtrArray) top = ps_planning_top(planning, (guint)n, error);
    if (top == NULL) {
        return FALSE;
    }
    g_autoptr(PsPlanList) list = ps_plan_list_new(request->profile, FALSE);
    g_autoptr(GPtrArray) plans = g_ptr_array_new_with_free_func((GDestroyNotify)ps_plan_free);
    for (guint i = 0; i < top->len; i++) {
        PsPlan *plan = ps_planning_plan(planning, top->pdata[i]);
        g_ptr_array_add(plans, plan);
        plan->optimal &= i == 0;
        if (i == 0 && !ps_plan_save_if_asked(request, plan, error)) {
            return FALSE;
        }
        ps_plan_list_add(list, &(PsListedPlan){.plan = plan, .remark = ""});
    }
    if (!planning->exact) {
        ps_scope_note_contracted();
    }
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    ps_plan_list_print(list, request->format, output);
    return ps_output_commit(output, error);
}

const PsPlanMode ps_plan_mode_top = {
    .option = "top",
    .argument = "COUNT",
    .help = "List the best plans; -o writes the first",
    .run = run,
};
