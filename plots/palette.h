/* Colours that stay apart for colour-blind readers (Okabe and Ito, "Color Universal Design", 2008)
 * and, by lightness or hatching, in greyscale. */
#pragma once

#include <cairo.h>
#include "plots/kinds.h"

typedef struct {
    double red, green, blue; /* 0 to 1 */
} PsColour;

void ps_set_colour(cairo_t *cairo, PsColour colour);

extern const PsColour ps_ink;       /* text */
extern const PsColour ps_ink_muted; /* less important text, axes */
extern const PsColour ps_grid;      /* lines behind data */
extern const PsColour ps_idle;      /* a row where nothing runs */
extern const PsColour ps_accent;    /* marks on top of data */
extern const PsColour ps_alarm;     /* beyond a limit */

/* How an op is drawn. */
typedef struct {
    const char *label; /* in legends */
    PsColour fill;
    PsColour ink; /* of text on it */
    gboolean hatched;
    PsColour hatch; /* of the diagonals, where hatched */
} PsKindStyle;

extern const PsKindStyle ps_kind_styles[PS_N_KINDS];

/* Colours of lines on white. */
#define PS_N_LINE_COLOURS 8
extern const PsColour ps_line_colours[PS_N_LINE_COLOURS];
