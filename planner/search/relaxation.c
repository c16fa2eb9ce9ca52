#include "planner/search/relaxation.h"

#include <math.h>

#include "planner/search/downsets.h"

typedef struct {
    guint n_steps;
    PsHullStep *steps; /* of all layers, flattest first; item is the layer */
} Order;

struct PsRelaxation {
    const PsCosts *costs;
    Order **orders; /* [n_degrees][costs->most_in_flight + 1], made when first asked for */
};

PsRelaxation *ps_relaxation_new(const PsCosts *costs)
{
    PsRelaxation *relaxation = g_new0(PsRelaxation, 1);
    relaxation->costs = costs;
    relaxation->orders = g_new0(Order *, (gsize)costs->n_degrees * (costs->most_in_flight + 1));
    return relaxation;
}

void ps_relaxation_free(PsRelaxation *relaxation)
{
    if (relaxation == NULL) {
        return;
    }
    gsize n = (gsize)relaxation->costs->n_degrees * (relaxation->costs->most_in_flight + 1);
    for (gsize i = 0; i < n; i++) {
        if (relaxation->orders[i] != NULL) {
            g_free(relaxation->orders[i]->steps);
            g_free(relaxation->orders[i]);
        }
    }
    g_free(relaxation->orders);
    g_free(relaxation);
}

static guint add_layer(PsHullStep *steps, guint n, const PsLayerCost *layer, guint v,
                       guint in_flight)
{
    g_autofree PsChoice *choices = g_new(PsChoice, layer->n_tmpcs);
    for (guint i = 0; i < layer->n_tmpcs; i++) {
        const PsTmpcCost *tmpc = &layer->tmpcs[i];
        choices[i] =
            (PsChoice){tmpc->time, tmpc->memory_per_microbatch * in_flight + tmpc->memory_fixed};
    }
    PsItem item = {layer->n_tmpcs, choices};
    /* The stage sums start from the fastest TMPC; with so many in flight another one as fast may be
     * smaller. That step is free. */
    gint64 saved = choices[layer->fastest].memory - choices[ps_item_cheapest(&item)].memory;
    if (saved > 0) {
        steps[n++] = (PsHullStep){.memory = saved, .item = v};
    }
    return ps_hull_steps(steps, n, &item, v);
}

static Order *make_order(const PsCosts *costs, guint degree, guint in_flight)
{
    guint room = 0;
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        room += ps_layer_cost(costs, v, degree)->n_tmpcs;
    }
    Order *order = g_new0(Order, 1);
    order->steps = g_new(PsHullStep, room);
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        const PsLayerCost *layer = ps_layer_cost(costs, v, degree);
        if (layer->n_tmpcs > 0) {
            order->n_steps = add_layer(order->steps, order->n_steps, layer, v, in_flight);
        }
    }
    ps_hull_sort(order->steps, order->n_steps);
    return order;
}

static const Order *order_for(PsRelaxation *relaxation, guint degree, guint in_flight)
{
    Order **order =
        &relaxation->orders[(gsize)degree * (relaxation->costs->most_in_flight + 1) + in_flight];
    if (*order == NULL) {
        *order = make_order(relaxation->costs, degree, in_flight);
    }
    return *order;
}

PsBounds ps_relaxation_bounds(PsRelaxation *relaxation, guint degree, guint in_flight,
                              const guint64 *lower, const guint64 *upper, PsChoice fastest,
                              gint64 budget)
{
    const Order *order = order_for(relaxation, degree, in_flight);
    PsChoice sum = fastest;
    for (guint i = 0; i < order->n_steps; i++) {
        const PsHullStep *step = &order->steps[i];
        if (!ps_set_has(upper, step->item) || ps_set_has(lower, step->item)) {
            continue;
        }
        if (sum.memory - step->memory <= budget) {
            /* The last step, of which the relaxation takes a part; rounded down with room. */
            double part = (double)sum.cost + step->slope * (double)(sum.memory - budget);
            return (PsBounds){(gint64)floor(part * (1 - 1e-12)), sum.cost + step->cost};
        }
        sum.cost += step->cost;
        sum.memory -= step->memory;
    }
    return (PsBounds){PS_KNAPSACK_NONE, PS_KNAPSACK_NONE};
}
