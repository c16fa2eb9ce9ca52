#include "planner/explain.h"

#include <math.h>

#include "planner/layout-plan.h"
#include "sim/base/units.h"

/* A layout whose every stage fits into `memory`, and what its largest stage needs. */
typedef struct {
    PsLayout *layout;
    guint largest;
    gint64 memory;
} Fit;

static gboolean fit(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees,
                    gint64 memory, Fit *fit)
{
    g_autoptr(PsStageSolver) solver = ps_stage_solver_new(costs, downsets, memory, TRUE);
    g_autoptr(PsSearch) search = ps_search_new(costs, downsets, solver, degrees);
    PsLayout *layout = ps_search_within(search, PS_NO_THRESHOLD, FALSE);
    if (layout == NULL) {
        return FALSE;
    }
    ps_layout_free(fit->layout);
    *fit = (Fit){layout, 0, -1};
    for (guint i = 0; i < layout->n_stages; i++) {
        gint64 needed = ps_stage_least_memory(solver, &layout->runs[i]);
        if (needed > fit->memory) {
            fit->memory = needed;
            fit->largest = i;
        }
    }
    return TRUE;
}

/* Bisection on memory, as exact as the search on time: it ends when one quantum less fails. */
static Fit least_fit(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees)
{
    gint64 failed = costs->memory;
    Fit best = {0};
    /* With memory enough, one device runs everything. */
    g_assert(fit(costs, downsets, degrees, G_MAXINT64 / 4, &best));
    while (best.memory - failed > 1) {
        gint64 trial = failed + (best.memory - failed) / 2;
        if (!fit(costs, downsets, degrees, trial, &best)) {
            failed = trial;
        }
    }
    return best;
}

char *ps_explain_no_fit(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees)
{
    Fit best = least_fit(costs, downsets, degrees);
    g_autoptr(PsLayout) layout = best.layout;
    const PsStageRun *run = &layout->runs[best.largest];
    g_autofree char *layers = ps_run_layers(costs, downsets, run);
    g_autofree char *has = ps_quantity_format(PS_BYTES, costs->setting.memory_bytes);
    double needed_bytes = best.memory * costs->memory_quantum_bytes;
    g_autofree char *needs = ps_quantity_format(PS_BYTES, needed_bytes);
    return g_strdup_printf(
        "no plan fits %u device%s of %s: the least that would do is %s (%.0f bytes) per device; in "
        "the layout that needs least, stage %u of 0-%u (%s; data-parallel %u, tensor-parallel %u, "
        "%u "
        "in flight) needs that much even with the smallest TMPCs",
        costs->setting.devices, costs->setting.devices == 1 ? "" : "s", has, needs,
        ceil(needed_bytes), best.largest, layout->n_stages - 1, layers, run->data_parallel,
        costs->degrees[run->degree], run->in_flight);
}
