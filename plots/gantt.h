/* A Gantt chart of a run folder.
 *
 * Where the ops of the whole run are wide enough to be told apart, it shows all of it. Else it has
 * two parts: the whole run with a row per stage, and a detail from the middle of the measuring
 * window. With an interval given, it shows just that. */
#pragma once

#include "plots/canvas.h"
#include "sim/trace/run.h"

typedef struct {
    gint64 from_ps, to_ps;  /* -1: not given; else 0 <= from < to */
    const gboolean *stages; /* [n_stages]: which to show, at least one; NULL: all */
} PsGanttView;

/* run has ops. The error (INPUT) says where a chart cannot be drawn: no ops, or more stages than a
 * page holds. */
PsCanvas *ps_gantt_draw(const PsRun *run, const PsGanttView *view, PsCanvasFormat format,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
