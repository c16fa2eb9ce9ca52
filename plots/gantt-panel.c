#include "plots/gantt-panel.h"

#include <math.h>
#include "plots/axis.h"
#include "sim/base/text.h"

#define TICK_PX 90
#define HATCH_PX 4
#define SEAM_PX 4.0 /* boxes from this width on are set off from their neighbours */
#define LEAST_NUMBERED_PX 10

static const PsTextStyle heading_style = {12, TRUE, {0.13, 0.13, 0.13}};
static const PsTextStyle label_style = {11, FALSE, {0.13, 0.13, 0.13}};
static const PsTextStyle muted_style = {10, FALSE, {0.4, 0.4, 0.4}};
static const double number_px = 9;

/* One call's worth of everything. */
typedef struct {
    cairo_t *cairo;
    PsText *text;
    const PsRun *run;
    const PsGanttLayout *layout;
    double x, y; /* of the rows' top left corner */
} Panel;

/* ---- ops ------------------------------------------------------------------------------------- */

/* Diagonals of a rectangle, on lines x + y = constant of the page. */
static void hatch_path(cairo_t *cairo, double x0, double y0, double x1, double y1)
{
    for (double sum = ceil((x0 + y0) / HATCH_PX) * HATCH_PX; sum < x1 + y1; sum += HATCH_PX) {
        double from = fmax(x0, sum - y1), to = fmin(x1, sum - y0);
        cairo_move_to(cairo, from, sum - from);
        cairo_line_to(cairo, to, sum - to);
    }
}

static void stroke_hatch(cairo_t *cairo, PsKind kind)
{
    ps_set_colour(cairo, ps_kind_styles[kind].hatch);
    cairo_set_line_width(cairo, 0.7);
    cairo_stroke(cairo);
}

/* Calls path for every rectangle of a kind. */
static void for_each(const Panel *panel, PsKind kind,
                     void (*path)(cairo_t *cairo, double x0, double y0, double x1, double y1))
{
    for (guint i = 0; i < panel->layout->n_rows; i++) {
        const PsGanttRow *row = &panel->layout->rows[i];
        double top = panel->y + row->y, bottom = top + row->height;
        for (guint j = 0; j < row->boxes->len; j++) {
            const PsBox *box = &g_array_index(row->boxes, PsBox, j);
            if (box->kind == kind) {
                path(panel->cairo, panel->x + box->x0, top, panel->x + box->x1, bottom);
            }
        }
        for (guint j = 0; j < row->cells->len; j++) {
            const PsCell *cell = &g_array_index(row->cells, PsCell, j);
            if (cell->kind == kind) {
                path(panel->cairo, panel->x + cell->x0, bottom - cell->y1 * row->height,
                     panel->x + cell->x1, bottom - cell->y0 * row->height);
            }
        }
    }
}

static void rectangle_path(cairo_t *cairo, double x0, double y0, double x1, double y1)
{
    cairo_rectangle(cairo, x0, y0, x1 - x0, y1 - y0);
}

static void draw_ops(const Panel *panel)
{
    for (guint kind = 0; kind < PS_N_KINDS; kind++) {
        if (!panel->layout->kinds[kind]) {
            continue;
        }
        for_each(panel, kind, rectangle_path);
        ps_set_colour(panel->cairo, ps_kind_styles[kind].fill);
        cairo_fill(panel->cairo);
        if (ps_kind_styles[kind].hatched) {
            for_each(panel, kind, hatch_path);
            stroke_hatch(panel->cairo, kind);
        }
    }
}

static void draw_idle(const Panel *panel)
{
    for (guint i = 0; i < panel->layout->n_rows; i++) {
        const PsGanttRow *row = &panel->layout->rows[i];
        cairo_rectangle(panel->cairo, panel->x, panel->y + row->y, panel->layout->width_px,
                        row->height);
    }
    ps_set_colour(panel->cairo, ps_idle);
    cairo_fill(panel->cairo);
}

static void draw_seams(const Panel *panel)
{
    for (guint i = 0; i < panel->layout->n_rows; i++) {
        const PsGanttRow *row = &panel->layout->rows[i];
        for (guint j = 0; j < row->boxes->len; j++) {
            const PsBox *box = &g_array_index(row->boxes, PsBox, j);
            if (box->x1 - box->x0 >= SEAM_PX) {
                cairo_move_to(panel->cairo, panel->x + box->x1, panel->y + row->y);
                cairo_rel_line_to(panel->cairo, 0, row->height);
            }
        }
    }
    cairo_set_source_rgb(panel->cairo, 1, 1, 1);
    cairo_set_line_width(panel->cairo, 0.6);
    cairo_stroke(panel->cairo);
}

static void draw_number(const Panel *panel, const PsGanttRow *row, const PsBox *box,
                        double digit_px)
{
    if (box->microbatch < 0) {
        return;
    }
    char digits[24];
    int n = g_snprintf(digits, sizeof digits, "%" G_GINT64_FORMAT, box->microbatch);
    if (box->x1 - box->x0 < n * digit_px + 3) {
        return;
    }
    PsTextStyle style = {number_px, FALSE, ps_kind_styles[box->kind].ink};
    ps_text_draw(panel->text, &style, PS_ALIGN_CENTRE, panel->x + (box->x0 + box->x1) / 2,
                 panel->y + row->y + row->height / 2, 0, digits);
}

static void draw_numbers(const Panel *panel)
{
    PsTextStyle style = {number_px, FALSE, ps_ink};
    double digit_px = ps_text_width(panel->text, &style, "0");
    for (guint i = 0; i < panel->layout->n_rows; i++) {
        const PsGanttRow *row = &panel->layout->rows[i];
        for (guint j = 0; row->height >= LEAST_NUMBERED_PX && j < row->boxes->len; j++) {
            draw_number(panel, row, &g_array_index(row->boxes, PsBox, j), digit_px);
        }
    }
}

/* ---- what has stopped ------------------------------------------------------------------------ */

#define CROSS_PX 4.5

/* White around it sets it off from whatever it stands on. */
static void draw_cross(cairo_t *cairo, double x, double y)
{
    static const struct {
        double width;
        PsColour colour;
    } strokes[] = {{4, {1, 1, 1}}, {2, {0.13, 0.13, 0.13}}};
    for (guint i = 0; i < G_N_ELEMENTS(strokes); i++) {
        cairo_move_to(cairo, x - CROSS_PX, y - CROSS_PX);
        cairo_line_to(cairo, x + CROSS_PX, y + CROSS_PX);
        cairo_move_to(cairo, x - CROSS_PX, y + CROSS_PX);
        cairo_line_to(cairo, x + CROSS_PX, y - CROSS_PX);
        ps_set_colour(cairo, strokes[i].colour);
        cairo_set_line_width(cairo, strokes[i].width);
        cairo_stroke(cairo);
    }
}

static void draw_standing(cairo_t *cairo, double x0, double y0, double x1, double y1)
{
    hatch_path(cairo, x0, y0, x1, y1);
    ps_set_colour(cairo, ps_ink_muted);
    cairo_set_line_width(cairo, 0.7);
    cairo_stroke(cairo);
}

/* Calls draw for every stop in sight, with the rectangle of its row from there on. */
static void for_each_stop(const Panel *panel,
                          void (*draw)(cairo_t *cairo, const PsGanttRow *row, double x0, double y0,
                                       double x1, double y1))
{
    for (guint i = 0; i < panel->layout->n_rows; i++) {
        const PsGanttRow *row = &panel->layout->rows[i];
        double top = panel->y + row->y;
        for (guint k = 0; k < row->stops->len; k++) {
            draw(panel->cairo, row, panel->x + g_array_index(row->stops, double, k), top,
                 panel->x + panel->layout->width_px, top + row->height);
        }
    }
}

/* A row of several lanes goes on without one of them. */
static void hatch_rest(cairo_t *cairo, const PsGanttRow *row, double x0, double y0, double x1,
                       double y1)
{
    if (row->n_lanes == 1) {
        draw_standing(cairo, x0, y0, x1, y1);
    }
}

static void cross_out(cairo_t *cairo, const PsGanttRow *row, double x0, double y0,
                      double x1 G_GNUC_UNUSED, double y1)
{
    if (row->stream == PS_STREAM_COMPUTE) {
        draw_cross(cairo, x0, (y0 + y1) / 2);
    }
}

static void draw_stops(const Panel *panel)
{
    for_each_stop(panel, hatch_rest);
    for_each_stop(panel, cross_out); /* over the rows above and below */
}

/* ---- time ------------------------------------------------------------------------------------ */

static void draw_axis(const Panel *panel)
{
    const PsGanttLayout *layout = panel->layout;
    PsAxis axis = {PS_SECONDS, ps_ps_to_seconds(layout->from_ps), ps_ps_to_seconds(layout->to_ps),
                   FALSE};
    PsTicks ticks;
    double bottom = panel->y + layout->height_px;
    ps_axis_ticks(&axis, (guint)(layout->width_px / TICK_PX), &ticks);
    for (guint i = 0; i < ticks.n; i++) {
        double x = panel->x + ps_axis_place(&axis, ticks.values[i]) * layout->width_px;
        g_autofree char *label = ps_axis_label(&axis, &ticks, ticks.values[i]);
        cairo_move_to(panel->cairo, x, panel->y);
        cairo_line_to(panel->cairo, x, bottom + 5);
        ps_text_draw(panel->text, &muted_style, PS_ALIGN_CENTRE, x, bottom + 13, 0, label);
    }
    ps_set_colour(panel->cairo, ps_grid);
    cairo_set_line_width(panel->cairo, 1);
    cairo_stroke(panel->cairo);
}

/* A line above the rows; its ends reach down through them where they are in sight. */
static void draw_window(const Panel *panel)
{
    static const char label[] = "measuring window";
    const PsRunSummary *summary = panel->run->summary;
    const PsGanttLayout *layout = panel->layout;
    double ends[] = {ps_gantt_layout_x(layout, summary->window_start_ps),
                     ps_gantt_layout_x(layout, summary->window_end_ps)};
    double from = fmax(ends[0], 0), to = fmin(ends[1], layout->width_px);
    if (!(from < to)) {
        return;
    }
    double y = panel->y - 5;
    ps_set_colour(panel->cairo, ps_ink);
    cairo_set_line_width(panel->cairo, 1);
    cairo_move_to(panel->cairo, panel->x + from, y);
    cairo_line_to(panel->cairo, panel->x + to, y);
    for (guint i = 0; i < G_N_ELEMENTS(ends); i++) {
        if (ends[i] >= 0 && ends[i] <= layout->width_px) {
            cairo_move_to(panel->cairo, panel->x + ends[i], y - 3);
            cairo_line_to(panel->cairo, panel->x + ends[i], panel->y + layout->height_px);
        }
    }
    cairo_stroke(panel->cairo);
    double half = ps_text_width(panel->text, &muted_style, label) / 2;
    double middle = CLAMP((from + to) / 2, half, layout->width_px - half);
    ps_text_draw(panel->text, &muted_style, PS_ALIGN_CENTRE, panel->x + middle, y - 9, 0, label);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void draw_loader_name(const Panel *panel, const PsGanttStage *place, double width_px)
{
    double x = panel->x - PS_PANEL_LEFT + 16, y = panel->y + place->y, line = 14;
    guint n = panel->layout->n_servers;
    g_autofree char *servers = ps_counted(n, "server");
    if (place->height >= 2 * line) {
        double top = y + place->height / 2 - line;
        ps_text_draw(panel->text, &heading_style, PS_ALIGN_LEFT, x, top + line / 2, width_px,
                     "data loader");
        ps_text_draw(panel->text, &label_style, PS_ALIGN_LEFT, x, top + 1.5 * line, width_px,
                     servers);
    } else {
        g_autofree char *both = g_strdup_printf("loader:  %s", servers);
        ps_text_draw(panel->text, &muted_style, PS_ALIGN_LEFT, x, y + place->height / 2, width_px,
                     both);
    }
}

/* As many lines as the height holds, the more important ones first. */
static void draw_stage_name(const Panel *panel, const PsGanttStage *place, double width_px)
{
    if (place->stage == PS_GANTT_LOADER) {
        draw_loader_name(panel, place, width_px);
        return;
    }
    const PsRunStage *stage = &panel->run->summary->stages[place->stage];
    double x = panel->x - PS_PANEL_LEFT + 16, y = panel->y + place->y, line = 14;
    g_autofree char *name = g_strdup_printf("stage %u", place->stage);
    g_autofree char *degrees =
        g_strdup_printf("d %u × t %u", stage->data_parallel, stage->tensor_parallel);
    g_autofree char *layers = g_strconcat("layers ", stage->layers, NULL);
    if (place->height >= 3 * line) {
        ps_text_draw(panel->text, &heading_style, PS_ALIGN_LEFT, x, y + line / 2, width_px, name);
        ps_text_draw(panel->text, &label_style, PS_ALIGN_LEFT, x, y + 1.5 * line, width_px, layers);
        ps_text_draw(panel->text, &label_style, PS_ALIGN_LEFT, x, y + 2.5 * line, width_px,
                     degrees);
    } else if (place->height >= 2 * line) {
        g_autofree char *both = g_strdup_printf("%s  %s", name, degrees);
        double top = y + place->height / 2 - line;
        ps_text_draw(panel->text, &heading_style, PS_ALIGN_LEFT, x, top + line / 2, width_px, both);
        ps_text_draw(panel->text, &label_style, PS_ALIGN_LEFT, x, top + 1.5 * line, width_px,
                     layers);
    } else {
        g_autofree char *all = g_strdup_printf(
            "%u:  %u × %u  %s", place->stage, stage->data_parallel, stage->tensor_parallel, layers);
        ps_text_draw(panel->text, &muted_style, PS_ALIGN_LEFT, x, y + place->height / 2, width_px,
                     all);
    }
}

static void draw_share_bar(const Panel *panel, double x, double y, double height, double share)
{
    static const double width = 44;
    cairo_rectangle(panel->cairo, x, y - height / 2, width, height);
    ps_set_colour(panel->cairo, ps_grid);
    cairo_fill(panel->cairo);
    cairo_rectangle(panel->cairo, x, y - height / 2, width * CLAMP(share, 0, 1), height);
    ps_set_colour(panel->cairo, share > 1 ? ps_alarm : ps_ink_muted);
    cairo_fill(panel->cairo);
}

#define BUBBLE_X 16
#define MEMORY_X 120
#define FIGURE_X 50 /* from bar to number */

static void draw_stage_figures(const Panel *panel, const PsGanttStage *place, gboolean numbers)
{
    const PsRunStage *stage = &panel->run->summary->stages[place->stage];
    double device_bytes = panel->run->summary->setting.memory_bytes;
    double share = device_bytes > 0 ? stage->peak_memory_bytes / device_bytes : 0;
    double x = panel->x + panel->layout->width_px;
    double y = panel->y + place->y + place->height / 2;
    double height = fmin(place->height, 9);
    draw_share_bar(panel, x + BUBBLE_X, y, height, stage->bubble_share);
    draw_share_bar(panel, x + MEMORY_X, y, height, share);
    if (!numbers) {
        return;
    }
    g_autofree char *bubble = ps_quantity_format(PS_RATIO, stage->bubble_share);
    g_autofree char *memory = ps_quantity_format(PS_BYTES, stage->peak_memory_bytes);
    g_autofree char *both =
        device_bytes > 0 ? g_strdup_printf("%s (%.0f%%)", memory, 100 * share) : g_strdup(memory);
    ps_text_draw(panel->text, &label_style, PS_ALIGN_LEFT, x + BUBBLE_X + FIGURE_X, y, 0, bubble);
    ps_text_draw(panel->text, &label_style, PS_ALIGN_LEFT, x + MEMORY_X + FIGURE_X, y, 0, both);
}

static void draw_stages(const Panel *panel, double name_width, gboolean figures)
{
    static const double line = 13;
    double written_to = -line; /* labels that would overlap the last one are left out */
    for (guint i = 0; i < panel->layout->n_stages; i++) {
        const PsGanttStage *place = &panel->layout->stages[i];
        double middle = place->y + place->height / 2;
        gboolean room = middle - fmin(line, place->height) / 2 >= written_to - 1 &&
                        middle - line / 2 >= written_to - 2;
        if (room) {
            draw_stage_name(panel, place, name_width);
            written_to = middle + line / 2;
        }
        if (figures && place->stage != PS_GANTT_LOADER) {
            draw_stage_figures(panel, place, room);
        }
    }
}

static void draw_replica_names(const Panel *panel)
{
    const PsGanttLayout *layout = panel->layout;
    for (guint i = 0; i < layout->n_rows; i++) {
        const PsGanttRow *row = &layout->rows[i];
        gboolean loader = row->stage == PS_GANTT_LOADER;
        const PsRunStage *stage = loader ? NULL : &panel->run->summary->stages[row->stage];
        if (row->stream != PS_STREAM_COMPUTE || row->height < 8 ||
            row->n_lanes == (loader ? layout->n_servers : stage->data_parallel)) {
            continue;
        }
        guint first = row->first_lane - (loader ? 0 : stage->first_lane);
        guint last = first + row->n_lanes - 1;
        g_autofree char *name =
            first == last ? g_strdup_printf("%u", first) : g_strdup_printf("%u-%u", first, last);
        ps_text_draw(panel->text, &muted_style, PS_ALIGN_RIGHT, panel->x - 6,
                     panel->y + row->y + row->height / 2, 0, name);
    }
}

static void draw_headings(const Panel *panel, const char *caption, gboolean figures)
{
    double y = panel->y - PS_PANEL_TOP + 8;
    ps_text_draw(panel->text, &heading_style, PS_ALIGN_LEFT, panel->x - PS_PANEL_LEFT + 16, y, 0,
                 caption);
    if (figures) {
        double x = panel->x + panel->layout->width_px;
        y = panel->y - 11;
        ps_text_draw(panel->text, &muted_style, PS_ALIGN_LEFT, x + BUBBLE_X, y, 0,
                     "bubble, window");
        ps_text_draw(panel->text, &muted_style, PS_ALIGN_LEFT, x + MEMORY_X, y, 0,
                     "peak memory, whole run");
    }
}

void ps_gantt_panel_draw(cairo_t *cairo, PsText *text, const PsRun *run,
                         const PsGanttLayout *layout, double x, double y, const char *caption,
                         gboolean figures)
{
    Panel panel = {cairo, text, run, layout, x + PS_PANEL_LEFT, y + PS_PANEL_TOP};
    draw_headings(&panel, caption, figures);
    draw_idle(&panel);
    draw_axis(&panel);
    draw_ops(&panel);
    draw_seams(&panel);
    draw_numbers(&panel);
    draw_stops(&panel);
    draw_window(&panel);
    draw_stages(&panel, PS_PANEL_LEFT - 16 - 40, figures);
    draw_replica_names(&panel);
}

void ps_gantt_swatch(cairo_t *cairo, PsKind kind, double x, double y, double width, double height)
{
    cairo_rectangle(cairo, x, y, width, height);
    ps_set_colour(cairo, kind == PS_N_KINDS ? ps_idle : ps_kind_styles[kind].fill);
    cairo_fill(cairo);
    if (kind != PS_N_KINDS && ps_kind_styles[kind].hatched) {
        hatch_path(cairo, x, y, x + width, y + height);
        stroke_hatch(cairo, kind);
    }
}

void ps_gantt_stop_swatch(cairo_t *cairo, PsKind unused, double x, double y, double width,
                          double height)
{
    ps_gantt_swatch(cairo, unused, x, y, width, height);
    draw_standing(cairo, x, y, x + width, y + height);
    draw_cross(cairo, x, y + height / 2);
}
