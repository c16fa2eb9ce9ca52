#include <math.h>
#include <string.h>

#include "planner/baselines/baselines.h"
#include "planner/search/complete.h"
#include "planner/baselines/repeats.h"

typedef struct {
    const PsProfile *profile;
    const PsSetting *setting;
    const PsCosts *costs; /* of the recompute rule at hand: all or none */
    PsInnerLayers inner;
    guint before, after; /* stages for the layers before and after the inner ones: 0 or 1 */
    PsPlan *best;
    PsEstimate *best_estimate;
    double least_memory_bytes; /* of the plans that do not fit */
    gboolean unplaced;         /* some would fit, but for the levels */
} Search;

/* ---- the layers of a stage ------------------------------------------------------------------ */

static void take_layers(PsStage *stage, guint first, guint end)
{
    stage->n_layers = end - first;
    stage->layers = g_new(guint, stage->n_layers);
    for (guint i = 0; i < stage->n_layers; i++) {
        stage->layers[i] = first + i;
    }
}

static PsPlan *cut_into(const Search *search, guint inner_stages)
{
    guint n_stages = search->before + inner_stages + search->after;
    PsPlan *plan = ps_plan_new(n_stages, search->setting);
    guint size = search->inner.n / inner_stages, larger = search->inner.n % inner_stages;
    guint end = 0;
    for (guint i = 0; i < n_stages; i++) {
        guint first = end;
        guint inner_done = i + 1 - MIN(i + 1, search->before);
        inner_done = MIN(inner_done, inner_stages);
        end = search->inner.first + size * inner_done + larger -
              MIN(larger, inner_stages - inner_done);
        if (i + 1 == n_stages) {
            end = search->profile->n_layers;
        }
        take_layers(&plan->stages[i], first, end);
    }
    return plan;
}

/* ---- which plan is better ------------------------------------------------------------------- */

static double sum_of_squares(const PsPlan *plan, const PsEstimate *estimate)
{
    double sum = 0;
    for (guint i = 0; i < plan->n_stages; i++) {
        sum += estimate->stages[i].tps_s * estimate->stages[i].tps_s;
    }
    return sum;
}

static gboolean better(const Search *search, const PsPlan *plan, const PsEstimate *estimate)
{
    if (search->best == NULL) {
        return TRUE;
    }
    const double ours[] = {estimate->tps_s, estimate->devices_used, estimate->sum_data_parallel,
                           plan->n_stages, sum_of_squares(plan, estimate)};
    const PsEstimate *best = search->best_estimate;
    const double theirs[] = {best->tps_s, best->devices_used, best->sum_data_parallel,
                             search->best->n_stages, sum_of_squares(search->best, best)};
    guint i = 0;
    while (i + 1 < G_N_ELEMENTS(ours) && ours[i] == theirs[i]) {
        i++;
    }
    return ours[i] < theirs[i];
}

static PsPlan *copy_plan(const PsPlan *plan)
{
    PsPlan *copy = ps_plan_new(plan->n_stages, &plan->setting);
    for (guint i = 0; i < plan->n_stages; i++) {
        const PsStage *stage = &plan->stages[i];
        copy->stages[i] = *stage;
        copy->stages[i].layers = g_memdup2(stage->layers, stage->n_layers * sizeof(guint));
        copy->stages[i].tmpcs = g_memdup2(stage->tmpcs, stage->n_layers * sizeof(guint));
    }
    return copy;
}

static void keep_better(Search *search, PsPlan *plan)
{
    if (search->costs->levels.n > 1 && !ps_complete_places(plan, search->costs, NULL)) {
        search->unplaced = TRUE;
        return;
    }
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, search->profile);
    if (better(search, plan, estimate)) {
        ps_plan_free(search->best);
        ps_estimate_free(search->best_estimate);
        search->best = copy_plan(plan);
        search->best_estimate = g_steal_pointer(&estimate);
    }
}

/* ---- degrees -------------------------------------------------------------------------------- */

static gboolean runs_at(const PsCosts *costs, guint degree)
{
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        if (ps_layer_cost(costs, v, degree)->n_tmpcs == 0) {
            return FALSE;
        }
    }
    return TRUE;
}

static void set_degrees(PsPlan *plan, guint d, guint t)
{
    for (guint i = 0; i < plan->n_stages; i++) {
        plan->stages[i].data_parallel = d;
        plan->stages[i].tensor_parallel = t;
    }
}

static void clear_tmpcs(PsPlan *plan)
{
    for (guint i = 0; i < plan->n_stages; i++) {
        g_clear_pointer(&plan->stages[i].tmpcs, g_free);
    }
}

static void note_memory(Search *search, const PsPlan *plan)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, search->profile);
    double needed_bytes = 0;
    for (guint i = 0; i < plan->n_stages; i++) {
        needed_bytes = MAX(needed_bytes, estimate->stages[i].memory_bytes);
    }
    search->least_memory_bytes = MIN(search->least_memory_bytes, needed_bytes);
}

/* In-flight bounds do not depend on a d that all stages share, so neither does what fits, nor,
 * where the TMPCs of a layer have the same weights, the best choice. */
static void try_data_parallel(Search *search, PsPlan *plan, guint t)
{
    const PsCosts *costs = search->costs;
    guint most_sum = MIN(search->setting->devices / t, search->setting->microbatches);
    clear_tmpcs(plan);
    for (guint i = 0; i < costs->n_divisors; i++) {
        guint d = costs->divisors[i];
        if ((guint64)d * plan->n_stages > most_sum) {
            return;
        }
        set_degrees(plan, d, t);
        if (!costs->same_resync) {
            clear_tmpcs(plan);
        }
        if (plan->stages[0].tmpcs == NULL && !ps_complete_plan(plan, costs)) {
            note_memory(search, plan);
            return;
        }
        keep_better(search, plan);
    }
}

static void try_all(Search *search)
{
    guint most_stages = MIN(search->setting->devices, search->setting->microbatches);
    guint apart = search->before + search->after;
    for (guint p = 1; p <= search->inner.n && p + apart <= most_stages; p++) {
        g_autoptr(PsPlan) plan = cut_into(search, p);
        for (guint t = 0; t < search->costs->n_degrees; t++) {
            if (runs_at(search->costs, t)) {
                try_data_parallel(search, plan, search->costs->degrees[t]);
            }
        }
    }
}

static void try_recompute(Search *search, const PsRestrictions *restrictions)
{
    static const PsRecompute rules[] = {PS_RECOMPUTE_NONE, PS_RECOMPUTE_ALL};
    for (guint i = 0; i < G_N_ELEMENTS(rules); i++) {
        PsRestrictions one = *restrictions;
        if (one.recompute == PS_RECOMPUTE_ALL_OR_NONE) {
            one.recompute = rules[i];
        }
        if (one.recompute == rules[i]) {
            g_autoptr(PsCosts) costs = ps_costs_new(search->profile, search->setting, &one);
            search->costs = costs;
            try_all(search);
        }
    }
}

static PsBaselineResult run(Search *search, const PsPlannerOptions *options)
{
    search->least_memory_bytes = INFINITY;
    try_recompute(search, &options->restrictions);
    ps_estimate_free(search->best_estimate);
    if (search->best == NULL && search->unplaced) {
        return (PsBaselineResult){
            NULL, NAN, g_strdup("no places keep its tensor-parallel groups within the levels")};
    }
    return (PsBaselineResult){search->best, search->best != NULL ? NAN : search->least_memory_bytes,
                              NULL};
}

PsBaselineResult ps_baseline_equi(const PsProfile *profile, const PsSetting *setting,
                                  const PsPlannerOptions *options)
{
    Search search = {.profile = profile, .setting = setting, .inner = ps_inner_layers(profile)};
    return run(&search, options);
}

PsBaselineResult ps_baseline_equi_apart(const PsProfile *profile, const PsSetting *setting,
                                        const PsPlannerOptions *options)
{
    Search search = {.profile = profile, .setting = setting, .inner = ps_inner_layers(profile)};
    search.before = search.inner.first > 0;
    search.after = search.inner.first + search.inner.n < profile->n_layers;
    guint least = search.before + 1 + search.after;
    if (least == 1) {
        return (PsBaselineResult){NULL, NAN,
                                  g_strdup("no layers stand before or after the repeated ones")};
    }
    if (MIN(setting->devices, setting->microbatches) < least) {
        return (PsBaselineResult){
            NULL, NAN,
            g_strdup_printf("takes %u stages or more, so as many devices and microbatches", least)};
    }
    return run(&search, options);
}
