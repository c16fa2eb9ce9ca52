/* The queue itself, with short sequence numbers so that they run out within the test. */
#define SEQUENCE_BITS 12
#include "sim/engine/event-queue.c"

#include "tests/harness/harness.h"

/* A plain list as the second road: the first event by (time, priority, order of pushes). */
typedef struct {
    gint64 time_ps;
    guint priority;
    guint64 number; /* of the push, and its data */
    PsEventHandle handle;
} Pending;

static int compare_pending(const void *a, const void *b)
{
    const Pending *left = a, *right = b;
    if (left->time_ps != right->time_ps) {
        return left->time_ps < right->time_ps ? -1 : 1;
    }
    if (left->priority != right->priority) {
        return left->priority < right->priority ? -1 : 1;
    }
    return left->number < right->number ? -1 : 1;
}

static guint first_of(const GArray *list)
{
    guint first = 0;
    for (guint i = 1; i < list->len; i++) {
        const Pending *all = (const Pending *)(gconstpointer)list->data;
        first = compare_pending(&all[i], &all[first]) < 0 ? i : first;
    }
    return first;
}

/* Times of very different spreads, with many ties, around and before the last popped one. */
static gint64 random_time(GRand *rand, gint64 now_ps)
{
    gint64 spread = G_GINT64_CONSTANT(1) << g_rand_int_range(rand, 0, 45);
    gint64 time_ps = now_ps + g_rand_int_range(rand, 0, 4) * spread - spread / 2;
    return MAX(time_ps, 0);
}

START_TEST(pops_in_order)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("pops_in_order"));
    g_autoptr(PsEventQueue) queue = ps_event_queue_new();
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(Pending));
    g_autoptr(GArray) gone = g_array_new(FALSE, FALSE, sizeof(PsEventHandle));
    gint64 now_ps = 0;
    guint64 number = 0;
    for (guint step = 0; step < 60000; step++) {
        /* Grows and shrinks in turn. */
        gint32 action = g_rand_int_range(rand, 0, 100);
        gboolean grow = step / 4000 % 2 == 0;
        if (list->len == 0 || action < (grow ? 55 : 35)) {
            Pending one = {random_time(rand, now_ps), (guint)g_rand_int_range(rand, 0, 16),
                           number++, 0};
            one.handle = ps_event_queue_push(queue, one.time_ps, one.priority,
                                             (guint32)(one.number * 7), one.number);
            g_array_append_val(list, one);
        } else if (action < 90) {
            PsEvent event;
            guint first = first_of(list);
            Pending expected = g_array_index(list, Pending, first);
            ck_assert(ps_event_queue_pop(queue, &event));
            ck_assert_int_eq(event.time_ps, expected.time_ps);
            ck_assert_uint_eq(event.data, expected.number);
            ck_assert_uint_eq(event.handler, (guint32)(expected.number * 7));
            now_ps = event.time_ps;
            g_array_append_val(gone, expected.handle);
            g_array_remove_index_fast(list, first);
        } else {
            guint some = (guint)g_rand_int_range(rand, 0, (gint32)list->len);
            PsEventHandle handle = g_array_index(list, Pending, some).handle;
            ck_assert(ps_event_queue_cancel(queue, handle));
            g_array_append_val(gone, handle);
            g_array_remove_index_fast(list, some);
        }
        ck_assert_uint_eq(ps_event_queue_size(queue), list->len);
        if (gone->len > 0) {
            guint some = (guint)g_rand_int_range(rand, 0, (gint32)gone->len);
            ck_assert(!ps_event_queue_cancel(queue, g_array_index(gone, PsEventHandle, some)));
        }
    }
    ck_assert_uint_gt(number, MAX_SEQUENCE); /* else renumbering was not tried */
}
END_TEST

/* Many cancellations at once leave what is not cancelled, in order. */
START_TEST(cancels_most)
{
    g_autoptr(PsEventQueue) queue = ps_event_queue_new();
    PsEventHandle handles[3000];
    for (guint i = 0; i < 3000; i++) {
        handles[i] = ps_event_queue_push(queue, (i * 7919) % 3000, 0, 0, (i * 7919) % 3000);
        ck_assert_uint_ne(handles[i], 0);
    }
    for (guint i = 0; i < 3000; i++) {
        if ((i * 7919) % 3000 % 10 != 0) {
            ck_assert(ps_event_queue_cancel(queue, handles[i]));
        }
    }
    ck_assert_uint_eq(ps_event_queue_size(queue), 300);
    PsEvent event;
    for (guint i = 0; i < 300; i++) {
        ck_assert(ps_event_queue_pop(queue, &event));
        ck_assert_uint_eq(event.data, i * 10);
    }
    ck_assert(!ps_event_queue_pop(queue, &event));
    ck_assert(!ps_event_queue_cancel(queue, handles[0]));
    ck_assert(!ps_event_queue_cancel(queue, 0));
}
END_TEST

START_TEST(reaches_the_end_of_time)
{
    g_autoptr(PsEventQueue) queue = ps_event_queue_new();
    PsEvent event;
    ps_event_queue_push(queue, G_MAXINT64, 0, 0, 2);
    ps_event_queue_push(queue, G_MAXINT64 - 1, 0, 0, 1);
    ps_event_queue_push(queue, 0, 0, 0, 0);
    for (guint i = 0; i < 3; i++) {
        ck_assert(ps_event_queue_pop(queue, &event));
        ck_assert_uint_eq(event.data, i);
    }
    /* Into the past of what was popped. */
    ps_event_queue_push(queue, 5, 0, 0, 5);
    ck_assert(ps_event_queue_pop(queue, &event));
    ck_assert_int_eq(event.time_ps, 5);
}
END_TEST

PS_TEST_MAIN("event-queue", pops_in_order, cancels_most, reaches_the_end_of_time)
