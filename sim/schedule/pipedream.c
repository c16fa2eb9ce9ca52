#include "sim/schedule/schedules.h"

/* PipeDream (Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training", SOSP
 * 2019, section 3.3): asynchronous. Every backward updates the weights; each microbatch in flight
 * keeps the version that its forward used ("weight stashing"), so nobody waits for weights, and
 * memory counts one for each. Where replicas reduce gradients once a batch, no more batches are
 * under way than the microbatches in flight can span; the versions are fewer then than memory
 * counts. */
static gboolean next(const PsLanePosition *position, PsStepKind *kind)
{
    return ps_one_forward_one_backward(position, 0, kind);
}

const PsSchedule ps_schedule_pipedream = {
    .name = "pipedream",
    .summary = "one forward, one backward, asynchronous; a weight version per microbatch in flight",
    .weight_versions = 0,
    .min_chunks = 1,
    .max_chunks = 1,
    .next = next,
};
