/* The records named in schedules.def. */
#pragma once

#include "sim/schedule/schedule.h"

#define PS_SCHEDULE(name) extern const PsSchedule ps_schedule_##name;
#include "sim/schedule/schedules.def"
#undef PS_SCHEDULE
