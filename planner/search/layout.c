#include "planner/search/layout.h"

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
        if ((__int128)layout->loads[i] * most.denominator > (__int128)most.numerator * d) {
            most = (PsThreshold){layout->loads[i], d, FALSE};
        }
    }
    return most;
}

PsThreshold ps_threshold_tied(PsThreshold load)
{
    gint64 rounding = load.numerator / G_GINT64_CONSTANT(1000000000000);
    return (PsThreshold){load.numerator + rounding, load.denominator, FALSE};
}
