/* Classes of data-parallel degree sequences that the search can be held to.
 *
 * The search builds plans from the sink, so it sees the degrees last stage first. What a class must
 * know of those so far is their shape: a small number, 0 before the first stage. */
#pragma once

#include <glib.h>

typedef enum {
    PS_DEGREES_ANY,
    PS_DEGREES_NESTED,  /* one way along the pipeline, each divides its larger neighbour */
    PS_DEGREES_UNIFORM, /* the same for all stages */
    PS_N_DEGREES
} PsDegrees;

extern const char *const ps_degrees_names[PS_N_DEGREES + 1]; /* "any", "nested", "uniform" */

#define PS_NO_SHAPE G_MAXUINT

/* Number of shapes when d is one of n_divisors values. */
guint ps_degrees_n_shapes(PsDegrees degrees, guint n_divisors);

/* The shape after one more stage whose d is divisors[next], or PS_NO_SHAPE where the class forbids
 * it. */
guint ps_degrees_next(PsDegrees degrees, guint shape, const guint *divisors, guint next);

/* Whether every sequence of degrees that may follow shape `narrow` may also follow shape `wide`. */
gboolean ps_degrees_covers(PsDegrees degrees, guint wide, guint narrow, const guint *divisors);
