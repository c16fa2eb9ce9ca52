/* Lines and markers of a chart, told apart by colour, dash and shape. Any index is allowed; all
 * three together repeat after PS_N_LINE_STYLES. */
#pragma once

#include <cairo.h>
#include <glib.h>

#define PS_N_LINE_STYLES 168

/* Strokes the current path. */
void ps_line_stroke(cairo_t *cairo, guint index);
void ps_marker_draw(cairo_t *cairo, guint index, double x, double y);
