#include "sim/schedule/schedules.h"

void ps_list_zero_bubble(const PsLaneShape *lane, guint warm_up, guint delay, GArray *steps)
{
    warm_up = MIN(warm_up, lane->batch);
    for (guint i = 0; i < warm_up; i++) {
        ps_step_add(steps, PS_STEP_FORWARD, 0, i);
    }
    for (guint i = 0; i < lane->batch + delay; i++) {
        if (i < lane->batch) {
            ps_step_add(steps, PS_STEP_INPUT, 0, i);
        }
        if (i >= delay) {
            ps_step_add(steps, PS_STEP_WEIGHT, 0, i - delay);
        }
        if (warm_up + i < lane->batch) {
            ps_step_add(steps, PS_STEP_FORWARD, 0, warm_up + i);
        }
    }
}
