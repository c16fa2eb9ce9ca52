#include "tests/oracle/water.h"

/* The level at which the first link is full, with the rates of those that are still. */
static double next_level(const double *capacities, guint n_links, const double *weights,
                         const gboolean *rising, guint n_flows, const double *rates, guint *full)
{
    double least = G_MAXDOUBLE;
    for (guint j = 0; j < n_links; j++) {
        double used = 0, weight = 0;
        for (guint i = 0; i < n_flows; i++) {
            used += rising[i] ? 0 : weights[i * n_links + j] * rates[i];
            weight += rising[i] ? weights[i * n_links + j] : 0;
        }
        if (weight > 0 && (capacities[j] - used) / weight < least) {
            least = (capacities[j] - used) / weight;
            *full = j;
        }
    }
    return least;
}

void water_filling(const double *capacities, guint n_links, const double *weights,
                   const gboolean *alive, guint n_flows, double *rates)
{
    g_autofree gboolean *rising = g_new(gboolean, n_flows);
    guint left = 0;
    for (guint i = 0; i < n_flows; i++) {
        rising[i] = alive[i];
        rates[i] = 0;
        left += alive[i] != FALSE;
    }
    while (left > 0) {
        guint full = 0;
        double level = next_level(capacities, n_links, weights, rising, n_flows, rates, &full);
        for (guint i = 0; i < n_flows; i++) {
            if (rising[i] && weights[i * n_links + full] > 0) {
                rising[i] = FALSE;
                rates[i] = level;
                left--;
            }
        }
    }
}
