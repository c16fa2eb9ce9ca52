/* What the best plan is best at: steady state, one synchronous batch, or few devices. */
#include <math.h>

#include "planner/flush.h"
#include "planner/frontier.h"
#include "planner/plan-mode.h"
#include "planner/search/scope.h"
#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/base/units.h"

#define N_CANDIDATES 32

static gboolean steady(const PsPlanRequest *request, GError **error)
{
    g_autoptr(PsPlan) plan =
        ps_planner_plan(request->profile, &request->setting, &request->options, error);
    return plan != NULL && ps_plan_deliver(request, plan, NULL, error);
}

/* " with nested degrees", "" where all plans are meant. */
static char *among(const PsPlan *plan)
{
    return plan->among != NULL ? g_strconcat(" ", plan->among, NULL) : g_strdup("");
}

static gboolean flush(const PsPlanRequest *request, GError **error)
{
    g_autoptr(PsPlan) plan =
        ps_flush_plan(request->profile, &request->setting, &request->options, N_CANDIDATES, error);
    if (plan == NULL) {
        return FALSE;
    }
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, request->profile);
    g_autofree char *batch = ps_quantity_format(PS_SECONDS, estimate->batch_s);
    g_autofree char *class = among(plan);
    g_autofree char *most = ps_percent_up(plan->batch_gap / (1 + plan->batch_gap));
    g_autofree char *distance =
        plan->batch_gap > 0 ? g_strdup_printf("more than %s ", most) : g_strdup("");
    g_autofree char *proof =
        isnan(plan->batch_gap)
            ? g_strdup("not proven shortest")
            : g_strdup_printf("proven: that of no plan%s is %sshorter", class, distance);
    g_autofree char *claim = g_strdup_printf("a synchronous batch takes %s; %s", batch, proof);
    return ps_plan_deliver(request, plan, claim, error);
}

static gboolean devices(const PsPlanRequest *request, GError **error)
{
    if (request->tps == NULL) {
        ps_error(error, PS_ERROR_USAGE, "--objective devices needs a target (expected --tps TIME)");
        return FALSE;
    }
    double tps_s;
    if (!ps_quantity_parse(PS_SECONDS, request->tps, &tps_s, error)) {
        g_prefix_error(error, "--tps: ");
        return FALSE;
    }
    if (tps_s <= 0) {
        ps_error(error, PS_ERROR_USAGE, "--tps: '%s' is nothing (expected more than 0)",
                 request->tps);
        return FALSE;
    }
    gboolean proven;
    g_autoptr(PsPlan) plan = ps_fewest_devices_plan(request->profile, &request->setting,
                                                    &request->options, tps_s, &proven, error);
    if (plan == NULL) {
        return FALSE;
    }
    g_autofree char *class = among(plan);
    g_autofree char *claim =
        g_strdup_printf("%sno plan%s on fewer devices reaches the target",
                        proven ? "proven: " : "with layers taken together ", class);
    if (!proven) {
        ps_scope_note_contracted();
    }
    return ps_plan_deliver(request, plan, claim, error);
}

static const struct {
    const char *name;
    gboolean (*run)(const PsPlanRequest *request, GError **error);
} objectives[] = {{"steady", steady}, {"flush", flush}, {"devices", devices}};

static gboolean run(const PsPlanRequest *request, GError **error)
{
    const char *names[G_N_ELEMENTS(objectives) + 1] = {NULL};
    for (guint i = 0; i < G_N_ELEMENTS(objectives); i++) {
        names[i] = objectives[i].name;
        if (g_str_equal(request->argument, names[i])) {
            return objectives[i].run(request, error);
        }
    }
    g_autofree char *hint = ps_suggest_text(request->argument, names);
    ps_error(error, PS_ERROR_USAGE, "--objective: unknown value '%s'%s", request->argument, hint);
    return FALSE;
}

const PsPlanMode ps_plan_mode_objective = {
    .option = "objective",
    .argument = "WHAT",
    .help = "steady (default), flush, or devices with --tps",
    .run = run,
};
