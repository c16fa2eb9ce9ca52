#include "sim/schedule/schedules.h"

/* PipeDream-2BW (Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021,
 * section 3.1): double-buffered weights, no flush. */
static gboolean next(const PsLanePosition *position, PsStepKind *kind)
{
    return ps_one_forward_one_backward(position, 2, kind);
}

const PsSchedule ps_schedule_1f1b_2bw = {
    .name = "1f1b-2bw",
    .summary = "one forward, one backward; batches stream on, two weight versions",
    .weight_versions = 2,
    .min_chunks = 1,
    .max_chunks = 1,
    .next = next,
};
