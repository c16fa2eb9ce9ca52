/* Workloads for tests of the replay. All times are whole nanoseconds, so exact in picoseconds. */
#pragma once

#include <glib.h>
#include "sim/replay/workload.h"
#include "tests/oracle/relaxation.h"

/* A chain of p stages with d = t = 1, in-flight bound p - i, and a border of no length between
 * neighbours. */
PsWorkload *ps_chain_new(guint p, guint microbatches, double forward_s, double backward_s);

/* A random pipeline: up to 5 stages, d from a few small numbers, y = ceil(s / d), chain borders and
 * sometimes skipping ones, random times, some with recompute, N a multiple of all d and at least
 * sum d. nested: d never rises and each divides the one before, or the reverse. */
PsWorkload *ps_random_workload(GRand *rand, gboolean nested);

/* The durations of whole steps of a workload under communication serial; amortised or per batch. */
PsOracleStage *ps_oracle_stages(const PsWorkload *workload, gboolean amortised);
