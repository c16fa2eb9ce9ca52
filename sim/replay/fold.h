/* Replays lanes that are alike once.
 *
 * Let g be the greatest common divisor of the data-parallel degrees d_i. Microbatch n runs on
 * replica n mod d_i of stage i, and g divides d_i, so replica r handles microbatches n with
 * n mod g = r mod g only: the lanes fall into g classes (r mod g) between which no activation and
 * no gradient ever passes. Write r = c + g k and n = c + g m. Class c has d_i / g replicas k of
 * stage i, N / g microbatches m per batch, and runs m on replica m mod (d_i / g): it is the
 * pipeline with all degrees and N divided by g, whatever c is. A lane has the same steps as there,
 * since N / d_i and the bounds y_i stay what they are.
 *
 * All that classes have in common are the collectives of a stage, which start when all of its
 * replicas are there. Let the times of the small pipeline be given, with collectives that take as
 * long as those among all d_i replicas (the workload's `copies`), and give each class just these
 * times. Then every op starts as late as what it waits for allows, and no later: within a class
 * nothing has changed; a collective waits for the replicas of g classes that come at the same time.
 * And ops stand in each stream in the same order, for a lane queues its own ops in the order of its
 * schedule, and transfers that become ready at one instant queue by microbatch and link: c + g m
 * orders as m does. A run has but one such assignment of times, so this is it.
 *
 * Hence each record of the small pipeline stands for g records, one per class, that differ in lane,
 * replica, rank, peer and microbatch alone; counts of microbatches and ops are g times as large;
 * blocks of the search for the steady state (steady.h) are g times as long, are complete at the
 * same times and repeat at the same times.
 *
 * The proof wants three things of a run. Durations are known beforehand and alike for all replicas:
 * not so over a network that lanes share, nor where single devices are disturbed; nor is it where
 * all replicas are fed by one data loader. What happens at one instant does not depend on the order
 * of its events: a lane that could begin a step or apply gradients does so after all of them. And
 * no words that name one lane: what is said of deadlocks and of memory is taken from a replay of
 * all lanes. */
#pragma once

#include <glib.h>
#include "sim/replay/replay.h"

/* How many pipelines alike the replay of a workload consists of; 1 where it must not be folded, or
 * is not to be. */
guint ps_fold_copies(const PsWorkload *workload, const PsReplaySettings *settings);

/* One of them, of a workload that is no such pipeline itself. copies divides all degrees. Free with
 * ps_workload_free. */
PsWorkload *ps_fold_workload(const PsWorkload *workload, guint copies);

/* As ps_replay_run, and with the same outcome, but for the order of records at one instant. */
PsReplayResult *ps_fold_run(const PsWorkload *workload, const PsReplaySettings *settings,
                            const PsTraceSink *sink, GError **error) G_GNUC_WARN_UNUSED_RESULT;
