#include "planner/search/passage.h"

#include "planner/search/knapsack.h"
#include "planner/search/stage-walk.h"

/* The best way to lay out a downset with one sum of data-parallel degrees. */
typedef struct {
    gint64 cost; /* PS_KNAPSACK_NONE: none */
    guint lower; /* the downset behind its first stage */
    guint16 degree, divisor;
} Cell;

struct PsPassage {
    const PsCosts *costs;
    const PsDownsets *downsets;
    PsStageSolver *solver;
    guint most_sum;
    Cell *cells; /* [downset][sum] */
    gint64 load, resync, price;
};

/* Pairs of downsets, by the number of layers that can join each: what a walk visits at most. */
static double count_steps(const PsCosts *costs, const PsDownsets *downsets, guint most_sum)
{
    double n = downsets->n_downsets;
    return n * n / 2 * costs->n_degrees * costs->n_divisors * most_sum;
}

PsPassage *ps_passage_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver,
                          double most_steps)
{
    guint most_sum = costs->most_in_flight;
    if (costs->levels.n > 1 || costs->setting.in_flight != PS_IN_FLIGHT_PIPER ||
        !costs->same_resync || count_steps(costs, downsets, most_sum) > most_steps) {
        return NULL;
    }
    PsPassage *passage = g_new0(PsPassage, 1);
    *passage = (PsPassage){costs, downsets, solver, most_sum, NULL, 0, 0, 0};
    passage->cells = g_new(Cell, (gsize)downsets->n_downsets * (most_sum + 1));
    return passage;
}

void ps_passage_free(PsPassage *passage)
{
    if (passage != NULL) {
        g_free(passage->cells);
        g_free(passage);
    }
}

static Cell *cell_at(const PsPassage *passage, guint downset, guint sum)
{
    return &passage->cells[(gsize)downset * (passage->most_sum + 1) + sum];
}

/* ---- one stage ------------------------------------------------------------------------------ */

/* What a stage of one tensor-parallel degree is, before its d and y. */
typedef struct {
    PsStageRun run;
    const PsStageSums *sums;
} Stage;

/* Whether its batch's resync keeps within the threshold: r (d - 1) N / d, r what its load·d grows
 * by for each (d - 1). */
static gboolean resync_fits(const PsPassage *passage, const Stage *stage, guint d)
{
    double batch =
        (double)stage->sums->links[0].resync * (d - 1) / d * passage->costs->setting.microbatches;
    return batch <= (double)passage->resync;
}

/* Puts the stage on top of every layout of its lower downset that leaves it the same y. */
static void put_on_top(PsPassage *passage, Stage *stage, guint divisor)
{
    const PsCosts *costs = passage->costs;
    guint d = costs->divisors[divisor], t = costs->degrees[stage->run.degree];
    gint64 resync = stage->sums->links[0].resync * (d - 1), fixed = 0;
    stage->run.data_parallel = d;
    stage->run.in_flight = 0;
    for (guint sum = 0; sum + d <= passage->most_sum; sum++) {
        const Cell *below = cell_at(passage, stage->run.lower, sum);
        guint in_flight = ps_in_flight_on(sum, d);
        if (below->cost == PS_KNAPSACK_NONE) {
            continue;
        }
        if (in_flight != stage->run.in_flight) {
            stage->run.in_flight = in_flight;
            if (!ps_stage_may_fit(passage->solver, stage->sums, in_flight)) {
                return; /* nor with more in flight */
            }
            gint64 load = ps_stage_load(passage->solver, &stage->run, stage->sums);
            if (load == PS_KNAPSACK_NONE || load / d + (load % d > 0) > passage->load) {
                return;
            }
            fixed = load - resync + passage->price * d * t;
        }
        Cell *cell = cell_at(passage, stage->run.upper, sum + d);
        gint64 cost = below->cost + fixed;
        if (cell->cost == PS_KNAPSACK_NONE || cost < cell->cost) {
            *cell = (Cell){cost, stage->run.lower, (guint16)stage->run.degree, (guint16)divisor};
        }
    }
}

/* Its fastest TMPCs with nothing in the way: a lower bound of load·d. */
static gboolean may_keep_within(const PsPassage *passage, const Stage *stage, guint d)
{
    const PsLinkSums *links = &stage->sums->links[0];
    gint64 least = stage->sums->fast_time + links->enter + links->leave + links->resync * (d - 1);
    return least / d <= passage->load;
}

static void put_stage(PsPassage *passage, guint lower, guint upper, const PsStageSums *sums)
{
    const PsCosts *costs = passage->costs;
    for (guint degree = 0; degree < costs->n_degrees; degree++) {
        Stage stage = {{.lower = lower, .upper = upper, .degree = degree}, &sums[degree]};
        for (guint i = 0; sums[degree].possible && i < costs->n_divisors; i++) {
            guint d = costs->divisors[i];
            if (may_keep_within(passage, &stage, d) && resync_fits(passage, &stage, d)) {
                put_on_top(passage, &stage, i);
            }
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

static gboolean has_layout(const PsPassage *passage, guint downset)
{
    for (guint sum = 0; sum <= passage->most_sum; sum++) {
        if (cell_at(passage, downset, sum)->cost != PS_KNAPSACK_NONE) {
            return TRUE;
        }
    }
    return FALSE;
}

static void fill_in(PsPassage *passage)
{
    g_autoptr(PsStageWalk) walk = ps_stage_walk_new(passage->costs, passage->downsets);
    guint n = passage->downsets->n_downsets;
    for (gsize i = 0; i < (gsize)n * (passage->most_sum + 1); i++) {
        passage->cells[i].cost = PS_KNAPSACK_NONE;
    }
    cell_at(passage, 0, 0)->cost = 0;
    for (guint lower = 0; lower + 1 < n; lower++) {
        guint upper;
        const PsStageSums *sums;
        if (!has_layout(passage, lower)) {
            continue;
        }
        ps_stage_walk_begin(walk, lower);
        while (ps_stage_walk_next(walk, &upper, &sums)) {
            put_stage(passage, lower, upper, sums);
        }
    }
}

/* The stages from the first on; from the whole graph down to the empty downset. */
static PsLayout *read_layout(PsPassage *passage, guint sum)
{
    const PsCosts *costs = passage->costs;
    PsLayout *layout = g_new0(PsLayout, 1);
    GArray *runs = g_array_new(FALSE, TRUE, sizeof(PsStageRun));
    layout->sum_data_parallel = sum;
    for (guint downset = passage->downsets->n_downsets - 1; downset > 0;) {
        const Cell *cell = cell_at(passage, downset, sum);
        guint d = costs->divisors[cell->divisor];
        PsStageRun run = {.lower = cell->lower,
                          .upper = downset,
                          .degree = cell->degree,
                          .data_parallel = d,
                          .in_flight = ps_in_flight_on(sum - d, d)};
        g_array_append_val(runs, run);
        layout->devices += d * costs->degrees[cell->degree];
        sum -= d;
        downset = cell->lower;
    }
    layout->n_stages = runs->len;
    layout->runs = (PsStageRun *)(gpointer)g_array_free(runs, FALSE);
    layout->loads = g_new0(gint64, layout->n_stages);
    guint devices = layout->devices;
    for (guint i = 0; i < layout->n_stages; i++) {
        layout->runs[i].devices = devices; /* up to and with the stage, from the end */
        devices -= layout->runs[i].data_parallel * costs->degrees[layout->runs[i].degree];
    }
    return layout;
}

gint64 ps_passage_least(PsPassage *passage, gint64 load, gint64 resync, gint64 price,
                        PsLayout **layout)
{
    guint whole = passage->downsets->n_downsets - 1, best = 0;
    gint64 least = PS_KNAPSACK_NONE;
    passage->load = load;
    passage->resync = resync;
    passage->price = price;
    *layout = NULL;
    fill_in(passage);
    for (guint sum = 0; sum <= passage->most_sum; sum++) {
        gint64 cost = cell_at(passage, whole, sum)->cost;
        if (cost != PS_KNAPSACK_NONE && (least == PS_KNAPSACK_NONE || cost < least)) {
            least = cost;
            best = sum;
        }
    }
    if (least != PS_KNAPSACK_NONE) {
        *layout = read_layout(passage, best);
    }
    return least;
}
