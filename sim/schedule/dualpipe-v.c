#include "sim/schedule/schedules.h"

/* DualPipe-V: DualPipe (DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, section
 * 3.2.1) cut in half, so that each stage has two chunks as in ZB-V; the order is that of DeepSeek's
 * code (github.com/deepseek-ai/DualPipe, dualpipev.py) and of PyTorch's ScheduleDualPipeV. There a
 * forward and a backward side by side overlap one's transfers with the other's computation; a lane
 * here runs them one after the other. It wants 2 p microbatches; smaller batches run like one of so
 * many without those that are not there. */
enum { DOWN, UP, N_CHUNKS };

typedef struct {
    GArray *steps;
    guint n_forward[N_CHUNKS], n_backward[N_CHUNKS];
    GArray *weights; /* PsStep: weight gradients put off */
    guint n_weights; /* of them done */
} Lane;

static void forward(Lane *lane, guint chunk)
{
    ps_step_add(lane->steps, PS_STEP_FORWARD, chunk, lane->n_forward[chunk]++);
}

static void backward(Lane *lane, guint chunk)
{
    ps_step_add(lane->steps, PS_STEP_BACKWARD, chunk, lane->n_backward[chunk]++);
}

static void input(Lane *lane, guint chunk)
{
    guint microbatch = lane->n_backward[chunk]++;
    ps_step_add(lane->steps, PS_STEP_INPUT, chunk, microbatch);
    ps_step_add(lane->weights, PS_STEP_WEIGHT, chunk, microbatch);
}

static void weight(Lane *lane)
{
    g_array_append_val(lane->steps, g_array_index(lane->weights, PsStep, lane->n_weights++));
}

static void warm_up(Lane *lane, guint before, guint after)
{
    for (guint i = 0; i < 2 * after; i++) {
        forward(lane, DOWN);
    }
    for (guint i = 0; i < before + 1; i++) {
        forward(lane, DOWN);
        forward(lane, UP);
    }
    for (guint i = 0; i < after; i++) {
        input(lane, UP);
        weight(lane);
        forward(lane, UP);
    }
}

static void cool_down(Lane *lane, guint before, guint after)
{
    for (guint i = 0; i < after; i++) {
        backward(lane, UP);
        forward(lane, UP);
        backward(lane, DOWN);
    }
    /* The second half of these puts its weight gradients off. */
    for (guint i = 0; i < 2 * (before + 1); i++) {
        guint chunk = i % 2 == 0 ? UP : DOWN;
        if (i < before + 1) {
            backward(lane, chunk);
        } else {
            input(lane, chunk);
        }
    }
    for (guint i = 0; i < after; i++) {
        weight(lane);
        input(lane, DOWN);
    }
    for (guint i = 0; i < before + 1; i++) {
        weight(lane);
    }
}

static void list(const PsSchedule *schedule G_GNUC_UNUSED, const PsLaneShape *shape, GArray *steps)
{
    g_autoptr(GArray) weights = g_array_new(FALSE, FALSE, sizeof(PsStep));
    Lane lane = {.steps = steps, .weights = weights};
    guint before = shape->stage, after = shape->n_stages - shape->stage - 1;
    guint batch = MAX(shape->batch, 2 * shape->n_stages);
    warm_up(&lane, before, after);
    for (guint i = 0; i < batch - 2 * shape->n_stages + before + 1; i++) {
        forward(&lane, DOWN);
        backward(&lane, UP);
        forward(&lane, UP);
        backward(&lane, DOWN);
    }
    cool_down(&lane, before, after);
    ps_steps_trim(steps, shape->batch);
}

const PsSchedule ps_schedule_dualpipe_v = {
    .name = "dualpipe-v",
    .summary = "two chunks per stage as in zb-v, forwards and backwards in pairs",
    .weight_versions = 1,
    .min_chunks = 2,
    .max_chunks = 2,
    .uniform = TRUE,
    .place = ps_place_in_v,
    .list = list,
};
