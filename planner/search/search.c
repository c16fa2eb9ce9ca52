#include "planner/search/search.h"

typedef __int128 Wide;

#define UNLIMITED (G_MAXINT64 / 4)

/* One more stage: its d and the shape of the degrees after it. */
typedef struct {
    guint divisor; /* index into costs->divisors */
    guint shape;
} Transition;

struct PsSearch {
    const PsCosts *costs;
    const PsDownsets *downsets;
    PsStageSolver *solver;
    PsRest *rest;
    PsStageWalk *walk;
    PsDegrees degrees;
    gboolean least_d_is_best; /* on top of a given layout, of those within the threshold */
    guint n_shapes;
    Transition *transitions; /* those of shape i are [first_transition[i] ..], smallest d first */
    guint *first_transition; /* [n_shapes + 1] */
    PsFronts *fronts;
    guint devices;
    gboolean has_levels; /* more than one */
    const PsSubspace *subspace;
    /* Under the threshold at hand: */
    PsThreshold threshold;
    gint64 *caps;        /* [n_divisors]: largest load·d within it */
    guint *most_devices; /* [n_downsets]: what a layout may use and leave enough for the rest */
    gboolean break_ties;
};

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

PsSearch *ps_search_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver,
                        PsRest *rest, PsDegrees degrees)
{
    PsSearch *search = g_new0(PsSearch, 1);
    search->costs = costs;
    search->downsets = downsets;
    search->solver = solver;
    search->rest = rest;
    search->walk = ps_stage_walk_new(costs, downsets);
    search->caps = g_new(gint64, costs->n_divisors);
    search->most_devices = g_new(guint, downsets->n_downsets);
    search->degrees = degrees;
    search->devices = costs->setting.devices;
    search->has_levels = costs->levels.n > 1;
    search->least_d_is_best =
        degrees == PS_DEGREES_ANY && costs->setting.in_flight == PS_IN_FLIGHT_PIPER;
    search->fronts = ps_fronts_new(costs, degrees, downsets->n_downsets);
    search->n_shapes = ps_fronts_n_shapes(search->fronts);
    list_transitions(search);
    return search;
}

void ps_search_free(PsSearch *search)
{
    if (search == NULL) {
        return;
    }
    ps_stage_walk_free(search->walk);
    ps_fronts_free(search->fronts);
    g_free(search->transitions);
    g_free(search->first_transition);
    g_free(search->caps);
    g_free(search->most_devices);
    g_free(search);
}

void ps_search_set_devices(PsSearch *search, guint devices)
{
    g_assert(devices <= search->costs->setting.devices);
    search->devices = devices;
}

gint64 ps_search_least_load(const PsSearch *search)
{
    return ps_rest_least_load(search->rest, search->devices);
}

/* ---- one threshold -------------------------------------------------------------------------- */

/* floor(T·multiplier), or the largest integer below T·multiplier where the threshold is strict. */
static gint64 scale(PsThreshold threshold, gint64 multiplier)
{
    Wide product = (Wide)threshold.numerator * multiplier - (threshold.strict ? 1 : 0);
    Wide cap = product < 0 ? -1 : product / threshold.denominator;
    return (gint64)MIN(cap, (Wide)UNLIMITED);
}

static PsDemand demand_of(const PsSearch *search)
{
    return (PsDemand){search->threshold, search->caps, search->devices, search->degrees};
}

static void apply_threshold(PsSearch *search, PsThreshold threshold)
{
    search->threshold = threshold;
    for (guint i = 0; i < search->costs->n_divisors; i++) {
        search->caps[i] = scale(threshold, search->costs->divisors[i]);
    }
    PsDemand demand = demand_of(search);
    ps_rest_most_devices(search->rest, &demand, search->most_devices);
}

/* One layout of the lower downset, and the d that may stand on top of it. */
typedef struct {
    guint shape, index;
    const PsEntry *entry;
    const Transition *first, *end;
} Rest;

/* Where layouts of a subspace begin: on top of its fixed stages. */
static guint start_downset(const PsSubspace *subspace)
{
    return subspace->n_fixed == 0
               ? 0
               : subspace->base->runs[subspace->base->n_stages - subspace->n_fixed].upper;
}

/* The stage at hand. */
typedef struct {
    PsStageRun run;
    const PsStageSums *sums;
    guint only_d; /* 0: any */
    /* What a layout may have with it on top: */
    guint most_sum, most_devices;
} Stage;

/* Whether the subspace leaves out this stage with its d. */
static gboolean left_out(const PsSearch *search, const Stage *stage)
{
    const PsSubspace *subspace = search->subspace;
    const PsStageRun *run = &stage->run;
    if (stage->only_d != 0 || run->lower != start_downset(subspace)) {
        return stage->only_d != 0 && stage->only_d != run->data_parallel;
    }
    for (guint i = 0; i < subspace->n_excluded; i++) {
        const PsStageRun *one = &subspace->excluded[i];
        if (one->upper == run->upper && one->degree == run->degree &&
            one->data_parallel == run->data_parallel) {
            return TRUE;
        }
    }
    return FALSE;
}

/* It on top of one layout of the lower downset, with one d. */
typedef struct {
    Stage *stage;
    const Rest *rest;
    guint shape; /* of the front that it goes to */
    gint64 cap;
    PsEntry entry; /* its first members, until it is added */
} Put;

/* Adds the entry for the levels in `enters`, at which the stage has this load. */
static void add_at(const PsSearch *search, Put *put, gint64 load, guint enters)
{
    const PsStageRun *run = &put->stage->run;
    PsEntry *entry = &put->entry;
    double share = (double)load / run->data_parallel;
    entry->spot.enters = (guint8)enters;
    entry->in_flight = run->in_flight;
    entry->squares = put->rest->entry->squares + share * share;
    entry->load = load;
    entry->lower = run->lower;
    entry->rest_shape = put->rest->shape;
    entry->rest = put->rest->index;
    entry->data_parallel = run->data_parallel;
    entry->degree = run->degree;
    ps_fronts_add(search->fronts, run->upper, put->shape, entry);
}

/* Adds the entry for all levels at which the stage may be entered within the cap; where ties are
 * broken, one entry for each of its loads. Returns whether it was all levels. */
static gboolean add_within(const PsSearch *search, Put *put)
{
    Stage *stage = put->stage;
    guint n = search->costs->levels.n, end = n, level = put->entry.spot.level;
    PsCrossing *crossing = &stage->run.crossing;
    *crossing = (PsCrossing){(guint8)(end - 1), put->entry.spot.leave, (guint8)level};
    gint64 load = ps_stage_load_within(search->solver, &stage->run, stage->sums, put->cap);
    while (load > put->cap && --end > level) { /* loads fall inwards */
        crossing->enter = (guint8)(end - 1);
        load = ps_stage_load_within(search->solver, &stage->run, stage->sums, put->cap);
    }
    if (load > put->cap) {
        return FALSE;
    }
    if (!search->break_ties) {
        add_at(search, put, load, (1u << end) - (1u << level));
        return end == n;
    }
    for (guint enter = level, enters = 0; enter < end; enter++) {
        crossing->enter = (guint8)enter;
        gint64 own = ps_stage_load(search->solver, &stage->run, stage->sums);
        if (enters != 0 && own != load) {
            add_at(search, put, load, enters);
            enters = 0;
        }
        load = own;
        enters |= 1u << enter;
        if (enter + 1 == end) {
            add_at(search, put, load, enters);
        }
    }
    return end == n;
}

/* Puts the stage in one spot. Returns whether none with a larger d can be better: this one is in
 * the front, or one that dominates it, and the stage before may join it at any level. */
static gboolean put_at(const PsSearch *search, Put *put, const PsSpot *spot)
{
    put->entry.spot = *spot;
    if (search->has_levels) {
        put->entry.spot.enters = (guint8)((1u << search->costs->levels.n) - (1u << spot->level));
    }
    return ps_fronts_hopeless(search->fronts, put->stage->run.upper, put->shape, &put->entry) ||
           add_within(search, put);
}

static gboolean put_at_all(const PsSearch *search, Put *put, guint d, guint devices)
{
    const PsStageRun *run = &put->stage->run;
    PsSpot spots[PS_MOST_LEVELS];
    if (!search->has_levels) {
        spots[0] = (PsSpot){.devices = devices};
        return put_at(search, put, &spots[0]);
    }
    const PsSpot *behind = put->rest->entry->n_stages > 0 ? &put->rest->entry->spot : NULL;
    guint n_spots = ps_spots(&search->costs->levels, behind, d, search->costs->degrees[run->degree],
                             put->stage->most_devices, spots);
    gboolean best = n_spots > 0;
    for (guint i = 0; i < n_spots; i++) {
        best &= put_at(search, put, &spots[i]);
    }
    return best;
}

/* Puts the stage on top of a layout of the lower downset. */
static void put_on_top(const PsSearch *search, Stage *stage, const Rest *rest)
{
    const PsCosts *costs = search->costs;
    PsStageRun *run = &stage->run;
    guint t = costs->degrees[run->degree];
    gboolean pipers = costs->setting.in_flight == PS_IN_FLIGHT_PIPER;
    const PsEntry *below = rest->entry;
    for (const Transition *next = rest->first; next < rest->end; next++) {
        guint d = costs->divisors[next->divisor];
        guint sum = below->sum_data_parallel + d;
        guint64 devices = below->spot.devices + (guint64)d * t;
        if (sum > stage->most_sum || devices > stage->most_devices) {
            return; /* a larger d is worse in both */
        }
        run->data_parallel = d;
        run->in_flight = ps_in_flight_on(below->window, d);
        guint window = pipers ? sum : run->in_flight * d;
        if (window > costs->setting.microbatches ||
            (search->subspace != NULL && left_out(search, stage))) {
            continue;
        }
        Put put;
        put.stage = stage;
        put.rest = rest;
        put.shape = next->shape;
        put.cap = search->caps[next->divisor];
        put.entry.sum_data_parallel = sum;
        put.entry.window = window;
        put.entry.n_stages = below->n_stages + 1;
        if (put_at_all(search, &put, d, (guint)devices) && search->least_d_is_best) {
            return; /* a larger one would be dominated */
        }
    }
}

/* Tries the stage on top of every layout of its lower downset. */
static void put_on_all(const PsSearch *search, Stage *stage)
{
    guint first_divisor = ps_stage_least_divisor(search->costs, stage->sums, search->caps);
    if (first_divisor == search->costs->n_divisors) {
        return;
    }
    stage->most_sum = MIN(search->devices, search->costs->setting.microbatches);
    stage->most_devices = search->most_devices[stage->run.upper];
    Rest rest;
    guint lower = stage->run.lower;
    for (rest.shape = ps_fronts_next(search->fronts, lower, 0); rest.shape != G_MAXUINT;
         rest.shape = ps_fronts_next(search->fronts, lower, rest.shape + 1)) {
        guint n_entries;
        const PsEntry *front = ps_front(search->fronts, lower, rest.shape, &n_entries);
        rest.first = search->transitions + search->first_transition[rest.shape];
        rest.end = search->transitions + search->first_transition[rest.shape + 1];
        while (rest.first < rest.end && rest.first->divisor < first_divisor) {
            rest.first++;
        }
        if (rest.first == rest.end) {
            continue;
        }
        guint least_d = search->costs->divisors[rest.first->divisor];
        for (rest.index = 0; rest.index < n_entries; rest.index++) {
            rest.entry = &front[rest.index];
            if (rest.entry->sum_data_parallel + least_d > stage->most_sum) {
                break; /* the others have larger sums */
            }
            put_on_top(search, stage, &rest);
        }
    }
}

/* Tries every stage on top of the layouts of one downset. */
static void extend_layouts(PsSearch *search, guint lower)
{
    Stage stage = {.run = {.lower = lower}};
    PsCandidates candidates =
        ps_candidates_begin(search->solver, search->walk, search->caps, lower);
    while (ps_candidates_next(&candidates, &stage.run, &stage.sums)) {
        put_on_all(search, &stage);
    }
}

/* With all that crosses levels, only the whole layout tells a stage's load. */
static gint64 load_of(const PsSearch *search, const PsStageRun *run)
{
    PsLinkSums links[PS_MOST_LEVELS];
    PsStageSums sums = {.links = links};
    ps_stage_sum(search->costs, ps_downset(search->downsets, run->lower),
                 ps_downset(search->downsets, run->upper), run->degree, &sums);
    return ps_stage_load(search->solver, run, &sums);
}

static PsLayout *trace_layout(const PsSearch *search)
{
    guint upper = search->downsets->n_downsets - 1;
    const PsEntry *entry = ps_fronts_best(search->fronts, upper);
    if (entry == NULL) {
        return NULL;
    }
    PsLayout *layout = g_new0(PsLayout, 1);
    layout->n_stages = entry->n_stages;
    layout->devices = entry->spot.devices;
    layout->sum_data_parallel = entry->sum_data_parallel;
    layout->runs = g_new0(PsStageRun, layout->n_stages);
    layout->loads = g_new0(gint64, layout->n_stages);
    guint8 enter = entry->spot.level; /* nothing enters the first stage */
    for (guint i = 0; i < layout->n_stages; i++) {
        const PsSpot *spot = &entry->spot;
        layout->runs[i] = (PsStageRun){.lower = entry->lower,
                                       .upper = upper,
                                       .degree = entry->degree,
                                       .data_parallel = entry->data_parallel,
                                       .in_flight = entry->in_flight,
                                       .devices = spot->devices,
                                       .crossing = {enter, spot->leave, spot->level}};
        layout->loads[i] = search->has_levels ? load_of(search, &layout->runs[i]) : entry->load;
        upper = entry->lower;
        enter = spot->leave;
        guint n_entries;
        entry = ps_front(search->fronts, upper, entry->rest_shape, &n_entries) + entry->rest;
    }
    return layout;
}

/* Puts what all others are built on into its front: the fixed stages, or nothing. A fixed stage
 * that is not within the threshold or the class leaves the front empty. */
static void begin(PsSearch *search)
{
    const PsSubspace *subspace = search->subspace;
    const PsEntry nothing = {0};
    ps_fronts_add(search->fronts, 0, 0, &nothing);
    for (guint i = 0; subspace != NULL && i < subspace->n_fixed; i++) {
        const PsStageRun *run = &subspace->base->runs[subspace->base->n_stages - 1 - i];
        PsLinkSums links[PS_MOST_LEVELS];
        PsStageSums sums = {.links = links};
        ps_stage_sum(search->costs, ps_downset(search->downsets, run->lower),
                     ps_downset(search->downsets, run->upper), run->degree, &sums);
        Stage stage = {*run, &sums, run->data_parallel};
        put_on_all(search, &stage);
    }
}

PsLayout *ps_search_within(PsSearch *search, const PsSubspace *subspace, PsThreshold threshold,
                           gboolean break_ties)
{
    apply_threshold(search, threshold);
    ps_fronts_clear(search->fronts, break_ties);
    search->break_ties = break_ties;
    search->subspace = subspace;
    begin(search);
    guint start = subspace != NULL ? start_downset(subspace) : 0;
    for (guint lower = start; lower + 1 < search->downsets->n_downsets; lower++) {
        if (ps_fronts_reach(search->fronts, lower)) {
            extend_layouts(search, lower);
        }
    }
    return trace_layout(search);
}

void ps_search_learn(PsSearch *search)
{
    PsDemand demand = demand_of(search);
    g_assert(search->subspace == NULL);
    ps_rest_learn(search->rest, search->fronts, &demand);
}
