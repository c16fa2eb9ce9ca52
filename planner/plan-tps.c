/* The fewest devices for a target. */
#include "planner/frontier.h"
#include "planner/plan-mode.h"
#include "sim/base/units.h"

static gboolean run(const PsPlanRequest *request, GError **error)
{
    double tps_s;
    if (!ps_quantity_parse(PS_SECONDS, request->argument, &tps_s, error)) {
        g_prefix_error(error, "--tps: ");
        return FALSE;
    }
    g_autoptr(PsPlan) plan = ps_fewest_devices_plan(request->profile, &request->setting,
                                                    &request->options, tps_s, error);
    return plan != NULL &&
           ps_plan_deliver(request, plan, "proven: no plan on fewer devices reaches the target",
                           error);
}

const PsPlanMode ps_plan_mode_tps = {
    .option = "tps",
    .argument = "TIME",
    .help = "The fewest devices that reach this TPS",
    .run = run,
};
