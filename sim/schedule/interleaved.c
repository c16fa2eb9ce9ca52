#include "sim/schedule/schedules.h"

/* Interleaved 1F1B (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
 * Clusters Using Megatron-LM", SC 2021, section 2.2.2), in Megatron's order
 * (megatron/core/pipeline_parallel/schedules.py): microbatches in groups of p, each group through
 * all chunks of the lane in turn, backwards from the last chunk to the first; 2 (p - i - 1) + (v -
 * 1) p forwards of chunks ahead, all of them where there is but one group. A batch that p does not
 * divide runs like the next larger one that it does, without the microbatches that are not there.
 */
typedef struct {
    guint n_stages, chunks;
} Shape;

static void add(GArray *steps, PsStepKind kind, const Shape *shape, guint number)
{
    guint group = number / (shape->n_stages * shape->chunks);
    guint within = number % (shape->n_stages * shape->chunks);
    guint chunk = within / shape->n_stages;
    ps_step_add(steps, kind, kind == PS_STEP_FORWARD ? chunk : shape->chunks - 1 - chunk,
                group * shape->n_stages + within % shape->n_stages);
}

static void list(const PsSchedule *schedule G_GNUC_UNUSED, const PsLaneShape *lane, GArray *steps)
{
    const Shape shape = {lane->n_stages, lane->chunks};
    guint groups = (lane->batch + lane->n_stages - 1) / lane->n_stages;
    guint all = groups * lane->n_stages * lane->chunks;
    guint warm_up = 2 * (lane->n_stages - lane->stage - 1) + (lane->chunks - 1) * lane->n_stages;
    warm_up = groups == 1 ? all : MIN(warm_up, all);
    for (guint i = 0; i < warm_up; i++) {
        add(steps, PS_STEP_FORWARD, &shape, i);
    }
    for (guint i = 0; i < all; i++) {
        if (warm_up + i < all) {
            add(steps, PS_STEP_FORWARD, &shape, warm_up + i);
        }
        add(steps, PS_STEP_BACKWARD, &shape, i);
    }
    ps_steps_trim(steps, lane->batch);
}

const PsSchedule ps_schedule_interleaved = {
    .name = "interleaved",
    .summary = "1f1b with several chunks of the model per stage (Megatron's order)",
    .weight_versions = 1,
    .min_chunks = 2,
    .max_chunks = 1024,
    .uniform = TRUE,
    .list = list,
};
