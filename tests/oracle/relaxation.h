/* An independent second road to the times of a serial replay: longest paths over the op lists of
 * all lanes, written out in full, relaxed by a worklist. It knows no events, streams or clocks, and
 * shares no code with the replay but the workload's fields. */
#pragma once

#include <glib.h>
#include "sim/replay/workload.h"

/* Integer durations of a stage, from whole picoseconds, so that nothing is rounded. */
typedef struct {
    gint64 forward_ps;  /* whole forward step: receives, forward, sends */
    gint64 backward_ps; /* whole backward step, with a resync share */
    gint64 resync_ps;   /* collective after each batch; 0: none */
} PsOracleStage;

typedef struct {
    gint64 *forward_start_ps;  /* [n_stages * n_microbatches]: stage-major */
    gint64 *backward_start_ps; /* likewise */
    gint64 makespan_ps;
} PsOracleTimes;

/* All n_microbatches (a multiple of the batch where it resyncs). versions 1: the pipeline is
 * flushed after each batch; 2: it is not. Every stage waits for all stages that `workload` has a
 * border from (forward) or to (backward). */
PsOracleTimes *ps_oracle_relax(const PsWorkload *workload, const PsOracleStage *stages,
                               guint versions, guint n_microbatches);
void ps_oracle_times_free(PsOracleTimes *times);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsOracleTimes, ps_oracle_times_free)

/* The largest mean over all cycles of the periodic event graph of a stream of microbatches without
 * flush: seconds per microbatch in steady state, times 1e12. By bisection, with Bellman-Ford asking
 * whether a cycle beats the candidate (Lawler). Exact to about 1e-11 of the result. */
double ps_oracle_cycle_ps(const PsWorkload *workload, const PsOracleStage *stages);
