#include <math.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/replay/program-parts.h"

/* A collective of the replicas, over some of the stage's weights or their gradients. */
typedef struct {
    PsCollectiveKind kind;
    PsOpKind op;
    guint chunk;
    double ready;
    double share; /* of the stage's weights */
} Need;

/* ---- how long it takes ---------------------------------------------------------------------- */

/* On a flat network: the planner's server, or an algorithm among devices under one switch with the
 * bandwidth that the planner counts on. */
static gboolean time_flat(const PsParts *parts, guint stage, const Need *need, double *time_s,
                          GError **error)
{
    const PsWorkStage *work = &parts->workload->stages[stage];
    const char *algorithm = parts->settings->collectives;
    if (g_str_equal(algorithm, PS_COLLECTIVES_SERVER)) {
        /* Half of an all-reduce: each of its bytes goes one way only. */
        *time_s = work->resync_s * need->share * (need->kind == PS_ALL_REDUCE ? 1 : 0.5);
        return TRUE;
    }
    guint d = ps_workload_replicas(parts->workload, stage);
    g_autofree char *bandwidth = ps_double_format(work->resync_bytes / work->resync_s);
    g_autofree char *text = g_strdup_printf("flat:%u %sB/s 1GiB", d, bandwidth);
    g_autofree guint *ranks = g_new(guint, d);
    for (guint i = 0; i < d; i++) {
        ranks[i] = i;
    }
    g_autoptr(PsTopology) topology = ps_topology_load(text, error);
    if (topology == NULL) {
        return FALSE;
    }
    g_autoptr(PsNetwork) network = ps_network_new(topology);
    const PsCollectiveCall call = {need->kind, ranks, d, need->share * work->gradient_bytes, 1};
    g_autoptr(PsCollective) collective = ps_collective_new(network, &call, algorithm, error);
    *time_s = collective != NULL ? collective->time_s : 0;
    return collective != NULL;
}

/* Over the network: one group of replicas for each tensor-parallel rank. */
static gboolean prepare(const PsParts *parts, const PsWorkStage *work, const Need *need,
                        guint *number, GError **error)
{
    guint d = work->data_parallel, t = work->tensor_parallel;
    g_autofree guint *ranks = g_new(guint, (gsize)d * t);
    for (guint i = 0; i < t; i++) {
        for (guint k = 0; k < d; k++) {
            ranks[i * d + k] = parts->devices[work->first_rank + k * t + i];
        }
    }
    const PsCollectiveCall call = {need->kind, ranks, d, need->share * work->gradient_bytes, t};
    return ps_fabric_add_collective(parts->fabric, &call, parts->settings->collectives, number,
                                    error);
}

/* ---- which there are ------------------------------------------------------------------------ */

static gboolean add_joint(const PsParts *parts, guint stage, GArray *joints, const Need *need,
                          guint *number, GError **error)
{
    const PsWorkStage *work = &parts->workload->stages[stage];
    PsJoint joint = {.kind = need->op,
                     .chunk = need->chunk,
                     .ready = need->ready,
                     .collective = PS_FLAT,
                     .bytes = work->resync_bytes * need->share *
                              (need->kind == PS_ALL_REDUCE ? 1 : 0.5)};
    double time_s = 0;
    gboolean fine = parts->fabric != NULL ? prepare(parts, work, need, &joint.collective, error)
                                          : time_flat(parts, stage, need, &time_s, error);
    if (!fine) {
        g_prefix_error(error, "stage %u: ", stage);
        return FALSE;
    }
    joint.duration_ps = ps_seconds_to_ps(time_s);
    if (number != NULL) {
        *number = joints->len;
    }
    g_array_append_val(joints, joint);
    return TRUE;
}

/* Gradients of the whole stage at the end of a batch, or, chunk by chunk, in buckets as they become
 * ready: layers from the last one on until a bucket is full (a layer is never split). */
static gboolean add_buckets(const PsParts *parts, guint stage, GArray *joints, Need need,
                            GError **error)
{
    const PsWorkStage *work = &parts->workload->stages[stage];
    guint chunks = parts->settings->chunks;
    double limit_bytes = parts->settings->bucket_bytes;
    if (limit_bytes == 0 || work->n_layers == 0) {
        need.share = 1;
        return add_joint(parts, stage, joints, &need, NULL, error);
    }
    for (need.chunk = 0; need.chunk < chunks; need.chunk++) {
        double done_s = 0, bytes = 0;
        for (guint i = work->n_layers; i-- > 0;) {
            done_s += work->layers[i].pass_s[PS_PASS_BACKWARD];
            bytes += work->layers[i].weights_bytes / chunks;
            if (bytes == 0 || (bytes < limit_bytes && i > 0)) {
                continue;
            }
            need.share = bytes / work->gradient_bytes;
            need.ready = i > 0 && work->backward_s > 0 ? fmin(done_s / work->backward_s, 1) : 1;
            if (!add_joint(parts, stage, joints, &need, NULL, error)) {
                return FALSE;
            }
            bytes = 0;
        }
    }
    return TRUE;
}

static gboolean add_all(PsStageProgram *program, const PsParts *parts, guint stage, GArray *joints,
                        GError **error)
{
    PsSharding sharding = parts->settings->sharding;
    double chunk_share = 1.0 / parts->settings->chunks;
    const Need reduce = sharding == PS_SHARDING_NONE
                            ? (Need){PS_ALL_REDUCE, PS_OP_RESYNC, .ready = 1}
                            : (Need){PS_REDUCE_SCATTER, PS_OP_REDUCE_SCATTER, .ready = 1};
    const Need scatter = {PS_REDUCE_SCATTER, PS_OP_REDUCE_SCATTER, .share = chunk_share};
    const Need gather = {PS_ALL_GATHER, PS_OP_ALL_GATHER, .share = chunk_share};
    const Need parameters = {PS_ALL_GATHER, PS_OP_ALL_GATHER, .share = 1};
    if (sharding < PS_SHARDING_ZERO2) {
        if (!add_buckets(parts, stage, joints, reduce, error)) {
            return FALSE;
        }
        program->n_buckets = joints->len;
    } else if (!add_joint(parts, stage, joints, &scatter, &program->scatter, error)) {
        return FALSE;
    }
    if (sharding == PS_SHARDING_ZERO3) {
        return add_joint(parts, stage, joints, &gather, &program->gather, error);
    }
    return sharding == PS_SHARDING_NONE ||
           add_joint(parts, stage, joints, &parameters, &program->parameters, error);
}

gboolean ps_program_make_joints(PsStageProgram *program, const PsParts *parts, guint stage,
                                GError **error)
{
    const PsWorkStage *work = &parts->workload->stages[stage];
    const PsReplaySettings *settings = parts->settings;
    gboolean shared = settings->resync == PS_RESYNC_BATCH && work->resync_s > 0 &&
                      (parts->fabric == NULL || work->gradient_bytes > 0);
    GArray *joints = g_array_new(FALSE, FALSE, sizeof(PsJoint));
    program->parameters = program->gather = program->scatter = PS_NO_JOINT;
    gboolean fine = !shared || add_all(program, parts, stage, joints, error);
    program->n_joints = joints->len;
    program->joints = (PsJoint *)(gpointer)g_array_free(joints, FALSE);
    if (settings->optimizer_bytes_per_s > 0) {
        guint sharers = settings->sharding != PS_SHARDING_NONE
                            ? ps_workload_replicas(parts->workload, stage)
                            : 1;
        program->optimizer_ps =
            ps_seconds_to_ps(work->gradient_bytes / sharers / settings->optimizer_bytes_per_s +
                             settings->launch_overhead_s);
    }
    program->updates = program->n_joints > 0 || program->optimizer_ps > 0;
    return fine;
}
