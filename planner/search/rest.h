/* How many devices the layers outside a downset need at the least, with every stage's load within a
 * threshold: a partial layout that leaves fewer cannot be completed.
 *
 * Two bounds. Work: every stage has t·(sum of p) <= T·d·t, so layers with the work W need W/T
 * devices. And what a search in all layouts has shown: with its fronts at hand, a pass from the
 * sources puts on each downset the stages that keep within T with no more in flight than the
 * downset's layout of least window asks for, edges at the innermost level, and adds up the fewest
 * devices. Unlike the work, it knows of the memory that the microbatches in flight take. It holds
 * for smaller thresholds, fewer devices and narrower classes of degrees as well, so it is kept. */
#pragma once

#include "planner/search/fronts.h"
#include "planner/search/layout.h"

typedef struct PsRest PsRest;

/* Knows of work alone. All of these must outlive it. */
PsRest *ps_rest_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver);
void ps_rest_free(PsRest *rest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsRest, ps_rest_free)

/* Moves over what was learned with a solver of no less memory, for the same costs and downsets. */
void ps_rest_take_over(PsRest *rest, PsRest *from);

/* Work spread over all devices, in time quanta: no layout has a smaller largest load. */
gint64 ps_rest_least_load(const PsRest *rest, guint devices);

/* What is asked of layouts. */
typedef struct {
    PsThreshold threshold;
    const gint64 *caps; /* [n_divisors]: the largest load·d within it, for each divisor d */
    guint devices;
    PsDegrees degrees;
} PsDemand;

/* Learns from the fronts of a finished search in all layouts that meet the demand. */
void ps_rest_learn(PsRest *rest, const PsFronts *fronts, const PsDemand *demand);

/* [n_downsets]: the least window of the layouts of each downset that meet the demand, or less;
 * G_MAXUINT where there is none. Until the next lesson; NULL where none holds for the demand. */
const guint *ps_rest_windows(const PsRest *rest, const PsDemand *demand);

/* most_devices[n_downsets]: what a layout of each downset may take so that it can be completed. */
void ps_rest_most_devices(const PsRest *rest, const PsDemand *demand, guint *most_devices);
