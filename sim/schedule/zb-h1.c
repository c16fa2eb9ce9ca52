#include "sim/schedule/schedules.h"

/* ZB-H1 (Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.3): as many forwards
 * ahead as 1F1B; stage i does its weight gradients i microbatches after the input gradients, so
 * that all stages stash as much as the first (p microbatches), and they fill the drain. */
static void list(const PsSchedule *schedule G_GNUC_UNUSED, const PsLaneShape *lane, GArray *steps)
{
    ps_list_zero_bubble(lane, lane->in_flight, lane->stage, steps);
}

const PsSchedule ps_schedule_zb_h1 = {
    .name = "zb-h1",
    .summary = "1f1b with weight gradients apart, in the memory of 1f1b's first stage",
    .weight_versions = 1,
    .min_chunks = 1,
    .max_chunks = 1,
    .list = list,
};
