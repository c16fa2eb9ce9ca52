/* Draws one Gantt layout: rows and their labels, the time axis, the measuring window, crosses where
 * lanes stopped, and beside each stage its bubble and memory. */
#pragma once

#include "plots/gantt-layout.h"
#include "plots/text.h"

/* Pixels around a layout's rows. */
#define PS_PANEL_LEFT 190
#define PS_PANEL_RIGHT 284
#define PS_PANEL_TOP 38
#define PS_PANEL_BOTTOM 26

/* (x, y) is the top left corner of the panel, margins included. figures: bubble and memory. */
void ps_gantt_panel_draw(cairo_t *cairo, PsText *text, const PsRun *run,
                         const PsGanttLayout *layout, double x, double y, const char *caption,
                         gboolean figures);

/* A sample of a kind, for legends; PS_N_KINDS is idle. The other one: of a lane that stopped. */
void ps_gantt_swatch(cairo_t *cairo, PsKind kind, double x, double y, double width, double height);
void ps_gantt_stop_swatch(cairo_t *cairo, PsKind unused, double x, double y, double width,
                          double height);
