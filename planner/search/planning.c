#include "planner/search/planning.h"

#include "planner/search/contraction.h"
#include "planner/search/explain.h"
#include "planner/search/layout-plan.h"
#include "planner/search/scope.h"
#include "sim/base/error.h"

/* Downsets of a contracted graph: pairs of them are what planning takes its time for. */
#define MOST_CONTRACTED 4000

/* Of the graph contracted as little as it must be. */
static PsDownsets *contract(const PsProfile *profile)
{
    g_autoptr(PsContraction) contraction = ps_contraction_new(profile);
    PsDownsets *best = NULL;
    guint limit = MAX(MOST_CONTRACTED, 2 * profile->n_layers), few = 1, many = profile->n_layers;
    while (few < many || best == NULL) {
        guint n_groups = few + (many - few) / 2;
        g_autofree guint *group_of = ps_contraction_groups(contraction, n_groups);
        PsDownsets *downsets = ps_downsets_contracted(profile, group_of, limit);
        if (downsets != NULL) {
            ps_downsets_free(best);
            best = downsets;
            few = n_groups + 1;
        } else {
            many = n_groups;
        }
    }
    return best;
}

PsDownsets *ps_planning_downsets(const PsProfile *profile, gboolean *exact)
{
    PsDownsets *downsets = ps_downsets_new(profile, PS_MOST_DOWNSETS);
    *exact = downsets != NULL;
    return *exact ? downsets : contract(profile);
}

PsPlanning *ps_planning_new(const PsProfile *profile, const PsSetting *setting,
                            const PsPlannerOptions *options)
{
    PsPlanning *planning = g_new0(PsPlanning, 1);
    planning->options = options != NULL ? *options : (PsPlannerOptions){0};
    planning->downsets = ps_planning_downsets(profile, &planning->exact);
    planning->costs = ps_costs_new(profile, setting, &planning->options.restrictions);
    planning->solver =
        ps_stage_solver_new(planning->costs, planning->downsets, planning->costs->memory, FALSE);
    planning->rest = ps_rest_new(planning->costs, planning->downsets, planning->solver);
    return planning;
}

void ps_planning_free(PsPlanning *planning)
{
    if (planning == NULL) {
        return;
    }
    for (guint i = 0; i < PS_N_DEGREES; i++) {
        ps_search_free(planning->searches[i]);
    }
    ps_rest_free(planning->rest);
    ps_stage_solver_free(planning->solver);
    ps_costs_free(planning->costs);
    ps_downsets_free(planning->downsets);
    g_free(planning);
}

PsSearch *ps_planning_search(PsPlanning *planning, PsDegrees degrees)
{
    PsSearch **search = &planning->searches[degrees];
    if (*search == NULL) {
        *search = ps_search_new(planning->costs, planning->downsets, planning->solver,
                                planning->rest, degrees);
    }
    ps_search_set_devices(*search, planning->costs->setting.devices);
    return *search;
}

static gboolean is_nested(const PsPlanning *planning, const PsLayout *layout)
{
    const PsCosts *costs = planning->costs;
    guint shape = 0;
    for (guint i = layout->n_stages; i-- > 0 && shape != PS_NO_SHAPE;) {
        guint divisor = 0;
        while (costs->divisors[divisor] != layout->runs[i].data_parallel) {
            divisor++;
        }
        shape = ps_degrees_next(PS_DEGREES_NESTED, shape, costs->divisors, divisor);
    }
    return shape != PS_NO_SHAPE;
}

/* ---- the best, nested if need be ------------------------------------------------------------ */

/* One that ties with the best but is nested, if there is any: the best of the nested by the same
 * order. */
static PsLayout *nested_tie(PsPlanning *planning, const PsLayout *best, guint devices)
{
    PsSearch *nested = ps_planning_search(planning, PS_DEGREES_NESTED);
    ps_search_set_devices(nested, devices);
    return ps_search_within(nested, NULL, ps_threshold_tied(ps_layout_load(best)), TRUE);
}

PsLayout *ps_planning_best_on(PsPlanning *planning, guint devices, const PsThreshold *floor)
{
    gboolean optimist = planning->options.degrees == PS_DEGREES_ANY &&
                        planning->costs->setting.in_flight == PS_IN_FLIGHT_PIPER;
    PsSearch *search = ps_planning_search(planning, planning->options.degrees);
    ps_search_set_devices(search, devices);
    g_autoptr(PsLayout) best = ps_search_best(search, NULL, floor);
    g_autoptr(PsLayout) nested = NULL;
    if (best != NULL && optimist && !is_nested(planning, best)) {
        nested = nested_tie(planning, best, devices);
    }
    return nested != NULL ? g_steal_pointer(&nested) : g_steal_pointer(&best);
}

static void explain(const PsPlanning *planning, GError **error)
{
    g_autofree char *why =
        ps_explain_no_fit(planning->costs, planning->downsets, planning->options.degrees);
    ps_error(error, PS_ERROR_NEGATIVE, "%s: %s%s", planning->costs->profile->path, why,
             planning->exact ? "" : PS_TAKEN_TOGETHER);
}

PsLayout *ps_planning_best(PsPlanning *planning, GError **error)
{
    PsLayout *best = ps_planning_best_on(planning, planning->costs->setting.devices, NULL);
    if (best == NULL) {
        explain(planning, error);
    }
    return best;
}

PsLayout *ps_planning_nested(PsPlanning *planning, const PsLayout *best)
{
    PsSearch *search = ps_planning_search(planning, PS_DEGREES_NESTED);
    PsThreshold floor = ps_layout_load(best);
    return ps_search_best(search, NULL, &floor);
}

/* Whether rounding to quanta cannot have hidden a better one by more than 1e-9: each stage is a sum
 * of a few for every layer. (Only files whose times span many orders of magnitude come near.) */
static gboolean is_exact(const PsPlanning *planning, PsThreshold load)
{
    gint64 n_terms = 4 * (gint64)planning->costs->profile->n_layers;
    return planning->exact && (load.numerator == 0 || load.numerator > n_terms * 1000000000);
}

PsPlan *ps_planning_plan(PsPlanning *planning, const PsLayout *layout)
{
    PsPlan *plan = ps_layout_to_plan(layout, planning->costs, planning->solver);
    PsThreshold load = ps_layout_load(layout);
    plan->optimal = is_exact(planning, load);
    plan->among = ps_scope_text(&planning->options);
    if (!planning->exact) {
        double bound = (double)ps_rest_least_load(planning->rest, planning->costs->setting.devices);
        double gap = (double)load.numerator / (double)load.denominator / bound - 1;
        plan->optimal = gap < 1e-12; /* as the work is spread evenly, in any order */
        plan->gap = plan->optimal ? 0 : gap;
    }
    return plan;
}

/* ---- the n best (Lawler 1972) --------------------------------------------------------------- */

/* The best layout of a subspace. Taking it out leaves one smaller subspace for each of its stages
 * that is not fixed: the same stages after it, and another one in its place. */
typedef struct {
    PsLayout *layout;
    double squares;
    guint n_fixed;
    GArray *excluded; /* PsStageRun, in place of the stage before the fixed ones */
} Candidate;

static void candidate_free(gpointer data)
{
    Candidate *candidate = data;
    ps_layout_free(candidate->layout);
    g_array_unref(candidate->excluded);
    g_free(candidate);
}

static gint compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static gint compare_runs(const PsLayout *a, const PsLayout *b)
{
    for (guint i = 0; i < a->n_stages && i < b->n_stages; i++) {
        const PsStageRun *x = &a->runs[i], *y = &b->runs[i];
        gint order = compare_numbers(x->lower, y->lower);
        order = order != 0 ? order : compare_numbers(x->degree, y->degree);
        order = order != 0 ? order : compare_numbers(x->data_parallel, y->data_parallel);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

static gint compare_loads(const PsLayout *a, const PsLayout *b)
{
    PsThreshold x = ps_layout_load(a), y = ps_layout_load(b);
    __int128 left = (__int128)x.numerator * y.denominator;
    __int128 right = (__int128)y.numerator * x.denominator;
    return (left > right) - (left < right);
}

static gint compare_candidates(const Candidate *a, const Candidate *b)
{
    const gint orders[] = {
        compare_loads(a->layout, b->layout),
        compare_numbers(a->layout->devices, b->layout->devices),
        compare_numbers(a->layout->sum_data_parallel, b->layout->sum_data_parallel),
        compare_numbers(a->layout->n_stages, b->layout->n_stages),
        compare_numbers(a->squares, b->squares),
        compare_runs(a->layout, b->layout),
    };
    for (guint i = 0; i < G_N_ELEMENTS(orders); i++) {
        if (orders[i] != 0) {
            return orders[i];
        }
    }
    return 0;
}

/* Solves a subspace and queues its best layout, if it has one. Takes excluded over. */
static void add_candidate(GPtrArray *queue, PsSearch *search, const PsLayout *base, guint n_fixed,
                          GArray *excluded)
{
    PsSubspace subspace = {base, n_fixed, (const PsStageRun *)(void *)excluded->data,
                           excluded->len};
    PsThreshold floor = base != NULL ? ps_layout_load(base) : PS_NO_THRESHOLD;
    PsLayout *layout = ps_search_best(search, &subspace, base != NULL ? &floor : NULL);
    if (layout == NULL) {
        g_array_unref(excluded);
        return;
    }
    Candidate *candidate = g_new0(Candidate, 1);
    *candidate = (Candidate){layout, 0, n_fixed, excluded};
    for (guint i = 0; i < layout->n_stages; i++) {
        double load = (double)layout->loads[i] / layout->runs[i].data_parallel;
        candidate->squares += load * load;
    }
    g_ptr_array_add(queue, candidate);
}

static Candidate *take_best(GPtrArray *queue)
{
    guint best = 0;
    for (guint i = 1; i < queue->len; i++) {
        if (compare_candidates(queue->pdata[i], queue->pdata[best]) < 0) {
            best = i;
        }
    }
    return g_ptr_array_steal_index(queue, best);
}

static void split(GPtrArray *queue, PsSearch *search, const Candidate *taken)
{
    const PsLayout *layout = taken->layout;
    for (guint n_fixed = taken->n_fixed; n_fixed < layout->n_stages; n_fixed++) {
        GArray *excluded = n_fixed == taken->n_fixed
                               ? g_array_copy(taken->excluded)
                               : g_array_new(FALSE, FALSE, sizeof(PsStageRun));
        g_array_append_val(excluded, layout->runs[layout->n_stages - 1 - n_fixed]);
        add_candidate(queue, search, layout, n_fixed, excluded);
    }
}

static gboolean same_layout(const PsLayout *a, const PsLayout *b)
{
    return a->n_stages == b->n_stages && compare_runs(a, b) == 0;
}

GPtrArray *ps_planning_top(PsPlanning *planning, guint n, GError **error)
{
    PsLayout *best = ps_planning_best(planning, error);
    if (best == NULL) {
        return NULL;
    }
    GPtrArray *top = g_ptr_array_new_with_free_func((GDestroyNotify)ps_layout_free);
    g_ptr_array_add(top, best);
    PsSearch *search = ps_planning_search(planning, planning->options.degrees);
    g_autoptr(GPtrArray) queue = g_ptr_array_new_with_free_func(candidate_free);
    add_candidate(queue, search, NULL, 0, g_array_new(FALSE, FALSE, sizeof(PsStageRun)));
    while (top->len < n && queue->len > 0) {
        Candidate *taken = take_best(queue);
        if (!same_layout(taken->layout, best)) {
            g_ptr_array_add(top, ps_layout_copy(taken->layout));
        }
        split(queue, search, taken);
        candidate_free(taken);
    }
    return top;
}
