#include "sim/schedule/schedules.h"

/* Synchronous 1F1B (PipeDream-Flush; Narayanan et al., "Efficient Large-Scale Language Model
 * Training on GPU Clusters Using Megatron-LM", SC 2021, section 2.2.1). */
static gboolean next(const PsLanePosition *position, PsStepKind *kind)
{
    return ps_one_forward_one_backward(position, 1, kind);
}

const PsSchedule ps_schedule_1f1b = {
    .name = "1f1b",
    .summary = "one forward, one backward; the pipeline is flushed after each batch",
    .flushes = TRUE,
    .weight_versions = 1,
    .next = next,
};
