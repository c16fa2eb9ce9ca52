#include "planner/search/completion.h"

#define MOST_PASSES 6

/* One price of a device, and what it shows. */
typedef struct {
    gint64 price;
    gint64 *least;  /* [n_downsets]: passage and prices outside; PS_KNAPSACK_NONE: no layout */
    guint *devices; /* [n_downsets]: of the stages that have it */
} Pass;

struct PsCompletion {
    const PsCosts *costs;
    const PsDownsets *downsets;
    PsStageSolver *solver;
    const PsTransit *transit;
    PsStageWalk *walk;
    Pass low, high, spare; /* the whole takes more devices than there are; it does not */
    PsDemand demand;
    const guint *windows, *most_devices;
};

static Pass pass_new(guint n)
{
    return (Pass){0, g_new0(gint64, n), g_new0(guint, n)};
}

static void pass_clear(Pass *pass)
{
    g_free(pass->least);
    g_free(pass->devices);
}

PsCompletion *ps_completion_new(const PsCosts *costs, const PsDownsets *downsets,
                                PsStageSolver *solver, const PsTransit *transit)
{
    PsCompletion *completion = g_new0(PsCompletion, 1);
    completion->costs = costs;
    completion->downsets = downsets;
    completion->solver = solver;
    completion->transit = transit;
    completion->walk = ps_stage_walk_new(costs, downsets);
    completion->low = pass_new(downsets->n_downsets);
    completion->high = pass_new(downsets->n_downsets);
    completion->spare = pass_new(downsets->n_downsets);
    return completion;
}

void ps_completion_free(PsCompletion *completion)
{
    if (completion == NULL) {
        return;
    }
    ps_stage_walk_free(completion->walk);
    pass_clear(&completion->low);
    pass_clear(&completion->high);
    pass_clear(&completion->spare);
    g_free(completion);
}

/* ---- one price ------------------------------------------------------------------------------ */

/* Offers the stage in front of the layouts of its lower downset, with every d. */
static void offer_stage(const PsCompletion *completion, Pass *pass, PsStageRun *run,
                        const PsStageSums *sums)
{
    const PsCosts *costs = completion->costs;
    guint t = costs->degrees[run->degree];
    gint64 *least = &pass->least[run->lower];
    gint64 before = pass->least[run->upper];
    if (before == PS_KNAPSACK_NONE) {
        return;
    }
    gint64 fast = sums->fast_time + sums->links[0].enter + sums->links[0].leave + before;
    for (guint i = ps_stage_least_divisor(costs, sums, completion->demand.caps);
         i < costs->n_divisors; i++) {
        gint64 devices = (gint64)costs->divisors[i] * t;
        if (devices > completion->most_devices[run->upper] ||
            fast + pass->price * devices >= *least) {
            return; /* a larger d takes more */
        }
        run->data_parallel = costs->divisors[i];
        run->in_flight = ps_in_flight_on(completion->windows[run->lower], run->data_parallel);
        gint64 own = ps_transit_anywhere(completion->transit, run, sums, i);
        if (own != PS_KNAPSACK_NONE && own + pass->price * devices + before < *least) {
            *least = own + pass->price * devices + before;
            pass->devices[run->lower] = (guint)devices + pass->devices[run->upper];
        }
    }
}

static void run_pass(PsCompletion *completion, Pass *pass, gint64 price)
{
    guint n = completion->downsets->n_downsets;
    pass->price = price;
    pass->least[n - 1] = 0;
    pass->devices[n - 1] = 0;
    for (guint lower = n - 1; lower-- > 0;) {
        PsStageRun run = {.lower = lower};
        const PsStageSums *sums;
        pass->least[lower] = PS_KNAPSACK_NONE;
        if (completion->windows[lower] == G_MAXUINT) {
            continue;
        }
        PsCandidates candidates = ps_candidates_begin(completion->solver, completion->walk,
                                                      completion->demand.caps, lower);
        while (ps_candidates_next(&candidates, &run, &sums)) {
            offer_stage(completion, pass, &run, sums);
        }
    }
}

/* ---- prices --------------------------------------------------------------------------------- */

static void swap(Pass *a, Pass *b)
{
    Pass pass = *a;
    *a = *b;
    *b = pass;
}

/* Runs a pass and puts it where it belongs. */
static void try_price(PsCompletion *completion, gint64 price)
{
    run_pass(completion, &completion->spare, price);
    gboolean too_many = completion->spare.devices[0] > completion->demand.devices;
    swap(&completion->spare, too_many ? &completion->low : &completion->high);
}

gint64 ps_completion_prepare(PsCompletion *completion, const PsDemand *demand, const guint *windows,
                             const guint *most_devices)
{
    completion->demand = *demand;
    completion->windows = windows;
    completion->most_devices = most_devices;
    gint64 low = completion->low.price, high = completion->high.price;
    run_pass(completion, &completion->low, low);
    if (completion->low.least[0] == PS_KNAPSACK_NONE) {
        return PS_KNAPSACK_NONE;
    }
    if (high == 0) {
        high = 1 + completion->low.least[0] / demand->devices;
    }
    run_pass(completion, &completion->high, high);
    for (guint i = 0; i < MOST_PASSES; i++) {
        low = completion->low.price;
        high = completion->high.price;
        if (completion->high.devices[0] > demand->devices) {
            if (high > G_MAXINT64 / 64 / demand->devices) {
                break; /* it would not fit; any price does */
            }
            swap(&completion->low, &completion->high);
            run_pass(completion, &completion->high, 4 * high);
        } else if (completion->low.devices[0] <= demand->devices) {
            if (low == 0) {
                break; /* devices are not what is short */
            }
            swap(&completion->low, &completion->high);
            run_pass(completion, &completion->low, low / 4);
        } else if (high - low > high / 8) {
            try_price(completion, low + (high - low) / 2);
        } else {
            break;
        }
    }
    return ps_completion_bound(completion, 0, 0);
}

static gint64 bound_of(const PsCompletion *completion, const Pass *pass, guint downset,
                       guint devices)
{
    return pass->least[downset] - pass->price * (gint64)(completion->demand.devices -
                                                         MIN(devices, completion->demand.devices));
}

gint64 ps_completion_bound(const PsCompletion *completion, guint downset, guint devices)
{
    if (completion->low.least[downset] == PS_KNAPSACK_NONE) {
        return PS_KNAPSACK_NONE;
    }
    return MAX(bound_of(completion, &completion->low, downset, devices),
               bound_of(completion, &completion->high, downset, devices));
}
