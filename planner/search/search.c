#include "planner/search/search.h"

#include <math.h>

typedef __int128 Wide;

#define UNLIMITED (G_MAXINT64 / 4)

/* One way to lay out a downset. */
typedef struct {
    guint sum_data_parallel;
    PsSpot spot;     /* of the first stage */
    guint in_flight; /* y of the first stage */
    guint window;    /* microbatches that it keeps from earlier stages: s or u */
    guint n_stages;
    double squares;         /* sum of squared loads */
    gint64 load;            /* load·d of the first stage, where one level is in force */
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
    guint *wider;         /* other shapes that cover shape i (degrees.h) are [first_wider[i] ..] */
    guint *first_wider;   /* [n_shapes + 1] */
    GArray **fronts;      /* [n_downsets][n_shapes] of Entry: s ascending, devices descending */
    Wide *remaining_work; /* [n_downsets]: least device-time of the layers outside */
    guint devices;
    gboolean has_levels; /* more than one */
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

static void list_wider(PsSearch *search)
{
    GArray *wider = g_array_new(FALSE, FALSE, sizeof(guint));
    search->first_wider = g_new(guint, search->n_shapes + 1);
    for (guint shape = 0; shape < search->n_shapes; shape++) {
        search->first_wider[shape] = wider->len;
        for (guint other = 1; shape > 0 && other < search->n_shapes; other++) {
            if (other != shape &&
                ps_degrees_covers(search->degrees, other, shape, search->costs->divisors)) {
                g_array_append_val(wider, other);
            }
        }
    }
    search->first_wider[search->n_shapes] = wider->len;
    search->wider = (guint *)(gpointer)g_array_free(wider, FALSE);
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
    search->has_levels = costs->levels.n > 1;
    search->least_d_is_best =
        degrees == PS_DEGREES_ANY && costs->setting.in_flight == PS_IN_FLIGHT_PIPER;
    search->n_shapes = ps_degrees_n_shapes(degrees, costs->n_divisors);
    list_transitions(search);
    list_wider(search);
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
    g_free(search->wider);
    g_free(search->first_wider);
    g_free(search->remaining_work);
    g_free(search->caps);
    g_free(search->most_devices);
    g_free(search);
}

/* ---- one threshold -------------------------------------------------------------------------- */

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

/* Whether `a` can take the place of `b` under every continuation. *tie: both may then end with as
 * many devices and the same sum of d. */
static gboolean stands_in(const PsSearch *search, const Entry *a, const Entry *b, gboolean *tie)
{
    if (a->sum_data_parallel > b->sum_data_parallel || a->spot.devices > b->spot.devices ||
        a->window > b->window) {
        return FALSE;
    }
    gboolean apart = FALSE;
    if (search->has_levels && !ps_spot_covers(&search->costs->levels, &a->spot, &b->spot, &apart)) {
        return FALSE;
    }
    *tie = a->sum_data_parallel == b->sum_data_parallel &&
           (apart || a->spot.devices == b->spot.devices);
    return TRUE;
}

/* TRUE if a is at least as good as b for every continuation. */
static gboolean dominates(const PsSearch *search, const Entry *a, const Entry *b)
{
    gboolean tie;
    if (!stands_in(search, a, b, &tie)) {
        return FALSE;
    }
    if (!search->break_ties || !tie) {
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
        gboolean tie;
        if (stands_in(search, other, entry, &tie) &&
            !(search->break_ties && tie && entry->n_stages <= other->n_stages)) {
            return TRUE;
        }
    }
    return FALSE;
}

/* The same of the fronts of all shapes that cover the entry's; those tell no ties apart. */
static gboolean hopeless_in_shape(const PsSearch *search, guint downset, guint shape,
                                  const Entry *entry)
{
    if (hopeless(search, front_at(search, downset, shape), entry)) {
        return TRUE;
    }
    guint end = search->break_ties ? search->first_wider[shape] : search->first_wider[shape + 1];
    for (guint i = search->first_wider[shape]; i < end; i++) {
        if (hopeless(search, front_at(search, downset, search->wider[i]), entry)) {
            return TRUE;
        }
    }
    return FALSE;
}

/* First divisor d at which the stage's time alone is within the threshold, or n_divisors. */
static guint least_divisor(const PsSearch *search, const PsStageSums *sums)
{
    const PsLinkSums *links = &sums->links[0];
    guint i = 0;
    while (i < search->costs->n_divisors &&
           sums->fast_time + links->enter + links->leave +
                   (search->costs->divisors[i] - 1) * links->resync >
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
    GArray *front;
    guint shape; /* of the front */
    gint64 cap;
    Entry entry; /* its first members, until it is added */
} Put;

/* Adds the entry for the levels in `enters`, at which the stage has this load. */
static void add_at(const PsSearch *search, Put *put, gint64 load, guint enters)
{
    const PsStageRun *run = &put->stage->run;
    Entry *entry = &put->entry;
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
    add_entry(search, put->front, entry);
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
    return hopeless_in_shape(search, put->stage->run.upper, put->shape, &put->entry) ||
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
    const Entry *below = rest->entry;
    for (const Transition *next = rest->first; next < rest->end; next++) {
        guint d = costs->divisors[next->divisor];
        guint sum = below->sum_data_parallel + d;
        guint64 devices = below->spot.devices + (guint64)d * t;
        if (sum > stage->most_sum || devices > stage->most_devices) {
            return; /* a larger d is worse in both */
        }
        run->data_parallel = d;
        run->in_flight = 1 + (below->window + d - 1) / d;
        guint window = pipers ? sum : run->in_flight * d;
        if (window > costs->setting.microbatches ||
            (search->subspace != NULL && left_out(search, stage))) {
            continue;
        }
        Put put;
        put.stage = stage;
        put.rest = rest;
        put.front = front_at(search, run->upper, next->shape);
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
    guint first_divisor = least_divisor(search, stage->sums);
    if (first_divisor == search->costs->n_divisors) {
        return;
    }
    stage->most_sum = MIN(search->devices, search->costs->setting.microbatches);
    stage->most_devices = search->most_devices[stage->run.upper];
    Rest rest;
    for (rest.shape = 0; rest.shape < search->n_shapes; rest.shape++) {
        const GArray *front = front_at(search, stage->run.lower, rest.shape);
        if (front->len == 0) {
            continue;
        }
        rest.first = search->transitions + search->first_transition[rest.shape];
        rest.end = search->transitions + search->first_transition[rest.shape + 1];
        while (rest.first < rest.end && rest.first->divisor < first_divisor) {
            rest.first++;
        }
        if (rest.first == rest.end) {
            continue;
        }
        guint least_d = search->costs->divisors[rest.first->divisor];
        for (rest.index = 0; rest.index < front->len; rest.index++) {
            rest.entry = &g_array_index(front, Entry, rest.index);
            if (rest.entry->sum_data_parallel + least_d > stage->most_sum) {
                break; /* the others have larger sums */
            }
            put_on_top(search, stage, &rest);
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
    Stage stage = {.run = {.lower = lower}};
    PsStageRun *run = &stage.run;
    ps_stage_walk_begin(search->walk, lower);
    while (ps_stage_walk_next(search->walk, &run->upper, &sums)) {
        gboolean any = FALSE;
        for (run->degree = 0; run->degree < costs->n_degrees; run->degree++) {
            /* Edge costs may fall as a stage grows, times and memory only rise. */
            stage.sums = &sums[run->degree];
            if (stage.sums->possible && stage.sums->fast_time <= largest_cap &&
                ps_stage_may_fit(search->solver, stage.sums, least_in_flight)) {
                any = TRUE;
                put_on_all(search, &stage);
            }
        }
        if (!any) {
            ps_stage_walk_prune(search->walk);
        }
    }
}

/* Fewest devices, least sum of d, and to break ties fewest stages and least squares. */
static gboolean is_better(const PsSearch *search, const Entry *a, const Entry *b)
{
    if (a->spot.devices != b->spot.devices) {
        return a->spot.devices < b->spot.devices;
    }
    if (a->sum_data_parallel != b->sum_data_parallel || !search->break_ties) {
        return a->sum_data_parallel < b->sum_data_parallel;
    }
    return a->n_stages < b->n_stages || (a->n_stages == b->n_stages && a->squares < b->squares);
}

static const Entry *best_entry(const PsSearch *search, guint downset)
{
    const Entry *best = NULL;
    for (guint shape = 0; shape < search->n_shapes; shape++) {
        const GArray *front = front_at(search, downset, shape);
        for (guint i = 0; i < front->len; i++) {
            const Entry *entry = &g_array_index(front, Entry, i);
            if (best == NULL || is_better(search, entry, best)) {
                best = entry;
            }
        }
    }
    return best;
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
    const Entry *entry = best_entry(search, upper);
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
        entry = &g_array_index(front_at(search, upper, entry->rest_shape), Entry, entry->rest);
    }
    return layout;
}

/* Puts what all others are built on into its front: the fixed stages, or nothing. A fixed stage
 * that is not within the threshold or the class leaves the front empty. */
static void begin(PsSearch *search)
{
    const PsSubspace *subspace = search->subspace;
    const Entry nothing = {0};
    g_array_append_val(front_at(search, 0, 0), nothing);
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
    search->break_ties = break_ties;
    search->subspace = subspace;
    begin(search);
    guint start = subspace != NULL ? start_downset(subspace) : 0;
    for (guint lower = start; lower + 1 < search->downsets->n_downsets; lower++) {
        if (reached(search, lower)) {
            extend_layouts(search, lower);
        }
    }
    return trace_layout(search);
}

/* ---- the least threshold -------------------------------------------------------------------- */

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
PsLayout *ps_search_least(PsSearch *search, const PsSubspace *subspace, const PsThreshold *floor)
{
    gint64 infeasible = lower_bound(search) - 1;
    if (floor != NULL) {
        g_autoptr(PsLayout) at_floor = ps_search_within(search, subspace, *floor, FALSE);
        if (at_floor != NULL) {
            return g_steal_pointer(&at_floor);
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
        halve = gap > 1 && (halve || gap > feasible / 256);
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
    return g_steal_pointer(&best);
}

PsLayout *ps_search_best(PsSearch *search, const PsSubspace *subspace, const PsThreshold *floor)
{
    g_autoptr(PsLayout) any = ps_search_least(search, subspace, floor);
    return any != NULL ? ps_search_within(search, subspace, ps_layout_load(any), TRUE) : NULL;
}
