#include "planner/flush.h"

#include <math.h>

#include "planner/search/knapsack.h"
#include "planner/search/passage.h"
#include "planner/search/planning.h"

double ps_flush_batch_s(const PsPlan *plan, const PsProfile *profile)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    double passage_s = 0, resync_s = 0;
    for (guint i = 0; i < plan->n_stages; i++) {
        const PsStageEstimate *stage = &estimate->stages[i];
        passage_s += (stage->compute_s + stage->edge_s) * plan->stages[i].data_parallel;
        resync_s = MAX(resync_s, stage->resync_s * plan->setting.microbatches);
    }
    return (plan->setting.microbatches - 1) * estimate->tps_s + passage_s + resync_s;
}

/* Each layer at its fastest, whatever the degree. */
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

/* ---- a search of its own -------------------------------------------------------------------- */

#define MOST_STEPS 2e7
#define MOST_BOXES 64
#define MOST_PRICES 8
/* Close enough: a thousandth. */
#define SMALL_GAP 1e-3

/* Plans whose largest load and whose slowest resync of a batch lie between bounds, in quanta. */
typedef struct {
    gint64 load_from, load_to;
    gint64 resync_from, resync_to;
    gint64 price;   /* of a device, with which to begin */
    double bound_s; /* no such plan's batch is shorter */
} Box;

typedef struct {
    PsPlanning *planning;
    PsPassage *passage;
    const PsProfile *profile;
    double quantum_s;
    gint64 pace; /* N - 1 */
    PsPlan *best;
    double best_s;
    GArray *boxes; /* Box: those that may hold a shorter batch */
} Search;

/* Keeps a plan that is better than the best one so far. */
static void offer(Search *search, PsPlan *plan)
{
    double batch_s = ps_flush_batch_s(plan, search->profile);
    if (search->best == NULL || batch_s < search->best_s) {
        ps_plan_free(search->best);
        search->best = plan;
        search->best_s = batch_s;
    } else {
        ps_plan_free(plan);
    }
}

/* The next price to try: more where the layout takes more devices than there are. */
static gint64 next_price(gint64 price, gint64 *too_low, gint64 *too_high, gboolean fits)
{
    *(fits ? too_high : too_low) = price;
    if (*too_high == G_MAXINT64) {
        return price < G_MAXINT64 / 1024 ? 2 * price : price;
    }
    return *too_low > 0 ? *too_low + (*too_high - *too_low) / 2 : *too_high / 2;
}

/* The best lower bound over some prices; layouts that fit are offered on the way. FALSE where the
 * box is empty. */
static gboolean bound_box(Search *search, Box *box)
{
    gint64 devices = search->planning->costs->setting.devices, price = 0;
    gint64 too_low = 0, too_high = G_MAXINT64;
    double passage = 0;
    for (guint i = 0; i < MOST_PRICES; i++) {
        g_autoptr(PsLayout) layout = NULL;
        gint64 least =
            ps_passage_least(search->passage, box->load_to, box->resync_to, price, &layout);
        if (least == PS_KNAPSACK_NONE) {
            return FALSE;
        }
        gboolean fits = layout->devices <= devices;
        passage = fmax(passage, (double)least - (double)price * (double)devices);
        if (fits) {
            offer(search, ps_planning_plan(search->planning, layout));
        }
        if (fits && price == 0) {
            break; /* then it is exact */
        }
        if (fits) {
            box->price = price;
        }
        if (i > 0) {
            price = next_price(price, &too_low, &too_high, fits);
        } else {
            price = box->price > 0 ? box->price : 1 + least / (2 * (gint64)layout->devices);
        }
    }
    box->bound_s =
        ((double)search->pace * (double)box->load_from + passage + (double)box->resync_from) *
        search->quantum_s;
    return TRUE;
}

static void add_box(Search *search, Box box)
{
    if (bound_box(search, &box) && box.bound_s < search->best_s) {
        g_array_append_val(search->boxes, box);
    }
}

/* Cuts a box in half where that tells more. */
static void split(Search *search, const Box *box)
{
    Box low = *box, high = *box;
    double load_range = (double)search->pace * (double)(box->load_to - box->load_from);
    if (load_range >= (double)(box->resync_to - box->resync_from)) {
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

/* Branch and bound over the largest load and the slowest resync. least_tps_s: no plan has a smaller
 * load. Returns a bound that no plan's batch is below. */
static double refine(Search *search, double least_tps_s, double bound_s)
{
    double passage_s = least_passage_s(search->planning->costs);
    double rest = (search->best_s - passage_s) / search->quantum_s;
    double pace = (double)MAX(search->pace, 1);
    Box box = {
        .load_from = (gint64)floor(least_tps_s / search->quantum_s * (1 - 1e-12)),
        .load_to = (gint64)ceil(rest / pace * (1 + 1e-12)),
        .resync_to =
            (gint64)ceil(fmax(rest - pace * least_tps_s / search->quantum_s, 0) * (1 + 1e-12)) + 1,
    };
    add_box(search, box);
    for (guint i = 0; i < MOST_BOXES && take_least(search, &box); i++) {
        bound_s = fmax(bound_s, fmin(box.bound_s, search->best_s));
        if (search->best_s / bound_s - 1 < SMALL_GAP) {
            return bound_s;
        }
        split(search, &box);
    }
    if (take_least(search, &box)) {
        return fmax(bound_s, fmin(box.bound_s, search->best_s));
    }
    return search->best_s; /* no box can hold a better one */
}

PsPlan *ps_flush_plan(const PsProfile *profile, const PsSetting *setting,
                      const PsPlannerOptions *options, guint n, double *gap, GError **error)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    g_autoptr(GPtrArray) top = ps_planning_top(planning, n, error);
    if (top == NULL) {
        return NULL;
    }
    Search search = {.planning = planning,
                     .profile = profile,
                     .quantum_s = planning->costs->time_quantum_s,
                     .pace = setting->microbatches - 1};
    double least_tps_s = 0;
    for (guint i = 0; i < top->len; i++) {
        PsPlan *plan = ps_planning_plan(planning, top->pdata[i]);
        g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
        least_tps_s = i == 0 ? estimate->tps_s / (1 + plan->gap) : least_tps_s;
        offer(&search, plan);
    }
    double bound_s = (double)search.pace * least_tps_s + least_passage_s(planning->costs);
    gboolean any = options == NULL || options->degrees == PS_DEGREES_ANY;
    if (any && planning->exact && search.best_s / bound_s - 1 >= SMALL_GAP) {
        g_autoptr(PsPassage) passage =
            ps_passage_new(planning->costs, planning->downsets, planning->solver, MOST_STEPS);
        search.passage = passage;
        search.boxes = g_array_new(FALSE, FALSE, sizeof(Box));
        bound_s = passage != NULL ? refine(&search, least_tps_s, bound_s) : bound_s;
        g_array_unref(search.boxes);
    }
    search.best->optimal = FALSE; /* in steady state perhaps, but that was not the question */
    *gap = search.best_s / bound_s - 1;
    return search.best;
}
