/* Schedules as CSV, in the form of PyTorch's pipelining package (torch/distributed/pipelining/
 * schedules.py): one row per rank, no header, cells <stage><ACTION>[<microbatch>].
 *
 * F          forward                     B  backward, both gradients
 * I          input gradient              W  weight gradient
 * SEND_F     activations to the stage after         RECV_F  from the stage before
 * SEND_B     gradients to the stage before          RECV_B  from the stage after
 * UNSHARD, RESHARD, REDUCE_GRAD   of a stage, without a microbatch
 * (a;b)OVERLAP_F_B                a and b at the same time
 *
 * Stages are places of the pipeline; a rank holds one of them or several (its chunks, in ascending
 * order). Blanks around cells and empty cells do not count. */
#pragma once

#include <glib.h>
#include "sim/base/output.h"
#include "sim/schedule/schedule.h"

/* Whether a schedule's name is a file's: it ends in ".csv". */
gboolean ps_schedule_is_file(const char *name);

/* Reads and verifies: stages 0 .. S - 1 each on one rank, as many on each; every microbatch 0 .. m
 * - 1 once on each stage, forward before backward, or input before weight gradient; sends and
 * receives, where there are any, for everything that crosses ranks; nothing of a stage while it is
 * resharded or after its gradients were reduced (INPUT, with file and line). No deadlock, with each
 * rank's computations in order, and its sends and receives in order on one stream (STUCK, naming
 * the wait cycle).
 *
 * The result runs the computations in the order of the file, the parts of an overlap one after the
 * other, and tells the order of sends and receives where the file does; of all else the replay has
 * its own ways. Its name is the path. */
PsSchedule *ps_schedule_read(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_schedule_free(PsSchedule *schedule); /* only of one that was read */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsSchedule, ps_schedule_free)

/* Writes one batch of computations on n_stages lanes; chunks fits the schedule. */
void ps_schedule_write(const PsSchedule *schedule, guint n_stages, guint chunks, guint batch,
                       PsOutput *output);
