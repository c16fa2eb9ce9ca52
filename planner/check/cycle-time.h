/* The steady-state time per microbatch of strict 1F1B without replaying it.
 *
 * With all switches on the planner's side a run is a timed event graph that looks the same from
 * every microbatch n. With u = y·d (a multiple of d, so these ops share a lane), F and B the steps
 * of a stage with all that they charge to the compute stream, and i before j over a border:
 *
 *     F_i(n) -> F_j(n)           activations             F_i(n) -> B_i(n - u_i + d_i)   the lane's
 *     B_j(n) -> B_i(n)           gradients               B_i(n) -> F_i(n + u_i)         next step
 *
 * An arc delays by the length of the step that it leaves. The time per microbatch is the largest
 * ratio of delay to shift over the cycles of this graph of two nodes per stage (Baccelli, Cohen,
 * Olsder, Quadrat, "Synchronization and Linearity", theorem 3.28); a cycle without a shift is a
 * deadlock. Degrees of any kind are allowed: this is the time that the planner's estimate is an
 * optimist of. In-flight bounds must not
 * span two batches: two weight versions allow no more. */
#pragma once

#include "sim/replay/workload.h"

/* Seconds per microbatch; INFINITY where the in-flight bounds deadlock. */
double ps_cycle_time(const PsWorkload *workload);

/* The least in-flight bounds, stage by stage, at which the time per microbatch is at most tps_s (to
 * 1e-9), which must not be below any stage's own load. Larger bounds of later stages ask for larger
 * ones of earlier stages and never the other way round, so there is one least choice: found from
 * the sink. Caller frees. */
guint *ps_least_in_flight(const PsWorkload *workload, double tps_s);
