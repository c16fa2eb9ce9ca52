#include "plots/chart.h"

#include <math.h>
#include "plots/axis.h"
#include "plots/markers.h"
#include "plots/series.h"
#include "plots/text.h"
#include "sim/base/error.h"

#define PAGE_WIDTH 1000
#define PAGE_HEIGHT 620
#define MARGIN 16
#define LEFT 110
#define TOP 96
#define BOTTOM 90
#define RIGHT 36
#define LEGEND_GAP 24
#define LEGEND_SAMPLE 50 /* from the line's sample to its label */
#define MOST_LEGEND 420
#define LEGEND_LINE 20
#define MOST_Y_TICKS 9
#define X_TICK_PX 90
#define LEAST_X_TICK_PX 64
#define LEAST_MARKER_PX 7 /* from one to the next */

static const PsTextStyle title_style = {16, TRUE, {0.13, 0.13, 0.13}};
static const PsTextStyle strong_style = {12, TRUE, {0.13, 0.13, 0.13}};
static const PsTextStyle plain_style = {12, FALSE, {0.13, 0.13, 0.13}};
static const PsTextStyle muted_style = {11, FALSE, {0.4, 0.4, 0.4}};

typedef struct {
    cairo_t *cairo;
    PsText *text;
    const PsSeriesSet *set;
    const char *x_column, *y_column;
    PsAxis x_axis, y_axis;
    double width, height; /* of the plotting area, which begins at (LEFT, TOP) */
} Chart;

/* ---- axes ------------------------------------------------------------------------------------ */

static double x_at(const Chart *chart, double value)
{
    return LEFT + ps_axis_place(&chart->x_axis, value) * chart->width;
}

static double y_at(const Chart *chart, double value)
{
    return TOP + (1 - ps_axis_place(&chart->y_axis, value)) * chart->height;
}

static int compare_doubles(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All x (or y) of all points. Caller unrefs. */
static GArray *all_values(const PsSeriesSet *set, gboolean of_x)
{
    GArray *values = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < set->n; i++) {
        for (guint j = 0; j < set->series[i].points->len; j++) {
            const PsPoint *point = &g_array_index(set->series[i].points, PsPoint, j);
            g_array_append_val(values, *(of_x ? &point->x : &point->y));
        }
    }
    return values;
}

/* Ticks at the very values, where they are few and far enough apart. */
static gboolean ticks_at_values(const Chart *chart, GArray *values, PsTicks *ticks)
{
    g_array_sort(values, compare_doubles);
    ticks->n = 0;
    ticks->step = 0;
    for (guint i = 0; i < values->len; i++) {
        double value = g_array_index(values, double, i);
        double last = ticks->n > 0 ? ticks->values[ticks->n - 1] : NAN;
        if (value == last) {
            continue;
        }
        if (ticks->n == PS_MOST_TICKS ||
            (ticks->n > 0 && x_at(chart, value) - x_at(chart, last) < LEAST_X_TICK_PX)) {
            return FALSE;
        }
        ticks->values[ticks->n++] = value;
    }
    return TRUE;
}

/* For y a length above 0 means something, so a cut is said; for x it is not. */
static char *axis_title(const char *column, const PsAxis *axis, gboolean is_y)
{
    g_autofree char *title = ps_column_title(column);
    gboolean cut = is_y && (axis->min > 0 || axis->max < 0);
    return g_strconcat(title,
                       axis->logarithmic ? " (logarithmic)"
                       : cut             ? " (not from 0)"
                                         : "",
                       NULL);
}

static void draw_x_axis(const Chart *chart)
{
    PsTicks ticks;
    g_autoptr(GArray) values = all_values(chart->set, TRUE);
    if (!ticks_at_values(chart, values, &ticks)) {
        ps_axis_ticks(&chart->x_axis, (guint)(chart->width / X_TICK_PX), &ticks);
    }
    double bottom = TOP + chart->height;
    for (guint i = 0; i < ticks.n; i++) {
        double x = x_at(chart, ticks.values[i]);
        g_autofree char *label = ps_axis_label(&chart->x_axis, &ticks, ticks.values[i]);
        cairo_move_to(chart->cairo, x, bottom);
        cairo_rel_line_to(chart->cairo, 0, 5);
        ps_text_draw(chart->text, &muted_style, PS_ALIGN_CENTRE, x, bottom + 15, 0, label);
    }
    cairo_move_to(chart->cairo, LEFT, bottom);
    cairo_rel_line_to(chart->cairo, chart->width, 0);
    ps_set_colour(chart->cairo, ps_ink_muted);
    cairo_set_line_width(chart->cairo, 1);
    cairo_stroke(chart->cairo);
    g_autofree char *title = axis_title(chart->x_column, &chart->x_axis, FALSE);
    ps_text_draw(chart->text, &strong_style, PS_ALIGN_CENTRE, LEFT + chart->width / 2, bottom + 38,
                 chart->width, title);
}

static void draw_y_axis(const Chart *chart)
{
    PsTicks ticks;
    ps_axis_ticks(&chart->y_axis, MOST_Y_TICKS, &ticks);
    for (guint i = 0; i < ticks.n; i++) {
        double y = y_at(chart, ticks.values[i]);
        g_autofree char *label = ps_axis_label(&chart->y_axis, &ticks, ticks.values[i]);
        cairo_move_to(chart->cairo, LEFT, y);
        cairo_rel_line_to(chart->cairo, chart->width, 0);
        ps_text_draw(chart->text, &muted_style, PS_ALIGN_RIGHT, LEFT - 8, y, LEFT - 12, label);
    }
    ps_set_colour(chart->cairo, ps_grid);
    cairo_set_line_width(chart->cairo, 1);
    cairo_stroke(chart->cairo);
    if (!chart->y_axis.logarithmic && chart->y_axis.min < 0 && chart->y_axis.max > 0) {
        cairo_move_to(chart->cairo, LEFT, y_at(chart, 0));
        cairo_rel_line_to(chart->cairo, chart->width, 0);
        ps_set_colour(chart->cairo, ps_ink_muted);
        cairo_stroke(chart->cairo);
    }
    g_autofree char *title = axis_title(chart->y_column, &chart->y_axis, TRUE);
    ps_text_draw(chart->text, &strong_style, PS_ALIGN_LEFT, MARGIN, TOP - 18, chart->width, title);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A point without a value breaks the line. */
static void draw_line(const Chart *chart, guint index)
{
    const GArray *points = chart->set->series[index].points;
    gboolean open = FALSE;
    for (guint i = 0; i < points->len; i++) {
        const PsPoint *point = &g_array_index(points, PsPoint, i);
        if (isnan(point->y)) {
            open = FALSE;
            continue;
        }
        (open ? cairo_line_to : cairo_move_to)(chart->cairo, x_at(chart, point->x),
                                               y_at(chart, point->y));
        open = TRUE;
    }
    ps_line_stroke(chart->cairo, index);
}

static void draw_markers(const Chart *chart, guint index)
{
    const PsSeries *series = &chart->set->series[index];
    double apart = chart->width / MAX(series->n_values, 1);
    gboolean sparse = apart >= LEAST_MARKER_PX;
    for (guint i = 0; i < series->points->len; i++) {
        const PsPoint *point = &g_array_index(series->points, PsPoint, i);
        if (sparse && !isnan(point->y)) {
            ps_marker_draw(chart->cairo, index, x_at(chart, point->x), y_at(chart, point->y));
        }
    }
}

static char *legend_label(const PsSeries *series)
{
    return g_strconcat(series->label, series->n_values > 0 ? "" : " (no values)", NULL);
}

/* What the legend takes away from the page, at the right. */
static double legend_width(PsText *text, const PsSeriesSet *set)
{
    if (*set->heading == '\0') {
        return RIGHT;
    }
    double width = ps_text_width(text, &strong_style, set->heading);
    for (guint i = 0; i < set->n; i++) {
        g_autofree char *label = legend_label(&set->series[i]);
        width = fmax(width, LEGEND_SAMPLE + ps_text_width(text, &plain_style, label));
    }
    return fmin(LEGEND_GAP + width + MARGIN, MOST_LEGEND);
}

static void draw_legend(const Chart *chart)
{
    double x = LEFT + chart->width + LEGEND_GAP, y = TOP, width = PAGE_WIDTH - MARGIN - x;
    if (*chart->set->heading == '\0') {
        return;
    }
    ps_text_draw(chart->text, &strong_style, PS_ALIGN_LEFT, x, y - 18, width, chart->set->heading);
    for (guint i = 0; i < chart->set->n; i++, y += LEGEND_LINE) {
        const PsSeries *series = &chart->set->series[i];
        const PsTextStyle *style = series->n_values > 0 ? &plain_style : &muted_style;
        cairo_move_to(chart->cairo, x, y + 6);
        cairo_rel_line_to(chart->cairo, 40, 0);
        ps_line_stroke(chart->cairo, i);
        ps_marker_draw(chart->cairo, i, x + 20, y + 6);
        g_autofree char *label = legend_label(series);
        ps_text_draw(chart->text, style, PS_ALIGN_LEFT, x + LEGEND_SAMPLE, y + 6,
                     width - LEGEND_SAMPLE, label);
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static void draw_title(const Chart *chart, const char *path)
{
    g_autofree char *x = ps_column_title(chart->x_column);
    g_autofree char *y = ps_column_title(chart->y_column);
    g_autofree char *title = g_strdup_printf("%s by %s", y, x);
    g_autofree char *name = g_path_get_basename(path);
    ps_text_draw(chart->text, &title_style, PS_ALIGN_LEFT, MARGIN, 26, PAGE_WIDTH - 2 * MARGIN,
                 title);
    ps_text_draw(chart->text, &muted_style, PS_ALIGN_LEFT, MARGIN, 48, PAGE_WIDTH - 2 * MARGIN,
                 name);
}

static void draw_footnote(const Chart *chart)
{
    const PsSeriesSet *set = chart->set;
    if (set->n_missing == 0) {
        return;
    }
    g_autofree char *note = g_strdup_printf("%u point%s no value%s%s.", set->n_missing,
                                            set->n_missing == 1 ? " has" : "s have",
                                            *set->missing_why ? ": " : "", set->missing_why);
    ps_text_draw(chart->text, &muted_style, PS_ALIGN_LEFT, MARGIN, PAGE_HEIGHT - 20,
                 PAGE_WIDTH - 2 * MARGIN, note);
}

static void draw_chart(const Chart *chart, const char *path)
{
    draw_title(chart, path);
    draw_y_axis(chart);
    draw_x_axis(chart);
    for (guint i = 0; i < chart->set->n; i++) {
        draw_line(chart, i);
    }
    for (guint i = 0; i < chart->set->n; i++) {
        draw_markers(chart, i);
    }
    draw_legend(chart);
    draw_footnote(chart);
}

static PsAxis fit_axis(const PsSeriesSet *set, gboolean of_x, const char *column)
{
    g_autoptr(GArray) values = all_values(set, of_x);
    return ps_axis_fit((const double *)(gpointer)values->data, values->len,
                       ps_column_dimension(column));
}

static PsSeriesSet *collect(const PsDataTable *table, const PsChartColumns *columns, guint *x,
                            guint *y, GError **error)
{
    guint series;
    if (!ps_data_table_find(table, "x", columns->x, x, error) ||
        !ps_data_table_find(table, "y", columns->y, y, error) ||
        (columns->series != NULL &&
         !ps_data_table_find(table, "series", columns->series, &series, error))) {
        return NULL;
    }
    g_autoptr(PsSeriesSet) set =
        ps_series_collect(table, *x, *y, columns->series != NULL ? (gint)series : -1, error);
    if (set != NULL && set->n > PS_MOST_LINES) {
        ps_error_at(error, table->path, 0, "%u lines, by %s, are too many (expected at most %u)",
                    set->n, set->heading, PS_MOST_LINES);
        return NULL;
    }
    return g_steal_pointer(&set);
}

PsCanvas *ps_chart_draw(const PsDataTable *table, const PsChartColumns *columns,
                        PsCanvasFormat format, GError **error)
{
    guint x, y;
    g_autoptr(PsSeriesSet) set = collect(table, columns, &x, &y, error);
    if (set == NULL) {
        return NULL;
    }
    PsCanvas *canvas = ps_canvas_new(format, PAGE_WIDTH, PAGE_HEIGHT);
    g_autoptr(PsText) text = ps_text_new(ps_canvas_cairo(canvas));
    Chart chart = {ps_canvas_cairo(canvas), text, set, table->columns[x], table->columns[y]};
    chart.x_axis = fit_axis(set, TRUE, chart.x_column);
    chart.y_axis = fit_axis(set, FALSE, chart.y_column);
    chart.width = PAGE_WIDTH - LEFT - legend_width(text, set);
    chart.height = PAGE_HEIGHT - TOP - BOTTOM;
    draw_chart(&chart, table->path);
    return canvas;
}
