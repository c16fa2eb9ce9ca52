#include "sim/schedule/schedules.h"

/* ZB-V (Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 6): two chunks per stage,
 * down the stages and up again, so that a microbatch ends where it began; weight gradients apart;
 * the memory of 1F1B. The order is that of PyTorch's ScheduleZBVZeroBubble
 * (torch/distributed/pipelining/schedules.py), which is free of bubbles where F = B = W. It wants
 * 2 p - 1 microbatches; smaller batches run like one of so many without those that are not there.
 */
enum { DOWN, UP, N_CHUNKS };

typedef struct {
    GArray *steps;
    guint n[PS_N_STEPS][N_CHUNKS];
} Lane;

static void add(Lane *lane, PsStepKind kind, guint chunk)
{
    ps_step_add(lane->steps, kind, chunk, lane->n[kind][chunk]++);
}

static void add_gradients(Lane *lane, guint chunk)
{
    add(lane, PS_STEP_INPUT, chunk);
    add(lane, PS_STEP_WEIGHT, chunk);
}

static void warm_up(Lane *lane, guint before, guint after)
{
    for (guint i = 0; i < 2 * after - 1; i++) {
        add(lane, PS_STEP_FORWARD, DOWN);
    }
    for (guint i = 0; i < before; i++) {
        add(lane, PS_STEP_FORWARD, UP);
        add(lane, PS_STEP_FORWARD, DOWN);
    }
    for (guint i = 0; i < after; i++) {
        add(lane, PS_STEP_FORWARD, UP);
        add_gradients(lane, UP);
    }
}

static void cool_down(Lane *lane, guint before, guint after)
{
    for (guint i = 0; i < before; i++) {
        add(lane, PS_STEP_INPUT, DOWN);
        add(lane, PS_STEP_INPUT, UP);
    }
    for (guint i = 0; i < after; i++) {
        add_gradients(lane, DOWN);
    }
    for (guint chunk = N_CHUNKS; chunk-- > 0;) {
        while (lane->n[PS_STEP_WEIGHT][chunk] < lane->n[PS_STEP_INPUT][chunk]) {
            add(lane, PS_STEP_WEIGHT, chunk);
        }
    }
}

static void list(const PsSchedule *schedule G_GNUC_UNUSED, const PsLaneShape *shape, GArray *steps)
{
    Lane lane = {steps, {{0}}};
    guint before = shape->stage, after = shape->n_stages - shape->stage;
    guint batch = MAX(shape->batch, 2 * shape->n_stages - 1);
    guint *n_forward = lane.n[PS_STEP_FORWARD];
    warm_up(&lane, before, after);
    while (n_forward[DOWN] < batch || n_forward[UP] < n_forward[DOWN]) {
        if (n_forward[DOWN] < batch) {
            add(&lane, PS_STEP_FORWARD, DOWN);
        }
        add_gradients(&lane, DOWN);
        add(&lane, PS_STEP_FORWARD, UP);
        add_gradients(&lane, UP);
    }
    cool_down(&lane, before, after);
    ps_steps_trim(steps, shape->batch);
}

const PsSchedule ps_schedule_zb_v = {
    .name = "zb-v",
    .summary = "two chunks per stage, down and up again, weight gradients apart",
    .weight_versions = 1,
    .min_chunks = 2,
    .max_chunks = 2,
    .uniform = TRUE,
    .place = ps_place_in_v,
    .list = list,
};
