#include "sim/trace/order.h"

#include <stdlib.h>

/* A category of a lane. */
typedef struct {
    double before_bytes, bytes; /* before the latest instant, and after it */
    guint stage;
    gboolean changed; /* at the latest instant */
} Cell;

struct PsTraceOrder {
    const PsTraceSink *sink;
    PsTraceSink own;
    GArray *ops; /* PsTraceOp: all that ended at the latest instant */
    gboolean in_order;
    GArray *cells;   /* Cell: [lane * PS_N_MEMORY + category] */
    GArray *changed; /* guint: places in cells, changed at time_ps */
    gint64 time_ps;
};

/* ---- ops ------------------------------------------------------------------------------------- */

static inline int compare_numbers(gint64 a, gint64 b)
{
    return (a > b) - (a < b);
}

/* Replays end one op at a time on each stream of a lane, so the first two decide. */
static int compare_ops(const void *a, const void *b)
{
    const PsTraceOp *left = a, *right = b;
    int by[] = {
        compare_numbers(left->lane, right->lane),
        compare_numbers(left->stream, right->stream),
        compare_numbers(left->start_ps, right->start_ps),
        compare_numbers(left->kind, right->kind),
        compare_numbers(left->microbatch, right->microbatch),
        compare_numbers(left->chunk, right->chunk),
        compare_numbers(left->peer, right->peer),
        (left->bytes > right->bytes) - (left->bytes < right->bytes),
    };
    guint i = 0;
    while (i + 1 < G_N_ELEMENTS(by) && by[i] == 0) {
        i++;
    }
    return by[i];
}

static void flush_ops(PsTraceOrder *order)
{
    GArray *ops = order->ops;
    if (!order->in_order) {
        qsort(ops->data, ops->len, sizeof(PsTraceOp), compare_ops);
    }
    for (guint i = 0; i < ops->len; i++) {
        order->sink->op(&g_array_index(ops, PsTraceOp, i), order->sink->user_data);
    }
    g_array_set_size(ops, 0);
    order->in_order = TRUE;
}

static void take_op(const PsTraceOp *op, gpointer data)
{
    PsTraceOrder *order = data;
    GArray *ops = order->ops;
    if (ops->len > 0) {
        const PsTraceOp *last = &g_array_index(ops, PsTraceOp, ops->len - 1);
        g_assert(op->end_ps >= last->end_ps);
        if (op->end_ps > last->end_ps) {
            flush_ops(order);
        } else {
            order->in_order = order->in_order && compare_ops(last, op) <= 0;
        }
    }
    g_array_append_vals(ops, op, 1);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
    return compare_numbers(*(const guint *)a, *(const guint *)b);
}

static void flush_memory(PsTraceOrder *order)
{
    GArray *changed = order->changed;
    if (changed->len > 1) {
        qsort(changed->data, changed->len, sizeof(guint), compare_places);
    }
    for (guint i = 0; i < changed->len; i++) {
        guint place = g_array_index(changed, guint, i);
        Cell *cell = &g_array_index(order->cells, Cell, place);
        if (cell->bytes != cell->before_bytes) {
            const PsTraceMemory change = {order->time_ps, place / PS_N_MEMORY, cell->stage,
                                          place % PS_N_MEMORY, cell->bytes};
            order->sink->memory(&change, order->sink->user_data);
        }
        cell->before_bytes = cell->bytes;
        cell->changed = FALSE;
    }
    g_array_set_size(changed, 0);
}

static void take_memory(const PsTraceMemory *change, gpointer data)
{
    PsTraceOrder *order = data;
    g_assert(change->time_ps >= order->time_ps);
    if (change->time_ps > order->time_ps) {
        flush_memory(order);
        order->time_ps = change->time_ps;
    }
    guint place = change->lane * PS_N_MEMORY + change->category;
    if (place >= order->cells->len) {
        g_array_set_size(order->cells, (change->lane + 1) * PS_N_MEMORY);
    }
    Cell *cell = &g_array_index(order->cells, Cell, place);
    if (!cell->changed) {
        cell->changed = TRUE;
        g_array_append_val(order->changed, place);
    }
    cell->stage = change->stage;
    cell->bytes = change->bytes;
}

/* ---- both ------------------------------------------------------------------------------------ */

PsTraceOrder *ps_trace_order_new(const PsTraceSink *sink)
{
    PsTraceOrder *order = g_new0(PsTraceOrder, 1);
    order->sink = sink;
    order->own = (PsTraceSink){sink->op != NULL ? take_op : NULL,
                               sink->memory != NULL ? take_memory : NULL, order};
    order->ops = g_array_new(FALSE, FALSE, sizeof(PsTraceOp));
    order->in_order = TRUE;
    order->cells = g_array_new(FALSE, TRUE, sizeof(Cell));
    order->changed = g_array_new(FALSE, FALSE, sizeof(guint));
    return order;
}

void ps_trace_order_free(PsTraceOrder *order)
{
    if (order != NULL) {
        g_array_unref(order->ops);
        g_array_unref(order->cells);
        g_array_unref(order->changed);
        g_free(order);
    }
}

const PsTraceSink *ps_trace_order_sink(PsTraceOrder *order)
{
    return &order->own;
}

void ps_trace_order_flush(PsTraceOrder *order)
{
    flush_ops(order);
    flush_memory(order);
}
