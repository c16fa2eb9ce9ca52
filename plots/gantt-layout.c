#include "plots/gantt-layout.h"

#include <math.h>
#include <string.h>

/* Columns of pixels in all rows together: bounds the size of a picture. */
#define MOST_COLUMNS 50000
#define OVERVIEW_COLUMN_PX 2
#define LEVELS_PER_PX 2
#define NO_ROW G_MAXUINT

/* Heights in pixels, from roomy to tight. */
typedef struct {
    guint compute, thin; /* rows */
    guint lane_gap, stage_gap;
} Spacing;

static const Spacing spacings[] = {
    {24, 7, 4, 12}, {18, 6, 3, 10}, {14, 5, 2, 8}, {11, 4, 2, 6},
    {8, 3, 1, 5},   {6, 2, 1, 4},   {4, 2, 0, 3},
};

/* What a stage needs room for. */
typedef struct {
    guint stage, first_lane, n_lanes;
    gboolean streams[PS_N_STREAMS]; /* to be shown */
} Group;

typedef struct {
    const PsRun *run;
    const PsGanttRequest *request;
    GArray *groups; /* Group, the stages to be shown */
    guint most_lanes;
    guint lanes_per_row;
    const Spacing *spacing;
} Planner;

/* ---- which rows ------------------------------------------------------------------------------ */

static void find_streams(const PsRun *run, gboolean (*streams)[PS_N_STREAMS])
{
    for (guint i = 0; i < run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(run->ops, PsTraceOp, i);
        streams[op->stage][op->stream] = TRUE;
    }
}

static void collect_groups(Planner *planner)
{
    const PsRunSummary *summary = planner->run->summary;
    const gboolean *shown = planner->request->stages;
    g_autofree gboolean(*streams)[PS_N_STREAMS] = g_malloc0_n(summary->n_stages, sizeof *streams);
    if (!planner->request->overview) {
        find_streams(planner->run, streams);
    }
    for (guint i = 0; i < summary->n_stages; i++) {
        if (shown != NULL && !shown[i]) {
            continue;
        }
        Group group = {i, summary->stages[i].first_lane, summary->stages[i].data_parallel};
        memcpy(group.streams, streams[i], sizeof group.streams);
        group.streams[PS_STREAM_COMPUTE] = TRUE;
        g_array_append_val(planner->groups, group);
        planner->most_lanes = MAX(planner->most_lanes, group.n_lanes);
    }
}

static guint row_height(const Spacing *spacing, PsStreamKind stream)
{
    return stream == PS_STREAM_COMPUTE ? spacing->compute : spacing->thin;
}

static guint lane_height(const Group *group, const Spacing *spacing)
{
    guint height = 0;
    for (guint stream = 0; stream < PS_N_STREAMS; stream++) {
        height += group->streams[stream] ? row_height(spacing, stream) : 0;
    }
    return height;
}

/* Rows that a lane has above the stream's. */
static guint n_streams_before(const Group *group, guint stream)
{
    guint n = 0;
    for (guint i = 0; i < stream; i++) {
        n += group->streams[i];
    }
    return n;
}

static guint n_bands(const Group *group, guint lanes_per_row)
{
    return (group->n_lanes + lanes_per_row - 1) / lanes_per_row;
}

static guint group_height(const Group *group, const Spacing *spacing, guint lanes_per_row)
{
    guint n = n_bands(group, lanes_per_row);
    return n * lane_height(group, spacing) + (n - 1) * spacing->lane_gap;
}

static double total_height(const Planner *planner, const Spacing *spacing, guint lanes_per_row)
{
    double height = 0;
    for (guint i = 0; i < planner->groups->len; i++) {
        const Group *group = &g_array_index(planner->groups, Group, i);
        height += group_height(group, spacing, lanes_per_row) + spacing->stage_gap;
    }
    return height;
}

static gboolean fits(Planner *planner)
{
    for (guint i = 0; i < G_N_ELEMENTS(spacings); i++) {
        planner->spacing = &spacings[i];
        if (total_height(planner, planner->spacing, planner->lanes_per_row) <=
            planner->request->height_px) {
            return TRUE;
        }
    }
    return FALSE;
}

static void choose_spacing(Planner *planner)
{
    planner->lanes_per_row = planner->request->overview ? planner->most_lanes : 1;
    while (!fits(planner) && planner->lanes_per_row < planner->most_lanes) {
        planner->lanes_per_row = MIN(2 * planner->lanes_per_row, planner->most_lanes);
    }
}

/* ---- placing rows ---------------------------------------------------------------------------- */

static void add_rows(const Planner *planner, const Group *group, double y, GArray *rows)
{
    for (guint band = 0; band < n_bands(group, planner->lanes_per_row); band++) {
        guint done = band * planner->lanes_per_row;
        guint n_lanes = MIN(planner->lanes_per_row, group->n_lanes - done);
        for (guint stream = 0; stream < PS_N_STREAMS; stream++) {
            if (!group->streams[stream]) {
                continue;
            }
            guint height = row_height(planner->spacing, stream);
            PsGanttRow row = {group->stage, group->first_lane + done, n_lanes, stream, y, height};
            row.boxes = g_array_new(FALSE, FALSE, sizeof(PsBox));
            row.cells = g_array_new(FALSE, FALSE, sizeof(PsCell));
            g_array_append_val(rows, row);
            y += height;
        }
        y += planner->spacing->lane_gap;
    }
}

static void place_rows(const Planner *planner, PsGanttLayout *layout)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(PsGanttRow));
    layout->n_stages = planner->groups->len;
    layout->stages = g_new0(PsGanttStage, layout->n_stages);
    layout->lanes_per_row = MIN(planner->lanes_per_row, planner->most_lanes);
    double y = 0;
    for (guint i = 0; i < layout->n_stages; i++) {
        const Group *group = &g_array_index(planner->groups, Group, i);
        guint height = group_height(group, planner->spacing, planner->lanes_per_row);
        layout->stages[i] = (PsGanttStage){group->stage, y, height};
        add_rows(planner, group, y, rows);
        y += height + planner->spacing->stage_gap;
    }
    layout->height_px = y - planner->spacing->stage_gap;
    layout->n_rows = rows->len;
    layout->rows = g_array_steal(rows, NULL);
}

/* ---- filling them ---------------------------------------------------------------------------- */

/* Where the rows of a stage begin. */
typedef struct {
    const Group *group; /* NULL: not shown */
    guint first_row;
} Place;

/* [n_stages]. Caller frees. */
static Place *index_stages(const Planner *planner)
{
    Place *places = g_new0(Place, planner->run->summary->n_stages);
    guint row = 0;
    for (guint i = 0; i < planner->groups->len; i++) {
        const Group *group = &g_array_index(planner->groups, Group, i);
        places[group->stage] = (Place){group, row};
        row += n_bands(group, planner->lanes_per_row) * n_streams_before(group, PS_N_STREAMS);
    }
    return places;
}

/* Index of the row, or NO_ROW. */
static guint row_of(const Planner *planner, const Place *places, const PsTraceOp *op)
{
    const Group *group = places[op->stage].group;
    if (group == NULL || !group->streams[op->stream]) {
        return NO_ROW;
    }
    guint band = (op->lane - group->first_lane) / planner->lanes_per_row;
    return places[op->stage].first_row + band * n_streams_before(group, PS_N_STREAMS) +
           n_streams_before(group, op->stream);
}

static void add_op(const Planner *planner, const Place *places, const PsTraceOp *op,
                   PsGanttLayout *layout, PsMerge **merges)
{
    guint row = row_of(planner, places, op);
    if (row == NO_ROW || op->end_ps <= layout->from_ps || op->start_ps >= layout->to_ps) {
        return;
    }
    layout->kinds[op->kind] = TRUE;
    ps_merge_add(merges[row], ps_gantt_layout_x(layout, op->start_ps),
                 ps_gantt_layout_x(layout, op->end_ps), op->kind, op->microbatch);
}

static void fill_rows(const Planner *planner, PsGanttLayout *layout)
{
    const GArray *ops = planner->run->ops;
    g_autofree Place *places = index_stages(planner);
    g_autoptr(GPtrArray) merges = g_ptr_array_new_with_free_func((GDestroyNotify)ps_merge_free);
    guint least_px = planner->request->overview ? OVERVIEW_COLUMN_PX : 1;
    guint column_px = MAX((guint)ceil(layout->width_px * layout->n_rows / MOST_COLUMNS), least_px);
    for (guint i = 0; i < layout->n_rows; i++) {
        const PsGanttRow *row = &layout->rows[i];
        g_ptr_array_add(merges, ps_merge_new(layout->width_px, column_px, row->n_lanes,
                                             (guint)row->height * LEVELS_PER_PX));
    }
    for (guint i = 0; i < ops->len; i++) {
        add_op(planner, places, &g_array_index(ops, PsTraceOp, i), layout,
               (PsMerge **)merges->pdata);
    }
    for (guint i = 0; i < layout->n_rows; i++) {
        ps_merge_finish(merges->pdata[i], layout->rows[i].boxes, layout->rows[i].cells);
    }
}

PsGanttLayout *ps_gantt_layout_new(const PsRun *run, const PsGanttRequest *request)
{
    g_assert(request->from_ps < request->to_ps);
    PsGanttLayout *layout = g_new0(PsGanttLayout, 1);
    layout->from_ps = request->from_ps;
    layout->to_ps = request->to_ps;
    layout->width_px = request->width_px;
    g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(Group));
    Planner planner = {run, request, groups};
    collect_groups(&planner);
    choose_spacing(&planner);
    place_rows(&planner, layout);
    fill_rows(&planner, layout);
    return layout;
}

void ps_gantt_layout_free(PsGanttLayout *layout)
{
    for (guint i = 0; i < layout->n_rows; i++) {
        g_array_unref(layout->rows[i].boxes);
        g_array_unref(layout->rows[i].cells);
    }
    g_free(layout->rows);
    g_free(layout->stages);
    g_free(layout);
}

double ps_gantt_layout_x(const PsGanttLayout *layout, gint64 time_ps)
{
    return (double)(time_ps - layout->from_ps) / (double)(layout->to_ps - layout->from_ps) *
           layout->width_px;
}
