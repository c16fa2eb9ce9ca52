#include "planner/frontier.h"

#include <math.h>

#include "planner/search/explain.h"
#include "planner/search/scope.h"
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
        point->least_memory_bytes = NAN;
        g_ptr_array_add(points, point);
    }
    return points;
}

/* Down from all devices: the best layout on k of them may use fewer; it then is the best on every
 * number in between, and its load a floor for all smaller ones. */
GPtrArray *ps_frontier_devices(const PsProfile *profile, const PsSetting *setting,
                               const PsPlannerOptions *options, gboolean *exact)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    g_autoptr(PsProgress) progress = ps_progress_new("frontier", setting->devices);
    GPtrArray *points = empty_points(setting->devices);
    *exact = planning->exact;
    PsThreshold floor = {0, 1, FALSE};
    for (guint devices = setting->devices; devices > 0;) {
        g_autoptr(PsLayout) layout = ps_planning_best_on(planning, devices, &floor);
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
                              const PsPlannerOptions *options, gboolean *exact)
{
    g_autoptr(PsDownsets) downsets = ps_planning_downsets(profile, exact);
    g_autoptr(PsCosts) all = ps_costs_new(profile, setting, &options->restrictions);
    g_autoptr(PsProgress) progress = ps_progress_new("frontier", setting->devices);
    GPtrArray *points = empty_points(setting->devices);
    double least_bytes = 0;
    for (guint begin = 0, end; begin < points->len; begin = end) {
        PsSetting some = *setting;
        ps_setting_use_devices(&some, begin + 1);
        some.memory_bytes = 0;
        g_autoptr(PsCosts) costs = ps_costs_new(profile, &some, &options->restrictions);
        least_bytes = ps_least_memory_bytes(costs, downsets, options->degrees, least_bytes);
        /* More devices may change nothing, up to the fewest that do with less. */
        guint fewest = ps_fewest_below(all, downsets, options->degrees, least_bytes);
        end = fewest > begin + 1 ? fewest - 1 : fewest == 0 ? points->len : begin + 1;
        for (guint i = begin; i < end; i++) {
            PsFrontierPoint *point = points->pdata[i];
            point->least_memory_bytes = least_bytes;
        }
        ps_progress_step(progress, end - begin);
    }
    return points;
}

static double layout_tps_s(const PsPlanning *planning, const PsLayout *layout)
{
    PsThreshold load = ps_layout_load(layout);
    return (double)load.numerator / (double)load.denominator * planning->costs->time_quantum_s;
}

static void refuse_target(PsPlanning *planning, double tps_s, GError **error)
{
    g_autoptr(PsLayout) best = ps_planning_best(planning, error);
    if (best == NULL) {
        return;
    }
    const PsCosts *costs = planning->costs;
    g_autofree char *devices = ps_counted(costs->setting.devices, "device");
    /* Digits enough to tell apart what threshold_of does. */
    ps_error(error, PS_ERROR_NEGATIVE,
             "%s: no plan on %s reaches a TPS of %.13g s: the best is %.13g s%s",
             costs->profile->path, devices, tps_s, layout_tps_s(planning, best),
             planning->exact ? "" : PS_TAKEN_TOGETHER);
}

/* The threshold of a target; one that a plan meets exactly is not lost to rounding. */
static PsThreshold threshold_of(const PsPlanning *planning, double tps_s)
{
    double load = tps_s * (1 + 1e-12) / planning->costs->time_quantum_s;
    gint64 parts = load < 1e12 ? 1000000 : 1;
    return load < (double)PS_NO_THRESHOLD.numerator
               ? (PsThreshold){(gint64)ceil(load * (double)parts), parts, FALSE}
               : PS_NO_THRESHOLD;
}

static gboolean meets(const PsPlanning *planning, const PsLayout *layout, double tps_s)
{
    PsThreshold load = ps_layout_load(layout), target = threshold_of(planning, tps_s);
    return (__int128)load.numerator * target.denominator <=
           (__int128)target.numerator * load.denominator;
}

/* Whether on fewer devices there is too much work for each. */
static gboolean work_asks_for(const PsPlanning *planning, guint devices, double tps_s)
{
    PsThreshold target = threshold_of(planning, tps_s);
    return devices == 1 ||
           (__int128)ps_rest_least_load(planning->rest, devices - 1) * target.denominator >
               target.numerator;
}

/* A layout tells how many devices there must be at the least. With levels that many may not do:
 * with fewer of them, other groups are cut. */
PsPlan *ps_fewest_devices_plan(const PsProfile *profile, const PsSetting *setting,
                               const PsPlannerOptions *options, double tps_s, gboolean *proven,
                               GError **error)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    PsSearch *search = ps_planning_search(planning, options->degrees);
    g_autoptr(PsLayout) layout =
        ps_search_within(search, NULL, threshold_of(planning, tps_s), FALSE);
    if (layout == NULL) {
        refuse_target(planning, tps_s, error);
        return NULL;
    }
    for (guint devices = layout->devices;; devices++) {
        PsSetting some = *setting;
        ps_setting_use_devices(&some, devices);
        g_autoptr(PsPlanning) fewer = ps_planning_new(profile, &some, options);
        g_autoptr(PsLayout) best = ps_planning_best_on(fewer, devices, NULL);
        if (devices == setting->devices || (best != NULL && meets(fewer, best, tps_s))) {
            *proven = planning->exact || work_asks_for(planning, devices, tps_s);
            return ps_planning_plan(fewer, best);
        }
    }
}
