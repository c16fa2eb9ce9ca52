#include "sim/schedule/schedules.h"

/* GPipe (Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline
 * Parallelism", NeurIPS 2019, section 2.3): all forwards, then all backwards, the last one first.
 * It stashes the whole batch, whatever the plan's in-flight bound. */
static void list(const PsSchedule *schedule G_GNUC_UNUSED, const PsLaneShape *lane, GArray *steps)
{
    for (guint i = 0; i < lane->batch; i++) {
        ps_step_add(steps, PS_STEP_FORWARD, 0, i);
    }
    for (guint i = lane->batch; i-- > 0;) {
        ps_step_add(steps, PS_STEP_BACKWARD, 0, i);
    }
}

const PsSchedule ps_schedule_gpipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards; the whole batch is stashed",
    .weight_versions = 1,
    .min_chunks = 1,
    .max_chunks = 1,
    .list = list,
};
