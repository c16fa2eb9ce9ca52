/* The records named in schedules.def, and what several of them share. */
#pragma once

#include "sim/schedule/schedule.h"

#define PS_SCHEDULE(name) extern const PsSchedule ps_schedule_##name;
#include "sim/schedule/schedules.def"
#undef PS_SCHEDULE

/* warm_up forwards, then in turn the input gradient of microbatch k, the weight gradient of k -
 * delay, and the next forward. */
void ps_list_zero_bubble(const PsLaneShape *lane, guint warm_up, guint delay, GArray *steps);

/* Chunk 0 down the stages, chunk 1 up again. */
guint ps_place_in_v(const PsSchedule *schedule, const PsLaneShape *lane, guint chunk);
