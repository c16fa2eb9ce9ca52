/* What the threshold search finds: stages with their degrees, before TMPCs are chosen. */
#pragma once

#include "planner/search/stage-solver.h"

/* A load bound: the fraction numerator/denominator in time quanta, inclusive unless strict. */
typedef struct {
    gint64 numerator, denominator;
    gboolean strict;
} PsThreshold;

#define PS_NO_THRESHOLD ((PsThreshold){G_MAXINT64, 1, FALSE})

typedef struct {
    guint n_stages;
    PsStageRun *runs; /* pipeline order: the first holds the model's sources */
    gint64 *loads;    /* load·d of each */
    guint devices;    /* with idle ones between stages, and up to the border behind the last */
    guint sum_data_parallel;
} PsLayout;

PsLayout *ps_layout_copy(const PsLayout *layout);
void ps_layout_free(PsLayout *layout);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsLayout, ps_layout_free)

/* The largest load of a layout, as an inclusive threshold. */
PsThreshold ps_layout_load(const PsLayout *layout);

/* All loads that equal this one but for the rounding of values that are no whole quanta: up to
 * 1e-12 above it. Ties are broken among these. */
PsThreshold ps_threshold_tied(PsThreshold load);
