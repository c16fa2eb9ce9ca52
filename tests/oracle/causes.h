/* Holds the trace of an overlapped replay against the rules, from its rows alone: each op must
 * start at the very moment when the last of its causes is over, neither earlier nor later. */
#pragma once

#include <glib.h>
#include "sim/replay/workload.h"
#include "sim/trace/trace.h"

/* ops: PsTraceOp of a whole run with communication overlap. versions: as in ps_oracle_relax.
 * amortised: the form of resync. Fails the test (Check) with the row where it is wrong. */
void ps_check_causes(const PsWorkload *workload, const GArray *ops, guint versions,
                     gboolean amortised);

/* For every trace: rows of a stream do not overlap. */
void ps_check_streams(const PsWorkload *workload, const GArray *ops);
