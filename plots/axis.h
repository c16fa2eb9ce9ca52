/* Axes: which ticks, and what they say. */
#pragma once

#include <glib.h>
#include "sim/base/units.h"

#define PS_MOST_TICKS 64

typedef struct {
    guint n;
    double values[PS_MOST_TICKS]; /* ascending */
    double step;                  /* linear ticks: between neighbours; else 0 */
} PsTicks;

/* Multiples of step = unit * (1, 2 or 5) * 10^k in [min, max], with the smallest step that gives at
 * most `most` of them; so there are at least most / 2.5 - 1. min < max, 2 <= most <= PS_MOST_TICKS.
 */
void ps_ticks_linear(double min, double max, double unit, guint most, PsTicks *ticks);

/* The finest of these that gives at most `most` ticks in [min, max], 0 < min < max: 1, 2, 5 times
 * powers of ten; powers of ten; their k-th powers. Where binary is set: powers of two, and their
 * k-th powers. 2 <= most <= PS_MOST_TICKS. */
void ps_ticks_log(double min, double max, gboolean binary, guint most, PsTicks *ticks);

/* PS_N_DIMENSIONS is a plain number. */
typedef struct {
    PsDimension dimension;
    double min, max; /* min < max; both above 0 where logarithmic */
    gboolean logarithmic;
} PsAxis;

/* An axis with room for all finite values: logarithmic where they are positive and span a factor of
 * ten or more; else linear, with 0 where that costs less than half of it. */
PsAxis ps_axis_fit(const double *values, gsize n, PsDimension dimension);

/* Where a value lies: 0 at min, 1 at max. */
double ps_axis_place(const PsAxis *axis, double value);

/* Ticks for an axis, in the unit that people read. */
void ps_axis_ticks(const PsAxis *axis, guint most, PsTicks *ticks);

/* Text at a tick, with unit: "20 ms", "8 GiB". On linear axes all have the same unit and number of
 * decimals. Caller frees. */
char *ps_axis_label(const PsAxis *axis, const PsTicks *ticks, double value);
