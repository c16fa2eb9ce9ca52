/* The replay: runs a workload event by event, each lane through the steps of its schedule in strict
 * order.
 *
 * Step of a lane     waits for
 *   forward of n     the activations of n from every stage it borders on before it, and the weights
 *                    of the batch before last or last (see weight_versions in schedule.h)
 *   backward of n    the gradients of n from every stage it borders on after it, and the collective
 *                    of the batch as many before as there are versions of the weights
 *                    (ps_schedule_versions)
 *
 * communication serial: a forward is, all on the lane's compute stream, [receive] per source stage,
 * [forward], [send] per target stage, a backward [receive] per target, [recompute], [backward],
 * [send] per source. Nearest stages come first. What a step sends is there when the step ends.
 * communication overlap: a transfer holds the sender's send stream and the receiver's receive
 * stream, each for its own time; it starts when both are free, in the order in which transfers
 * became ready (of those ready at one instant: by microbatch, sending stage and distance), and its
 * data is there when the longer part ends. With streams single a lane has one stream for both, on
 * which they stand in the order of its schedule: receives of a step, its sends, receives of the
 * next, or as a schedule file spells them out; trace.csv calls it the send stream.
 * communication blocking: when a lane has done a step it sends, and receives what its next step
 * needs, at the same time, and computes nothing before its sends are over.
 * messages eager: a transfer holds the sender's stream only.
 * resync amortised: a share of d / N after each backward, on the compute stream (serial) or the
 * collective stream (overlap; nobody waits for it). resync batch: collectives of a stage's
 * replicas, each of which starts when all have joined it, on the compute streams (serial) or the
 * collective streams. A lane joins in the reduction of its gradients after its last backward of the
 * batch, or bucket by bucket during it; then it applies them (optimizer) before its next step. With
 * sharding zero1 gradients are reduce-scattered and weights gathered again afterwards; with zero2
 * they are reduce-scattered after every backward; with zero3 weights are gathered for every forward
 * and backward, those of the next step during this one where streams are apart.
 * network topology: what transfers and collectives take is decided by the links they share
 * (fabric.h); a lane's message goes from each of its ranks to the rank of the same share, and
 * collectives of layers (profile.h) run between their computations.
 *
 * The durations of one stage's ops for one microbatch are differences of one cumulated sum that is
 * rounded to picoseconds, so rounding does not add up: a microbatch is off by at most half a
 * picosecond. Ops of no length leave no record.
 *
 * A run with the same inputs gives the same records in the same order. Different runs may be
 * made by several threads at once. */
#pragma once

#include <glib.h>
#include "sim/replay/settings.h"
#include "sim/replay/workload.h"
#include "sim/trace/run.h"
#include "sim/trace/trace.h"

typedef struct {
    /* Of the lane whose compute stream was busiest in the window, divided by the window's
     * microbatches: its share of all work of one microbatch, comparable to the planner's TPS. */
    double busy_s_per_microbatch;
    double compute_s_per_microbatch; /* the same by cause; transfers and collectives on streams */
    double edge_s_per_microbatch;    /* of their own count here as well */
    double resync_s_per_microbatch;
    double bubble_share;      /* 1 - busy share of that lane's compute stream */
    double peak_memory_bytes; /* largest of the stage's lanes, whole run */
    double peak_category_bytes[PS_N_MEMORY];
    double peak_stash_microbatches; /* one on one of v chunks counts as 1/v */
} PsReplayStage;

/* Microbatches are those of all copies of the workload. */
typedef struct {
    double tps_s; /* length of the window / window_microbatches */
    gint64 makespan_ps;
    gint64 window_start_ps, window_end_ps; /* one period; the whole run where start is cold */
    gint64 window_microbatches;
    gint64 microbatches_simulated;
    gint64 steady_after_microbatches; /* it took so many to prove the period; 0 where !steady */
    gint64 n_ops;    /* records handed to sink->op, or that would have been, times the copies */
    gboolean steady; /* the period repeats exactly. FALSE with start steady: none was found, and the
                        window is the second half of a long run */
    guint n_stages;
    PsReplayStage *stages;
    gboolean partial; /* it was interrupted, or came to a standstill because a device had stopped:
                         at the makespan. The window is then all of it, or as far as it got */
    char *standstill; /* what stopped and who waits for whom; NULL: nothing did */
    GArray *stops;    /* PsRunStop: lanes that stopped before the end; NULL where none can */
    GArray *links;    /* PsRunLink: what the network carried; NULL on a flat one */
    char *out_of_memory; /* where and why a lane first held more than the workload's memory_bytes;
                            NULL: none did. The run goes on all the same */
} PsReplayResult;

void ps_replay_result_free(PsReplayResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsReplayResult, ps_replay_result_free)

/* sink may be NULL. NULL with error on a deadlock (STUCK, naming the wait cycle), where the run
 * would take longer than 53 days (INPUT), and for what the network lacks (INPUT, USAGE). Ends early
 * where ps_interrupt_requested says so. */
PsReplayResult *ps_replay_run(const PsWorkload *workload, const PsReplaySettings *settings,
                              const PsTraceSink *sink, GError **error) G_GNUC_WARN_UNUSED_RESULT;
