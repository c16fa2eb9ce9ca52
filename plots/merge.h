/* Makes rectangles of the ops in one row of a Gantt chart: as few as its pixels can show.
 *
 * An op at least as wide as a column of pixels (and two pixels) becomes a box of its own. Time of
 * thinner ops is added up per column and kind, and drawn as cells: stacked bars as high as the
 * kind's share of what boxes leave free of the column, so that their area is the busy time. Equal
 * neighbours become one cell. A row that stands for several lanes shows their mean, all in cells.
 *
 * x runs from 0 to the row's width, in pixels. */
#pragma once

#include <glib.h>
#include "plots/kinds.h"

typedef struct {
    double x0, x1;
    PsKind kind;
    gint64 microbatch;
} PsBox;

typedef struct {
    double x0, x1;
    double y0, y1; /* shares of the row's height, from its bottom */
    PsKind kind;
} PsCell;

typedef struct PsMerge PsMerge;

/* Heights of cells are rounded to 1/n_levels of the row's. */
PsMerge *ps_merge_new(double width_px, guint column_px, guint n_lanes, guint n_levels);
void ps_merge_free(PsMerge *merge);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsMerge, ps_merge_free)

/* An op from x0 to x1, which may lie beyond the row's ends. Ops of one lane must not overlap. */
void ps_merge_add(PsMerge *merge, double x0, double x1, PsKind kind, gint64 microbatch);

/* Ends adding. Appends to arrays of PsBox (in order of adding) and PsCell (from left to right). */
void ps_merge_finish(PsMerge *merge, GArray *boxes, GArray *cells);
