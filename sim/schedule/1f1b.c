#include "sim/schedule/schedules.h"

/* Synchronous 1F1B (PipeDream-Flush; Narayanan et al., "Efficient Large-Scale Language Model
 * Training on GPU Clusters Using Megatron-LM", SC 2021, section 2.2.1): y warm-up forwards, then
 * backward and forward in turn. */
static void list(const PsSchedule *schedule G_GNUC_UNUSED, const PsLaneShape *lane, GArray *steps)
{
    guint warm_up = MIN(lane->in_flight, lane->batch);
    for (guint i = 0; i < warm_up; i++) {
        ps_step_add(steps, PS_STEP_FORWARD, 0, i);
    }
    for (guint i = 0; i < lane->batch; i++) {
        ps_step_add(steps, PS_STEP_BACKWARD, 0, i);
        if (warm_up + i < lane->batch) {
            ps_step_add(steps, PS_STEP_FORWARD, 0, warm_up + i);
        }
    }
}

const PsSchedule ps_schedule_1f1b = {
    .name = "1f1b",
    .summary = "one forward, one backward; the pipeline is flushed after each batch",
    .weight_versions = 1,
    .min_chunks = 1,
    .max_chunks = 1,
    .list = list,
};
