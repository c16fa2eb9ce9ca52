#include "sim/replay/workload.h"

#include <math.h>

#include "sim/base/error.h"
#include "sim/base/text.h"

PsWorkload *ps_workload_new(guint n_stages, guint n_borders, guint microbatches)
{
    PsWorkload *workload = g_new0(PsWorkload, 1);
    workload->n_stages = n_stages;
    workload->stages = g_new0(PsWorkStage, n_stages);
    workload->n_borders = n_borders;
    workload->borders = g_new0(PsWorkBorder, n_borders);
    workload->microbatches = microbatches;
    workload->copies = 1;
    return workload;
}

void ps_workload_free(PsWorkload *workload)
{
    if (workload != NULL) {
        for (guint i = 0; i < workload->n_stages; i++) {
            g_free(workload->stages[i].layers);
        }
        g_free(workload->stages);
        g_free(workload->borders);
        g_free(workload);
    }
}

/* Durations must fit the clock with room for long runs: a day for one op is a slip of units. */
#define MAX_OP_S 86400.0
/* And some time must pass. */
#define LEAST_MICROBATCH_S 1e-9

static gboolean check_times(const char *what, guint stage, const double *times_s, guint n_times,
                            GError **error)
{
    for (guint i = 0; i < n_times; i++) {
        if (!(times_s[i] >= 0 && times_s[i] <= MAX_OP_S)) {
            ps_error(error, PS_ERROR_INPUT,
                     "stage %u: %s takes %g s (expected from 0 to %g s; a slip of units?)", stage,
                     what, times_s[i], MAX_OP_S);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean check_stage(const PsWorkload *workload, guint number, GError **error)
{
    const PsWorkStage *stage = &workload->stages[number];
    if (stage->data_parallel == 0 || stage->tensor_parallel == 0 || stage->in_flight == 0) {
        ps_error(error, PS_ERROR_INPUT,
                 "stage %u: a degree or in-flight bound of 0 (expected at least 1)", number);
        return FALSE;
    }
    if (workload->microbatches == 0 || workload->microbatches % stage->data_parallel != 0) {
        g_autofree char *microbatches = ps_counted(workload->microbatches, "microbatch");
        ps_error(error, PS_ERROR_INPUT,
                 "stage %u: %s per batch cannot be shared by %u replicas (expected a multiple)",
                 number, microbatches, stage->data_parallel);
        return FALSE;
    }
    const double times_s[] = {stage->forward_s, stage->backward_s, stage->recompute_s,
                              stage->resync_s};
    if (!check_times("an op", number, times_s, G_N_ELEMENTS(times_s), error)) {
        return FALSE;
    }
    if (!(stage->weight_gradient_s >= 0 && stage->weight_gradient_s <= stage->backward_s)) {
        ps_error(error, PS_ERROR_INPUT,
                 "stage %u: the weight gradient takes %g s (expected from 0 to the backward's %g "
                 "s)",
                 number, stage->weight_gradient_s, stage->backward_s);
        return FALSE;
    }
    return TRUE;
}

/* Each stage after the first must wait for an earlier one, so that none runs away. */
static gboolean check_borders(const PsWorkload *workload, GError **error)
{
    g_autofree gboolean *joined = g_new0(gboolean, workload->n_stages);
    for (guint i = 0; i < workload->n_borders; i++) {
        const PsWorkBorder *border = &workload->borders[i];
        const double times_s[] = {border->source_s, border->target_s, border->latency_s};
        if (!check_times("a transfer", border->source, times_s, G_N_ELEMENTS(times_s), error)) {
            return FALSE;
        }
        joined[border->target] = TRUE;
    }
    for (guint i = 1; i < workload->n_stages; i++) {
        if (!joined[i]) {
            ps_error(error, PS_ERROR_INPUT, "stage %u: no border from a stage before it", i);
            return FALSE;
        }
    }
    return TRUE;
}

gboolean ps_workload_finish(PsWorkload *workload, GError **error)
{
    guint lane = 0, rank = 0;
    double compute_s = 0;
    for (guint i = 0; i < workload->n_stages; i++) {
        PsWorkStage *stage = &workload->stages[i];
        if (!check_stage(workload, i, error)) {
            return FALSE;
        }
        stage->first_lane = lane;
        stage->first_rank = rank;
        stage->first_device = workload->placed ? stage->first_device : rank;
        lane += stage->data_parallel;
        rank += stage->data_parallel * stage->tensor_parallel;
        compute_s += stage->forward_s + stage->backward_s;
    }
    workload->n_lanes = lane;
    if (compute_s < LEAST_MICROBATCH_S) {
        ps_error(error, PS_ERROR_INPUT,
                 "a microbatch takes %g s on all stages together (expected at least %g s)",
                 compute_s, LEAST_MICROBATCH_S);
        return FALSE;
    }
    return check_borders(workload, error);
}

static void add_layer(PsWorkStage *work, const PsTmpc *tmpc)
{
    work->forward_s += tmpc->forward_s;
    work->backward_s += tmpc->backward_s;
    work->weight_gradient_s +=
        isnan(tmpc->weight_gradient_s) ? tmpc->backward_s / 2 : tmpc->weight_gradient_s;
    work->recompute_s += tmpc->recompute_s;
    work->weights_bytes += tmpc->weight_bytes;
    work->stash_bytes += tmpc->memory_per_microbatch_bytes;
    work->workspace_bytes += tmpc->workspace_bytes;
    work->optimizer_bytes += tmpc->memory_fixed_bytes; /* b, until split_fixed_memory */
    work->layers[work->n_layers++] = (PsWorkLayer){
        {tmpc->forward_s, tmpc->backward_s, tmpc->recompute_s},
        tmpc->weight_bytes,
        tmpc->n_collectives,
        tmpc->collectives,
    };
}

/* Takes at most `most` bytes out of what is left. */
static double take(double *left_bytes, double most_bytes)
{
    double taken_bytes = fmin(*left_bytes, most_bytes);
    *left_bytes -= taken_bytes;
    return taken_bytes;
}

static void split_fixed_memory(PsWorkStage *work)
{
    double left_bytes = fmax(work->optimizer_bytes - work->workspace_bytes, 0);
    double weights_bytes = work->weights_bytes;
    work->weights_bytes = take(&left_bytes, weights_bytes);
    work->weight_versions_bytes = take(&left_bytes, weights_bytes);
    work->gradients_bytes = take(&left_bytes, weights_bytes);
    work->optimizer_bytes = left_bytes;
}

static guint place_of_edge(const guint *edges, guint edge)
{
    guint place = 0;
    while (edges[place] != edge) {
        place++;
    }
    return place;
}

/* A stage that no edge comes into follows the stage before it all the same: it is a pipeline. */
static void join_stages(PsWorkBorder *sums, guint n)
{
    for (guint target = 1; target < n; target++) {
        gboolean joined = FALSE;
        for (guint source = 0; source < target; source++) {
            joined = joined || sums[source * n + target].source_bytes >= 0;
        }
        if (!joined) {
            sums[(target - 1) * n + target].source_bytes = 0;
        }
    }
}

/* Sums the edges between stages into borders: [source * n_stages + target], of which those with
 * source_bytes < 0 do not exist. */
static PsWorkBorder *sum_borders(const PsPlan *plan, const PsProfile *profile)
{
    guint n = plan->n_stages;
    PsWorkBorder *sums = g_new0(PsWorkBorder, n * n);
    g_autofree guint *stage_of = g_new(guint, profile->n_layers);
    g_autofree const PsTmpc **tmpcs = g_new(const PsTmpc *, profile->n_layers);
    for (guint i = 0; i < n * n; i++) {
        sums[i] = (PsWorkBorder){.source = i / n, .target = i % n, .source_bytes = -1};
    }
    for (guint i = 0; i < n; i++) {
        for (guint k = 0; k < plan->stages[i].n_layers; k++) {
            stage_of[plan->stages[i].layers[k]] = i;
            tmpcs[plan->stages[i].layers[k]] = ps_stage_tmpc(&plan->stages[i], profile, k);
        }
    }
    for (guint e = 0; e < profile->n_edges; e++) {
        const PsEdge *edge = &profile->edges[e];
        guint source = stage_of[edge->source], target = stage_of[edge->target];
        if (source != target) {
            const PsLayer *from = &profile->layers[edge->source];
            const PsLayer *to = &profile->layers[edge->target];
            PsWorkBorder *sum = &sums[source * n + target];
            guint out = place_of_edge(from->outgoing, e), in = place_of_edge(to->incoming, e);
            sum->source_bytes = fmax(sum->source_bytes, 0) + edge->bytes +
                                tmpcs[edge->source]->sync_backward_bytes[out];
            sum->target_bytes += edge->bytes + tmpcs[edge->target]->sync_forward_bytes[in];
        }
    }
    join_stages(sums, n);
    return sums;
}

PsWorkload *ps_workload_from_plan(const PsPlan *plan, const PsProfile *profile, GError **error)
{
    guint n = plan->n_stages;
    PsLevels levels = ps_setting_levels(&plan->setting);
    g_autofree PsCrossing *crossings = g_new(PsCrossing, n);
    ps_plan_crossings(plan, crossings);
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    g_autofree PsWorkBorder *sums = sum_borders(plan, profile);
    g_autoptr(PsWorkload) workload = ps_workload_new(n, n * n, plan->setting.microbatches);
    for (guint i = 0; i < n; i++) {
        PsWorkStage *work = &workload->stages[i];
        guint d = plan->stages[i].data_parallel;
        work->data_parallel = d;
        work->tensor_parallel = plan->stages[i].tensor_parallel;
        work->first_device = plan->stages[i].first_device;
        work->in_flight = estimate->stages[i].in_flight;
        work->layers = g_new(PsWorkLayer, plan->stages[i].n_layers);
        for (guint k = 0; k < plan->stages[i].n_layers; k++) {
            add_layer(work, ps_stage_tmpc(&plan->stages[i], profile, k));
        }
        work->gradient_bytes = work->weights_bytes;
        work->resync_bytes = 4.0 * (d - 1) * work->weights_bytes / d;
        work->resync_s =
            work->resync_bytes / levels.level[crossings[i].resync].bandwidth_bytes_per_s;
        split_fixed_memory(work);
    }
    workload->n_borders = 0;
    for (guint i = 0; i < n * n; i++) {
        if (sums[i].source_bytes >= 0) {
            const PsLevel *out = &levels.level[crossings[i / n].leave];
            const PsLevel *in = &levels.level[crossings[i % n].enter];
            sums[i].source_s = sums[i].source_bytes / out->bandwidth_bytes_per_s;
            sums[i].target_s = sums[i].target_bytes / in->bandwidth_bytes_per_s;
            workload->borders[workload->n_borders++] = sums[i];
        }
    }
    workload->placed = levels.n > 1;
    workload->memory_bytes = plan->setting.memory_bytes;
    workload->wrap = workload->n_borders > 0 ? workload->borders[0] : (PsWorkBorder){0};
    if (!ps_workload_finish(workload, error)) {
        return NULL;
    }
    return g_steal_pointer(&workload);
}
