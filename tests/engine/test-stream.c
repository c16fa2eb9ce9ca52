#include "sim/engine/stream.h"
#include "tests/harness/harness.h"

/* A log line per thing that happened: "time what activity[/stream]". */
typedef struct {
    PsSimulator *simulator;
    PsStreams *streams;
    GString *log;
} Bench;

static void log_started(gpointer owner, PsActivity activity)
{
    Bench *bench = owner;
    g_string_append_printf(bench->log, "%d start %u; ", (int)ps_simulator_now(bench->simulator),
                           activity);
}

static void log_released(gpointer owner, PsActivity activity, guint stream, gint64 start_ps)
{
    Bench *bench = owner;
    g_string_append_printf(bench->log, "%d release %u/%u since %d; ",
                           (int)ps_simulator_now(bench->simulator), activity, stream,
                           (int)start_ps);
}

static void log_finished(gpointer owner, PsActivity activity)
{
    Bench *bench = owner;
    g_string_append_printf(bench->log, "%d finish %u; ", (int)ps_simulator_now(bench->simulator),
                           activity);
}

static const PsStreamFuncs funcs = {log_started, log_released, log_finished};

static void bench_init(Bench *bench, guint n_streams)
{
    bench->simulator = ps_simulator_new();
    bench->streams = ps_streams_new(bench->simulator, n_streams, 0, &funcs, bench);
    bench->log = g_string_new(NULL);
}

static void bench_clear(Bench *bench)
{
    ps_streams_free(bench->streams);
    ps_simulator_free(bench->simulator);
    g_string_free(bench->log, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Bench, bench_clear)

START_TEST(one_after_the_other)
{
    g_auto(Bench) bench;
    bench_init(&bench, 1);
    PsActivity first = ps_streams_open(bench.streams, 1),
               second = ps_streams_open(bench.streams, 1);
    ps_streams_claim(bench.streams, first, 0, 5);
    ps_streams_claim(bench.streams, second, 0, 3);
    PsActivity running;
    gint64 start_ps;
    ck_assert(ps_streams_running(bench.streams, 0, &running, &start_ps));
    ck_assert_uint_eq(running, first);
    ck_assert(ps_streams_first(bench.streams, 0, &running) && running == first);
    ps_simulator_run(bench.simulator);
    ck_assert(!ps_streams_running(bench.streams, 0, &running, &start_ps));
    ck_assert(!ps_streams_first(bench.streams, 0, &running));
    ck_assert_str_eq(bench.log->str, "0 start 0; 5 start 1; 5 release 0/0 since 0; 5 finish 0; "
                                     "8 release 1/0 since 5; 8 finish 1; ");
}
END_TEST

/* A transfer waits for both streams and keeps the one that is free waiting behind it; each stream
 * is free again after its own time. */
START_TEST(sender_and_receiver_meet)
{
    g_auto(Bench) bench;
    bench_init(&bench, 2);
    PsActivity busy = ps_streams_open(bench.streams, 1),
               transfer = ps_streams_open(bench.streams, 2);
    PsActivity behind = ps_streams_open(bench.streams, 1);
    ps_streams_claim(bench.streams, busy, 1, 10);
    ps_streams_claim(bench.streams, transfer, 0, 2);
    ps_streams_claim(bench.streams, transfer, 1, 6);
    ps_streams_claim(bench.streams, behind, 0, 1);
    ps_simulator_run(bench.simulator);
    ck_assert_str_eq(bench.log->str,
                     "0 start 0; 10 start 1; 10 release 0/1 since 0; 10 finish 0; "
                     "12 start 2; 12 release 1/0 since 10; 13 release 2/0 since 12; 13 finish 2; "
                     "16 release 1/1 since 10; 16 finish 1; ");
}
END_TEST

typedef struct {
    Bench *bench;
    PsActivity activity;
    guint stream;
} LateClaim;

static void claim_late(gpointer data, guint64 duration_ps)
{
    LateClaim *late = data;
    ps_streams_claim(late->bench->streams, late->activity, late->stream, (gint64)duration_ps);
}

/* A collective starts when its last member comes. */
START_TEST(members_come_one_by_one)
{
    g_auto(Bench) bench;
    bench_init(&bench, 3);
    PsActivity all = ps_streams_open(bench.streams, 3);
    LateClaim late[3];
    for (guint i = 0; i < 3; i++) {
        late[i] = (LateClaim){&bench, all, i};
        guint handler = ps_simulator_add_handler(bench.simulator, claim_late, &late[i]);
        ps_simulator_schedule(bench.simulator, 4 * i, 0, handler, 7);
    }
    ps_simulator_run(bench.simulator);
    ck_assert_str_eq(bench.log->str, "8 start 0; 15 release 0/2 since 8; 15 release 0/1 since 8; "
                                     "15 release 0/0 since 8; 15 finish 0; ");
    /* Its number is used again. */
    ck_assert_uint_eq(ps_streams_open(bench.streams, 1), all);
}
END_TEST

static void end_late(gpointer data, guint64 unused G_GNUC_UNUSED)
{
    const LateClaim *late = data;
    ps_streams_end(late->bench->streams, late->activity);
}

/* An activity without a length keeps its streams until its owner ends it. */
START_TEST(ended_by_the_owner)
{
    g_auto(Bench) bench;
    bench_init(&bench, 2);
    PsActivity open = ps_streams_open(bench.streams, 2), behind = ps_streams_open(bench.streams, 1);
    ps_streams_claim(bench.streams, open, 0, PS_UNTIL_ENDED);
    ps_streams_claim(bench.streams, open, 1, PS_UNTIL_ENDED);
    ps_streams_claim(bench.streams, behind, 0, 3);
    LateClaim end = {&bench, open, 0};
    guint handler = ps_simulator_add_handler(bench.simulator, end_late, &end);
    ps_simulator_schedule(bench.simulator, 9, 0, handler, 0);
    ps_simulator_run(bench.simulator);
    ck_assert_str_eq(bench.log->str, "0 start 0; 9 release 0/1 since 0; 9 start 1; "
                                     "9 release 0/0 since 0; 9 finish 0; "
                                     "12 release 1/0 since 9; 12 finish 1; ");
    ck_assert_uint_eq(ps_streams_open(bench.streams, 1), behind);
}
END_TEST

static void note_event(gpointer data, guint64 number)
{
    g_string_append_printf(data, "%d ", (int)number);
}

START_TEST(events_and_cancellation)
{
    g_autoptr(PsSimulator) simulator = ps_simulator_new();
    g_autoptr(GString) log = g_string_new(NULL);
    guint handler = ps_simulator_add_handler(simulator, note_event, log);
    ps_simulator_schedule(simulator, 5, 1, handler, 3);
    ps_simulator_schedule(simulator, 5, 0, handler, 1);
    ps_simulator_schedule(simulator, 5, 0, handler, 2);
    PsEventHandle handle = ps_simulator_schedule(simulator, 4, 0, handler, 0);
    ck_assert(ps_simulator_cancel(simulator, handle));
    ck_assert(!ps_simulator_cancel(simulator, handle));
    ps_simulator_run(simulator);
    ck_assert_str_eq(log->str, "1 2 3 ");
    ck_assert_int_eq(ps_simulator_now(simulator), 5);
}
END_TEST

PS_TEST_MAIN("stream", one_after_the_other, sender_and_receiver_meet, members_come_one_by_one,
             ended_by_the_owner, events_and_cancellation)
