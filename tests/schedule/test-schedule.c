#include "sim/base/error.h"
#include "sim/schedule/schedule.h"
#include "tests/harness/harness.h"

/* "F0 F1 B0 F2 B1 B2 " until the lane is done. */
static char *steps_of(const PsSchedule *schedule, PsLanePosition position, guint at_most)
{
    GString *text = g_string_new(NULL);
    PsStepKind kind;
    for (guint i = 0; i < at_most && schedule->next(&position, &kind); i++) {
        gint64 index = kind == PS_STEP_FORWARD ? position.n_forward++ : position.n_backward++;
        g_string_append_printf(text, "%c%d ", kind == PS_STEP_FORWARD ? 'F' : 'B', (int)index);
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
    for (gint64 m = 1; m <= 8; m++) {
        for (gint64 y = 1; y <= 9; y++) {
            PsLanePosition position = {.batch = m, .end = 3 * m, .in_flight = y};
            g_autoptr(GString) batches = g_string_new(NULL);
            for (gint64 batch = 0; batch < 3; batch++) {
                append_textbook(batches, batch * m, m, y);
            }
            g_autofree char *flushed = steps_of(flush, position, G_MAXUINT);
            ck_assert_str_eq(flushed, batches->str);
            if (y <= m + 1) { /* more would need a third weight version */
                g_autoptr(GString) endless = g_string_new(NULL);
                append_textbook(endless, 0, 3 * m, y);
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

/* What holds for every schedule, whatever m, y and the moment at which the end is known. */
START_TEST(every_schedule_keeps_its_promises)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("every_schedule"));
    for (guint i = 0; ps_schedules[i] != NULL; i++) {
        const PsSchedule *schedule = ps_schedules[i];
        ck_assert_ptr_eq(ps_schedule_find(schedule->name, NULL), schedule);
        for (guint trial = 0; trial < 500; trial++) {
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
                    ck_assert_int_lt(batch, done + schedule->weight_versions);
                    position.n_forward++;
                } else {
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
    }
}
END_TEST

START_TEST(unknown_name)
{
    GError *error = NULL;
    ck_assert_ptr_null(ps_schedule_find("1f1b-2wb", &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "unknown schedule \"1f1b-2wb\" (did you mean 1f1b-2bw?)");
}
END_TEST

PS_TEST_MAIN("schedule", one_forward_one_backward_is_textbook, two_versions_hold_back,
             every_schedule_keeps_its_promises, unknown_name)
