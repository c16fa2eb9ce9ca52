#include <string.h>
#include "plots/gantt-layout.h"
#include "plots/gantt.h"
#include "plots/palette.h"
#include "sim/base/error.h"
#include "tests/harness/harness.h"
#include "tests/plots/sample-run.h"

#define MS G_GINT64_CONSTANT(1000000000)

static const SampleShape small = {4, 2, 12, 10 * MS, 20 * MS, 5 * MS, 2 * MS, 30 * MS};
/* 8 stages * 4 replicas * (1100 * (forward, recompute, backward) + sends and receives): 229,000 ops
 */
static const SampleShape long_run = {8, 4, 1100, 10 * MS, 20 * MS, 5 * MS, 2 * MS, 30 * MS};

/* ---- layout ---------------------------------------------------------------------------------- */

static SampleShape random_shape(GRand *rand)
{
    return (SampleShape){(guint)g_rand_int_range(rand, 1, 40),
                         (guint)g_rand_int_range(rand, 1, 30),
                         g_rand_int_range(rand, 1, 6),
                         10 * MS,
                         20 * MS,
                         g_rand_int_range(rand, 0, 2) * MS,
                         g_rand_int_range(rand, 0, 2) * MS,
                         g_rand_int_range(rand, 0, 2) * MS};
}

static void assert_rows(const PsRun *run, const PsGanttLayout *layout, gboolean overview)
{
    const PsRunSummary *summary = run->summary;
    guint n = ps_run_summary_n_lanes(summary) * PS_N_STREAMS;
    g_autofree guint *owners = g_new0(guint, n);
    double bottom = 0;
    for (guint i = 0; i < layout->n_rows; i++) {
        const PsGanttRow *row = &layout->rows[i];
        const PsRunStage *stage = &summary->stages[row->stage];
        ck_assert(row->y >= bottom && row->height >= 2);
        bottom = row->y + row->height;
        ck_assert_double_le(bottom, layout->height_px);
        ck_assert(row->n_lanes >= 1 && row->n_lanes <= layout->lanes_per_row);
        ck_assert(row->first_lane >= stage->first_lane &&
                  row->first_lane + row->n_lanes <= stage->first_lane + stage->data_parallel);
        for (guint lane = 0; lane < row->n_lanes; lane++) {
            owners[(row->first_lane + lane) * PS_N_STREAMS + row->stream]++;
        }
    }
    for (guint i = 0; i < n; i++) {
        ck_assert_uint_le(owners[i], 1);
    }
    for (guint i = 0; i < run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(run->ops, PsTraceOp, i);
        ck_assert_uint_eq(owners[op->lane * PS_N_STREAMS + op->stream],
                          !overview || op->stream == PS_STREAM_COMPUTE);
    }
}

START_TEST(every_stream_has_one_row)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("every_stream_has_one_row"));
    for (guint trial = 0; trial < 100; trial++) {
        SampleShape shape = random_shape(rand);
        g_autoptr(PsRun) run = sample_run(&shape);
        gboolean overview = g_rand_boolean(rand);
        double height = g_rand_int_range(rand, 50, 1500);
        PsGanttRequest request = {0, run->summary->makespan_ps, NULL, 600, height, overview};
        g_autoptr(PsGanttLayout) layout = ps_gantt_layout_new(run, &request);
        assert_rows(run, layout, overview);
        ck_assert_uint_eq(layout->n_stages, shape.n_stages);
        ck_assert(layout->height_px <= height || layout->lanes_per_row == shape.data_parallel);
        ck_assert(!overview || layout->n_rows == shape.n_stages);
    }
}
END_TEST

/* Where every op is a box, boxes are ops: their number and their total length. */
START_TEST(boxes_are_the_ops)
{
    g_autoptr(PsRun) run = sample_run(&small);
    PsGanttRequest request = {0, run->summary->makespan_ps, NULL, 5000, 1000, FALSE};
    g_autoptr(PsGanttLayout) layout = ps_gantt_layout_new(run, &request);
    double ops_px[PS_N_STREAMS] = {0}, boxes_px[PS_N_STREAMS] = {0};
    guint n_boxes = 0;
    for (guint i = 0; i < run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(run->ops, PsTraceOp, i);
        ops_px[op->stream] +=
            5000.0 * (double)(op->end_ps - op->start_ps) / (double)run->summary->makespan_ps;
    }
    for (guint i = 0; i < layout->n_rows; i++) {
        const PsGanttRow *row = &layout->rows[i];
        ck_assert_uint_eq(row->cells->len, 0);
        n_boxes += row->boxes->len;
        for (guint j = 0; j < row->boxes->len; j++) {
            const PsBox *box = &g_array_index(row->boxes, PsBox, j);
            boxes_px[row->stream] += box->x1 - box->x0;
        }
    }
    ck_assert_uint_eq(n_boxes, run->ops->len);
    for (guint i = 0; i < PS_N_STREAMS; i++) {
        ck_assert_double_eq_tol(ops_px[i], boxes_px[i], 1e-6);
    }
}
END_TEST

START_TEST(only_the_stages_asked_for)
{
    g_autoptr(PsRun) run = sample_run(&small);
    const gboolean stages[] = {FALSE, TRUE, FALSE, TRUE};
    PsGanttRequest request = {0, run->summary->makespan_ps, stages, 600, 1000, FALSE};
    g_autoptr(PsGanttLayout) layout = ps_gantt_layout_new(run, &request);
    ck_assert_uint_eq(layout->n_stages, 2);
    for (guint i = 0; i < layout->n_rows; i++) {
        ck_assert(layout->rows[i].stage == 1 || layout->rows[i].stage == 3);
    }
}
END_TEST

static void add_loads(PsRun *run, guint n_servers)
{
    run->loads = g_array_new(FALSE, FALSE, sizeof(PsTraceLoad));
    for (gint64 i = 0; i < 5 * (gint64)n_servers; i++) {
        gint64 start_ps = i / n_servers * 20 * MS;
        PsTraceLoad load = {(guint)(i % n_servers), i, start_ps, start_ps + 15 * MS};
        g_array_append_val(run->loads, load);
    }
}

/* Servers stand above all lanes, each in one row; many share rows, all of them in an overview. */
START_TEST(a_loader_has_rows_of_its_own)
{
    for (guint n_servers = 1; n_servers <= 40; n_servers += 3) {
        g_autoptr(PsRun) run = sample_run(&small);
        add_loads(run, n_servers);
        for (guint overview = 0; overview < 2; overview++) {
            PsGanttRequest request = {0, run->summary->makespan_ps, NULL, 4000, 1000, overview};
            g_autoptr(PsGanttLayout) layout = ps_gantt_layout_new(run, &request);
            guint next = 0, n_rows = 0, n_boxes = 0;
            for (; n_rows < layout->n_rows && layout->rows[n_rows].stage == PS_GANTT_LOADER;
                 n_rows++) {
                ck_assert_uint_eq(layout->rows[n_rows].first_lane, next);
                next += layout->rows[n_rows].n_lanes;
                n_boxes += layout->rows[n_rows].boxes->len;
            }
            ck_assert_uint_eq(next, n_servers);
            ck_assert_uint_le(n_rows, overview ? 1 : 8);
            ck_assert(n_servers > 8 || overview || n_rows == n_servers);
            ck_assert(n_rows < n_servers || n_boxes == run->loads->len);
            for (guint i = n_rows; i < layout->n_rows; i++) {
                ck_assert_uint_ne(layout->rows[i].stage, PS_GANTT_LOADER);
            }
            ck_assert_uint_eq(layout->n_servers, n_servers);
            ck_assert_uint_eq(layout->n_stages, 1 + small.n_stages);
            ck_assert_uint_eq(layout->stages[0].stage, PS_GANTT_LOADER);
            ck_assert(layout->kinds[PS_KIND_LOAD]);
        }
        const gboolean stages[] = {TRUE, FALSE, FALSE, TRUE};
        PsGanttRequest request = {0, run->summary->makespan_ps, stages, 600, 1000, FALSE};
        g_autoptr(PsGanttLayout) layout = ps_gantt_layout_new(run, &request);
        ck_assert_uint_eq(layout->n_servers, 0);
        ck_assert(!layout->kinds[PS_KIND_LOAD]);
    }
}
END_TEST

/* Legends tell kinds apart by name and by looks. */
START_TEST(every_kind_has_its_looks)
{
    for (guint kind = 0; kind < PS_N_KINDS; kind++) {
        const PsKindStyle *style = &ps_kind_styles[kind];
        ck_assert_ptr_nonnull(style->label);
        for (guint other = 0; other < kind; other++) {
            ck_assert_str_ne(style->label, ps_kind_styles[other].label);
            ck_assert_int_ne(memcmp(&style->fill, &ps_kind_styles[other].fill, sizeof style->fill),
                             0);
        }
    }
}
END_TEST

/* ---- pictures -------------------------------------------------------------------------------- */

static GByteArray *draw(const PsRun *run, const PsGanttView *view, PsCanvasFormat format)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsCanvas) canvas = ps_gantt_draw(run, view, format, &error);
    ps_assert_no_error(error);
    GByteArray *bytes = ps_canvas_finish(canvas, &error);
    ps_assert_no_error(error);
    return bytes;
}

static void count_rectangles(GMarkupParseContext *context G_GNUC_UNUSED, const char *element,
                             const char **names, const char **values, gpointer user_data,
                             GError **error G_GNUC_UNUSED)
{
    guint *n = user_data;
    for (guint i = 0; strcmp(element, "path") == 0 && names[i] != NULL; i++) {
        const char *piece = values[i];
        while (strcmp(names[i], "d") == 0 && (piece = strstr(piece, "Z")) != NULL) {
            piece++;
            ++*n;
        }
    }
}

/* Closed outlines in a well-formed SVG. */
static guint parse_svg(const GByteArray *bytes)
{
    guint n = 0;
    g_autoptr(GError) error = NULL;
    const GMarkupParser parser = {.start_element = count_rectangles};
    g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, &n, NULL);
    gboolean fine = g_markup_parse_context_parse(context, (const char *)bytes->data,
                                                 (gssize)bytes->len, &error) &&
                    g_markup_parse_context_end_parse(context, &error);
    ps_assert_no_error(error);
    ck_assert(fine);
    return n;
}

static const PsGanttView everything = {-1, -1, NULL};

START_TEST(a_long_run_stays_small)
{
    g_autoptr(PsRun) run = sample_run(&long_run);
    ck_assert_uint_gt(run->ops->len, 200000);
    const PsGanttView views[] = {everything, {0, run->summary->makespan_ps, NULL}};
    for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
        g_autoptr(GByteArray) bytes = draw(run, &views[i], PS_CANVAS_SVG);
        guint n = parse_svg(bytes);
        /* A few thousand in any case; at most 50,000 columns of pixels, each up to one per kind
         * that computes (3) or communicates (2). */
        ck_assert_uint_gt(n, 2000);
        ck_assert_uint_lt(n, 150000);
        ck_assert_uint_lt(bytes->len, 8000000);
    }
}
END_TEST

static guint32 big_endian(const guint8 *bytes)
{
    return (guint32)bytes[0] << 24 | (guint32)bytes[1] << 16 | (guint32)bytes[2] << 8 | bytes[3];
}

START_TEST(each_format_is_what_it_says)
{
    static const guint8 png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    g_autoptr(PsRun) run = sample_run(&small);
    g_autoptr(GByteArray) image = draw(run, &everything, PS_CANVAS_PNG);
    ck_assert_mem_eq(image->data, png, sizeof png);
    ck_assert_uint_eq(big_endian(image->data + 16), 2 * 1600);
    ck_assert_uint_gt(big_endian(image->data + 20), 600);
    g_autoptr(GByteArray) page = draw(run, &everything, PS_CANVAS_PDF);
    ck_assert_mem_eq(page->data, "%PDF-", 5);
    ck_assert_mem_eq(page->data + page->len - 6, "%%EOF\n", 6);
    g_autoptr(GByteArray) drawing = draw(run, &everything, PS_CANVAS_SVG);
    /* Its ops are boxes, so there are as many outlines at least. */
    ck_assert_uint_ge(parse_svg(drawing), run->ops->len);
}
END_TEST

/* A run that was interrupted has no TPS to show, and says so in the title. */
START_TEST(partial_runs_are_drawn)
{
    g_autoptr(PsRun) run = sample_run(&small);
    g_autoptr(GByteArray) complete = draw(run, &everything, PS_CANVAS_PNG);
    run->summary->partial = TRUE;
    g_autoptr(GByteArray) partial = draw(run, &everything, PS_CANVAS_PNG);
    run->summary->tps_s = 0;
    g_autoptr(GByteArray) unknown = draw(run, &everything, PS_CANVAS_PNG);
    ck_assert(complete->len != partial->len ||
              memcmp(complete->data, partial->data, partial->len) != 0);
    ck_assert_uint_eq(partial->len, unknown->len);
    ck_assert_mem_eq(partial->data, unknown->data, unknown->len);
}
END_TEST

/* Lane 3 is replica 1 of stage 1. Its rows have a stop where it lies in or before what is shown. */
START_TEST(stops_lie_in_the_rows_of_their_lane)
{
    g_autoptr(PsRun) run = sample_run(&small);
    gint64 end_ps = run->summary->makespan_ps, at_ps = end_ps / 2;
    g_array_append_vals(run->summary->stops, &(PsRunStop){3, at_ps}, 1);
    const struct {
        gint64 from_ps, to_ps;
        double x; /* -1: none */
        gboolean overview;
    } views[] = {{0, end_ps, 300, FALSE},
                 {at_ps, end_ps, 0, FALSE},
                 {at_ps + 1, end_ps, 0, FALSE},
                 {0, at_ps, -1, FALSE},
                 {0, end_ps, 300, TRUE}};
    for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
        PsGanttRequest request = {views[i].from_ps, views[i].to_ps, NULL, 600, 1000,
                                  views[i].overview};
        g_autoptr(PsGanttLayout) layout = ps_gantt_layout_new(run, &request);
        ck_assert_int_eq(layout->stops, views[i].x >= 0);
        for (guint k = 0; k < layout->n_rows; k++) {
            const PsGanttRow *row = &layout->rows[k];
            gboolean of_lane = row->first_lane <= 3 && 3 < row->first_lane + row->n_lanes;
            ck_assert_uint_eq(row->stops->len, of_lane && views[i].x >= 0);
            if (row->stops->len > 0) {
                ck_assert_double_eq_tol(g_array_index(row->stops, double, 0), views[i].x, 1e-6);
            }
        }
    }
}
END_TEST

static gboolean same_bytes(const GByteArray *a, const GByteArray *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Nothing else in a picture has such wide strokes. Cairo writes them in one form or the other. */
static guint count_crosses(const GByteArray *svg)
{
    static const char *const forms[] = {"stroke-width:4;", "stroke-width=\"4\""};
    g_autofree char *text = g_strndup((const char *)svg->data, svg->len);
    guint n = 0;
    for (guint i = 0; i < G_N_ELEMENTS(forms); i++) {
        for (const char *at = text; (at = strstr(at, forms[i])) != NULL; at++) {
            n++;
        }
    }
    return n;
}

/* Rows and legend have a mark then, and only then. */
START_TEST(stops_are_drawn)
{
    g_autoptr(PsRun) run = sample_run(&small);
    gint64 end_ps = run->summary->makespan_ps;
    const PsGanttView first_half = {0, end_ps / 2, NULL};
    g_autoptr(GByteArray) whole = draw(run, &everything, PS_CANVAS_SVG);
    g_autoptr(GByteArray) half = draw(run, &first_half, PS_CANVAS_PNG);
    g_array_append_vals(run->summary->stops, &(PsRunStop){3, end_ps / 2}, 1);
    g_autoptr(GByteArray) marked = draw(run, &everything, PS_CANVAS_SVG);
    g_autoptr(GByteArray) before = draw(run, &first_half, PS_CANVAS_PNG);
    ck_assert(same_bytes(half, before));
    ck_assert_uint_eq(count_crosses(whole), 0);
    ck_assert_uint_eq(count_crosses(marked), 2); /* the other one is the legend's */
}
END_TEST

START_TEST(formats_go_by_suffix)
{
    static const struct {
        const char *path;
        PsCanvasFormat format;
    } cases[] = {{"a.svg", PS_CANVAS_SVG}, {"b/c.png", PS_CANVAS_PNG}, {"d.e.pdf", PS_CANVAS_PDF}};
    g_autoptr(GError) error = NULL;
    PsCanvasFormat format;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        ck_assert(ps_canvas_format(cases[i].path, &format, &error));
        ck_assert_int_eq(format, cases[i].format);
    }
    ck_assert(!ps_canvas_format("run.jpg", &format, &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "'run.jpg' has no known picture format (expected a name that ends in .svg, "
                    ".png or .pdf)");
}
END_TEST

START_TEST(what_cannot_be_drawn_is_said)
{
    const SampleShape tall = {5000, 1, 1, MS, MS, 0, 0, 0};
    g_autoptr(GError) error = NULL;
    g_autoptr(PsRun) empty = sample_run(&small);
    g_array_set_size(empty->ops, 0);
    ck_assert_ptr_null(ps_gantt_draw(empty, &everything, PS_CANVAS_SVG, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "sample/trace.csv: there is nothing to draw (expected at least one op)");
    g_autoptr(PsRun) run = sample_run(&tall);
    ck_assert_ptr_null(ps_gantt_draw(run, &everything, PS_CANVAS_SVG, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "sample: 5000 stages do not fit on a page (expected fewer: choose some with "
                    "--stages)");
}
END_TEST

PS_TEST_MAIN("gantt", every_stream_has_one_row, boxes_are_the_ops, only_the_stages_asked_for,
             a_loader_has_rows_of_its_own, every_kind_has_its_looks, a_long_run_stays_small,
             each_format_is_what_it_says, partial_runs_are_drawn,
             stops_lie_in_the_rows_of_their_lane, stops_are_drawn, formats_go_by_suffix,
             what_cannot_be_drawn_is_said)
