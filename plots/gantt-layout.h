/* Where everything in a Gantt chart lies; pure computing, no drawing.
 *
 * A data loader comes first: a row per server, or for several where there are many.
 * Rows are grouped by stage. A lane has a row for its compute stream and, beneath it, thinner ones
 * for its other streams that have ops. Rows shrink to fit the height allowed; where that is not
 * enough, a row stands for several lanes of a stage. */
#pragma once

#include <glib.h>
#include "plots/merge.h"
#include "sim/trace/run.h"

typedef struct {
    gint64 from_ps, to_ps;  /* from < to */
    const gboolean *stages; /* [n_stages]: which to show; NULL: all */
    double width_px;
    double height_px;  /* to stay within if possible */
    gboolean overview; /* one row per stage, of the compute streams of all its lanes */
} PsGanttRequest;

/* In the place of a stage: the data loader, whose lanes are its servers. */
#define PS_GANTT_LOADER G_MAXUINT

typedef struct {
    guint stage;
    guint first_lane, n_lanes; /* a mean where n_lanes > 1 */
    PsStreamKind stream;
    double y, height; /* pixels from the top */
    GArray *boxes;    /* PsBox */
    GArray *cells;    /* PsCell */
    GArray *stops;    /* double: pixels from the left at which its lanes stopped, 0 where that was
                         before */
} PsGanttRow;

typedef struct {
    guint stage;
    double y, height; /* of its rows together */
} PsGanttStage;

typedef struct {
    gint64 from_ps, to_ps;
    double width_px, height_px;
    guint lanes_per_row;        /* the most that a row of a stage stands for */
    gboolean kinds[PS_N_KINDS]; /* which occur */
    gboolean stops;             /* some lane stopped */
    guint n_rows;
    PsGanttRow *rows; /* from top to bottom */
    guint n_stages;
    PsGanttStage *stages; /* those shown, the data loader among them */
    guint n_servers;      /* of the data loader, where it is shown */
} PsGanttLayout;

/* The loader is shown where the run has one and all stages are asked for. */
PsGanttLayout *ps_gantt_layout_new(const PsRun *run, const PsGanttRequest *request);
void ps_gantt_layout_free(PsGanttLayout *layout);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsGanttLayout, ps_gantt_layout_free)

/* Pixels from the left of a time. */
double ps_gantt_layout_x(const PsGanttLayout *layout, gint64 time_ps);
