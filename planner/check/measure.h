/* What the rows of a trace say together, without believing the run's own summary: a second road to
 * every figure that `check` reports. */
#pragma once

#include "planner/check/pace.h"

typedef struct {
    double busy_s, compute_s, edge_s,
        resync_s;             /* within the window, summed over the stage's lanes */
    gint64 busiest_ps;        /* compute stream of its busiest lane, within the window */
    double peak_memory_bytes; /* of its lanes, whole run */
    gint64 passed;            /* microbatches that it was through with within the window */
    gint64 shared;            /* the same of shares of an amortised resync */
    /* How many microbatches its fastest replica was ahead of its slowest, of those that each runs,
     * when the window began and when it ended. */
    gint64 lead_before, lead_after;
} PsMeasuredStage;

typedef struct {
    gint64 makespan_ps;
    PsPace pace;
    gint64 n_vanished; /* forwards and backwards that took no time, so that they have no row */
    guint n_stages;
    PsMeasuredStage *stages;
} PsMeasure;

/* Reads ops and memory of the run, and its loads if they are there. Rows that cannot be true
 * together are refused (INPUT, naming file and line): two ops at once on one stream, a microbatch
 * run twice, on the wrong replica or not at all, a backward before its forward, memory below zero,
 * two samples at once on one server of the loader.
 *
 * Ops of no length have no row. Where some of a kind may have had none - computations with jitter,
 * transfers of no bytes - a missing row is no fault. */
PsMeasure *ps_measure(const PsRun *run, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_measure_free(PsMeasure *measure);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsMeasure, ps_measure_free)
