#include "sim/schedule/schedules.h"

/* ZB-H2 (Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.3): forwards fill the
 * wait for the first gradient too, 2 (p - i) - 1 of them, and stage i does its weight gradients 2 i
 * microbatches late: 2 p - 1 microbatches are stashed everywhere. Later stages begin and end later,
 * each without a gap where F = B = W. */
static void list(const PsSchedule *schedule G_GNUC_UNUSED, const PsLaneShape *lane, GArray *steps)
{
    ps_list_zero_bubble(lane, 2 * lane->in_flight - 1, 2 * lane->stage, steps);
}

const PsSchedule ps_schedule_zb_h2 = {
    .name = "zb-h2",
    .summary = "zb-h1 with twice the microbatches in flight",
    .weight_versions = 1,
    .min_chunks = 1,
    .max_chunks = 1,
    .list = list,
};
