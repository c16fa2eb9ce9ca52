#include "plots/gantt.h"

#include <math.h>
#include <string.h>
#include "plots/gantt-panel.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

#define PAGE_PX 1600
#define ROWS_PX (PAGE_PX - PS_PANEL_LEFT - PS_PANEL_RIGHT)
#define OVERVIEW_PX 320
#define DETAIL_PX 1300
#define HEADER_PX 100
#define MARGIN_PX 16
#define PANEL_GAP_PX 14
#define NOTE_PX 16

/* A forward or backward is to be so wide, on average, that the whole run needs no detail... */
#define CLEAR_PX 7.0
/* ...and in a detail, per digit of the largest microbatch number and in all. */
#define DIGIT_PX 9.0
#define LEAST_DETAIL_PX 18.0

#define MOST_PANELS 2
typedef struct {
    guint n;
    PsGanttLayout *layouts[MOST_PANELS];
    const char *names[MOST_PANELS];
} Panels;

static void panels_clear(Panels *panels)
{
    for (guint i = 0; i < panels->n; i++) {
        ps_gantt_layout_free(panels->layouts[i]);
    }
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Panels, panels_clear)

/* ---- what to show ---------------------------------------------------------------------------- */

typedef struct {
    double mean_ps; /* of forwards and backwards; 0 where there are none */
    gint64 most_microbatch;
} Steps;

static Steps measure_steps(const PsRun *run)
{
    Steps steps = {0, 0};
    double sum_ps = 0;
    gint64 n = 0;
    for (guint i = 0; i < run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(run->ops, PsTraceOp, i);
        if (op->kind == PS_OP_FORWARD || op->kind == PS_OP_BACKWARD) {
            sum_ps += (double)(op->end_ps - op->start_ps);
            n++;
        }
        steps.most_microbatch = MAX(steps.most_microbatch, op->microbatch);
    }
    steps.mean_ps = n > 0 ? sum_ps / (double)n : 0;
    return steps;
}

/* Length of the detail, or the run's where it needs none. */
static gint64 detail_length(const PsRun *run, gint64 end_ps)
{
    Steps steps = measure_steps(run);
    if (steps.mean_ps * ROWS_PX >= CLEAR_PX * (double)end_ps || steps.mean_ps == 0) {
        return end_ps;
    }
    double digits = 1 + floor(log10(fmax((double)steps.most_microbatch, 1)));
    double length_ps = steps.mean_ps * ROWS_PX / fmax(LEAST_DETAIL_PX, DIGIT_PX * digits);
    return (gint64)fmin(ceil(length_ps), (double)end_ps);
}

static void add_panel(Panels *panels, const PsRun *run, const char *name,
                      const PsGanttRequest *request)
{
    panels->names[panels->n] = name;
    panels->layouts[panels->n] = ps_gantt_layout_new(run, request);
    panels->n++;
}

static void choose_panels(const PsRun *run, const PsGanttView *view, Panels *panels)
{
    gint64 end_ps = run->summary->makespan_ps;
    PsGanttRequest request = {0, end_ps, view->stages, ROWS_PX, DETAIL_PX, FALSE};
    if (view->from_ps >= 0 || view->to_ps >= 0) {
        request.from_ps = MAX(view->from_ps, 0);
        request.to_ps = view->to_ps >= 0 ? view->to_ps : end_ps;
        add_panel(panels, run, "interval", &request);
        return;
    }
    gint64 length_ps = detail_length(run, end_ps);
    if (length_ps < end_ps) {
        PsGanttRequest overview = {0, end_ps, view->stages, ROWS_PX, OVERVIEW_PX, TRUE};
        add_panel(panels, run, "whole run", &overview);
        gint64 middle_ps = run->summary->window_start_ps / 2 + run->summary->window_end_ps / 2;
        request.from_ps = CLAMP(middle_ps - length_ps / 2, 0, end_ps - length_ps);
        request.to_ps = request.from_ps + length_ps;
    }
    add_panel(panels, run, length_ps < end_ps ? "detail" : "whole run", &request);
}

/* ---- header and notes ------------------------------------------------------------------------ */

/* "TPS 4.5 ms replayed, 3.8 ms estimated (+19.1%)", or how far a run came. Caller frees. */
static char *outcome_text(const PsRunSummary *summary)
{
    g_autofree char *estimated = ps_quantity_format(PS_SECONDS, summary->estimate_tps_s);
    if (summary->partial) {
        g_autofree char *after =
            ps_quantity_format(PS_SECONDS, ps_ps_to_seconds(summary->makespan_ps));
        return g_strdup_printf("%s %s (TPS %s estimated)",
                               summary->stops->len > 0 ? "standstill at" : "interrupted after",
                               after, estimated);
    }
    g_autofree char *replayed = ps_quantity_format(PS_SECONDS, summary->tps_s);
    double gap = summary->tps_s / summary->estimate_tps_s - 1;
    g_autofree char *gap_text =
        isfinite(gap) ? g_strdup_printf(" (%+.1f%%)", 100 * gap) : g_strdup("");
    return g_strdup_printf("TPS %s replayed, %s estimated%s", replayed, estimated, gap_text);
}

static char *title_text(const PsRunSummary *summary)
{
    guint64 devices = 0;
    for (guint i = 0; i < summary->n_stages; i++) {
        devices += (guint64)summary->stages[i].data_parallel * summary->stages[i].tensor_parallel;
    }
    const char *schedule = g_hash_table_lookup(summary->settings, "schedule");
    g_autofree char *outcome = outcome_text(summary);
    return g_strdup_printf("%s on %" G_GUINT64_FORMAT " devices: %s",
                           schedule != NULL ? schedule : "replay", devices, outcome);
}

/* Whether a setting is in the title, or as one would expect, or of no use to the eye. */
static gboolean goes_without_saying(const char *name, const char *value)
{
    static const struct {
        const char *name, *value; /* NULL: whatever it is */
    } settings[] = {{"schedule", NULL},
                    {"messages", "rendezvous"},
                    {"streams", "split"},
                    {"sharding", "none"},
                    {"placement", "tensor,data,pipeline"},
                    {"topology-sha256", NULL}};
    for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
        if (strcmp(settings[i].name, name) == 0) {
            return settings[i].value == NULL || strcmp(settings[i].value, value) == 0;
        }
    }
    return FALSE;
}

static char *settings_text(const PsRunSummary *summary)
{
    GString *text = g_string_new(NULL);
    for (char **name = summary->setting_names; *name != NULL; name++) {
        const char *value = g_hash_table_lookup(summary->settings, *name);
        if (!goes_without_saying(*name, value)) {
            g_string_append_printf(text, "%s %s  ·  ", *name, value);
        }
    }
    g_autofree char *memory = ps_quantity_format(PS_BYTES, summary->setting.memory_bytes);
    g_autofree char *bandwidth =
        ps_quantity_format(PS_BYTES_PER_S, summary->setting.bandwidth_bytes_per_s);
    g_autofree char *microbatches = ps_counted(summary->setting.microbatches, "microbatch");
    g_string_append_printf(text, "%s and %s per device  ·  %s per batch", memory, bandwidth,
                           microbatches);
    return g_string_free(text, FALSE);
}

/* Whatever draws a sample of the thing. */
typedef void (*Swatch)(cairo_t *cairo, PsKind kind, double x, double y, double width,
                       double height);

/* Returns where the next entry goes. */
static double draw_entry(cairo_t *cairo, PsText *text, Swatch swatch, PsKind kind, double x,
                         double y, const char *label)
{
    const PsTextStyle style = {11, FALSE, ps_ink};
    swatch(cairo, kind, x, y - 6, 22, 12);
    ps_text_draw(text, &style, PS_ALIGN_LEFT, x + 28, y, 0, label);
    return x + 28 + ps_text_width(text, &style, label) + 20;
}

static void draw_legend(cairo_t *cairo, PsText *text, const Panels *panels, double y)
{
    double x = MARGIN_PX;
    gboolean stops = FALSE;
    for (guint kind = 0; kind <= PS_N_KINDS; kind++) {
        gboolean shown = kind == PS_N_KINDS;
        for (guint i = 0; !shown && i < panels->n; i++) {
            shown = panels->layouts[i]->kinds[kind];
        }
        if (!shown) {
            continue;
        }
        const char *label = kind == PS_N_KINDS ? "idle" : ps_kind_styles[kind].label;
        x = draw_entry(cairo, text, ps_gantt_swatch, kind, x, y, label);
    }
    for (guint i = 0; i < panels->n; i++) {
        stops |= panels->layouts[i]->stops;
    }
    if (stops) {
        x = draw_entry(cairo, text, ps_gantt_stop_swatch, PS_N_KINDS, x, y, "stopped");
    }
    const char *numbers =
        panels->layouts[0]->n_servers > 0
            ? "numbers are microbatches or samples; those beside rows are replicas or servers"
            : "numbers are microbatches; those beside rows are replicas";
    const PsTextStyle muted = {10, FALSE, ps_ink_muted};
    ps_text_draw(text, &muted, PS_ALIGN_LEFT, x + 10, y, 0, numbers);
}

static void draw_header(cairo_t *cairo, PsText *text, const PsRunSummary *summary,
                        const Panels *panels)
{
    g_autofree char *title = title_text(summary);
    g_autofree char *settings = settings_text(summary);
    double width = PAGE_PX - 2 * MARGIN_PX;
    ps_text_draw(text, &(PsTextStyle){16, TRUE, ps_ink}, PS_ALIGN_LEFT, MARGIN_PX, 24, width,
                 title);
    ps_text_draw(text, &(PsTextStyle){11, FALSE, ps_ink_muted}, PS_ALIGN_LEFT, MARGIN_PX, 47, width,
                 settings);
    draw_legend(cairo, text, panels, 72);
}

/* One line per panel whose rectangles need explaining. Caller frees. */
static char *note_text(const Panels *panels, guint index)
{
    const PsGanttLayout *layout = panels->layouts[index];
    gboolean merged = FALSE;
    for (guint i = 0; i < layout->n_rows; i++) {
        merged = merged || layout->rows[i].cells->len > 0;
    }
    if (!merged) {
        return NULL;
    }
    g_autofree char *mean =
        layout->lanes_per_row > 1
            ? g_strdup_printf("a row is the mean of up to %u replicas; ", layout->lanes_per_row)
            : g_strdup("");
    return g_strdup_printf("%s: %sops too thin to be told apart are drawn as their shares of the "
                           "time, stacked.",
                           panels->names[index], mean);
}

/* ---- the page -------------------------------------------------------------------------------- */

static double page_height(const Panels *panels)
{
    double height = HEADER_PX + 2 * MARGIN_PX;
    for (guint i = 0; i < panels->n; i++) {
        g_autofree char *note = note_text(panels, i);
        height += PS_PANEL_TOP + panels->layouts[i]->height_px + PS_PANEL_BOTTOM + PANEL_GAP_PX +
                  (note != NULL ? NOTE_PX : 0);
    }
    return height;
}

static char *caption_text(const char *name, const PsGanttLayout *layout)
{
    g_autofree char *from = ps_quantity_format(PS_SECONDS, ps_ps_to_seconds(layout->from_ps));
    g_autofree char *to = ps_quantity_format(PS_SECONDS, ps_ps_to_seconds(layout->to_ps));
    return g_strdup_printf("%s: %s to %s", name, from, to);
}

/* Where the second panel lies in the first. */
static void mark_detail(cairo_t *cairo, const Panels *panels, double y)
{
    const PsGanttLayout *whole = panels->layouts[0], *detail = panels->layouts[1];
    double from = ps_gantt_layout_x(whole, detail->from_ps);
    double to = ps_gantt_layout_x(whole, detail->to_ps);
    cairo_rectangle(cairo, PS_PANEL_LEFT + from, y + PS_PANEL_TOP - 2, fmax(to - from, 2),
                    whole->height_px + 4);
    ps_set_colour(cairo, ps_accent);
    cairo_set_line_width(cairo, 1.5);
    cairo_stroke(cairo);
}

static void draw_page(cairo_t *cairo, const PsRun *run, const Panels *panels)
{
    g_autoptr(PsText) text = ps_text_new(cairo);
    const PsTextStyle muted = {10, FALSE, ps_ink_muted};
    draw_header(cairo, text, run->summary, panels);
    double y = HEADER_PX;
    for (guint i = 0; i < panels->n; i++) {
        const PsGanttLayout *layout = panels->layouts[i];
        g_autofree char *caption = caption_text(panels->names[i], layout);
        ps_gantt_panel_draw(cairo, text, run, layout, 0, y, caption, i == panels->n - 1);
        if (i + 1 < panels->n) {
            mark_detail(cairo, panels, y);
        }
        y += PS_PANEL_TOP + layout->height_px + PS_PANEL_BOTTOM + PANEL_GAP_PX;
    }
    for (guint i = 0; i < panels->n; i++) {
        g_autofree char *note = note_text(panels, i);
        if (note != NULL) {
            ps_text_draw(text, &muted, PS_ALIGN_LEFT, MARGIN_PX, y + NOTE_PX / 2,
                         PAGE_PX - 2 * MARGIN_PX, note);
            y += NOTE_PX;
        }
    }
}

PsCanvas *ps_gantt_draw(const PsRun *run, const PsGanttView *view, PsCanvasFormat format,
                        GError **error)
{
    if (run->ops->len == 0 || run->summary->makespan_ps == 0) {
        g_autofree char *path = g_build_filename(run->folder, "trace.csv", NULL);
        ps_error_at(error, path, 0, "there is nothing to draw (expected at least one op)");
        return NULL;
    }
    g_auto(Panels) panels = {0};
    choose_panels(run, view, &panels);
    double height = page_height(&panels);
    if (height > PS_CANVAS_MOST_PX) {
        ps_error(error, PS_ERROR_INPUT,
                 "%s: %u stages do not fit on a page (expected fewer: choose some with --stages)",
                 run->folder, panels.layouts[0]->n_stages - (panels.layouts[0]->n_servers > 0));
        return NULL;
    }
    g_autoptr(PsCanvas) canvas = ps_canvas_new(format, PAGE_PX, (guint)ceil(height));
    draw_page(ps_canvas_cairo(canvas), run, &panels);
    return g_steal_pointer(&canvas);
}
