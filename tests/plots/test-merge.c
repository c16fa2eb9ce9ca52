#include <math.h>
#include "plots/merge.h"
#include "tests/harness/harness.h"

#define N_TRIALS 150
#define MOST_OPS 400

typedef struct {
    double x0, x1;
    PsKind kind;
} Op;

/* Back to back with gaps, some of them nothing; lengths from far below a pixel to many. Begins
 * before the row and runs over its end. */
static guint random_lane(GRand *rand, double width, Op *ops)
{
    double x = g_rand_double_range(rand, -20, 5),
           mean = pow(10, g_rand_double_range(rand, -1.5, 1.5));
    guint n = 0;
    while (n < MOST_OPS && x < width + 5) {
        double length = mean * -log(1 - g_rand_double(rand));
        ops[n++] = (Op){x, x + length, (PsKind)g_rand_int_range(rand, 0, PS_N_KINDS)};
        x += length + (g_rand_boolean(rand) ? mean * g_rand_double(rand) : 0);
    }
    return n;
}

static double overlap(double a0, double a1, double b0, double b1)
{
    return fmax(0, fmin(a1, b1) - fmax(a0, b0));
}

/* Pixels of a kind between two verticals, as drawn. */
static double drawn(GArray *boxes, GArray *cells, PsKind kind, double x0, double x1)
{
    double sum = 0;
    for (guint i = 0; i < boxes->len; i++) {
        const PsBox *box = &g_array_index(boxes, PsBox, i);
        sum += box->kind == kind ? overlap(box->x0, box->x1, x0, x1) : 0;
    }
    for (guint i = 0; i < cells->len; i++) {
        const PsCell *cell = &g_array_index(cells, PsCell, i);
        sum += cell->kind == kind ? overlap(cell->x0, cell->x1, x0, x1) * (cell->y1 - cell->y0) : 0;
    }
    return sum;
}

typedef struct {
    double width;
    guint column, n_lanes, n_levels;
    Op *ops; /* of all lanes */
    guint n_ops;
    GArray *boxes, *cells;
} Row;

static void make_row(GRand *rand, guint n_lanes, Row *row)
{
    row->width = g_rand_int_range(rand, 20, 200);
    row->column = (guint)g_rand_int_range(rand, 1, 7);
    row->n_lanes = n_lanes;
    row->n_levels = g_rand_boolean(rand) ? 1000000 : (guint)g_rand_int_range(rand, 4, 50);
    row->ops = g_new(Op, MOST_OPS * n_lanes);
    row->n_ops = 0;
    row->boxes = g_array_new(FALSE, FALSE, sizeof(PsBox));
    row->cells = g_array_new(FALSE, FALSE, sizeof(PsCell));
    for (guint lane = 0; lane < n_lanes; lane++) {
        row->n_ops += random_lane(rand, row->width, row->ops + row->n_ops);
    }
    g_autoptr(PsMerge) merge = ps_merge_new(row->width, row->column, n_lanes, row->n_levels);
    for (guint i = 0; i < row->n_ops; i++) {
        ps_merge_add(merge, row->ops[i].x0, row->ops[i].x1, row->ops[i].kind, i);
    }
    ps_merge_finish(merge, row->boxes, row->cells);
}

static void free_row(Row *row)
{
    g_free(row->ops);
    g_array_unref(row->boxes);
    g_array_unref(row->cells);
}

/* Second road: each op's own overlap with each column, summed. Rounding a bar's two ends to a level
 * costs at most one level. */
static void assert_busy(const Row *row)
{
    for (double x = 0; x < row->width; x += row->column) {
        double end = fmin(x + row->column, row->width);
        for (PsKind kind = 0; kind < PS_N_KINDS; kind++) {
            double busy = 0;
            for (guint i = 0; i < row->n_ops; i++) {
                busy += row->ops[i].kind == kind
                            ? overlap(row->ops[i].x0, row->ops[i].x1, x, end) / row->n_lanes
                            : 0;
            }
            ck_assert_double_le(fabs(busy - drawn(row->boxes, row->cells, kind, x, end)),
                                (end - x) / row->n_levels + 1e-9);
        }
    }
}

START_TEST(what_is_drawn_is_the_busy_time)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("what_is_drawn_is_the_busy_time"));
    for (guint trial = 0; trial < N_TRIALS; trial++) {
        Row row;
        make_row(rand, trial % 2 == 0 ? 1 : (guint)g_rand_int_range(rand, 2, 6), &row);
        assert_busy(&row);
        free_row(&row);
    }
}
END_TEST

static void assert_inside(const Row *row)
{
    for (guint i = 0; i < row->cells->len; i++) {
        const PsCell *cell = &g_array_index(row->cells, PsCell, i);
        ck_assert(cell->x0 >= 0 && cell->x0 < cell->x1 && cell->x1 <= row->width);
        ck_assert(cell->y0 >= 0 && cell->y0 < cell->y1 && cell->y1 <= 1);
        for (guint j = 0; j < row->boxes->len; j++) {
            const PsBox *box = &g_array_index(row->boxes, PsBox, j);
            ck_assert_double_le(overlap(cell->x0, cell->x1, box->x0, box->x1), 1e-9);
        }
        for (guint j = 0; j < i; j++) {
            const PsCell *other = &g_array_index(row->cells, PsCell, j);
            ck_assert(overlap(cell->x0, cell->x1, other->x0, other->x1) < 1e-9 ||
                      overlap(cell->y0, cell->y1, other->y0, other->y1) < 1e-9);
        }
    }
}

START_TEST(rectangles_keep_apart_and_inside)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("rectangles_keep_apart_and_inside"));
    for (guint trial = 0; trial < N_TRIALS; trial++) {
        Row row;
        make_row(rand, 1, &row);
        assert_inside(&row);
        guint n_columns = (guint)ceil(row.width / row.column);
        ck_assert_uint_le(row.cells->len, n_columns * PS_N_KINDS);
        ck_assert_uint_le(row.boxes->len, row.width / fmax(2, row.column) + 2);
        free_row(&row);
    }
}
END_TEST

START_TEST(wide_ops_are_boxes_to_the_edge)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("wide_ops_are_boxes_to_the_edge"));
    for (guint trial = 0; trial < N_TRIALS; trial++) {
        Row row;
        guint next = 0;
        make_row(rand, 1, &row);
        for (guint i = 0; i < row.n_ops; i++) {
            const Op *op = &row.ops[i];
            if (op->x1 - op->x0 < fmax(2, row.column) || op->x1 <= 0 || op->x0 >= row.width) {
                continue;
            }
            ck_assert_uint_lt(next, row.boxes->len);
            const PsBox *box = &g_array_index(row.boxes, PsBox, next++);
            ck_assert_int_eq(box->microbatch, i);
            ck_assert_int_eq(box->kind, op->kind);
            ck_assert_double_eq(box->x0, fmax(op->x0, 0));
            ck_assert_double_eq(box->x1, fmin(op->x1, row.width));
        }
        ck_assert_uint_eq(next, row.boxes->len);
        free_row(&row);
    }
}
END_TEST

/* A pattern that repeats in every column is one rectangle per kind, however long. */
START_TEST(equal_neighbours_become_one)
{
    g_autoptr(PsMerge) merge = ps_merge_new(1000, 1, 1, 40);
    g_autoptr(GArray) boxes = g_array_new(FALSE, FALSE, sizeof(PsBox));
    g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(PsCell));
    for (guint i = 0; i < 1000; i++) {
        ps_merge_add(merge, i, i + 0.25, PS_OP_FORWARD, i);
        ps_merge_add(merge, i + 0.25, i + 0.75, PS_OP_BACKWARD, i);
    }
    ps_merge_finish(merge, boxes, cells);
    ck_assert_uint_eq(boxes->len, 0);
    ck_assert_uint_eq(cells->len, 2);
    static const PsCell expected[] = {{0, 1000, 0, 0.25, PS_OP_FORWARD},
                                      {0, 1000, 0.25, 0.75, PS_OP_BACKWARD}};
    for (guint i = 0; i < cells->len; i++) {
        const PsCell *cell = &g_array_index(cells, PsCell, i);
        ck_assert_double_eq(cell->x0, expected[i].x0);
        ck_assert_double_eq(cell->x1, expected[i].x1);
        ck_assert_double_eq(cell->y0, expected[i].y0);
        ck_assert_double_eq(cell->y1, expected[i].y1);
        ck_assert_int_eq(cell->kind, expected[i].kind);
    }
}
END_TEST

PS_TEST_MAIN("merge", what_is_drawn_is_the_busy_time, rectangles_keep_apart_and_inside,
             wide_ops_are_boxes_to_the_edge, equal_neighbours_become_one)
