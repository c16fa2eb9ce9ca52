#include "planner/search/explain.h"

#include <math.h>

#include "planner/search/layout-plan.h"
#include "planner/search/least.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

/* How far the search for the fewest devices goes: cells of its tables. */
#define MOST_CELLS (1 << 24)

/* What fits into some memory, for memories that fall once something fits. */
typedef struct {
    const PsCosts *costs;
    const PsDownsets *downsets;
    PsDegrees degrees;
    PsStageSolver *solver; /* of the last memory */
    PsRest *rest;          /* what was learned from layouts that fit */
} Fitting;

static void fitting_clear(Fitting *fitting)
{
    g_clear_pointer(&fitting->rest, ps_rest_free);
    g_clear_pointer(&fitting->solver, ps_stage_solver_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fitting, fitting_clear)

/* The layout that fits into `memory` on the fewest devices, whatever its load, or NULL. */
static PsLayout *fit(Fitting *fitting, gint64 memory)
{
    PsStageSolver *solver = ps_stage_solver_new(fitting->costs, fitting->downsets, memory, TRUE);
    PsRest *rest = ps_rest_new(fitting->costs, fitting->downsets, solver);
    if (fitting->rest != NULL) {
        ps_rest_take_over(rest, fitting->rest);
    }
    fitting_clear(fitting);
    fitting->solver = solver;
    fitting->rest = rest;
    g_autoptr(PsSearch) search =
        ps_search_new(fitting->costs, fitting->downsets, solver, rest, fitting->degrees);
    PsLayout *layout = ps_search_within(search, NULL, PS_NO_THRESHOLD, FALSE);
    if (layout != NULL) {
        ps_search_learn(search);
    }
    return layout;
}

static PsLayout *fit_into(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees,
                          gint64 memory)
{
    g_auto(Fitting) fitting = {costs, downsets, degrees, NULL, NULL};
    return fit(&fitting, memory);
}

gboolean ps_fits(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees)
{
    g_autoptr(PsLayout) layout = fit_into(costs, downsets, degrees, costs->memory);
    return layout != NULL;
}

/* ---- one layer ------------------------------------------------------------------------------ */

typedef struct {
    guint layer, degree; /* index, tensor-parallel degree at which it takes least */
    gint64 memory;
} LargeLayer;

/* What a layer takes at the least: alone, with one microbatch in flight. */
static LargeLayer least_alone(const PsCosts *costs, guint layer)
{
    LargeLayer least = {layer, 0, G_MAXINT64};
    for (guint t = 0; t < costs->n_degrees; t++) {
        const PsLayerCost *cost = ps_layer_cost(costs, layer, t);
        for (guint i = 0; i < cost->n_tmpcs; i++) {
            gint64 memory = cost->tmpcs[i].memory_per_microbatch + cost->tmpcs[i].memory_fixed;
            if (memory < least.memory) {
                least.degree = costs->degrees[t];
                least.memory = memory;
            }
        }
    }
    return least;
}

/* Over all the devices that share a replica of it. */
static double least_device_memory(const PsCosts *costs, guint layer)
{
    double least = INFINITY;
    for (guint t = 0; t < costs->n_degrees; t++) {
        const PsLayerCost *cost = ps_layer_cost(costs, layer, t);
        double memory = (double)(cost->min_memory_per_microbatch + cost->min_memory_fixed);
        if (cost->n_tmpcs > 0) {
            least = MIN(least, memory * costs->degrees[t]);
        }
    }
    return least;
}

/* Whether some layer fits by itself at no degree; the largest is the first that takes most. */
static gboolean layer_too_large(const PsCosts *costs, LargeLayer *largest)
{
    *largest = least_alone(costs, 0);
    for (guint v = 1; v < costs->profile->n_layers; v++) {
        LargeLayer next = least_alone(costs, v);
        if (next.memory > largest->memory) {
            *largest = next;
        }
    }
    return largest->memory > costs->memory;
}

/* ---- least memory --------------------------------------------------------------------------- */

/* A layout, and what its largest stage needs. */
typedef struct {
    PsLayout *layout;
    guint largest;
    gint64 memory;
} Fit;

static void find_largest(const PsCosts *costs, const PsDownsets *downsets, Fit *fit)
{
    g_autoptr(PsStageSolver) solver = ps_stage_solver_new(costs, downsets, 0, TRUE);
    fit->memory = -1;
    for (guint i = 0; i < fit->layout->n_stages; i++) {
        gint64 needed = ps_stage_least_memory(solver, &fit->layout->runs[i]);
        if (needed > fit->memory) {
            fit->memory = needed;
            fit->largest = i;
        }
    }
}

static gboolean try_memory(Fitting *fitting, gint64 memory, Fit *best)
{
    PsLayout *layout = fit(fitting, memory);
    if (layout == NULL) {
        return FALSE;
    }
    ps_layout_free(best->layout);
    best->layout = layout;
    find_largest(fitting->costs, fitting->downsets, best);
    return TRUE;
}

/* No layout fits into less: each layer takes its least somewhere, and all of them together have K
 * devices. */
static gint64 memory_bound(const PsCosts *costs)
{
    gint64 largest = 0;
    double sum = 0;
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        LargeLayer alone = least_alone(costs, v);
        largest = MAX(largest, alone.memory);
        sum += least_device_memory(costs, v);
    }
    /* The rounding of the sum must not lift it above the truth. */
    return MAX(largest, (gint64)(sum * (1 - 1e-9) / costs->setting.devices));
}

/* From `trial` on doubles until something fits, then alternately halves the gap and asks for
 * anything smaller than the best so far; the latter either is the proof or brings the memory of a
 * better layout. */
static Fit least_fit(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees,
                     gint64 trial)
{
    g_auto(Fitting) fitting = {costs, downsets, degrees, NULL, NULL};
    gint64 failed = MAX(costs->memory, memory_bound(costs) - 1);
    Fit best = {0};
    trial = MAX(trial, failed + 1);
    /* With memory enough, one device runs everything. */
    while (!try_memory(&fitting, trial, &best)) {
        failed = trial;
        trial = 2 * failed;
    }
    for (gboolean halve = TRUE; best.memory - failed > 1; halve = !halve) {
        trial = halve ? failed + (best.memory - failed) / 2 : best.memory - 1;
        if (!try_memory(&fitting, trial, &best)) {
            failed = trial;
        }
    }
    return best;
}

static gint64 memory_quanta(const PsCosts *costs, double bytes)
{
    return (gint64)floor(bytes / costs->memory_quantum_bytes + 0.5);
}

double ps_least_memory_bytes(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees,
                             double enough_bytes)
{
    Fit best = least_fit(costs, downsets, degrees, memory_quanta(costs, enough_bytes));
    ps_layout_free(best.layout);
    return best.memory * costs->memory_quantum_bytes;
}

guint ps_fewest_below(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees,
                      double bytes)
{
    gint64 memory = memory_quanta(costs, bytes) - 1;
    g_autoptr(PsLayout) layout = memory < 0 ? NULL : fit_into(costs, downsets, degrees, memory);
    return layout != NULL ? layout->devices : 0;
}

/* ---- fewest devices ------------------------------------------------------------------------- */

static guint largest_degree(const PsCosts *costs)
{
    guint largest = 1;
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        const PsLayer *layer = &costs->profile->layers[v];
        largest = MAX(largest, layer->sets[layer->n_sets - 1].degree);
    }
    return costs->restrictions.forbid_tensor_parallel ? 1 : largest;
}

/* No plan can use more: sum d <= N, and with d = 1 there are at most as many stages as layers. With
 * levels, which may ask for idle devices, there are no more than the cluster has. */
static guint64 most_useful_devices(const PsCosts *costs)
{
    const PsLevels *levels = &costs->setting.levels;
    if (levels->n > 1) {
        return levels->level[levels->n - 1].size;
    }
    guint most_sum = costs->setting.microbatches;
    if (costs->restrictions.forbid_data_parallel) {
        most_sum = MIN(most_sum, costs->profile->n_layers);
    }
    return (guint64)most_sum * largest_degree(costs);
}

static PsCosts *costs_with_devices(const PsCosts *costs, guint devices)
{
    PsSetting setting = costs->setting;
    ps_setting_use_devices(&setting, devices);
    return ps_costs_new(costs->profile, &setting, &costs->restrictions);
}

/* Devices on which a plan fits when there are `devices`, the fewest, or 0. */
static guint devices_needed(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees,
                            guint devices)
{
    g_autoptr(PsCosts) larger = costs_with_devices(costs, devices);
    LargeLayer largest;
    if (layer_too_large(larger, &largest)) {
        return 0;
    }
    g_autoptr(PsLayout) layout = fit_into(larger, downsets, degrees, larger->memory);
    return layout != NULL ? layout->devices : 0;
}

/* The search finds the fewest devices by itself, but its tables grow with K: so doubling. */
guint ps_fewest_devices(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees,
                        guint *tried, gboolean *exhausted)
{
    guint64 useful = most_useful_devices(costs);
    guint64 fronts =
        (guint64)downsets->n_downsets * ps_degrees_n_shapes(degrees, costs->n_divisors);
    guint64 affordable = MAX(MOST_CELLS / fronts, 2 * (guint64)costs->setting.devices);
    guint needed = 0, limit = (guint)MIN(useful, affordable);
    *tried = costs->setting.devices;
    while (needed == 0 && *tried < limit) {
        *tried = *tried > limit / 2 ? limit : 2 * *tried;
        needed = devices_needed(costs, downsets, degrees, *tried);
    }
    *exhausted = *tried >= useful;
    return needed;
}

/* ---- restrictions --------------------------------------------------------------------------- */

typedef struct {
    PsRestrictions restrictions;
    PsDegrees degrees;
} Space;

static gboolean lift_recompute(Space *space)
{
    gboolean set = space->restrictions.recompute != PS_RECOMPUTE_PER_LAYER;
    space->restrictions.recompute = PS_RECOMPUTE_PER_LAYER;
    return set;
}

static gboolean lift_tensor_parallel(Space *space)
{
    gboolean set = space->restrictions.forbid_tensor_parallel;
    space->restrictions.forbid_tensor_parallel = FALSE;
    return set;
}

static gboolean lift_data_parallel(Space *space)
{
    gboolean set = space->restrictions.forbid_data_parallel;
    space->restrictions.forbid_data_parallel = FALSE;
    return set;
}

static gboolean lift_degrees(Space *space)
{
    gboolean set = space->degrees != PS_DEGREES_ANY;
    space->degrees = PS_DEGREES_ANY;
    return set;
}

static const struct {
    const char *allowed;
    gboolean (*lift)(Space *space); /* FALSE where the restriction is not in force */
} switches[] = {
    {"recompute chosen per layer", lift_recompute},
    {"tensor parallelism", lift_tensor_parallel},
    {"data parallelism", lift_data_parallel},
    {"any data-parallel degrees", lift_degrees},
};

/* TPS of the best plan, NAN where there is none. */
static double best_tps_s(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees)
{
    if (!ps_fits(costs, downsets, degrees)) {
        return NAN;
    }
    g_autoptr(PsStageSolver) solver = ps_stage_solver_new(costs, downsets, costs->memory, FALSE);
    g_autoptr(PsRest) rest = ps_rest_new(costs, downsets, solver);
    g_autoptr(PsSearch) search = ps_search_new(costs, downsets, solver, rest, degrees);
    g_autoptr(PsLayout) layout = ps_search_best(search, NULL, NULL);
    PsThreshold load = ps_layout_load(layout);
    return (double)load.numerator / (double)load.denominator * costs->time_quantum_s;
}

/* ---- the message ---------------------------------------------------------------------------- */

static void add_least_memory(GString *text, const PsCosts *costs, const PsDownsets *downsets,
                             PsDegrees degrees)
{
    Fit best = least_fit(costs, downsets, degrees, 0);
    g_autoptr(PsLayout) layout = best.layout;
    const PsStageRun *run = &layout->runs[best.largest];
    g_autofree char *layers = ps_run_layers(costs, downsets, run);
    double needed_bytes = best.memory * costs->memory_quantum_bytes;
    g_autofree char *needs = ps_quantity_format_up(PS_BYTES, needed_bytes);
    g_string_append_printf(
        text,
        "the least that would do is %s (%.0f bytes) per device; in the layout that needs least, "
        "stage %u of 0-%u (%s; data-parallel %u, tensor-parallel %u, %u in flight) needs that much "
        "even with the smallest TMPCs.",
        needs, ceil(needed_bytes), best.largest, layout->n_stages - 1, layers, run->data_parallel,
        costs->degrees[run->degree], run->in_flight);
}

static void add_large_layer(GString *text, const PsCosts *costs)
{
    LargeLayer largest;
    if (!layer_too_large(costs, &largest)) {
        return;
    }
    const PsLayer *layer = &costs->profile->layers[largest.layer];
    g_autofree char *takes =
        ps_quantity_format(PS_BYTES, largest.memory * costs->memory_quantum_bytes);
    g_string_append_printf(text,
                           " Layer %" G_GINT64_FORMAT
                           " (%s) alone takes %s at the least, at tensor-parallel %u.",
                           layer->id, layer->name, takes, largest.degree);
}

static void add_fewest_devices(GString *text, const PsCosts *costs, const PsDownsets *downsets,
                               PsDegrees degrees, const char *memory)
{
    guint tried;
    gboolean exhausted;
    guint needed = ps_fewest_devices(costs, downsets, degrees, &tried, &exhausted);
    if (needed > 0) {
        g_autofree char *fewest = ps_counted(needed, "device");
        g_string_append_printf(text, " Of %s each, %s %s the fewest that would do.", memory, fewest,
                               needed == 1 ? "is" : "are");
    } else if (exhausted && costs->setting.levels.n > 1) {
        g_string_append_printf(text, " Of %s each, not even the cluster's %u would do.", memory,
                               tried);
    } else if (exhausted) {
        g_string_append_printf(text, " Of %s each, no number of devices would do (N = %u).", memory,
                               costs->setting.microbatches);
    } else {
        g_autofree char *most = ps_counted(tried, "device");
        g_string_append_printf(text, " Of %s each, even %s would not do.", memory, most);
    }
}

/* Returns whether there is a plan. */
static gboolean add_space(GString *text, const PsCosts *costs, const PsDownsets *downsets,
                          const Space *space, const char *allowed)
{
    g_autoptr(PsCosts) lifted = ps_costs_new(costs->profile, &costs->setting, &space->restrictions);
    double tps_s = best_tps_s(lifted, downsets, space->degrees);
    g_autofree char *tps = ps_quantity_format(PS_SECONDS, tps_s);
    g_string_append_printf(text, " With %s %s%s.", allowed,
                           isnan(tps_s) ? "nothing fits either" : "there is a plan of TPS ",
                           isnan(tps_s) ? "" : tps);
    return !isnan(tps_s);
}

/* Each restriction lifted by itself; where none of several helps, all of them. */
static void add_switches(GString *text, const PsCosts *costs, const PsDownsets *downsets,
                         PsDegrees degrees)
{
    Space none = {costs->restrictions, degrees};
    guint n_lifted = 0;
    gboolean helped = FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(switches); i++) {
        Space space = {costs->restrictions, degrees};
        if (switches[i].lift(&space)) {
            n_lifted++;
            helped |= add_space(text, costs, downsets, &space, switches[i].allowed);
            switches[i].lift(&none);
        }
    }
    if (n_lifted > 1 && !helped) {
        add_space(text, costs, downsets, &none, "all of these");
    }
}

char *ps_explain_no_fit(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees)
{
    GString *text = g_string_new(NULL);
    g_autofree char *memory = ps_quantity_format(PS_BYTES, costs->setting.memory_bytes);
    g_autofree char *devices = ps_counted(costs->setting.devices, "device");
    g_string_append_printf(text, "no plan fits %s of %s: ", devices, memory);
    add_least_memory(text, costs, downsets, degrees);
    add_large_layer(text, costs);
    add_fewest_devices(text, costs, downsets, degrees, memory);
    add_switches(text, costs, downsets, degrees);
    return g_string_free(text, FALSE);
}
