#include "planner/search/search.h"

#include <math.h>

typedef __int128 Wide;

#define UNLIMITED (G_MAXINT64 / 4)

/* One way to lay out a downset. */
typedef struct {
    guint sum_data_parallel, devices;
    guint in_flight; /* y of the first stage */
    guint window;    /* microbatches that it keeps from earlier stages: s or u */
    guint n_stages;
    double squares;         /* sum of squared loads */
    gint64 load;            /* load·d of the first stage */
    guint lower;            /* the first stage is this downset \ lower ... */
    guint rest_shape, rest; /* ... on top of this entry of lower's front of this shape */
    guint data_parallel, degree;
} Entry;

/* One more stage: its d and the shape of the degrees after it. */
typedef struct {
    guint divisor; /* index into costs->divisors */
    guint shape;
} Transition;

struct PsSearch {
    const PsCosts *costs;
    const PsDownsets *downsets;
    PsStageSolver *solver;
    PsStageWalk *walk;
    PsDegrees degrees;
    gboolean least_d_is_best; /* on top of a given layout, of those within the threshold */
    guint n_shapes;
    Transition *transitions; /* those of shape i are [first_transition[i] ..], smallest d first */
    guint *first_transition; /* [n_shapes + 1] */
    GArray **fronts;         /* [n_downsets][n_shapes] of Entry: s ascending, devices descending */
    Wide *remaining_work;    /* [n_downsets]: least device-time of the layers outside */
    guint devices;
    const PsSubspace *subspace;
    /* Under the threshold at hand: */
    gint64 *caps;        /* [n_divisors]: largest load·d within it */
    guint *most_devices; /* [n_downsets]: what a layout may use and leave enough for the rest */
    gboolean break_ties;
};

PsLayout *ps_layout_copy(const PsLayout *layout)
{
    PsLayout *copy = g_memdup2(layout, sizeof *layout);
    copy->runs = g_memdup2(layout->runs, layout->n_stages * sizeof *layout->runs);
    copy->loads = g_memdup2(layout->loads, layout->n_stages * sizeof *layout->loads);
    return copy;
}

void ps_layout_free(PsLayout *layout)
{
    if (layout == NULL) {
        return;
    }
    g_free(layout->runs);
    g_free(layout->loads);
    g_free(layout);
}

PsThreshold ps_layout_load(const PsLayout *layout)
{
    PsThreshold most = {0, 1, FALSE};
    for (guint i = 0; i < layout->n_stages; i++) {
        gint64 d = layout->runs[i].data_parallel;
        if ((Wide)layout->loads[i] * most.denominator > (Wide)most.numerator * d) {
            most = (PsThreshold){layout->loads[i], d, FALSE};
        }
    }
    return most;
}

/* Device-time that a layer takes at the least: t·p, whatever the degree. */
static Wide least_work(const PsCosts *costs, guint layer)
{
    Wide least = -1;
    for (guint t = 0; t < costs->n_degrees; t++) {
        const PsLayerCost *cost = ps_layer_cost(costs, layer, t);
        Wide work = (Wide)costs->degrees[t] * cost->min_time;
        if (cost->n_tmpcs > 0 && (least < 0 || work < least)) {
            least = work;
        }
    }
    return least;
}

static void list_transitions(PsSearch *search)
{
    const PsCosts *costs = search->costs;
    g_autoptr(GArray) transitions = g_array_new(FALSE, FALSE, sizeof(Transition));
    search->first_transition = g_new(guint, search->n_shapes + 1);
    for (guint shape = 0; shape < search->n_shapes; shape++) {
        search->first_transition[shape] = transitions->len;
        for (guint i = 0; i < costs->n_divisors; i++) {
            guint next = ps_degrees_next(search->degrees, shape, costs->divisors, i);
            if (next != PS_NO_SHAPE) {
                Transition transition = {i, next};
                g_array_append_val(transitions, transition);
            }
        }
    }
    search->first_transition[search->n_shapes] = transitions->len;
    search->transitions = g_memdup2(transitions->data, transitions->len * sizeof(Transition));
}

gint64 ps_least_load(const PsCosts *costs)
{
    Wide work = 0;
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        work += least_work(costs, v);
    }
    return (gint64)(work / costs->setting.devices);
}

PsSearch *ps_search_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver,
                        PsDegrees degrees)
{
    PsSearch *search = g_new0(PsSearch, 1);
    search->costs = costs;
    search->downsets = downsets;
    search->solver = solver;
    search->walk = ps_stage_walk_new(costs, downsets);
    search->caps = g_new(gint64, costs->n_divisors);
    search->most_devices = g_new(guint, downsets->n_downsets);
    search->degrees = degrees;
    search->devices = costs->setting.devices;
    search->least_d_is_best =
        degrees == PS_DEGREES_ANY && costs->setting.in_flight == PS_IN_FLIGHT_PIPER;
    search->n_shapes = ps_degrees_n_shapes(degrees, costs->n_divisors);
    list_transitions(search);
    gsize n_fronts = (gsize)downsets->n_downsets * search->n_shapes;
    search->fronts = g_new(GArray *, n_fronts);
    for (gsize i = 0; i < n_fronts; i++) {
        search->fronts[i] = g_array_new(FALSE, FALSE, sizeof(Entry));
    }
    search->remaining_work = g_new0(Wide, downsets->n_downsets);
    for (guint i = 0; i < downsets->n_downsets; i++) {
        for (guint v = 0; v < costs->profile->n_layers; v++) {
            if (!ps_set_has(ps_downset(downsets, i), v)) {
                search->remaining_work[i] += least_work(costs, v);
            }
        }
    }
    return search;
}

void ps_search_set_devices(PsSearch *search, guint devices)
{
    g_assert(devices <= search->costs->setting.devices);
    search->devices = devices;
}

static GArray *front_at(const PsSearch *search, guint downset, guint shape)
{
    return search->fronts[(gsize)downset * search->n_shapes + shape];
}

void ps_search_free(PsSearch *search)
{
    if (search == NULL) {
        return;
    }
    for (gsize i = 0; i < (gsize)search->downsets->n_downsets * search->n_shapes; i++) {
        g_array_unref(search->fronts[i]);
    }
    ps_stage_walk_free(search->walk);
    g_free(search->fronts);
    g_free(search->transitions);
    g_free(search->first_transition);
    g_free(search->remaining_work);
    g_free(search->caps);
    g_free(search->most_devices);
    g_free(search);
}

/* ---- one threshold ------------------------------------------------------------------------------
 */

/* floor(T·multiplier), or the largest integer below T·multiplier where the threshold is strict. */
static gint64 scale(PsThreshold threshold, gint64 multiplier)
{
    Wide product = (Wide)threshold.numerator * multiplier - (threshold.strict ? 1 : 0);
    Wide cap = product < 0 ? -1 : product / threshold.denominator;
    return (gint64)MIN(cap, (Wide)UNLIMITED);
}

static void apply_threshold(PsSearch *search, PsThreshold threshold)
{
    for (guint i = 0; i < search->costs->n_divisors; i++) {
        search->caps[i] = scale(threshold, search->costs->divisors[i]);
    }
    /* Every stage has t·(sum of p) <= T·d·t, so the layers outside need work/T devices. */
    guint devices = search->devices;
    for (guint i = 0; i < search->downsets->n_downsets; i++) {
        Wide need = 0;
        if (search->remaining_work[i] > 0) {
            need = threshold.numerator == 0 ? (Wide)devices + 1
                                            : (search->remaining_work[i] * threshold.denominator +
                                               threshold.numerator - 1) /
                                                  threshold.numerator;
        }
        need = MAX(need, i + 1 < search->downsets->n_downsets ? 1 : 0);
        search->most_devices[i] = need > devices ? 0 : devices - (guint)need;
        for (guint shape = 0; shape < search->n_shapes; shape++) {
            g_array_set_size(front_at(search, i, shape), 0);
        }
    }
}

/* TRUE if a is at least as good as b for every continuation. */
static gboolean dominates(const PsSearch *search, const Entry *a, const Entry *b)
{
    if (a->sum_data_parallel > b->sum_data_parallel || a->devices > b->devices ||
        a->window > b->window) {
        return FALSE;
    }
    if (!search->break_ties || a->sum_data_parallel < b->sum_data_parallel ||
        a->devices < b->devices) {
        return TRUE;
    }
    return a->n_stages < b->n_stages || (a->n_stages == b->n_stages && a->squares <= b->squares);
}

/* Adds an entry to a front unless one there dominates it; drops those that it dominates. */
static void add_entry(const PsSearch *search, GArray *front, const Entry *entry)
{
    Entry *entries = (Entry *)(void *)front->data;
    guint kept = 0, at = 0;
    for (guint i = 0; i < front->len; i++) {
        if (dominates(search, &entries[i], entry)) {
            return; /* then the new one dominated none before it: nothing was moved */
        }
        if (dominates(search, entry, &entries[i])) {
            continue;
        }
        entries[kept++] = entries[i];
        at += entries[kept - 1].sum_data_parallel < entry->sum_data_parallel;
    }
    g_array_set_size(front, kept);
    g_array_insert_vals(front, at, entry, 1);
}

/* Quick look before a knapsack is solved for an entry that could not stay. */
static gboolean hopeless(const PsSearch *search, const GArray *front, const Entry *entry)
{
    for (guint i = 0; i < front->len; i++) {
        const Entry *other = &g_array_index(front, Entry, i);
        if (other->sum_data_parallel > entry->sum_data_parallel) {
            return FALSE;
        }
        gboolean equal = other->sum_data_parallel == entry->sum_data_parallel &&
                         other->devices == entry->devices;
        if (other->devices <= entry->devices && other->window <= entry->window &&
            !(search->break_ties && equal && entry->n_stages <= other->n_stages)) {
            return TRUE;
        }
    }
    return FALSE;
}

/* Adds the numbers of a stage with d replicas to those of the stages after it. */
static void count_stage(const PsSearch *search, Entry *entry, guint d, guint t)
{
    entry->in_flight = 1 + (entry->window + d - 1) / d;
    entry->sum_data_parallel += d;
    entry->devices += d * t;
    entry->n_stages++;
    entry->window = search->costs->setting.in_flight == PS_IN_FLIGHT_PIPER
                        ? entry->sum_data_parallel
                        : entry->in_flight * d;
}

/* First divisor d at which the stage's time alone is within the threshold, or n_divisors. */
static guint least_divisor(const PsSearch *search, const PsStageSums *sums)
{
    guint i = 0;
    while (i < search->costs->n_divisors &&
           sums->fast_time + sums->edges + (search->costs->divisors[i] - 1) * sums->resync >
               search->caps[i]) {
        i++;
    }
    return i;
}

/* One layout of the lower downset, and the d that may stand on top of it. */
typedef struct {
    guint shape, index;
    const Entry *entry;
    const Transition *first, *end;
} Rest;

/* Where layouts of a subspace begin: on top of its fixed stages. */
static guint start_downset(const PsSubspace *subspace)
{
    return subspace->n_fixed == 0
               ? 0
               : subspace->base->runs[subspace->base->n_stages - subspace->n_fixed].upper;
}

/* Whether the subspace leaves out this stage with this d. */
static gboolean excluded(const PsSearch *search, const PsStageRun *stage, guint d)
{
    const PsSubspace *subspace = search->subspace;
    if (subspace == NULL || stage->lower != start_downset(subspace)) {
        return FALSE;
    }
    for (guint i = 0; i < subspace->n_excluded; i++) {
        const PsStageRun *one = &subspace->excluded[i];
        if (one->upper == stage->upper && one->degree == stage->degree && one->data_parallel == d) {
            return TRUE;
        }
    }
    return FALSE;
}

/* Puts the stage, on t devices per replica, on top of a layout of the lower downset. */
static void put_on_top(PsSearch *search, const PsStageRun *stage, const PsStageSums *sums,
                       const Rest *rest)
{
    const PsCosts *costs = search->costs;
    guint most_sum = MIN(search->devices, costs->setting.microbatches);
    for (const Transition *next = rest->first; next < rest->end; next++) {
        guint d = costs->divisors[next->divisor];
        Entry entry = {.sum_data_parallel = rest->entry->sum_data_parallel,
                       .devices = rest->entry->devices,
                       .window = rest->entry->window,
                       .n_stages = rest->entry->n_stages};
        count_stage(search, &entry, d, costs->degrees[stage->degree]);
        if (entry.sum_data_parallel > most_sum ||
            entry.devices > search->most_devices[stage->upper]) {
            return; /* a larger d is worse in both */
        }
        GArray *front = front_at(search, stage->upper, next->shape);
        if (entry.window > costs->setting.microbatches || hopeless(search, front, &entry) ||
            excluded(search, stage, d)) {
            continue;
        }
        PsStageRun run = *stage;
        run.data_parallel = d;
        run.in_flight = entry.in_flight;
        gint64 cap = search->caps[next->divisor];
        entry.load = ps_stage_load_within(search->solver, &run, sums, cap);
        if (entry.load > cap) {
            continue;
        }
        if (search->break_ties) {
            entry.load = ps_stage_load(search->solver, &run, sums);
        }
        double load = (double)entry.load / d;
        entry.squares = rest->entry->squares + load * load;
        entry.lower = stage->lower;
        entry.rest_shape = rest->shape;
        entry.rest = rest->index;
        entry.data_parallel = d;
        entry.degree = stage->degree;
        add_entry(search, front, &entry);
        if (search->least_d_is_best) {
            return; /* a larger one would be dominated */
        }
    }
}

/* Tries the stage on top of every layout of its lower downset. */
static void put_on_all(PsSearch *search, const PsStageRun *stage, const PsStageSums *sums)
{
    guint first_divisor = least_divisor(search, sums);
    if (first_divisor == search->costs->n_divisors) {
        return;
    }
    Rest rest;
    for (rest.shape = 0; rest.shape < search->n_shapes; rest.shape++) {
        const GArray *front = front_at(search, stage->lower, rest.shape);
        if (front->len == 0) {
            continue;
        }
        rest.first = search->transitions + search->first_transition[rest.shape];
        rest.end = search->transitions + search->first_transition[rest.shape + 1];
        while (rest.first < rest.end && rest.first->divisor < first_divisor) {
            rest.first++;
        }
        for (rest.index = 0; rest.first < rest.end && rest.index < front->len; rest.index++) {
            rest.entry = &g_array_index(front, Entry, rest.index);
            put_on_top(search, stage, sums, &rest);
        }
    }
}

static gboolean reached(const PsSearch *search, guint downset)
{
    for (guint shape = 0; shape < search->n_shapes; shape++) {
        if (front_at(search, downset, shape)->len > 0) {
            return TRUE;
        }
    }
    return FALSE;
}

/* Tries every stage on top of the layouts of one downset. */
static void extend_layouts(PsSearch *search, guint lower)
{
    const PsCosts *costs = search->costs;
    gint64 largest_cap = search->caps[costs->n_divisors - 1];
    guint least_in_flight = lower == 0 ? 1 : 2; /* y = ceil(s/d), and later stages add to s */
    const PsStageSums *sums;
    PsStageRun stage = {.lower = lower};
    ps_stage_walk_begin(search->walk, lower);
    while (ps_stage_walk_next(search->walk, &stage.upper, &sums)) {
        gboolean any = FALSE;
        for (stage.degree = 0; stage.degree < costs->n_degrees; stage.degree++) {
            /* Edge costs may fall as a stage grows, times and memory only rise. */
            const PsStageSums *at_degree = &sums[stage.degree];
            if (at_degree->possible && at_degree->fast_time <= largest_cap &&
                ps_stage_may_fit(search->solver, at_degree, least_in_flight)) {
                any = TRUE;
                put_on_all(search, &stage, at_degree);
            }
        }
        if (!any) {
            ps_stage_walk_prune(search->walk);
        }
    }
}

/* Fewest devices, then as `dominates` orders them. */
static const Entry *best_entry(const PsSearch *search, guint downset)
{
    const Entry *best = NULL;
    for (guint shape = 0; shape < search->n_shapes; shape++) {
        const GArray *front = front_at(search, downset, shape);
        for (guint i = 0; i < front->len; i++) {
            const Entry *entry = &g_array_index(front, Entry, i);
            if (best == NULL || entry->devices < best->devices ||
                (entry->devices == best->devices && !dominates(search, best, entry))) {
                best = entry;
            }
        }
    }
    return best;
}

static PsLayout *trace_layout(const PsSearch *search)
{
    guint upper = search->downsets->n_downsets - 1;
    const Entry *entry = best_entry(search, upper);
    if (entry == NULL) {
        return NULL;
    }
    PsLayout *layout = g_new0(PsLayout, 1);
    layout->n_stages = entry->n_stages;
    layout->devices = entry->devices;
    layout->sum_data_parallel = entry->sum_data_parallel;
    layout->runs = g_new0(PsStageRun, layout->n_stages);
    layout->loads = g_new0(gint64, layout->n_stages);
    guint n_fixed = search->subspace != NULL ? search->subspace->n_fixed : 0;
    guint n_found = layout->n_stages - n_fixed;
    for (guint i = 0; i < n_found; i++) {
        guint d = entry->data_parallel;
        layout->runs[i] = (PsStageRun){entry->lower, upper, entry->degree, d, entry->in_flight};
        layout->loads[i] = entry->load;
        upper = entry->lower;
        entry = &g_array_index(front_at(search, upper, entry->rest_shape), Entry, entry->rest);
    }
    for (guint i = 0; i < n_fixed; i++) {
        const PsLayout *base = search->subspace->base;
        layout->runs[n_found + i] = base->runs[base->n_stages - n_fixed + i];
        layout->loads[n_found + i] = base->loads[base->n_stages - n_fixed + i];
    }
    return layout;
}

static guint divisor_index(const PsCosts *costs, guint d)
{
    guint i = 0;
    while (costs->divisors[i] != d) {
        i++;
    }
    return i;
}

/* Puts the layout that all others are built on into its front: the fixed stages, or nothing. FALSE
 * where a fixed stage is not within the threshold or the class. */
static gboolean begin(PsSearch *search)
{
    const PsSubspace *subspace = search->subspace;
    Entry entry = {0};
    guint shape = 0;
    for (guint i = 0; subspace != NULL && i < subspace->n_fixed; i++) {
        guint stage = subspace->base->n_stages - 1 - i;
        const PsStageRun *run = &subspace->base->runs[stage];
        guint divisor = divisor_index(search->costs, run->data_parallel);
        double load = (double)subspace->base->loads[stage] / run->data_parallel;
        shape = ps_degrees_next(search->degrees, shape, search->costs->divisors, divisor);
        if (shape == PS_NO_SHAPE || subspace->base->loads[stage] > search->caps[divisor]) {
            return FALSE;
        }
        count_stage(search, &entry, run->data_parallel, search->costs->degrees[run->degree]);
        entry.squares += load * load;
    }
    guint start = subspace != NULL ? start_downset(subspace) : 0;
    if (entry.devices > search->most_devices[start]) {
        return FALSE;
    }
    g_array_append_val(front_at(search, start, shape), entry);
    return TRUE;
}

PsLayout *ps_search_within(PsSearch *search, const PsSubspace *subspace, PsThreshold threshold,
                           gboolean break_ties)
{
    apply_threshold(search, threshold);
    search->break_ties = break_ties;
    search->subspace = subspace;
    if (!begin(search)) {
        return NULL;
    }
    for (guint lower = 0; lower + 1 < search->downsets->n_downsets; lower++) {
        if (reached(search, lower)) {
            extend_layouts(search, lower);
        }
    }
    return trace_layout(search);
}

/* ---- the least threshold ------------------------------------------------------------------------
 */

/* Work spread over all devices: no threshold below it is feasible. */
static gint64 lower_bound(const PsSearch *search)
{
    return (gint64)(search->remaining_work[0] / search->devices);
}

/* A first feasible layout: thresholds at distances from the lower bound that double, since near it
 * the search prunes most; then none at all. *infeasible is raised to the largest that failed. */
static PsLayout *first_layout(PsSearch *search, const PsSubspace *subspace, gint64 *infeasible)
{
    double bound = (double)MAX(*infeasible, 1);
    for (double distance = 0.002; distance < 100; distance *= 2) {
        double limit = bound * (1 + distance);
        if (limit >= (double)UNLIMITED) {
            break;
        }
        PsThreshold threshold = {(gint64)limit, 1, FALSE};
        PsLayout *layout = ps_search_within(search, subspace, threshold, FALSE);
        if (layout != NULL) {
            return layout;
        }
        *infeasible = threshold.numerator;
    }
    return ps_search_within(search, subspace, PS_NO_THRESHOLD, FALSE);
}

/* Bisection until the gap is small, then alternately "anything strictly better?", which either ends
 * the search with the proof or brings a better layout, and a halving of what gap is left. */
PsLayout *ps_search_best(PsSearch *search, const PsSubspace *subspace, const PsThreshold *floor)
{
    gint64 infeasible = lower_bound(search) - 1;
    if (floor != NULL) {
        PsLayout *at_floor = ps_search_within(search, subspace, *floor, TRUE);
        if (at_floor != NULL) {
            return at_floor;
        }
        infeasible = MAX(infeasible, floor->numerator / floor->denominator);
    }
    g_autoptr(PsLayout) best = first_layout(search, subspace, &infeasible);
    if (best == NULL) {
        return NULL;
    }
    PsThreshold load = ps_layout_load(best);
    gboolean halve = TRUE, proven = FALSE;
    while (!proven) {
        gint64 feasible = load.numerator / load.denominator;
        gint64 gap = feasible - infeasible;
        halve = gap > 1 && (halve || gap > feasible / 4096);
        PsThreshold trial = load;
        trial.strict = TRUE;
        if (halve) {
            trial = (PsThreshold){infeasible + gap / 2, 1, FALSE};
        }
        PsLayout *better = ps_search_within(search, subspace, trial, FALSE);
        if (better != NULL) {
            ps_layout_free(best);
            best = better;
            load = ps_layout_load(best);
        } else if (halve) {
            infeasible = trial.numerator;
        } else {
            proven = TRUE;
        }
        halve = !halve;
    }
    return ps_search_within(search, subspace, load, TRUE);
}
