/* What the replay runs: a pipeline of stages with times and bytes, whatever plan or synthetic
 * description it came from. */
#pragma once

#include <glib.h>
#include "sim/plan/plan.h"

/* A layer of a stage, as far as it matters when in a step something happens. */
typedef struct {
    double pass_s[PS_N_PASSES];
    double weights_bytes;
    guint n_collectives;
    const PsTmpcCollective *collectives; /* among the ranks of a lane; borrowed */
} PsWorkLayer;

/* All times and sizes are for one microbatch on one lane (its ranks act in lock step), unless said
 * otherwise; sizes are per rank. */
typedef struct {
    guint data_parallel;   /* d: microbatch n runs on replica n mod d */
    guint tensor_parallel; /* t */
    guint first_lane;      /* lanes are numbered stage by stage, replica by replica */
    guint first_rank;      /* so are ranks, t per lane */
    guint first_device;    /* of the stage's d·t; first_rank where nobody places them */
    guint in_flight;       /* y: microbatches between forward and backward per lane at most */
    double forward_s, backward_s, recompute_s;
    double weight_gradient_s; /* the part of backward_s that schedules may run apart (W) */
    double resync_s;        /* of one all-reduce of the stage's weight gradients: once per batch */
    double resync_bytes;    /* moved by each lane in it */
    double gradient_bytes;  /* what it sums up: as many as there are weights */
    double stash_bytes;     /* kept from forward to backward */
    double workspace_bytes; /* held from recompute to the end of backward */
    double weights_bytes;   /* fixed, as are the next two: */
    double weight_versions_bytes; /* the second copy of the weights, if the schedule keeps one */
    double gradients_bytes;
    double optimizer_bytes;
    double state_bytes;  /* all else */
    guint n_layers;      /* 0 where nobody says */
    PsWorkLayer *layers; /* in the order of the forward */
} PsWorkStage;

/* A border that activations cross from stage `source` to a later stage `target`, and gradients
 * back. The time a transfer takes its sender may differ from the time it takes its receiver. */
typedef struct {
    guint source, target;          /* source < target */
    double source_s, source_bytes; /* at the source, one way: activations out or gradients in */
    double target_s, target_bytes; /* at the target, one way: activations in or gradients out */
    double latency_s;              /* on the way: occupies nobody */
} PsWorkBorder;

typedef struct {
    guint n_stages;
    PsWorkStage *stages;
    guint n_borders;
    PsWorkBorder *borders; /* ordered by (source, target), each pair once */
    /* What crosses between stages that are no neighbours where a schedule cuts the pipeline into
     * chunks: from the last stage back to the first. Its source and target do not matter. */
    PsWorkBorder wrap;
    double memory_bytes; /* of one device; 0 where nobody says */
    guint n_lanes;
    guint microbatches; /* N per batch; every stage's d divides it */
    gboolean placed;    /* the caller fills in first_device */
    /* How many pipelines alike there are, of which this is one (fold.h); 1 elsewhere. The stages'
     * collectives are among the replicas of all of them. */
    guint copies;
} PsWorkload;

/* Members of the collectives of a stage. */
static inline guint ps_workload_replicas(const PsWorkload *workload, guint stage)
{
    return workload->stages[stage].data_parallel * workload->copies;
}

/* stages and borders are zero-filled; the caller fills them in, then calls ps_workload_finish,
 * which numbers lanes and ranks. */
PsWorkload *ps_workload_new(guint n_stages, guint n_borders, guint microbatches);
void ps_workload_free(PsWorkload *workload);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsWorkload, ps_workload_free)

/* Numbers lanes and ranks and checks what the fields promise, and that each stage after the first
 * has a border from an earlier one; the error (INPUT) names the stage. */
gboolean ps_workload_finish(PsWorkload *workload, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The workload of a plan under Piper's cost model (design section 3); profile must outlive it. With
 * B the bandwidth (of the level that the stage pays: place.h) and sums over the edges (u,v) of the
 * layer graph between two stages, source_s = sum (c(u,v) + c_bw_u(v)) / B        target_s = sum
 * (c(u,v) + c_fw_v(u)) / B resync_s = 4 (d - 1) w / (d B)                 w = sum of the layers'
 * weight bytes A stage that no edge comes into follows the stage before it over a border of no
 * length. The wrap of schedules with chunks carries as much as the first border. Where the profile
 * does not give the weight gradient, it is half the backward: one of two matrix products. The fixed
 * memory b of Piper's profiles counts weights, the second weight version of PipeDream-2BW and all
 * else, and the workspace of layers that recompute. It is taken apart here: weights, versions,
 * gradients min(w, what is left of b'), in this order, the rest optimizer state; b' = b -
 * workspace. */
PsWorkload *ps_workload_from_plan(const PsPlan *plan, const PsProfile *profile,
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
