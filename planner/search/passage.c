#include "planner/search/passage.h"

#include "planner/search/completion.h"

/* One way to lay out a downset. */
typedef struct {
    gint64 cost; /* passage; with levels without edges into the first stage */
    guint window, n_stages;
    PsSpot spot;              /* of the first stage; where places are left open, devices alone */
    guint enter;              /* where in `enters` its edges begin */
    guint lower, shape, rest; /* it stands on this entry of lower's front */
    guint16 degree, divisor;
} Cell;

struct PsPassage {
    const PsCosts *costs;
    const PsDownsets *downsets;
    PsStageSolver *solver;
    PsRest *rest;
    PsDegrees degrees;
    PsStageWalk *walk;
    PsSearch *search;
    PsTransit *transit;
    PsCompletion *completion;
    gboolean placed; /* spots are searched */
    guint n_shapes;
    GArray **fronts; /* [n_downsets][n_shapes] of Cell, by rising window */
    GArray *enters;  /* gint64 [..][n_levels]: what the edges into a stage cost at each level */
    /* Of the demand at hand: */
    const gint64 *caps;  /* [n_divisors]: largest load·d */
    guint *most_devices; /* [n_downsets] (rest.h) */
    gint64 limit, steps;
};

PsPassage *ps_passage_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver,
                          PsRest *rest, PsDegrees degrees)
{
    guint n = downsets->n_downsets;
    PsPassage *passage = g_new0(PsPassage, 1);
    passage->costs = costs;
    passage->downsets = downsets;
    passage->solver = solver;
    passage->rest = rest;
    passage->degrees = degrees;
    passage->walk = ps_stage_walk_new(costs, downsets);
    passage->search = ps_search_new(costs, downsets, solver, rest, degrees);
    passage->transit = ps_transit_new(costs, downsets, solver);
    passage->completion = ps_completion_new(costs, downsets, solver, passage->transit);
    passage->placed = costs->levels.n > 1 && costs->same_resync && costs->same_borders;
    passage->n_shapes = ps_degrees_n_shapes(degrees, costs->n_divisors);
    passage->fronts = g_new(GArray *, (gsize)n * passage->n_shapes);
    for (gsize i = 0; i < (gsize)n * passage->n_shapes; i++) {
        passage->fronts[i] = g_array_new(FALSE, FALSE, sizeof(Cell));
    }
    passage->enters = g_array_new(FALSE, FALSE, sizeof(gint64));
    passage->most_devices = g_new(guint, n);
    return passage;
}

void ps_passage_free(PsPassage *passage)
{
    if (passage == NULL) {
        return;
    }
    for (gsize i = 0; i < (gsize)passage->downsets->n_downsets * passage->n_shapes; i++) {
        g_array_unref(passage->fronts[i]);
    }
    ps_stage_walk_free(passage->walk);
    ps_search_free(passage->search);
    ps_completion_free(passage->completion);
    ps_transit_free(passage->transit);
    g_free(passage->fronts);
    g_array_unref(passage->enters);
    g_free(passage->most_devices);
    g_free(passage);
}

gboolean ps_passage_places(const PsPassage *passage)
{
    return passage->placed;
}

static GArray *front_at(const PsPassage *passage, guint downset, guint shape)
{
    return passage->fronts[(gsize)downset * passage->n_shapes + shape];
}

/* ---- fronts --------------------------------------------------------------------------------- */

static gint64 enter_cost(const PsPassage *passage, const Cell *cell, guint level)
{
    return g_array_index(passage->enters, gint64, cell->enter + level);
}

/* Whether `a` can stand in for `b` in its place, at every level at which that may be entered. */
static gboolean covers(const PsPassage *passage, const Cell *a, const Cell *b)
{
    const PsLevels *levels = &passage->costs->levels;
    gboolean apart;
    if (!ps_spot_covers(levels, &a->spot, &b->spot, &apart)) {
        return FALSE;
    }
    for (guint level = 0; level < levels->n; level++) {
        if ((b->spot.enters >> level & 1) != 0 &&
            a->cost + enter_cost(passage, a, level) > b->cost + enter_cost(passage, b, level)) {
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean dominates(const PsPassage *passage, const Cell *a, const Cell *b)
{
    if (a->window > b->window || a->spot.devices > b->spot.devices) {
        return FALSE;
    }
    return passage->placed ? covers(passage, a, b) : a->cost <= b->cost;
}

/* Adds a cell unless one there dominates it; drops those that it dominates. */
static void add_cell(PsPassage *passage, GArray *front, const Cell *cell)
{
    Cell *cells = (Cell *)(void *)front->data;
    guint kept = 0, at = 0;
    passage->steps -= front->len;
    for (guint i = 0; i < front->len; i++) {
        if (dominates(passage, &cells[i], cell)) {
            return; /* then the new one dominated none before it: nothing was moved */
        }
        if (dominates(passage, cell, &cells[i])) {
            continue;
        }
        cells[kept++] = cells[i];
        at += cells[kept - 1].window <= cell->window;
    }
    g_array_set_size(front, kept);
    g_array_insert_vals(front, at, cell, 1);
}

/* Whether a layout of a downset with so many devices and so much passage can be completed within
 * the demand. */
static gboolean can_end(const PsPassage *passage, guint downset, guint devices, gint64 cost)
{
    if (devices > passage->most_devices[downset]) {
        return FALSE;
    }
    gint64 rest = ps_completion_bound(passage->completion, downset, devices);
    return rest != PS_KNAPSACK_NONE && cost <= passage->limit - rest;
}

/* ---- one stage ------------------------------------------------------------------------------ */

/* What a stage of one tensor-parallel degree is, before its d and y. */
typedef struct {
    PsStageRun run;
    const PsStageSums *sums;
    guint enter; /* where in `enters` its edges begin */
} Stage;

/* A stage with its d on top of the layouts of its lower downset that have one shape. */
typedef struct {
    Stage *stage;
    guint divisor, shape;
    GArray *front; /* to which the new ones go */
    /* Of the layout at hand: */
    const Cell *below;
    Cell cell; /* the new one: all but its cost and spot */
} Put;

/* Where places are left open. FALSE where the stage is not allowed with so many in flight. */
static gboolean put_anywhere(PsPassage *passage, Put *put)
{
    PsStageRun *run = &put->stage->run;
    guint devices = run->data_parallel * passage->costs->degrees[run->degree];
    gint64 own = ps_transit_anywhere(passage->transit, run, put->stage->sums, put->divisor);
    if (own == PS_KNAPSACK_NONE) {
        return FALSE;
    }
    Cell *cell = &put->cell;
    cell->cost = put->below->cost + own;
    cell->spot = (PsSpot){.devices = put->below->spot.devices + devices};
    if (can_end(passage, run->upper, cell->spot.devices, cell->cost)) {
        add_cell(passage, put->front, cell);
    }
    return TRUE;
}

/* In one spot: edges into the stage are paid when the one before it is put. */
static void put_at(PsPassage *passage, Put *put, const PsSpot *spot)
{
    Stage *stage = put->stage;
    PsStageRun *run = &stage->run;
    const PsLinkSums *links = stage->sums->links;
    gint64 cap = passage->caps[put->divisor];
    run->crossing = (PsCrossing){spot->level, spot->leave, spot->level};
    if (!ps_transit_resync_fits(passage->transit, run, stage->sums) ||
        ps_stage_load_within(passage->solver, run, stage->sums, cap) > cap) {
        return;
    }
    gint64 load = ps_stage_load(passage->solver, run, stage->sums) - links[spot->level].enter;
    gint64 border = put->below->n_stages > 0 ? enter_cost(passage, put->below, spot->leave) : 0;
    Cell *cell = &put->cell;
    cell->cost =
        put->below->cost + border + load - (run->data_parallel - 1) * links[spot->level].resync;
    cell->spot = *spot;
    cell->spot.enters = 0;
    for (guint level = spot->level; level < passage->costs->levels.n; level++) {
        cell->spot.enters |= load + links[level].enter <= cap ? (guint8)(1u << level) : 0;
    }
    if (can_end(passage, run->upper, spot->devices, cell->cost)) {
        add_cell(passage, put->front, cell);
    }
}

/* A stage that is too slow in one spot may be fast enough in another. */
static gboolean put_in_spots(PsPassage *passage, Put *put)
{
    const PsStageRun *run = &put->stage->run;
    PsSpot spots[PS_MOST_LEVELS];
    const PsSpot *behind = put->below->n_stages > 0 ? &put->below->spot : NULL;
    guint n_spots =
        ps_spots(&passage->costs->levels, behind, run->data_parallel,
                 passage->costs->degrees[run->degree], passage->most_devices[run->upper], spots);
    for (guint i = 0; i < n_spots; i++) {
        put_at(passage, put, &spots[i]);
    }
    return TRUE;
}

/* Tries the layouts in turn, until one asks for more in flight than the stage can hold. */
static void put_on_front(PsPassage *passage, Put *put)
{
    const PsCosts *costs = passage->costs;
    PsStageRun *run = &put->stage->run;
    const GArray *below = front_at(passage, run->lower, put->shape);
    gboolean (*place)(PsPassage * passage, Put * put) =
        passage->placed ? put_in_spots : put_anywhere;
    guint d = run->data_parallel;
    for (guint i = 0; i < below->len; i++) {
        put->below = &g_array_index(below, Cell, i);
        run->in_flight = ps_in_flight_on(put->below->window, d);
        guint window = costs->setting.in_flight == PS_IN_FLIGHT_PIPER ? put->below->window + d
                                                                      : run->in_flight * d;
        if (window > costs->setting.microbatches) {
            return; /* nor do those of larger windows fit */
        }
        put->cell = (Cell){.window = window,
                           .n_stages = put->below->n_stages + 1,
                           .enter = put->stage->enter,
                           .lower = run->lower,
                           .shape = put->shape,
                           .rest = i,
                           .degree = (guint16)run->degree,
                           .divisor = (guint16)put->divisor};
        passage->steps--;
        if (!place(passage, put)) {
            return;
        }
    }
}

/* Puts the stage on top of all layouts of its lower downset, with every d. */
static void put_stage(PsPassage *passage, Stage *stage)
{
    const PsCosts *costs = passage->costs;
    for (guint i = ps_stage_least_divisor(costs, stage->sums, passage->caps); i < costs->n_divisors;
         i++) {
        stage->run.data_parallel = costs->divisors[i];
        for (guint shape = 0; shape < passage->n_shapes; shape++) {
            guint next = front_at(passage, stage->run.lower, shape)->len == 0
                             ? PS_NO_SHAPE
                             : ps_degrees_next(passage->degrees, shape, costs->divisors, i);
            if (next != PS_NO_SHAPE) {
                Put put = {.stage = stage,
                           .divisor = i,
                           .shape = shape,
                           .front = front_at(passage, stage->run.upper, next)};
                put_on_front(passage, &put);
            }
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* What every layout is built on. */
static void begin(PsPassage *passage)
{
    const Cell nothing = {0};
    for (gsize i = 0; i < (gsize)passage->downsets->n_downsets * passage->n_shapes; i++) {
        g_array_set_size(passage->fronts[i], 0);
    }
    g_array_set_size(passage->enters, 0);
    g_array_append_val(front_at(passage, 0, 0), nothing);
}

static void note_edges(PsPassage *passage, Stage *stage)
{
    stage->enter = passage->enters->len;
    for (guint level = 0; passage->placed && level < passage->costs->levels.n; level++) {
        g_array_append_val(passage->enters, stage->sums->links[level].enter);
    }
}

/* Tries every stage on top of the layouts of one downset. */
static void extend(PsPassage *passage, guint lower)
{
    Stage stage = {.run = {.lower = lower}};
    PsCandidates candidates =
        ps_candidates_begin(passage->solver, passage->walk, passage->caps, lower);
    while (passage->steps > 0 && ps_candidates_next(&candidates, &stage.run, &stage.sums)) {
        passage->steps--;
        note_edges(passage, &stage);
        put_stage(passage, &stage);
    }
}

static gboolean has_layout(const PsPassage *passage, guint downset)
{
    for (guint shape = 0; shape < passage->n_shapes; shape++) {
        if (front_at(passage, downset, shape)->len > 0) {
            return TRUE;
        }
    }
    return FALSE;
}

/* Of the whole graph: the first of the cheapest. */
static const Cell *best_cell(const PsPassage *passage)
{
    const Cell *best = NULL;
    for (guint shape = 0; shape < passage->n_shapes; shape++) {
        const GArray *front = front_at(passage, passage->downsets->n_downsets - 1, shape);
        for (guint i = 0; i < front->len; i++) {
            const Cell *cell = &g_array_index(front, Cell, i);
            best = best == NULL || cell->cost < best->cost ? cell : best;
        }
    }
    return best;
}

/* The stages from the first on; from the whole graph down to the empty downset. */
static PsLayout *read_layout(const PsPassage *passage, const Cell *cell)
{
    const PsCosts *costs = passage->costs;
    PsLayout *layout = g_new0(PsLayout, 1);
    GArray *runs = g_array_new(FALSE, TRUE, sizeof(PsStageRun));
    guint downset = passage->downsets->n_downsets - 1;
    layout->devices = cell->spot.devices;
    while (downset > 0) {
        const Cell *rest =
            &g_array_index(front_at(passage, cell->lower, cell->shape), Cell, cell->rest);
        guint d = costs->divisors[cell->divisor];
        PsStageRun run = {.lower = cell->lower,
                          .upper = downset,
                          .degree = cell->degree,
                          .data_parallel = d,
                          .in_flight = ps_in_flight_on(rest->window, d),
                          .devices = cell->spot.devices}; /* from the end */
        g_array_append_val(runs, run);
        layout->sum_data_parallel += d;
        downset = cell->lower;
        cell = rest;
    }
    layout->n_stages = runs->len;
    layout->runs = (PsStageRun *)(gpointer)g_array_free(runs, FALSE);
    layout->loads = g_new0(gint64, layout->n_stages);
    return layout;
}

/* The bound on all layouts within the demand, from what a search under its threshold alone shows.
 */
static gint64 prepare(PsPassage *passage, const PsPassageDemand *demand)
{
    PsDemand rest = {{demand->load, 1, FALSE},
                     ps_transit_allow(passage->transit, demand->load, demand->resync),
                     passage->costs->setting.devices,
                     passage->degrees};
    g_autoptr(PsLayout) any = ps_search_within(passage->search, NULL, rest.threshold, FALSE);
    if (any == NULL) {
        return PS_KNAPSACK_NONE;
    }
    ps_search_learn(passage->search);
    ps_rest_most_devices(passage->rest, &rest, passage->most_devices);
    passage->caps = rest.caps;
    passage->limit = demand->limit;
    return ps_completion_prepare(passage->completion, &rest, ps_rest_windows(passage->rest, &rest),
                                 passage->most_devices);
}

gboolean ps_passage_least(PsPassage *passage, const PsPassageDemand *demand, gint64 *steps,
                          gint64 *least, PsLayout **layout)
{
    *layout = NULL;
    *least = prepare(passage, demand);
    if (*least > demand->limit) {
        *least = PS_KNAPSACK_NONE;
        return TRUE;
    }
    begin(passage);
    passage->steps = *steps;
    for (guint lower = 0; lower + 1 < passage->downsets->n_downsets && passage->steps > 0;
         lower++) {
        if (has_layout(passage, lower)) {
            extend(passage, lower);
        }
    }
    *steps = MAX(passage->steps, 0);
    const Cell *best = *steps > 0 ? best_cell(passage) : NULL;
    if (*steps > 0) {
        *least = best != NULL ? best->cost : PS_KNAPSACK_NONE;
    }
    if (best != NULL) {
        *layout = read_layout(passage, best);
    }
    return *steps > 0;
}
