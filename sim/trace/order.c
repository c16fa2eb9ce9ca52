#include "sim/trace/order.h"

#include <stdlib.h>

/* A category of a lane. */
typedef struct {
    double before_bytes, bytes; /* before the latest instant, and after it */
    guint stage;
    gboolean changed; /* at the latest instant */
} Cell;

/* All records of one kind that ended at the latest instant. */
typedef struct {
    GArray *records;
    int (*compare)(const void *a, const void *b);
    gboolean in_order; /* so far */
} Instant;

struct PsTraceOrder {
    const PsTraceSink *sink;
    PsTraceSink own;
    Instant ops;     /* PsTraceOp */
    Instant loads;   /* PsTraceLoad */
    GArray *cells;   /* Cell: [lane * PS_N_MEMORY + category] */
    GArray *changed; /* guint: places in cells, changed at time_ps */
    gint64 time_ps;
};

/* ---- what ends ------------------------------------------------------------------------------- */

static inline int compare_numbers(gint64 a, gint64 b)
{
    return (a > b) - (a < b);
}

/* Replays end one op at a time on each stream of a lane, so the first two decide. */
static int compare_ops(const void *a, const void *b)
{
    const PsTraceOp *left = a, *right = b;
    if (left->lane != right->lane) {
        return left->lane < right->lane ? -1 : 1;
    }
    if (left->stream != right->stream) {
        return left->stream < right->stream ? -1 : 1;
    }
    int by[] = {
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

static int compare_loads(const void *a, const void *b)
{
    const PsTraceLoad *left = a, *right = b;
    int by[] = {
        compare_numbers(left->server, right->server),
        compare_numbers(left->sample, right->sample),
        compare_numbers(left->start_ps, right->start_ps),
    };
    return by[0] != 0 ? by[0] : by[1] != 0 ? by[1] : by[2];
}

static void sort(Instant *instant)
{
    if (!instant->in_order) {
        qsort(instant->records->data, instant->records->len,
              g_array_get_element_size(instant->records), instant->compare);
    }
    instant->in_order = TRUE;
}

static void hold_back(Instant *instant, gconstpointer last, gconstpointer record)
{
    instant->in_order = instant->in_order && (last == NULL || instant->compare(last, record) <= 0);
    g_array_append_vals(instant->records, record, 1);
}

static void flush_ops(PsTraceOrder *order)
{
    GArray *ops = order->ops.records;
    sort(&order->ops);
    for (guint i = 0; i < ops->len; i++) {
        order->sink->op(&g_array_index(ops, PsTraceOp, i), order->sink->user_data);
    }
    g_array_set_size(ops, 0);
}

static void take_op(const PsTraceOp *op, gpointer data)
{
    PsTraceOrder *order = data;
    GArray *ops = order->ops.records;
    const PsTraceOp *last = ops->len > 0 ? &g_array_index(ops, PsTraceOp, ops->len - 1) : NULL;
    if (last != NULL && op->end_ps != last->end_ps) {
        g_assert(op->end_ps > last->end_ps);
        flush_ops(order);
        last = NULL;
    }
    hold_back(&order->ops, last, op);
}

static void flush_loads(PsTraceOrder *order)
{
    GArray *loads = order->loads.records;
    sort(&order->loads);
    for (guint i = 0; i < loads->len; i++) {
        order->sink->load(&g_array_index(loads, PsTraceLoad, i), order->sink->user_data);
    }
    g_array_set_size(loads, 0);
}

static void take_load(const PsTraceLoad *load, gpointer data)
{
    PsTraceOrder *order = data;
    GArray *loads = order->loads.records;
    const PsTraceLoad *last =
        loads->len > 0 ? &g_array_index(loads, PsTraceLoad, loads->len - 1) : NULL;
    if (last != NULL && load->end_ps != last->end_ps) {
        g_assert(load->end_ps > last->end_ps);
        flush_loads(order);
        last = NULL;
    }
    hold_back(&order->loads, last, load);
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

/* ---- all ------------------------------------------------------------------------------------- */

PsTraceOrder *ps_trace_order_new(const PsTraceSink *sink)
{
    PsTraceOrder *order = g_new0(PsTraceOrder, 1);
    order->sink = sink;
    order->own = (PsTraceSink){
        .op = sink->op != NULL ? take_op : NULL,
        .memory = sink->memory != NULL ? take_memory : NULL,
        .load = sink->load != NULL ? take_load : NULL,
        .user_data = order,
    };
    order->ops = (Instant){g_array_new(FALSE, FALSE, sizeof(PsTraceOp)), compare_ops, TRUE};
    order->loads = (Instant){g_array_new(FALSE, FALSE, sizeof(PsTraceLoad)), compare_loads, TRUE};
    order->cells = g_array_new(FALSE, TRUE, sizeof(Cell));
    order->changed = g_array_new(FALSE, FALSE, sizeof(guint));
    return order;
}

void ps_trace_order_free(PsTraceOrder *order)
{
    if (order != NULL) {
        g_array_unref(order->ops.records);
        g_array_unref(order->loads.records);
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
    flush_loads(order);
    flush_memory(order);
}
