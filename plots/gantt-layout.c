#include "plots/gantt-layout.h"

#include <math.h>
#include <string.h>

/* Columns of pixels in all rows together: bounds the size of a picture. */
#define MOST_COLUMNS 50000
#define OVERVIEW_COLUMN_PX 2
#define LEVELS_PER_PX 2
#define NO_ROW G_MAXUINT
#define MOST_LOADER_ROWS 8

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
    guint least_per_row;            /* lanes that a row stands for at least */
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

static void collect_loader(Planner *planner)
{
    const GArray *loads = planner->run->loads;
    Group group = {.stage = PS_GANTT_LOADER, .streams = {[PS_STREAM_COMPUTE] = TRUE}};
    for (guint i = 0; loads != NULL && i < loads->len; i++) {
        group.n_lanes = MAX(group.n_lanes, g_array_index(loads, PsTraceLoad, i).server + 1);
    }
    group.least_per_row = planner->request->overview
                              ? group.n_lanes
                              : (group.n_lanes + MOST_LOADER_ROWS - 1) / MOST_LOADER_ROWS;
    if (group.n_lanes > 0 && planner->request->stages == NULL) {
        g_array_append_val(planner->groups, group);
    }
}

static void collect_groups(Planner *planner)
{
    const PsRunSummary *summary = planner->run->summary;
    const gboolean *shown = planner->request->stages;
    collect_loader(planner);
    g_autofree gboolean(*streams)[PS_N_STREAMS] = g_malloc0_n(summary->n_stages, sizeof *streams);
    if (!planner->request->overview) {
        find_streams(planner->run, streams);
    }
    for (guint i = 0; i < summary->n_stages; i++) {
        if (shown != NULL && !shown[i]) {
            continue;
        }
        Group group = {i, summary->stages[i].first_lane, summary->stages[i].data_parallel, 1};
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
    guint each = MAX(lanes_per_row, group->least_per_row);
    return (group->n_lanes + each - 1) / each;
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
    guint each = MAX(planner->lanes_per_row, group->least_per_row);
    for (guint band = 0; band < n_bands(group, planner->lanes_per_row); band++) {
        guint done = band * each;
        guint n_lanes = MIN(each, group->n_lanes - done);
        for (guint stream = 0; stream < PS_N_STREAMS; stream++) {
            if (!group->streams[stream]) {
                continue;
            }
            guint height = row_height(planner->spacing, stream);
            PsGanttRow row = {group->stage, group->first_lane + done, n_lanes, stream, y, height};
            row.boxes = g_array_new(FALSE, FALSE, sizeof(PsBox));
            row.cells = g_array_new(FALSE, FALSE, sizeof(PsCell));
            row.stops = g_array_new(FALSE, FALSE, sizeof(double));
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
        layout->n_servers += group->stage == PS_GANTT_LOADER ? group->n_lanes : 0;
        add_rows(planner, group, y, rows);
        y += height + planner->spacing->stage_gap;
    }
    layout->height_px = y - planner->spacing->stage_gap;
    layout->n_rows = rows->len;
    layout->rows = g_array_steal(rows, NULL);
}

/* ---- filling them ---------------------------------------------------------------------------- */

/* Where the rows of a stage begin, or the loader's. */
typedef struct {
    const Group *group; /* NULL: not shown */
    guint first_row;
} Place;

/* [n_stages + 1]: last the loader. Caller frees. */
static Place *index_groups(const Planner *planner)
{
    guint n_stages = planner->run->summary->n_stages;
    Place *places = g_new0(Place, n_stages + 1);
    guint row = 0;
    for (guint i = 0; i < planner->groups->len; i++) {
        const Group *group = &g_array_index(planner->groups, Group, i);
        places[MIN(group->stage, n_stages)] = (Place){group, row};
        row += n_bands(group, planner->lanes_per_row) * n_streams_before(group, PS_N_STREAMS);
    }
    return places;
}

/* Index of the row, or NO_ROW. */
static guint row_of(const Planner *planner, const Place *place, guint lane, PsStreamKind stream)
{
    const Group *group = place->group;
    if (group == NULL || !group->streams[stream]) {
        return NO_ROW;
    }
    guint band = (lane - group->first_lane) / MAX(planner->lanes_per_row, group->least_per_row);
    return place->first_row + band * n_streams_before(group, PS_N_STREAMS) +
           n_streams_before(group, stream);
}

static void add_to_row(PsGanttLayout *layout, GPtrArray *merges, guint row, gint64 start_ps,
                       gint64 end_ps, PsKind kind, gint64 number)
{
    if (row == NO_ROW || end_ps <= layout->from_ps || start_ps >= layout->to_ps) {
        return;
    }
    layout->kinds[kind] = TRUE;
    ps_merge_add(merges->pdata[row], ps_gantt_layout_x(layout, start_ps),
                 ps_gantt_layout_x(layout, end_ps), kind, number);
}

static void add_records(const Planner *planner, PsGanttLayout *layout, GPtrArray *merges)
{
    const GArray *ops = planner->run->ops, *loads = planner->run->loads;
    g_autofree Place *places = index_groups(planner);
    const Place *loader = &places[planner->run->summary->n_stages];
    for (guint i = 0; i < ops->len; i++) {
        const PsTraceOp *op = &g_array_index(ops, PsTraceOp, i);
        add_to_row(layout, merges, row_of(planner, &places[op->stage], op->lane, op->stream),
                   op->start_ps, op->end_ps, op->kind, op->microbatch);
    }
    for (guint i = 0; loads != NULL && i < loads->len; i++) {
        const PsTraceLoad *load = &g_array_index(loads, PsTraceLoad, i);
        add_to_row(layout, merges, row_of(planner, loader, load->server, PS_STREAM_COMPUTE),
                   load->start_ps, load->end_ps, PS_KIND_LOAD, load->sample);
    }
}

static void fill_rows(const Planner *planner, PsGanttLayout *layout)
{
    g_autoptr(GPtrArray) merges = g_ptr_array_new_with_free_func((GDestroyNotify)ps_merge_free);
    guint least_px = planner->request->overview ? OVERVIEW_COLUMN_PX : 1;
    guint column_px = MAX((guint)ceil(layout->width_px * layout->n_rows / MOST_COLUMNS), least_px);
    for (guint i = 0; i < layout->n_rows; i++) {
        const PsGanttRow *row = &layout->rows[i];
        g_ptr_array_add(merges, ps_merge_new(layout->width_px, column_px, row->n_lanes,
                                             (guint)row->height * LEVELS_PER_PX));
    }
    add_records(planner, layout, merges);
    for (guint i = 0; i < layout->n_rows; i++) {
        ps_merge_finish(merges->pdata[i], layout->rows[i].boxes, layout->rows[i].cells);
    }
}

static void add_stops(const PsRun *run, PsGanttLayout *layout)
{
    for (guint i = 0; i < layout->n_rows; i++) {
        PsGanttRow *row = &layout->rows[i];
        for (guint k = 0; row->stage != PS_GANTT_LOADER && k < run->summary->stops->len; k++) {
            const PsRunStop *stop = &g_array_index(run->summary->stops, PsRunStop, k);
            if (stop->lane - row->first_lane < row->n_lanes && stop->at_ps < layout->to_ps) {
                double x = fmax(ps_gantt_layout_x(layout, stop->at_ps), 0);
                g_array_append_val(row->stops, x);
                layout->stops = TRUE;
            }
        }
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
    add_stops(run, layout);
    return layout;
}

void ps_gantt_layout_free(PsGanttLayout *layout)
{
    for (guint i = 0; i < layout->n_rows; i++) {
        g_array_unref(layout->rows[i].boxes);
        g_array_unref(layout->rows[i].cells);
        g_array_unref(layout->rows[i].stops);
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
