#include <string.h>

#include "sim/trace/order.h"
#include "tests/harness/harness.h"

typedef struct {
    GArray *ops;    /* PsTraceOp */
    GArray *memory; /* PsTraceMemory */
    GArray *loads;  /* PsTraceLoad */
} Records;

static Records records_new(void)
{
    return (Records){g_array_new(FALSE, FALSE, sizeof(PsTraceOp)),
                     g_array_new(FALSE, FALSE, sizeof(PsTraceMemory)),
                     g_array_new(FALSE, FALSE, sizeof(PsTraceLoad))};
}

static void records_clear(Records *records)
{
    g_array_unref(records->ops);
    g_array_unref(records->memory);
    g_array_unref(records->loads);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Records, records_clear)

static void keep_op(const PsTraceOp *op, gpointer records)
{
    g_array_append_vals(((Records *)records)->ops, op, 1);
}

static void keep_memory(const PsTraceMemory *change, gpointer records)
{
    g_array_append_vals(((Records *)records)->memory, change, 1);
}

static void keep_load(const PsTraceLoad *load, gpointer records)
{
    g_array_append_vals(((Records *)records)->loads, load, 1);
}

static Records in_order(const Records *records)
{
    Records ordered = records_new();
    const PsTraceSink sink = {
        .op = keep_op, .memory = keep_memory, .load = keep_load, .user_data = &ordered};
    g_autoptr(PsTraceOrder) order = ps_trace_order_new(&sink);
    const PsTraceSink *into = ps_trace_order_sink(order);
    for (guint i = 0; i < records->ops->len; i++) {
        into->op(&g_array_index(records->ops, PsTraceOp, i), into->user_data);
    }
    for (guint i = 0; i < records->memory->len; i++) {
        into->memory(&g_array_index(records->memory, PsTraceMemory, i), into->user_data);
    }
    for (guint i = 0; i < records->loads->len; i++) {
        into->load(&g_array_index(records->loads, PsTraceLoad, i), into->user_data);
    }
    ps_trace_order_flush(order);
    return ordered;
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* Few values of every field, so that most pairs agree in some and differ in others. */
static PsTraceOp random_op(GRand *rand, gint64 end_ps)
{
    PsTraceOp op = {0};
    op.lane = op.stage = op.rank = (guint)g_rand_int_range(rand, 0, 3);
    op.stream = (PsStreamKind)g_rand_int_range(rand, 0, PS_N_STREAMS);
    op.kind = (PsOpKind)g_rand_int_range(rand, 0, PS_N_OPS);
    op.microbatch = g_rand_int_range(rand, -1, 2);
    op.chunk = (guint)g_rand_int_range(rand, 0, 2);
    op.start_ps = end_ps - g_rand_int_range(rand, 0, 3);
    op.end_ps = end_ps;
    op.bytes = g_rand_int_range(rand, 0, 2);
    op.peer = g_rand_int_range(rand, -1, 2);
    return op;
}

/* One number after the other, in the order that the header promises, as text that sorts alike. */
static char *text_of(const PsTraceOp *op)
{
    return g_strdup_printf("%09" G_GINT64_FORMAT " %02u %02u %09" G_GINT64_FORMAT
                           " %02u %02d %02u %02d %02.0f",
                           op->end_ps, op->lane, op->stream, op->start_ps, op->kind,
                           (int)op->microbatch + 1, op->chunk, (int)op->peer + 1, op->bytes);
}

static GPtrArray *texts_of(const GArray *ops)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < ops->len; i++) {
        g_ptr_array_add(texts, text_of(&g_array_index(ops, PsTraceOp, i)));
    }
    return texts;
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
    return g_strcmp0(*(const char *const *)a, *(const char *const *)b);
}

/* What comes out is what went in, sorted by its text: nothing of the order at one instant is left.
 */
START_TEST(ops_are_sorted)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("ops_are_sorted"));
    for (guint trial = 0; trial < 200; trial++) {
        g_auto(Records) records = records_new();
        gint64 now_ps = 10;
        for (guint i = 0; i < 300; i++) {
            now_ps += g_rand_int_range(rand, 0, (gint)trial + 1) / 20;
            PsTraceOp op = random_op(rand, now_ps);
            g_array_append_val(records.ops, op);
        }
        g_auto(Records) ordered = in_order(&records);
        g_autoptr(GPtrArray) expected = texts_of(records.ops), got = texts_of(ordered.ops);
        g_ptr_array_sort(expected, compare_texts);
        ck_assert_uint_eq(got->len, expected->len);
        for (guint i = 0; i < got->len; i++) {
            ck_assert_str_eq(got->pdata[i], expected->pdata[i]);
        }
    }
}
END_TEST

START_TEST(loads_are_sorted)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("loads_are_sorted"));
    for (guint trial = 0; trial < 100; trial++) {
        g_auto(Records) records = records_new();
        g_autoptr(GPtrArray) expected = g_ptr_array_new_with_free_func(g_free);
        gint64 now_ps = 10;
        for (guint i = 0; i < 200; i++) {
            now_ps += g_rand_int_range(rand, 0, (gint)trial + 1) / 20;
            PsTraceLoad load = {(guint)g_rand_int_range(rand, 0, 3), g_rand_int_range(rand, 0, 3),
                                now_ps - g_rand_int_range(rand, 0, 3), now_ps};
            g_array_append_val(records.loads, load);
            g_ptr_array_add(expected,
                            g_strdup_printf("%09" G_GINT64_FORMAT " %u %d %09d", now_ps,
                                            load.server, (int)load.sample, (int)load.start_ps));
        }
        g_ptr_array_sort(expected, compare_texts);
        g_auto(Records) ordered = in_order(&records);
        ck_assert_uint_eq(ordered.loads->len, expected->len);
        for (guint i = 0; i < expected->len; i++) {
            const PsTraceLoad *load = &g_array_index(ordered.loads, PsTraceLoad, i);
            g_autofree char *text =
                g_strdup_printf("%09" G_GINT64_FORMAT " %u %d %09d", load->end_ps, load->server,
                                (int)load->sample, (int)load->start_ps);
            ck_assert_str_eq(text, expected->pdata[i]);
        }
    }
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

#define LANES 3
#define INSTANTS 40

/* What each category of each lane holds after each instant, by applying all rows up to it. */
typedef double State[LANES][PS_N_MEMORY];

static void states_of(const GArray *memory, State *states)
{
    State now = {{0}};
    guint row = 0;
    for (gint64 time_ps = 0; time_ps < INSTANTS; time_ps++) {
        for (; row < memory->len; row++) {
            const PsTraceMemory *change = &g_array_index(memory, PsTraceMemory, row);
            if (change->time_ps > time_ps) {
                break;
            }
            ck_assert_uint_eq(change->stage, 10 * change->lane);
            now[change->lane][change->category] = change->bytes;
        }
        memcpy(states[time_ps], now, sizeof now);
    }
    ck_assert_uint_eq(row, memory->len);
}

static void random_changes(GRand *rand, GArray *memory)
{
    for (gint64 time_ps = 0; time_ps < INSTANTS; time_ps++) {
        guint n = (guint)g_rand_int_range(rand, 0, 30);
        for (guint i = 0; i < n; i++) {
            guint lane = (guint)g_rand_int_range(rand, 0, LANES);
            PsTraceMemory change = {time_ps, lane, 10 * lane,
                                    (PsMemoryKind)g_rand_int_range(rand, 0, PS_N_MEMORY),
                                    g_rand_int_range(rand, 0, 3)};
            g_array_append_val(memory, change);
        }
    }
}

/* The states after all instants are the same, in strictly ascending rows that each change one. */
START_TEST(memory_keeps_what_lasts)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("memory_keeps_what_lasts"));
    for (guint trial = 0; trial < 200; trial++) {
        State before[INSTANTS], after[INSTANTS];
        g_auto(Records) records = records_new();
        random_changes(rand, records.memory);
        g_auto(Records) ordered = in_order(&records);
        states_of(records.memory, before);
        states_of(ordered.memory, after);
        ck_assert_mem_eq(before, after, sizeof before);
        gint64 last = -1;
        for (guint i = 0; i < ordered.memory->len; i++) {
            const PsTraceMemory *change = &g_array_index(ordered.memory, PsTraceMemory, i);
            gint64 place =
                (change->time_ps * LANES + change->lane) * PS_N_MEMORY + change->category;
            double held = change->time_ps > 0
                              ? before[change->time_ps - 1][change->lane][change->category]
                              : 0;
            ck_assert_int_gt(place, last);
            ck_assert_double_ne(change->bytes, held);
            last = place;
        }
    }
}
END_TEST

/* A sink that wants one kind of record gets an order that takes one kind. */
START_TEST(half_a_sink)
{
    const PsTraceSink sink = {.op = keep_op};
    g_autoptr(PsTraceOrder) order = ps_trace_order_new(&sink);
    ck_assert_ptr_null(ps_trace_order_sink(order)->memory);
    ck_assert_ptr_nonnull(ps_trace_order_sink(order)->op);
    ps_trace_order_flush(order);
}
END_TEST

PS_TEST_MAIN("order", ops_are_sorted, loads_are_sorted, memory_keeps_what_lasts, half_a_sink)
