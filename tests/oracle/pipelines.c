#include "tests/oracle/pipelines.h"

#include <math.h>

PsWorkload *ps_chain_new(guint p, guint microbatches, double forward_s, double backward_s)
{
    PsWorkload *workload = ps_workload_new(p, p - 1, microbatches);
    for (guint i = 0; i < p; i++) {
        PsWorkStage *stage = &workload->stages[i];
        stage->data_parallel = stage->tensor_parallel = 1;
        stage->in_flight = p - i;
        stage->forward_s = forward_s;
        stage->backward_s = backward_s;
        stage->stash_bytes = 1;
    }
    for (guint i = 0; i + 1 < p; i++) {
        workload->borders[i] = (PsWorkBorder){.source = i, .target = i + 1};
    }
    gboolean fine = ps_workload_finish(workload, NULL);
    g_assert(fine);
    return workload;
}

static double random_s(GRand *rand, gint most_us)
{
    return g_rand_int_range(rand, 1, most_us * 1000) * 1e-9;
}

static void random_degrees(GRand *rand, guint *degrees, guint p, gboolean nested)
{
    static const guint any[] = {1, 2, 3, 4, 6, 8};
    static const guint nested_steps[] = {1, 1, 2, 3};
    degrees[0] = nested ? 1 : any[g_rand_int_range(rand, 0, G_N_ELEMENTS(any))];
    for (guint i = 1; i < p; i++) {
        guint step = nested_steps[g_rand_int_range(rand, 0, G_N_ELEMENTS(nested_steps))];
        degrees[i] =
            nested ? degrees[i - 1] * step : any[g_rand_int_range(rand, 0, G_N_ELEMENTS(any))];
    }
    if (nested && g_rand_boolean(rand)) {
        for (guint i = 0; i < p / 2; i++) {
            guint other = degrees[p - 1 - i];
            degrees[p - 1 - i] = degrees[i];
            degrees[i] = other;
        }
    }
}

static void random_borders(GRand *rand, PsWorkload *workload)
{
    guint p = workload->n_stages, n = 0;
    for (guint i = 0; i < p; i++) {
        for (guint k = i + 1; k < p; k++) {
            if (k == i + 1 || g_rand_int_range(rand, 0, 4) == 0) {
                gboolean empty = g_rand_int_range(rand, 0, 4) == 0;
                workload->borders[n++] = (PsWorkBorder){
                    .source = i,
                    .target = k,
                    .source_s = empty ? 0 : random_s(rand, 300),
                    .target_s = empty ? 0 : random_s(rand, 300),
                    .source_bytes = empty ? 0 : g_rand_int_range(rand, 1, 1000),
                    .target_bytes = empty ? 0 : g_rand_int_range(rand, 1, 1000),
                };
            }
        }
    }
    workload->n_borders = n;
}

PsWorkload *ps_random_workload(GRand *rand, gboolean nested)
{
    guint p = (guint)g_rand_int_range(rand, 1, 6), degrees[5];
    random_degrees(rand, degrees, p, nested);
    guint sum = 0, common = nested ? degrees[0] * degrees[p - 1] : 24;
    for (guint i = 0; i < p; i++) {
        sum += degrees[i];
    }
    guint n = (sum + common - 1) / common * common * (guint)g_rand_int_range(rand, 1, 3);
    PsWorkload *workload = ps_workload_new(p, p * p, n);
    for (guint i = p; i-- > 0;) {
        PsWorkStage *stage = &workload->stages[i];
        guint d = stage->data_parallel = degrees[i];
        guint behind = 0;
        for (guint k = i; k < p; k++) {
            behind += degrees[k];
        }
        stage->tensor_parallel = (guint)g_rand_int_range(rand, 1, 4);
        stage->in_flight = (behind + d - 1) / d;
        stage->forward_s = random_s(rand, 1000) * d;
        stage->backward_s = random_s(rand, 2000) * d;
        stage->recompute_s = g_rand_boolean(rand) ? stage->forward_s : 0;
        /* N times whole nanoseconds, so that the share of a microbatch, d / N of it, is whole. */
        stage->resync_s = d > 1 ? random_s(rand, 50) * n : 0;
        stage->resync_bytes = d > 1 ? 1000 : 0;
        stage->stash_bytes = g_rand_int_range(rand, 0, 1000);
        stage->workspace_bytes = stage->recompute_s > 0 ? g_rand_int_range(rand, 0, 1000) : 0;
        stage->weights_bytes = g_rand_int_range(rand, 0, 1000);
        stage->weight_versions_bytes = stage->weights_bytes;
        stage->state_bytes = g_rand_int_range(rand, 0, 1000);
    }
    random_borders(rand, workload);
    gboolean fine = ps_workload_finish(workload, NULL);
    g_assert(fine);
    return workload;
}

static gint64 whole_ps(double seconds)
{
    return (gint64)llrint(seconds * 1e9) * 1000;
}

PsOracleStage *ps_oracle_stages(const PsWorkload *workload, gboolean amortised)
{
    PsOracleStage *stages = g_new0(PsOracleStage, workload->n_stages);
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *work = &workload->stages[i];
        gint64 transfers_ps = 0;
        for (guint k = 0; k < workload->n_borders; k++) {
            const PsWorkBorder *border = &workload->borders[k];
            transfers_ps += border->source == i ? whole_ps(border->source_s) : 0;
            transfers_ps += border->target == i ? whole_ps(border->target_s) : 0;
        }
        stages[i].forward_ps = transfers_ps + whole_ps(work->forward_s);
        stages[i].backward_ps =
            transfers_ps + whole_ps(work->backward_s) + whole_ps(work->recompute_s);
        if (amortised) {
            stages[i].backward_ps +=
                whole_ps(work->resync_s / workload->microbatches) * (gint64)work->data_parallel;
        } else {
            stages[i].resync_ps = whole_ps(work->resync_s);
        }
    }
    return stages;
}
