#include "planner/frontier.h"

#include "planner/search/explain.h"
#include "sim/base/error.h"
#include "sim/base/progress.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

static void point_free(gpointer data)
{
    PsFrontierPoint *point = data;
    ps_plan_free(point->plan);
    g_free(point);
}

static GPtrArray *empty_points(guint n)
{
    GPtrArray *points = g_ptr_array_new_with_free_func(point_free);
    for (guint i = 0; i < n; i++) {
        PsFrontierPoint *point = g_new0(PsFrontierPoint, 1);
        point->devices = i + 1;
        g_ptr_array_add(points, point);
    }
    return points;
}

/* Down from all devices: the best layout on k of them may use fewer; it then is the best on every
 * number in between, and its load a floor for all smaller ones. */
GPtrArray *ps_frontier_devices(const PsProfile *profile, const PsSetting *setting,
                               const PsPlannerOptions *options)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    g_autoptr(PsSearch) search = ps_planning_search(planning, options->degrees);
    g_autoptr(PsProgress) progress = ps_progress_new("frontier", setting->devices);
    GPtrArray *points = empty_points(setting->devices);
    PsThreshold floor = {0, 1, FALSE};
    for (guint devices = setting->devices; devices > 0;) {
        ps_search_set_devices(search, devices);
        g_autoptr(PsLayout) layout = ps_search_best(search, NULL, &floor);
        if (layout == NULL) {
            break;
        }
        floor = ps_layout_load(layout);
        for (guint k = layout->devices; k <= devices; k++) {
            PsFrontierPoint *point = points->pdata[k - 1];
            point->plan = ps_planning_plan(planning, layout);
            ps_setting_use_devices(&point->plan->setting, k);
        }
        ps_progress_step(progress, devices - layout->devices + 1);
        devices = layout->devices - 1;
    }
    return points;
}

GPtrArray *ps_frontier_memory(const PsProfile *profile, const PsSetting *setting,
                              const PsPlannerOptions *options)
{
    gboolean exact;
    g_autoptr(PsDownsets) downsets = ps_planning_downsets(profile, &exact);
    g_autoptr(PsProgress) progress = ps_progress_new("frontier", setting->devices);
    GPtrArray *points = empty_points(setting->devices);
    double known_bytes = 0;
    for (guint i = 0; i < points->len; i++) {
        PsFrontierPoint *point = points->pdata[i];
        /* One more device may change nothing. */
        PsSetting one = *setting;
        ps_setting_use_devices(&one, point->devices);
        one.memory_bytes = i == 0 ? 1 : known_bytes - 1;
        g_autoptr(PsCosts) costs = ps_costs_new(profile, &one, &options->restrictions);
        if (i == 0 || ps_fits(costs, downsets, options->degrees)) {
            one.memory_bytes = 0;
            g_autoptr(PsCosts) none = ps_costs_new(profile, &one, &options->restrictions);
            known_bytes = ps_least_memory_bytes(none, downsets, options->degrees);
        }
        point->least_memory_bytes = known_bytes;
        ps_progress_step(progress, 1);
    }
    return points;
}

PsPlan *ps_fewest_devices_plan(const PsProfile *profile, const PsSetting *setting,
                               const PsPlannerOptions *options, double tps_s, GError **error)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    g_autoptr(PsSearch) search = ps_planning_search(planning, options->degrees);
    double load = tps_s / planning->costs->time_quantum_s;
    PsThreshold target = PS_NO_THRESHOLD;
    if (load < (double)target.numerator) {
        target.numerator = (gint64)load;
    }
    g_autoptr(PsLayout) layout = ps_search_within(search, NULL, target, TRUE);
    if (layout != NULL) {
        PsPlan *plan = ps_planning_plan(planning, layout);
        plan->optimal = FALSE; /* in devices, not in TPS */
        return plan;
    }
    g_autoptr(PsLayout) best = ps_planning_best(planning, error);
    if (best != NULL) {
        g_autoptr(PsPlan) plan = ps_planning_plan(planning, best);
        g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
        g_autofree char *devices = ps_counted(setting->devices, "device");
        ps_error(error, PS_ERROR_NEGATIVE,
                 "%s: no plan on %s reaches a TPS of %.10g s: the best is %.10g s", profile->path,
                 devices, tps_s, estimate->tps_s);
    }
    return NULL;
}
