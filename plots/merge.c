#include "plots/merge.h"

#include <math.h>
#include <string.h>

#define LEAST_BOX_PX 2.0

typedef struct {
    double free_x0, free_x1; /* what boxes leave free; a box is no narrower than a column, so this
                                is  one piece */
    double busy_px[PS_N_KINDS]; /* of thin ops, summed over lanes */
} Column;

struct PsMerge {
    double width_px, column_px;
    guint n_lanes, n_levels;
    guint n_columns;
    Column *columns;
    GArray *boxes;
};

/* Shares of a column in levels, and where it lies. */
typedef struct {
    double x0, x1;
    int tops[PS_N_KINDS]; /* cumulated */
} Stack;

PsMerge *ps_merge_new(double width_px, guint column_px, guint n_lanes, guint n_levels)
{
    PsMerge *merge = g_new0(PsMerge, 1);
    merge->width_px = width_px;
    merge->column_px = column_px;
    merge->n_lanes = n_lanes;
    merge->n_levels = n_levels;
    merge->n_columns = (guint)ceil(width_px / column_px);
    merge->columns = g_new0(Column, merge->n_columns);
    merge->boxes = g_array_new(FALSE, FALSE, sizeof(PsBox));
    for (guint i = 0; i < merge->n_columns; i++) {
        merge->columns[i].free_x0 = i * merge->column_px;
        merge->columns[i].free_x1 = fmin((i + 1) * merge->column_px, width_px);
    }
    return merge;
}

void ps_merge_free(PsMerge *merge)
{
    g_array_unref(merge->boxes);
    g_free(merge->columns);
    g_free(merge);
}

static guint column_at(const PsMerge *merge, double x)
{
    return MIN((guint)(x / merge->column_px), merge->n_columns - 1);
}

static void add_box(PsMerge *merge, const PsBox *box)
{
    g_array_append_val(merge->boxes, *box);
    Column *first = &merge->columns[column_at(merge, box->x0)];
    Column *last = &merge->columns[column_at(merge, box->x1)];
    /* These are two columns, unless an end of the row cuts the box off. */
    if (box->x0 > 0) {
        first->free_x1 = fmin(first->free_x1, box->x0);
    }
    if (box->x1 < merge->width_px) {
        last->free_x0 = fmax(last->free_x0, box->x1);
    }
}

static void add_thin(PsMerge *merge, double x0, double x1, PsKind kind)
{
    guint last = column_at(merge, x1);
    for (guint i = column_at(merge, x0); i <= last; i++) {
        double left = i * merge->column_px;
        double part = fmin(x1, left + merge->column_px) - fmax(x0, left);
        merge->columns[i].busy_px[kind] += fmax(part, 0);
    }
}

void ps_merge_add(PsMerge *merge, double x0, double x1, PsKind kind, gint64 microbatch)
{
    PsBox box = {fmax(x0, 0), fmin(x1, merge->width_px), kind, microbatch};
    if (!(box.x0 < box.x1)) {
        return;
    }
    if (merge->n_lanes == 1 && x1 - x0 >= fmax(LEAST_BOX_PX, merge->column_px)) {
        add_box(merge, &box);
    } else {
        add_thin(merge, box.x0, box.x1, kind);
    }
}

/* FALSE where there is nothing to show. */
static gboolean stack_column(const PsMerge *merge, const Column *column, Stack *stack)
{
    double room = (column->free_x1 - column->free_x0) * merge->n_lanes;
    double sum = 0;
    stack->x0 = column->free_x0;
    stack->x1 = column->free_x1;
    for (guint kind = 0; kind < PS_N_KINDS; kind++) {
        sum += column->busy_px[kind];
        double share = room > 0 ? fmin(sum / room, 1) : 0;
        stack->tops[kind] = (int)rint(share * merge->n_levels);
    }
    return stack->tops[PS_N_KINDS - 1] > 0;
}

/* A column that boxes cut continues its neighbour too: what they cover is not its business. */
static gboolean continues(const Stack *stack, const Stack *next)
{
    return fabs(stack->x1 - next->x0) < 1e-9 &&
           memcmp(stack->tops, next->tops, sizeof stack->tops) == 0;
}

static void append_cells(const PsMerge *merge, const Stack *stack, GArray *cells)
{
    int bottom = 0;
    for (guint kind = 0; kind < PS_N_KINDS; kind++) {
        if (stack->tops[kind] > bottom) {
            PsCell cell = {stack->x0, stack->x1, (double)bottom / merge->n_levels,
                           (double)stack->tops[kind] / merge->n_levels, kind};
            g_array_append_val(cells, cell);
            bottom = stack->tops[kind];
        }
    }
}

void ps_merge_finish(PsMerge *merge, GArray *boxes, GArray *cells)
{
    g_array_append_vals(boxes, merge->boxes->data, merge->boxes->len);
    Stack run = {0}, next;
    gboolean open = FALSE;
    for (guint i = 0; i < merge->n_columns; i++) {
        gboolean filled = stack_column(merge, &merge->columns[i], &next);
        if (open && filled && continues(&run, &next)) {
            run.x1 = next.x1;
            continue;
        }
        if (open) {
            append_cells(merge, &run, cells);
        }
        run = next;
        open = filled;
    }
    if (open) {
        append_cells(merge, &run, cells);
    }
}
