/* Piper's cost model in closed form (NeurIPS 2021, section 3). For a stage S with degrees (d, t), N
 * microbatches per batch and bandwidth B (with levels, of the level crossed), per microbatch:
 *
 *     compute = sum of p_v / d
 *     edge    = (sum over edges (u,v) entering S of 2 (c(u,v) + c_fw_v(u))
 *              + sum over edges (v,x) leaving  S of 2 (c(v,x) + c_bw_v(x))) / (d B)
 *     resync  = sum of 4 (d-1) w_v / (d N B)
 *     memory  = sum of a_v y + b_v,  y by the setting's rule (plan.h)
 *
 * The 2 is the activation forward and its gradient back, the 4 an all-reduce of the gradients as a
 * parameter server does it. */
#include "sim/plan/plan.h"

#define NO_STAGE G_MAXUINT

/* The stage of each layer. Caller frees. */
static guint *stage_of_layers(const PsPlan *plan, const PsProfile *profile)
{
    guint *stage_of = g_new(guint, profile->n_layers);
    for (guint i = 0; i < profile->n_layers; i++) {
        stage_of[i] = NO_STAGE;
    }
    for (guint s = 0; s < plan->n_stages; s++) {
        for (guint i = 0; i < plan->stages[s].n_layers; i++) {
            stage_of[plan->stages[s].layers[i]] = s;
        }
    }
    return stage_of;
}

/* Adds the bytes that one layer's edges carry over the borders of its stage, per microbatch, to
 * those of the level that they cross. */
static void add_border_bytes(const PsProfile *profile, guint layer_index, const PsTmpc *tmpc,
                             const guint *stage_of, PsCrossing crossing, double *bytes)
{
    const PsLayer *layer = &profile->layers[layer_index];
    double own[PS_MOST_LEVELS] = {0};
    for (guint i = 0; i < layer->n_incoming; i++) {
        const PsEdge *edge = &profile->edges[layer->incoming[i]];
        if (stage_of[edge->source] != stage_of[layer_index]) {
            own[crossing.enter] += 2 * (edge->bytes + tmpc->sync_forward_bytes[i]);
        }
    }
    for (guint i = 0; i < layer->n_outgoing; i++) {
        const PsEdge *edge = &profile->edges[layer->outgoing[i]];
        if (stage_of[edge->target] != stage_of[layer_index]) {
            own[crossing.leave] += 2 * (edge->bytes + tmpc->sync_backward_bytes[i]);
        }
    }
    bytes[crossing.enter] += own[crossing.enter];
    if (crossing.leave != crossing.enter) {
        bytes[crossing.leave] += own[crossing.leave];
    }
}

static PsStageEstimate estimate_stage(const PsPlan *plan, const PsProfile *profile,
                                      const PsStage *stage, guint64 in_flight,
                                      const guint *stage_of, PsCrossing crossing)
{
    const PsSetting *setting = &plan->setting;
    const PsLevels levels = ps_setting_levels(setting);
    double d = stage->data_parallel;
    double time_s = 0, border[PS_MOST_LEVELS] = {0}, weight = 0, memory = 0;
    for (guint i = 0; i < stage->n_layers; i++) {
        const PsTmpc *tmpc = ps_stage_tmpc(stage, profile, i);
        time_s += tmpc->time_s;
        add_border_bytes(profile, stage->layers[i], tmpc, stage_of, crossing, border);
        weight += tmpc->weight_bytes;
        memory += tmpc->memory_per_microbatch_bytes * (double)in_flight + tmpc->memory_fixed_bytes;
    }
    PsStageEstimate estimate = {
        .in_flight = (guint)MIN(in_flight, G_MAXUINT),
        .compute_s = time_s / d,
        .resync_s =
            4 * (d - 1) * weight /
            (d * setting->microbatches * levels.level[crossing.resync].bandwidth_bytes_per_s),
        .memory_bytes = memory,
    };
    for (guint i = 0; i < levels.n; i++) {
        estimate.edge_s += border[i] / (d * levels.level[i].bandwidth_bytes_per_s);
    }
    estimate.tps_s = estimate.compute_s + estimate.edge_s + estimate.resync_s;
    return estimate;
}

double ps_stage_load_s(const PsPlan *plan, const PsProfile *profile, guint stage,
                       PsCrossing crossing)
{
    g_autofree guint *stage_of = stage_of_layers(plan, profile);
    return estimate_stage(plan, profile, &plan->stages[stage], 0, stage_of, crossing).tps_s;
}

static double batch_s(const PsPlan *plan, const PsEstimate *estimate)
{
    double passage_s = 0, resync_s = 0;
    for (guint i = 0; i < plan->n_stages; i++) {
        const PsStageEstimate *stage = &estimate->stages[i];
        passage_s += (stage->compute_s + stage->edge_s) * plan->stages[i].data_parallel;
        resync_s = MAX(resync_s, stage->resync_s * plan->setting.microbatches);
    }
    return (plan->setting.microbatches - 1) * estimate->tps_s + passage_s + resync_s;
}

PsEstimate *ps_plan_estimate(const PsPlan *plan, const PsProfile *profile)
{
    g_autofree guint *stage_of = stage_of_layers(plan, profile);
    g_autofree PsCrossing *crossings = g_new(PsCrossing, plan->n_stages);
    ps_plan_crossings(plan, crossings);
    PsEstimate *estimate = g_new0(PsEstimate, 1);
    estimate->stages = g_new0(PsStageEstimate, plan->n_stages);
    guint64 devices = 0, degrees = 0;
    guint64 window = 0; /* s or u of the stages so far */
    for (guint i = plan->n_stages; i-- > 0;) {
        const PsStage *stage = &plan->stages[i];
        degrees += stage->data_parallel;
        devices += (guint64)stage->data_parallel * stage->tensor_parallel;
        guint64 in_flight = 1 + (window + stage->data_parallel - 1) / stage->data_parallel;
        window = plan->setting.in_flight == PS_IN_FLIGHT_PIPER ? degrees
                                                               : in_flight * stage->data_parallel;
        estimate->stages[i] =
            estimate_stage(plan, profile, stage, in_flight, stage_of, crossings[i]);
        if (estimate->stages[i].tps_s >= estimate->tps_s) {
            estimate->tps_s = estimate->stages[i].tps_s;
            estimate->bottleneck = i;
        }
    }
    estimate->devices_used = (guint)MIN(devices, G_MAXUINT);
    estimate->sum_data_parallel = (guint)MIN(degrees, G_MAXUINT);
    estimate->batch_s = batch_s(plan, estimate);
    return estimate;
}

void ps_estimate_free(PsEstimate *estimate)
{
    if (estimate != NULL) {
        g_free(estimate->stages);
        g_free(estimate);
    }
}
