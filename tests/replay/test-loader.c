#include <math.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/replay/loader.h"
#include "tests/harness/harness.h"

enum { END, BEGIN };

#define MS G_GINT64_CONSTANT(1000000000)

/* Replicas of a first stage: sample n goes to replica n mod d, which works on it for a time of its
 * own as soon as it is there and the replica is free. Writes down what happens. */
typedef struct {
    PsSimulator *simulator;
    PsLoader *loader;
    guint n_replicas;
    guint n_samples;
    const gint64 *work_ps; /* by sample */
    guint free_handler;
    gboolean *busy; /* by replica */
    gint64 *next;   /* by replica: the sample it takes next */
    gint64 n_ready;
    gint64 *ready_ps, *taken_ps; /* by sample; -1: never */
    PsPreparation *preparations; /* by sample; end_ps 0: never */
} Stage;

static void take(Stage *stage, guint replica)
{
    gint64 sample = stage->next[replica];
    if (stage->busy[replica] || sample >= stage->n_ready) {
        return;
    }
    gint64 now_ps = ps_simulator_now(stage->simulator);
    stage->busy[replica] = TRUE;
    stage->next[replica] += stage->n_replicas;
    stage->taken_ps[sample] = now_ps;
    ps_loader_taken(stage->loader, sample);
    ps_simulator_schedule(stage->simulator, now_ps + stage->work_ps[sample], END,
                          stage->free_handler, replica);
}

static void become_free(gpointer data, guint64 replica)
{
    Stage *stage = data;
    stage->busy[replica] = FALSE;
    take(stage, (guint)replica);
}

static void note_ready(gpointer data, gint64 sample)
{
    Stage *stage = data;
    ck_assert_int_eq(sample, stage->n_ready);
    stage->n_ready++;
    stage->ready_ps[sample] = ps_simulator_now(stage->simulator);
    take(stage, (guint)(sample % stage->n_replicas));
}

static void note_preparation(gpointer data, const PsPreparation *preparation)
{
    Stage *stage = data;
    ck_assert_int_eq(preparation->end_ps, ps_simulator_now(stage->simulator));
    stage->preparations[preparation->sample] = *preparation;
}

static const PsLoaderFuncs funcs = {note_ready, note_preparation};

/* Runs a loader before a stage; the end is set at the start. */
static Stage run_stage(const char *text, guint n_replicas, const gint64 *work_ps, guint n_samples)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsLoaderSettings) settings = ps_loader_settings_new(text, &error);
    ps_assert_no_error(error);
    g_autoptr(PsSimulator) simulator = ps_simulator_new();
    Stage stage = {
        .simulator = simulator,
        .n_replicas = n_replicas,
        .n_samples = n_samples,
        .work_ps = work_ps,
        .busy = g_new0(gboolean, n_replicas),
        .next = g_new0(gint64, n_replicas),
        .ready_ps = g_new(gint64, n_samples),
        .taken_ps = g_new(gint64, n_samples),
        .preparations = g_new0(PsPreparation, n_samples),
    };
    g_autoptr(PsLoader) loader = ps_loader_new(settings, simulator, END, BEGIN, &funcs, &stage);
    stage.loader = loader;
    stage.free_handler = ps_simulator_add_handler(simulator, become_free, &stage);
    for (guint i = 0; i < n_replicas; i++) {
        stage.next[i] = i;
    }
    for (guint i = 0; i < n_samples; i++) {
        stage.ready_ps[i] = stage.taken_ps[i] = -1;
    }
    ps_loader_set_end(loader, n_samples);
    ps_loader_start(loader);
    ps_simulator_run(simulator);
    ck_assert(!ps_loader_overran(loader));
    ck_assert_int_eq(stage.n_ready, n_samples);
    return stage;
}

static void stage_clear(Stage *stage)
{
    g_free(stage->busy);
    g_free(stage->next);
    g_free(stage->ready_ps);
    g_free(stage->taken_ps);
    g_free(stage->preparations);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Stage, stage_clear)

/* Samples per second over the second half of a run whose stage takes work_ps for each. */
static double throughput(const char *text, gint64 work_ps)
{
    enum { SAMPLES = 4000 };
    g_autofree gint64 *works_ps = g_new(gint64, SAMPLES);
    for (guint i = 0; i < SAMPLES; i++) {
        works_ps[i] = work_ps;
    }
    g_auto(Stage) stage = run_stage(text, 1, works_ps, SAMPLES);
    gint64 span_ps = stage.taken_ps[SAMPLES - 1] - stage.taken_ps[SAMPLES / 2 - 1];
    return SAMPLES / 2 / ((double)span_ps * 1e-12);
}

/* Servers are limited by their number and, by Amdahl, by what is under the lock; where they have
 * room for fewer samples than there are servers, by that room. One sample of room is a buffer of
 * one: the next is prepared while the stage works on this one. An accelerator that replaces all
 * servers is one server of its speed. Rates that divide a second exactly, so that half the run is
 * a whole number of rounds. */
START_TEST(throughput_is_that_of_the_bottleneck)
{
    static const struct {
        const char *text;
        gint64 work_ps;
        double per_s;
    } cases[] = {
        {"servers=1 rate=100/s prefetch=4", 0, 100},
        {"servers=8 rate=100/s prefetch=16", 0, 800},
        {"servers=8 rate=100/s prefetch=8", 0, 800},
        {"servers=8 rate=100/s prefetch=4", 0, 400},
        {"servers=8 rate=100/s prefetch=16 serial=5%", 0, 800},
        {"servers=8 rate=100/s prefetch=16 serial=12.5%", 0, 800},
        {"servers=8 rate=100/s prefetch=16 serial=25%", 0, 400},
        {"servers=20 rate=100/s prefetch=40 serial=20%", 0, 500},
        {"servers=8 rate=100/s prefetch=16 serial=100%", 0, 100},
        {"servers=8 rate=100/s prefetch=16", 4 * MS, 250}, /* the stage is */
        {"servers=8 rate=100/s prefetch=1", 0, 100},
        {"servers=8 rate=100/s prefetch=1", 4 * MS, 100},
        {"servers=8 rate=100/s prefetch=1", 40 * MS, 25},
        {"servers=8 rate=100/s prefetch=16 replace=8:20", 0, 2000},
        {"servers=8 rate=100/s prefetch=16 replace=8:20 serial=50%", 0, 2000},
        {"servers=8 rate=100/s prefetch=16 replace=1:3", 0, 1000},
        {"servers=9 rate=100/s prefetch=90 replace=4:3 serial=0%", 0, 800},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        double per_s = throughput(cases[i].text, cases[i].work_ps);
        ck_assert_msg(fabs(per_s - cases[i].per_s) < 1e-6 * cases[i].per_s, "%s: %.9g",
                      cases[i].text, per_s);
    }
}
END_TEST

/* By hand: two servers of 10 ms, of which 4 ms are under the lock, room for two samples, a stage
 * that takes 1 ms. Samples 0 and 1 begin at 0; 1 waits for the lock until 4. At 10 sample 0 is
 * taken, so that 2 begins (the lock is free since 8), at 14 sample 1, so that 3 begins. */
START_TEST(a_lock_is_passed_on)
{
    const gint64 work_ps[] = {MS, MS, MS, MS};
    g_auto(Stage) stage = run_stage("servers=2 rate=100/s prefetch=2 serial=40%", 1, work_ps, 4);
    static const gint64 expected_ms[][5] = {
        /* server, start, work, end, taken */
        {0, 0, 0, 10, 10},
        {1, 0, 4, 14, 14},
        {0, 10, 10, 20, 20},
        {1, 14, 14, 24, 24},
    };
    for (guint i = 0; i < 4; i++) {
        const PsPreparation *preparation = &stage.preparations[i];
        ck_assert_int_eq(preparation->server, expected_ms[i][0]);
        ck_assert_int_eq(preparation->start_ps, expected_ms[i][1] * MS);
        ck_assert_int_eq(preparation->work_ps, expected_ms[i][2] * MS);
        ck_assert_int_eq(preparation->end_ps, expected_ms[i][3] * MS);
        ck_assert_int_eq(stage.taken_ps[i], expected_ms[i][4] * MS);
    }
}
END_TEST

/* The accelerator is done with samples 0, 2 and 3 (1 ms each) before the other server with 1. */
START_TEST(samples_are_handed_out_in_order)
{
    const gint64 work_ps[] = {0, 0, 0, 0};
    g_auto(Stage) stage = run_stage("servers=2 rate=100/s prefetch=3 replace=1:10", 1, work_ps, 4);
    static const gint64 ends_ms[] = {1, 10, 2, 3}, ready_ms[] = {1, 10, 10, 10};
    for (guint i = 0; i < 4; i++) {
        ck_assert_int_eq(stage.preparations[i].server, i == 1);
        ck_assert_int_eq(stage.preparations[i].end_ps, ends_ms[i] * MS);
        ck_assert_int_eq(stage.ready_ps[i], ready_ms[i] * MS);
    }
}
END_TEST

static gint compare_times(gconstpointer a, gconstpointer b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

/* The same, sample by sample, without events: a sample begins when all before it have begun, fewer
 * than `prefetch` of them have not been taken, and a server is free. */
static void replay_by_hand(guint servers, double rate, guint prefetch, double serial, double speed,
                           const Stage *stage, const gint64 *work_ps)
{
    guint n = stage->n_samples;
    g_autofree gint64 *server_free_ps = g_new0(gint64, servers);
    g_autofree gint64 *replica_free_ps = g_new0(gint64, stage->n_replicas);
    g_autofree gint64 *taken_ps = g_new0(gint64, n), *sorted_ps = g_new0(gint64, n);
    gint64 start_ps = 0, lock_ps = 0, ready_ps = 0;
    for (guint i = 0; i < n; i++) {
        if (i >= prefetch) {
            /* The time at which i - prefetch + 1 of those before it have been taken. */
            memcpy(sorted_ps, taken_ps, i * sizeof *taken_ps);
            qsort(sorted_ps, i, sizeof *sorted_ps, compare_times);
            start_ps = MAX(start_ps, sorted_ps[i - prefetch]);
        }
        gint64 earliest_ps = G_MAXINT64;
        for (guint s = 0; s < servers; s++) {
            earliest_ps = MIN(earliest_ps, server_free_ps[s]);
        }
        start_ps = MAX(start_ps, earliest_ps);
        guint server = 0;
        while (server_free_ps[server] > start_ps) {
            server++;
        }
        double own_rate = server == 0 && speed > 0 ? rate * speed : rate;
        gint64 length_ps = llrint(1e12 / own_rate),
               under_lock_ps = llrint(1e12 / own_rate * serial);
        gint64 begin_ps = serial > 0 ? MAX(start_ps, lock_ps) : start_ps;
        lock_ps = serial > 0 ? begin_ps + under_lock_ps : lock_ps;
        server_free_ps[server] = begin_ps + length_ps;
        ready_ps = MAX(ready_ps, begin_ps + length_ps);
        guint replica = i % stage->n_replicas;
        taken_ps[i] = MAX(ready_ps, replica_free_ps[replica]);
        replica_free_ps[replica] = taken_ps[i] + work_ps[i];

        const PsPreparation *preparation = &stage->preparations[i];
        ck_assert_int_eq(preparation->sample, i);
        ck_assert_uint_eq(preparation->server, server);
        ck_assert_int_eq(preparation->start_ps, start_ps);
        ck_assert_int_eq(preparation->work_ps, begin_ps);
        ck_assert_int_eq(preparation->end_ps, begin_ps + length_ps);
        ck_assert_int_eq(stage->ready_ps[i], ready_ps);
        ck_assert_int_eq(stage->taken_ps[i], taken_ps[i]);
    }
}

/* Times are whole or odd numbers of milliseconds, so that many fall on one instant. */
START_TEST(random_loaders_agree_with_straight_lines)
{
    static const double speeds[] = {0.5, 2, 3, 20}, serials[] = {0, 0.05, 0.2, 0.5, 1};
    g_autoptr(GRand) rand =
        g_rand_new_with_seed(ps_test_seed("random_loaders_agree_with_straight_lines"));
    for (guint round = 0; round < 1000; round++) {
        guint given = (guint)g_rand_int_range(rand, 1, 9), servers = given;
        guint prefetch = (guint)g_rand_int_range(rand, 1, 20);
        double rate = g_rand_boolean(rand) ? 100 : g_rand_double_range(rand, 10, 1000);
        double serial = serials[g_rand_int_range(rand, 0, G_N_ELEMENTS(serials))], speed = 0;
        g_autofree char *rate_text = ps_double_format(rate);
        g_autoptr(GString) text = g_string_new(NULL);
        g_string_append_printf(text, "servers=%u rate=%s/s prefetch=%u", given, rate_text,
                               prefetch);
        if (serial > 0) {
            g_string_append_printf(text, " serial=%g%%", 100 * serial);
        }
        if (g_rand_boolean(rand)) {
            guint replaced = (guint)g_rand_int_range(rand, 1, (int)given + 1);
            speed = speeds[g_rand_int_range(rand, 0, G_N_ELEMENTS(speeds))];
            servers = given - replaced + 1;
            g_string_append_printf(text, " replace=%u:%g", replaced, speed);
        }
        guint n = (guint)g_rand_int_range(rand, 1, 60);
        guint replicas = (guint)g_rand_int_range(rand, 1, 5);
        g_autofree gint64 *work_ps = g_new(gint64, n);
        for (guint i = 0; i < n; i++) {
            work_ps[i] = g_rand_boolean(rand) ? g_rand_int_range(rand, 0, 40) * MS
                                              : g_rand_int_range(rand, 0, 1 << 30);
        }
        g_auto(Stage) stage = run_stage(text->str, replicas, work_ps, n);
        replay_by_hand(servers, rate, prefetch, serial, speed, &stage, work_ps);
    }
}
END_TEST

static void set_end(gpointer data, guint64 end)
{
    ps_loader_set_end(data, (gint64)end);
}

/* An end that comes later: preparations under way end, but nothing beyond it becomes ready. */
START_TEST(an_end_may_come_late)
{
    static const gint64 work_ps[16] = {0};
    g_autoptr(PsLoaderSettings) settings =
        ps_loader_settings_new("servers=4 rate=100/s prefetch=8", NULL);
    g_autoptr(PsSimulator) simulator = ps_simulator_new();
    gboolean busy = FALSE;
    gint64 next = 0, ready_ps[16], taken_ps[16];
    PsPreparation preparations[16] = {0};
    Stage stage = {.simulator = simulator,
                   .n_replicas = 1,
                   .work_ps = work_ps,
                   .busy = &busy,
                   .next = &next,
                   .ready_ps = ready_ps,
                   .taken_ps = taken_ps,
                   .preparations = preparations};
    g_autoptr(PsLoader) loader = ps_loader_new(settings, simulator, END, BEGIN, &funcs, &stage);
    stage.loader = loader;
    stage.free_handler = ps_simulator_add_handler(simulator, become_free, &stage);
    guint handler = ps_simulator_add_handler(simulator, set_end, loader);
    ps_simulator_schedule(simulator, 15 * MS, END, handler, 6);
    ps_loader_start(loader);
    ps_simulator_run(simulator);
    ck_assert_int_eq(stage.n_ready, 6);
    for (guint i = 0; i < 16; i++) {
        /* Two rounds of four had begun. */
        ck_assert_int_eq(preparations[i].end_ps, i < 8 ? (i < 4 ? 10 : 20) * MS : 0);
    }
}
END_TEST

static void ignore_ready(gpointer data, gint64 sample)
{
    ++*(gint64 *)data;
    (void)sample;
}

/* A million samples one after another under the lock, 1000 s each, would outlast the clock; at half
 * of it (4611686 s) the loader stops, having begun 4611. */
START_TEST(a_loader_stops_before_the_clock_does)
{
    g_autoptr(PsLoaderSettings) settings =
        ps_loader_settings_new("servers=1000000 rate=0.001/s prefetch=1000000 serial=100%", NULL);
    g_autoptr(PsSimulator) simulator = ps_simulator_new();
    const PsLoaderFuncs only_ready = {ignore_ready, NULL};
    gint64 n_ready = 0;
    g_autoptr(PsLoader) loader =
        ps_loader_new(settings, simulator, END, BEGIN, &only_ready, &n_ready);
    ps_loader_start(loader);
    ps_simulator_run(simulator);
    ck_assert(ps_loader_overran(loader));
    ck_assert_int_eq(n_ready, 4611);
}
END_TEST

START_TEST(reads_settings)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsLoaderSettings) settings = ps_loader_settings_new(
        " prefetch=16 serial=5% replace=3:2.5\tservers=8 rate=7200/min", &error);
    ps_assert_no_error(error);
    ck_assert_uint_eq(settings->n_servers, 6);
    ck_assert(settings->rate_per_s == 120 && settings->serial == 0.05);
    ck_assert(settings->accelerator == 2.5 && settings->prefetch == 16);
    ck_assert_str_eq(settings->text, "servers=8 rate=7200/min prefetch=16 serial=5% replace=3:2.5");
    g_autoptr(PsLoaderSettings) again = ps_loader_settings_new(settings->text, &error);
    ps_assert_no_error(error);
    ck_assert_str_eq(again->text, settings->text);
    g_autoptr(PsLoaderSettings) plain =
        ps_loader_settings_new("servers=1 rate=1/s prefetch=1", &error);
    ps_assert_no_error(error);
    ck_assert(plain->n_servers == 1 && plain->serial == 0 && plain->accelerator == 0);
}
END_TEST

START_TEST(refuses_broken_settings)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "--loader: servers is missing (expected a field such as servers=8)"},
        {"servers=8 rate=1/s",
         "--loader: prefetch is missing (expected a field such as prefetch=16)"},
        {"servers=0 rate=1/s prefetch=1",
         "--loader: servers: \"0\": out of range (expected a whole number from 1 to 1000000)"},
        {"servers=1 rate=120 prefetch=1", "--loader: rate: \"120\": the unit is missing (expected "
                                          "a rate with a unit, like 120/s)"},
        {"servers=1 rate=0/s prefetch=1",
         "--loader: rate: \"0/s\": out of range (expected 0.001/s to 1000000000/s)"},
        {"servers=1 rate=1/s prefetch=0",
         "--loader: prefetch: \"0\": out of range (expected a whole number from 1 to 1000000)"},
        {"servers=1 rate=1/s prefetch=1 serial=101%",
         "--loader: serial: \"101%\": out of range (expected 0.0% to 100.0%)"},
        {"servers=1 rate=1/s prefetch=1 accelerator=20",
         "--loader: unknown field \"accelerator\" (expected servers, rate, prefetch, serial or "
         "replace)"},
        {"servers=4 rate=1/s prefetch=1 replace=2",
         "--loader: replace: \"2\": not servers and a speed (expected SERVERS:SPEED such as "
         "4:20)"},
        {"servers=4 rate=1/s prefetch=1 replace=5:2",
         "--loader: replace: \"5\": out of range (expected a whole number from 1 to 4)"},
        {"servers=4 rate=1/s prefetch=1 replace=2:0",
         "--loader: replace: \"0\": out of range (expected a number from 0.001 to 1000000)"},
        {"servers=4 rate=1/s prefetch=1 replace=2:3:4",
         "--loader: replace: \"2:3:4\": not servers and a speed (expected SERVERS:SPEED such as "
         "4:20)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        ck_assert(ps_loader_settings_new(cases[i].text, &error) == NULL);
        ps_assert_error(error, PS_ERROR_USAGE, cases[i].message);
    }
}
END_TEST

PS_TEST_MAIN("loader", throughput_is_that_of_the_bottleneck, a_lock_is_passed_on,
             samples_are_handed_out_in_order, random_loaders_agree_with_straight_lines,
             an_end_may_come_late, a_loader_stops_before_the_clock_does, reads_settings,
             refuses_broken_settings)
