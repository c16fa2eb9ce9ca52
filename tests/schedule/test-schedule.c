#include "sim/base/error.h"
#include "sim/schedule/cursor.h"
#include "tests/harness/harness.h"

/* ---- orders in words ------------------------------------------------------------------------- */

/* "F0 F1 B0 F2 B1 B2 " until the lane is done; with chunks "F0.1" is microbatch 0 on chunk 1. */
static void append_step(GString *text, const PsStep *step, guint chunks)
{
    g_string_append_printf(text, "%c%d", "FBIW"[step->kind], (int)step -> index);
    if (chunks > 1) {
        g_string_append_printf(text, ".%u", step->chunk);
    }
    g_string_append_c(text, ' ');
}

static char *order_of(const char *name, guint stage, guint n_stages, guint chunks, guint batch)
{
    const PsSchedule *schedule = ps_schedule_find(name, NULL);
    const PsLaneShape lane = {stage, n_stages, chunks, batch, n_stages - stage};
    g_autoptr(GArray) steps = ps_schedule_list(schedule, &lane);
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < steps->len; i++) {
        append_step(text, &g_array_index(steps, PsStep, i), chunks);
    }
    return g_string_free(text, FALSE);
}

/* As drawn in the papers and by the reference codes that the schedules' files name. */
START_TEST(published_orders)
{
    static const struct {
        const char *name;
        guint stage, n_stages, chunks, batch;
        const char *order;
    } orders[] = {
        {"gpipe", 0, 4, 1, 3, "F0 F1 F2 B2 B1 B0 "},
        {"1f1b", 1, 3, 1, 4, "F0 F1 B0 F2 B1 F3 B2 B3 "},
        {"zb-h1", 0, 2, 1, 4, "F0 F1 I0 W0 F2 I1 W1 F3 I2 W2 I3 W3 "},
        {"zb-h1", 1, 2, 1, 4, "F0 I0 F1 I1 W0 F2 I2 W1 F3 I3 W2 W3 "},
        {"zb-h2", 0, 2, 1, 4, "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3 "},
        {"zb-h2", 1, 2, 1, 4, "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3 "},
        /* Megatron, p = 2, v = 2, m = 4: 2 + 2 forwards ahead on the first rank, 2 on the last. */
        {"interleaved", 0, 2, 2, 4,
         "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0 "},
        {"interleaved", 1, 2, 2, 4,
         "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0 "},
        /* A batch of 3 is one of 4 without its last microbatch. */
        {"interleaved", 1, 2, 2, 3, "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 B1.0 F2.1 B2.1 B2.0 "},
        {"zb-v", 0, 2, 2, 3,
         "F0.0 F1.0 F2.0 F0.1 I0.1 W0.1 F1.1 I1.1 W1.1 I0.0 W0.0 F2.1 I2.1 W2.1 I1.0 W1.0 I2.0 "
         "W2.0 "},
    };
    for (guint i = 0; i < G_N_ELEMENTS(orders); i++) {
        g_autofree char *order = order_of(orders[i].name, orders[i].stage, orders[i].n_stages,
                                          orders[i].chunks, orders[i].batch);
        ck_assert_str_eq(order, orders[i].order);
    }
}
END_TEST

static char *steps_of(const PsSchedule *schedule, PsLanePosition position, guint at_most)
{
    GString *text = g_string_new(NULL);
    PsStep step = {0};
    for (guint i = 0; i < at_most && schedule->next(&position, &step.kind); i++) {
        step.index = step.kind == PS_STEP_FORWARD ? position.n_forward++ : position.n_backward++;
        append_step(text, &step, 1);
    }
    return g_string_free(text, FALSE);
}

/* The textbook order: w = min(m, y) forwards, then backward and forward in turn, then backwards. */
static void append_textbook(GString *text, gint64 first, gint64 m, gint64 y)
{
    gint64 next = 0;
    for (; next < MIN(m, y); next++) {
        g_string_append_printf(text, "F%d ", (int)(first + next));
    }
    for (gint64 k = 0; k < m; k++) {
        g_string_append_printf(text, "B%d ", (int)(first + k));
        if (next < m) {
            g_string_append_printf(text, "F%d ", (int)(first + next++));
        }
    }
}

START_TEST(one_forward_one_backward_is_textbook)
{
    const PsSchedule *flush = ps_schedule_find("1f1b", NULL);
    const PsSchedule *stream = ps_schedule_find("1f1b-2bw", NULL);
    const PsSchedule *free = ps_schedule_find("pipedream", NULL);
    for (gint64 m = 1; m <= 8; m++) {
        for (gint64 y = 1; y <= 9; y++) {
            const PsLaneShape lane = {0, (guint)y, 1, (guint)m, (guint)y};
            g_autoptr(GArray) steps = ps_schedule_list(flush, &lane);
            PsCursor cursor;
            ps_cursor_init(&cursor, flush, &lane, steps);
            ps_cursor_set_end(&cursor, 3 * m);
            g_autoptr(GString) flushed = g_string_new(NULL), batches = g_string_new(NULL);
            for (PsStep step; ps_cursor_peek(&cursor, &step); ps_cursor_take(&cursor, &step)) {
                append_step(flushed, &step, 1);
            }
            for (gint64 batch = 0; batch < 3; batch++) {
                append_textbook(batches, batch * m, m, y);
            }
            ck_assert_str_eq(flushed->str, batches->str);

            PsLanePosition position = {.batch = m, .end = 3 * m, .in_flight = y};
            g_autoptr(GString) endless = g_string_new(NULL);
            append_textbook(endless, 0, 3 * m, y);
            g_autofree char *unhindered = steps_of(free, position, G_MAXUINT);
            ck_assert_str_eq(unhindered, endless->str);
            if (y <= m + 1) { /* more would need a third weight version */
                g_autofree char *streamed = steps_of(stream, position, G_MAXUINT);
                ck_assert_str_eq(streamed, endless->str);
            }
        }
    }
}
END_TEST

START_TEST(two_versions_hold_back)
{
    const PsSchedule *schedule = ps_schedule_find("1f1b-2bw", NULL);
    PsLanePosition position = {.batch = 2, .end = G_MAXINT64, .in_flight = 9};
    g_autofree char *steps = steps_of(schedule, position, 12);
    ck_assert_str_eq(steps, "F0 F1 F2 F3 B0 B1 F4 F5 B2 B3 F6 F7 ");
}
END_TEST

/* ---- what holds for every schedule ----------------------------------------------------------- */

/* Streams, whatever m, y and the moment at which the end is known. */
static void check_stream(const PsSchedule *schedule, GRand *rand)
{
    PsLanePosition position = {.batch = g_rand_int_range(rand, 1, 10),
                               .end = G_MAXINT64,
                               .in_flight = g_rand_int_range(rand, 1, 12)};
    guint stop_after = (guint)g_rand_int_range(rand, 0, 100);
    PsStepKind kind;
    guint n_steps = 0;
    while (schedule->next(&position, &kind)) {
        if (kind == PS_STEP_FORWARD) {
            gint64 batch = position.n_forward / position.batch;
            gint64 done = position.n_backward / position.batch;
            ck_assert_int_lt(position.n_forward, position.end);
            ck_assert(schedule->weight_versions == 0 || batch < done + schedule->weight_versions);
            position.n_forward++;
        } else {
            ck_assert_int_eq(kind, PS_STEP_BACKWARD);
            ck_assert_int_lt(position.n_backward, position.n_forward);
            position.n_backward++;
        }
        ck_assert_int_le(position.n_forward - position.n_backward, position.in_flight);
        if (n_steps++ == stop_after) {
            position.end = position.n_forward + g_rand_int_range(rand, 0, 20);
        }
    }
    ck_assert_int_eq(position.n_forward, position.end);
    ck_assert_int_eq(position.n_backward, position.end);
}

/* On every chunk each microbatch runs forward, then backward, or input and then weight. */
static void check_list(const GArray *steps, const PsLaneShape *lane)
{
    g_autofree guint *seen = g_new0(guint, lane->batch * lane->chunks); /* bit per kind */
    for (guint i = 0; i < steps->len; i++) {
        const PsStep *step = &g_array_index(steps, PsStep, i);
        ck_assert_uint_lt(step->chunk, lane->chunks);
        ck_assert_int_lt(step->index, lane->batch);
        guint *kinds = &seen[step->chunk * lane->batch + step->index];
        static const guint before[PS_N_STEPS] = {
            [PS_STEP_FORWARD] = 0,
            [PS_STEP_BACKWARD] = 1 << PS_STEP_FORWARD,
            [PS_STEP_INPUT] = 1 << PS_STEP_FORWARD,
            [PS_STEP_WEIGHT] = 1 << PS_STEP_FORWARD | 1 << PS_STEP_INPUT,
        };
        ck_assert_uint_eq(*kinds, before[step->kind]);
        *kinds |= 1u << step->kind;
    }
    for (guint i = 0; i < lane->batch * lane->chunks; i++) {
        ck_assert(seen[i] == (1 << PS_STEP_FORWARD | 1 << PS_STEP_BACKWARD) ||
                  seen[i] == (1 << PS_STEP_FORWARD | 1 << PS_STEP_INPUT | 1 << PS_STEP_WEIGHT));
    }
}

/* Runs the lists of all stages against each other, each step as soon as it can: all get through. */
static void check_progress(const PsSchedule *schedule, guint n_stages, guint chunks, guint batch)
{
    guint n_places = n_stages * chunks, n_left = 0;
    g_autoptr(GPtrArray) lists = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    g_autofree guint *next = g_new0(guint, n_stages);
    g_autofree gboolean *taken = g_new0(gboolean, n_places);
    g_autofree gboolean *forwards = g_new0(gboolean, n_places * batch);
    g_autofree gboolean *gradients = g_new0(gboolean, n_places * batch);
    for (guint i = 0; i < n_stages; i++) {
        const PsLaneShape lane = {i, n_stages, chunks, batch, n_stages - i};
        GArray *steps = ps_schedule_list(schedule, &lane);
        check_list(steps, &lane);
        g_ptr_array_add(lists, steps);
        n_left += steps->len;
    }
    for (gboolean moved = TRUE; moved;) {
        moved = FALSE;
        for (guint i = 0; i < n_stages; i++) {
            const GArray *steps = lists->pdata[i];
            const PsLaneShape lane = {i, n_stages, chunks, batch, n_stages - i};
            for (; next[i] < steps->len; next[i]++, n_left--, moved = TRUE) {
                const PsStep *step = &g_array_index(steps, PsStep, next[i]);
                guint place = ps_schedule_place(schedule, &lane, step->chunk);
                ck_assert_uint_lt(place, n_places);
                guint at = place * batch + (guint)step->index;
                gboolean forward = step->kind == PS_STEP_FORWARD;
                taken[place] = TRUE;
                if (step->kind == PS_STEP_WEIGHT) {
                    continue;
                }
                if ((forward && place > 0 && !forwards[at - batch]) ||
                    (!forward && place + 1 < n_places && !gradients[at + batch])) {
                    break;
                }
                (forward ? forwards : gradients)[at] = TRUE;
            }
        }
    }
    ck_assert_msg(n_left == 0, "%s with p = %u, v = %u, m = %u is stuck", schedule->name, n_stages,
                  chunks, batch);
    for (guint i = 0; i < n_places; i++) {
        ck_assert(taken[i]);
    }
}

START_TEST(every_schedule_keeps_its_promises)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("every_schedule"));
    for (guint i = 0; ps_schedules[i] != NULL; i++) {
        const PsSchedule *schedule = ps_schedules[i];
        ck_assert_ptr_eq(ps_schedule_find(schedule->name, NULL), schedule);
        ck_assert((schedule->list == NULL) != (schedule->next == NULL));
        for (guint trial = 0; trial < 500 && schedule->next != NULL; trial++) {
            check_stream(schedule, rand);
        }
        for (guint p = 1; p <= 8 && schedule->list != NULL; p++) {
            for (guint m = 1; m <= 3 * p + 1; m++) {
                guint last = MIN(schedule->max_chunks, schedule->min_chunks + 3);
                for (guint v = schedule->min_chunks; v <= last; v++) {
                    check_progress(schedule, p, v, m);
                }
            }
        }
    }
}
END_TEST

/* ---- words ----------------------------------------------------------------------------------- */

START_TEST(unknown_name)
{
    GError *error = NULL;
    ck_assert_ptr_null(ps_schedule_find("1f1b-2wb", &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "unknown schedule \"1f1b-2wb\" (did you mean 1f1b-2bw?)");
}
END_TEST

START_TEST(wrong_chunks)
{
    GError *error = NULL;
    ck_assert(!ps_schedule_check_chunks(ps_schedule_find("1f1b", NULL), 2, &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "schedule 1f1b cannot have 2 chunks per stage (expected 1)");
    ck_assert(!ps_schedule_check_chunks(ps_schedule_find("zb-v", NULL), 1, &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "schedule zb-v cannot have 1 chunk per stage (expected 2)");
    ck_assert(!ps_schedule_check_chunks(ps_schedule_find("interleaved", NULL), 1, &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "schedule interleaved cannot have 1 chunk per stage (expected 2 to 1024)");
    ck_assert(ps_schedule_check_chunks(ps_schedule_find("interleaved", NULL), 3, &error));
}
END_TEST

PS_TEST_MAIN("schedule", published_orders, one_forward_one_backward_is_textbook,
             two_versions_hold_back, every_schedule_keeps_its_promises, unknown_name, wrong_chunks)
