#include "planner/flush.h"

#include <math.h>

#include "planner/search/complete.h"
#include "planner/search/passage.h"
#include "planner/search/planning.h"
#include "sim/base/progress.h"

/* Each layer at its fastest, whatever the degree: no plan's passage is shorter. */
static double least_passage_s(const PsCosts *costs)
{
    double sum_s = 0;
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        gint64 least = G_MAXINT64;
        for (guint t = 0; t < costs->n_degrees; t++) {
            const PsLayerCost *layer = ps_layer_cost(costs, v, t);
            least = layer->n_tmpcs > 0 ? MIN(least, layer->min_time) : least;
        }
        sum_s += (double)least * costs->time_quantum_s;
    }
    return sum_s;
}

/* ---- branch and bound ----------------------------------------------------------------------- */

/* Entries that the passage search tries: in all, and in the first box. */
#define MOST_STEPS 2000000000
#define FIRST_STEPS 10000000
#define MOST_BOXES 500
/* Close enough: a thousandth. */
#define SMALL_GAP 1e-3

/* Plans whose largest load and whose slowest resync of a batch lie between bounds, in quanta. */
typedef struct {
    gint64 load_from, load_to;
    gint64 resync_from, resync_to;
    gint64 steps;   /* to try before it is cut unseen */
    gboolean known; /* it was not: what its bound leaves open, cutting leaves open too */
    double bound_s; /* no such plan's batch is shorter */
} Box;

typedef struct {
    PsPlanning *planning;
    PsPassage *passage;
    const PsProfile *profile;
    double quantum_s;
    gint64 pace;  /* N - 1 */
    gint64 steps; /* left */
    PsPlan *best;
    double best_s;
    GArray *boxes; /* Box: those that may hold a shorter batch */
} Search;

/* Keeps a plan that is better than the best one so far. */
static void offer(Search *search, PsPlan *plan)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, search->profile);
    double batch_s = estimate->batch_s;
    if (search->best == NULL || batch_s < search->best_s) {
        ps_plan_free(search->best);
        search->best = plan;
        search->best_s = batch_s;
    } else {
        ps_plan_free(plan);
    }
}

static void offer_layout(Search *search, const PsLayout *layout)
{
    const PsCosts *costs = search->planning->costs;
    PsPlan *plan = ps_planning_plan(search->planning, layout);
    if (costs->levels.n == 1 || ps_passage_places(search->passage) ||
        ps_complete_places(plan, costs, NULL)) {
        offer(search, plan);
    } else {
        ps_plan_free(plan);
    }
}

/* Rounded up; what is beyond all sums of quanta (costs.h) is as good as no limit. */
static gint64 upward(double quanta)
{
    return (gint64)ceil(CLAMP(quanta, -0x1p60, 0x1p60));
}

/* What passage may take in a box so that its best plan is better than the best so far. */
static gint64 limit_of(const Search *search, const Box *box)
{
    double best = search->best_s / search->quantum_s;
    return upward(best * (1 + 1e-12) - (double)search->pace * (double)box->load_from -
                  (double)box->resync_from);
}

static void set_bound(const Search *search, Box *box, double passage)
{
    double bound_s =
        ((double)search->pace * (double)box->load_from + passage + (double)box->resync_from) *
        search->quantum_s;
    box->bound_s = fmax(box->bound_s, bound_s);
}

/* Queues a box, unless it holds nothing better. Its bound is the best layout's of all loads and
 * resyncs up to its own; where there are too many to try, what all its plans have. */
static void add_box(Search *search, Box box)
{
    PsPassageDemand demand = {box.load_to, box.resync_to, limit_of(search, &box)};
    gint64 steps = MIN(search->steps, box.steps), before = steps, least;
    g_autoptr(PsLayout) layout = NULL;
    gboolean known = ps_passage_least(search->passage, &demand, &steps, &least, &layout);
    search->steps -= before - steps;
    if (layout != NULL) {
        offer_layout(search, layout);
    }
    box.known = known;
    if (!known) {
        box.steps *= 2;
    } else if (layout == NULL) {
        return;
    }
    set_bound(search, &box, (double)least);
    if (box.bound_s < search->best_s) {
        g_array_append_val(search->boxes, box);
    }
}

/* Batch times between the shortest and the longest plan of a box by its loads, and its resyncs. */
static double load_range(const Search *search, const Box *box)
{
    return (double)search->pace * (double)(box->load_to - box->load_from) * search->quantum_s;
}

static double resync_range(const Search *search, const Box *box)
{
    return (double)(box->resync_to - box->resync_from) * search->quantum_s;
}

/* Cuts a box in half where that tells more. */
static void split(Search *search, const Box *box)
{
    Box low = *box, high = *box;
    if (load_range(search, box) >= resync_range(search, box)) {
        low.load_to = high.load_from = box->load_from + (box->load_to - box->load_from) / 2;
    } else {
        low.resync_to = high.resync_from =
            box->resync_from + (box->resync_to - box->resync_from) / 2;
    }
    add_box(search, low);
    add_box(search, high);
}

/* The box of least bound, which is that of all plans; taken out. FALSE where none is left. */
static gboolean take_least(Search *search, Box *least)
{
    guint place = 0;
    if (search->boxes->len == 0) {
        return FALSE;
    }
    for (guint i = 1; i < search->boxes->len; i++) {
        if (g_array_index(search->boxes, Box, i).bound_s <
            g_array_index(search->boxes, Box, place).bound_s) {
            place = i;
        }
    }
    *least = g_array_index(search->boxes, Box, place);
    g_array_remove_index(search->boxes, place);
    return TRUE;
}

/* The box of all plans: none has a smaller load than least_tps_s. */
static Box whole(const Search *search, double least_tps_s, double bound_s)
{
    double least = least_tps_s / search->quantum_s, pace = (double)MAX(search->pace, 1);
    double rest = (search->best_s - least_passage_s(search->planning->costs)) / search->quantum_s;
    return (Box){
        .load_from = (gint64)floor(least * (1 - 1e-12)),
        .load_to = upward(rest / pace * (1 + 1e-12)),
        .resync_to = upward(fmax(rest - pace * least, 0) * (1 + 1e-12) + 1),
        .steps = FIRST_STEPS,
        .bound_s = bound_s,
    };
}

/* Whether what a box leaves open is more than cutting it could tell. */
static gboolean is_settled(const Search *search, const Box *box)
{
    return box->known &&
           load_range(search, box) + resync_range(search, box) < SMALL_GAP / 2 * search->best_s;
}

/* Over the largest load and the slowest resync, until no box can hold a plan whose batch is a
 * thousandth shorter, nothing more can be told or the steps are used up. Returns a bound that no
 * plan's batch is below. */
static double refine(Search *search, double least_tps_s, double bound_s)
{
    g_autoptr(PsProgress) progress = ps_progress_new("flush", 0);
    Box box = whole(search, least_tps_s, bound_s);
    add_box(search, box);
    for (guint i = 0; take_least(search, &box); i++) {
        bound_s = fmax(bound_s, fmin(box.bound_s, search->best_s));
        if (search->best_s / bound_s - 1 < SMALL_GAP || is_settled(search, &box) ||
            search->steps == 0 || i == MOST_BOXES) {
            return bound_s;
        }
        split(search, &box);
        ps_progress_step(progress, 1);
    }
    return search->best_s; /* no box can hold a better one */
}

/* The best of the n best in steady state. Returns the load that no plan is below. */
static double begin(Search *search, const GPtrArray *top)
{
    double least_tps_s = 0;
    for (guint i = 0; i < top->len; i++) {
        PsPlan *plan = ps_planning_plan(search->planning, top->pdata[i]);
        g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, search->profile);
        least_tps_s = i == 0 ? estimate->tps_s / (1 + plan->gap) : least_tps_s;
        offer(search, plan);
    }
    return least_tps_s;
}

PsPlan *ps_flush_plan(const PsProfile *profile, const PsSetting *setting,
                      const PsPlannerOptions *options, guint n, GError **error)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    g_autoptr(GPtrArray) top = ps_planning_top(planning, n, error);
    if (top == NULL) {
        return NULL;
    }
    g_autoptr(PsPassage) passage =
        ps_passage_new(planning->costs, planning->downsets, planning->solver, planning->rest,
                       planning->options.degrees);
    g_autoptr(GArray) boxes = g_array_new(FALSE, FALSE, sizeof(Box));
    Search search = {.planning = planning,
                     .passage = passage,
                     .profile = profile,
                     .quantum_s = planning->costs->time_quantum_s,
                     .pace = setting->microbatches - 1,
                     .steps = MOST_STEPS,
                     .boxes = boxes};
    double least_tps_s = begin(&search, top);
    double bound_s = (double)search.pace * least_tps_s + least_passage_s(planning->costs);
    if (search.best_s / bound_s - 1 >= SMALL_GAP) {
        double refined_s = refine(&search, least_tps_s, bound_s);
        bound_s = planning->exact ? refined_s : bound_s;
    }
    search.best->optimal = FALSE; /* in steady state perhaps, but that was not the question */
    double gap = fmax(search.best_s / bound_s - 1, 0);
    search.best->batch_gap = isfinite(gap) ? gap : NAN;
    return search.best;
}
