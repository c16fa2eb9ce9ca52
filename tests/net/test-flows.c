/* Flows in time: closed forms, and random ones against an independent replay. */
#include <math.h>

#include "sim/base/units.h"
#include "sim/net/flows.h"
#include "tests/harness/harness.h"
#include "tests/oracle/water.h"

typedef struct {
    PsSimulator *simulator;
    PsFlows *flows;
    GArray *specs;   /* PsFlowSpec, started at starts_ps */
    GArray *ends_ps; /* gint64, -1 before */
    guint handler;
} Line;

static void line_clear(Line *line)
{
    ps_flows_free(line->flows);
    ps_simulator_free(line->simulator);
    g_array_unref(line->specs);
    g_array_unref(line->ends_ps);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Line, line_clear)

static void on_start(gpointer owner, guint64 number)
{
    Line *line = owner;
    ps_flows_start(line->flows, &g_array_index(line->specs, PsFlowSpec, number));
}

static void on_end(gpointer owner, guint64 number)
{
    Line *line = owner;
    gint64 *end_ps = &g_array_index(line->ends_ps, gint64, number);
    ck_assert_int_eq(*end_ps, -1);
    *end_ps = ps_simulator_now(line->simulator);
}

static void line_open(Line *line, const double *capacities, guint n_links)
{
    line->simulator = ps_simulator_new();
    line->flows = ps_flows_new(line->simulator, capacities, n_links, 3);
    line->specs = g_array_new(FALSE, FALSE, sizeof(PsFlowSpec));
    line->ends_ps = g_array_new(FALSE, FALSE, sizeof(gint64));
    line->handler = ps_simulator_add_handler(line->simulator, on_start, line);
}

/* loads must outlive the line. */
static void add(Line *line, gint64 start_ps, const PsFairLoad *loads, guint n_loads, double bytes,
                double latency_s, double most)
{
    const gint64 none = -1;
    PsFlowSpec spec = {loads, n_loads, bytes, latency_s, most, on_end, line, line->specs->len};
    ps_simulator_schedule(line->simulator, start_ps, 3, line->handler, line->specs->len);
    g_array_append_val(line->specs, spec);
    g_array_append_val(line->ends_ps, none);
}

static gint64 end_of(const Line *line, guint number)
{
    return g_array_index(line->ends_ps, gint64, number);
}

#define SECOND G_GINT64_CONSTANT(1000000000000)
static const PsFairLoad first[] = {{0, 1}}, second[] = {{1, 1}}, both[] = {{0, 1}, {1, 1}};

/* ---- closed forms --------------------------------------------------------------------------- */

START_TEST(alone)
{
    const double capacities[] = {3e9, 1e9};
    g_auto(Line) line;
    line_open(&line, capacities, 2);
    add(&line, 7, first, 1, 1e9, 2e-6, 0);         /* 1/3 s, rounded */
    add(&line, 5 * SECOND, both, 2, 1e9, 0, 0);    /* the slower link decides */
    add(&line, 9 * SECOND, first, 1, 1e9, 0, 5e8); /* its bound decides */
    add(&line, 20 * SECOND, first, 1, 0, 1e-6, 0); /* nothing but latency */
    ps_simulator_run(line.simulator);
    ck_assert_int_eq(end_of(&line, 0), 7 + 2000000 + 333333333333);
    ck_assert_int_eq(end_of(&line, 1), 6 * SECOND);
    ck_assert_int_eq(end_of(&line, 2), 11 * SECOND);
    ck_assert_int_eq(end_of(&line, 3), 20 * SECOND + 1000000);
}
END_TEST

/* 4 bytes at 4 B/s from 0, 2 more from 0.5 s: 2 left each, 2 B/s each, both end at 1.5 s. Then one
 * that is alone for half of its time: 3 bytes from 10 s; 1 from 10.5 s: 1 B left at 0.5 s both. */
START_TEST(two_share)
{
    const double capacities[] = {4};
    g_auto(Line) line;
    line_open(&line, capacities, 1);
    add(&line, 0, first, 1, 4, 0, 0);
    add(&line, SECOND / 2, first, 1, 2, 0, 0);
    add(&line, 10 * SECOND, first, 1, 4, 0, 0);
    add(&line, 10 * SECOND + SECOND / 2, first, 1, 1, 0, 0);
    ps_simulator_run(line.simulator);
    ck_assert_int_eq(end_of(&line, 0), SECOND + SECOND / 2);
    ck_assert_int_eq(end_of(&line, 1), SECOND + SECOND / 2);
    ck_assert_int_eq(end_of(&line, 2), 11 * SECOND + SECOND / 4);
    ck_assert_int_eq(end_of(&line, 3), 11 * SECOND);
}
END_TEST

/* A flow changes its bottleneck when another ends: both (6 B over 2 and 3 B/s) with one of 2 B on
 * the first: 1 B/s each until 2 s, then 2 B/s for 4 B more. */
START_TEST(bottleneck_moves)
{
    const double capacities[] = {2, 3};
    g_auto(Line) line;
    line_open(&line, capacities, 2);
    add(&line, 0, both, 2, 6, 0, 0);
    add(&line, 0, first, 1, 2, 0, 0);
    add(&line, 0, second, 1, 2, 0, 0); /* 2 B/s: what the other cannot use */
    ps_simulator_run(line.simulator);
    ck_assert_int_eq(end_of(&line, 0), 4 * SECOND);
    ck_assert_int_eq(end_of(&line, 1), 2 * SECOND);
    ck_assert_int_eq(end_of(&line, 2), SECOND);
}
END_TEST

/* A thousand flows that are alike end at one time, and that time is exact. */
START_TEST(ties_end_together)
{
    const double capacities[] = {1e9};
    g_auto(Line) line;
    line_open(&line, capacities, 1);
    for (guint i = 0; i < 1000; i++) {
        add(&line, SECOND, first, 1, 1e6, 0, 0);
    }
    ps_simulator_run(line.simulator);
    for (guint i = 0; i < 1000; i++) {
        ck_assert_int_eq(end_of(&line, i), 2 * SECOND);
    }
}
END_TEST

/* A long one among many short ones that follow each other: the link is busy all the time, so that
 * the last end is that of all bytes, however often the count begins anew. */
START_TEST(nothing_is_lost)
{
    const double capacities[] = {1e9};
    g_auto(Line) line;
    line_open(&line, capacities, 1);
    const guint n = 20000;
    double bytes = 1e12;
    add(&line, 0, first, 1, 1e12, 0, 0);
    for (guint i = 0; i < n; i++) {
        add(&line, i * (SECOND / 50), first, 1, 3.3e6 + i, 0, 0);
        bytes += 3.3e6 + i;
    }
    ps_simulator_run(line.simulator);
    gint64 last_ps = 0;
    for (guint i = 0; i <= n; i++) {
        last_ps = MAX(last_ps, end_of(&line, i));
    }
    /* Each of 40,000 changes may round by half a picosecond: 2e4 ps at worst. */
    ck_assert_int_le(ABS(last_ps - ps_seconds_to_ps(bytes / 1e9)), 20000);
}
END_TEST

START_TEST(fits_the_clock)
{
    ck_assert(ps_flows_fit(1e15, 1e9, 3e6));
    ck_assert(!ps_flows_fit(1e15, 1, 0));
    ck_assert(!ps_flows_fit(0, 1, 5e6));
    ck_assert(!ps_flows_fit(G_MAXDOUBLE, 1e-3, 0));
}
END_TEST

/* ---- random --------------------------------------------------------------------------------- */

#define MOST_LINKS 8
#define MOST_FLOWS 40

typedef struct {
    guint n_links, n_flows;
    double capacities[MOST_LINKS + MOST_FLOWS]; /* of links, and bounds */
    double weights[MOST_FLOWS * (MOST_LINKS + MOST_FLOWS)];
    PsFairLoad loads[MOST_FLOWS][3];
    guint n_loads[MOST_FLOWS];
    double starts_s[MOST_FLOWS], bytes[MOST_FLOWS], most[MOST_FLOWS];
} Traffic;

static void draw(Traffic *traffic, GRand *rand)
{
    *traffic = (Traffic){.n_links = (guint)g_rand_int_range(rand, 1, MOST_LINKS + 1),
                         .n_flows = (guint)g_rand_int_range(rand, 1, MOST_FLOWS + 1)};
    guint width = traffic->n_links + traffic->n_flows;
    for (guint j = 0; j < traffic->n_links; j++) {
        traffic->capacities[j] = g_rand_double_range(rand, 1e9, 1e11);
    }
    for (guint i = 0; i < traffic->n_flows; i++) {
        traffic->starts_s[i] = g_rand_int_range(rand, 0, 5) * 0.01;
        traffic->bytes[i] = g_rand_double_range(rand, 1e6, 1e9);
        traffic->most[i] = g_rand_int_range(rand, 0, 4) == 0 ? 5e9 : 0;
        traffic->capacities[traffic->n_links + i] = traffic->most[i];
        traffic->weights[i * width + traffic->n_links + i] = traffic->most[i] > 0;
        traffic->n_loads[i] = (guint)g_rand_int_range(rand, 1, 4);
        for (guint k = 0; k < traffic->n_loads[i]; k++) {
            guint link = (guint)g_rand_int_range(rand, 0, (int)traffic->n_links);
            double weight = g_rand_boolean(rand) ? 1 : 0.5;
            traffic->loads[i][k] = (PsFairLoad){link, weight};
            traffic->weights[i * width + link] += weight;
        }
    }
}

/* Time in seconds, all rates anew at every start and end, all that is left counted down. */
static void replay(const Traffic *traffic, double *ends_s)
{
    guint n = traffic->n_flows, ended = 0;
    double left[MOST_FLOWS], rates[MOST_FLOWS], now_s = 0;
    gboolean alive[MOST_FLOWS] = {FALSE}, waiting[MOST_FLOWS];
    for (guint i = 0; i < n; i++) {
        left[i] = traffic->bytes[i];
        waiting[i] = TRUE;
    }
    while (ended < n) {
        water_filling(traffic->capacities, traffic->n_links + n, traffic->weights, alive, n, rates);
        double next_s = INFINITY;
        for (guint i = 0; i < n; i++) {
            double event_s = waiting[i] ? traffic->starts_s[i]
                             : alive[i] ? now_s + left[i] / rates[i]
                                        : INFINITY;
            next_s = MIN(next_s, event_s);
        }
        for (guint i = 0; i < n; i++) {
            gboolean ends = alive[i] && now_s + left[i] / rates[i] <= next_s + 1e-13;
            left[i] -= alive[i] ? rates[i] * (next_s - now_s) : 0;
            if (ends) {
                alive[i] = FALSE;
                ends_s[i] = next_s;
                ended++;
            } else if (waiting[i] && traffic->starts_s[i] <= next_s) {
                waiting[i] = FALSE;
                alive[i] = TRUE;
            }
        }
        now_s = next_s;
    }
}

START_TEST(random_traffic)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("random_traffic"));
    for (guint round = 0; round < 300; round++) {
        Traffic traffic;
        draw(&traffic, rand);
        g_auto(Line) line;
        line_open(&line, traffic.capacities, traffic.n_links);
        for (guint i = 0; i < traffic.n_flows; i++) {
            add(&line, ps_seconds_to_ps(traffic.starts_s[i]), traffic.loads[i], traffic.n_loads[i],
                traffic.bytes[i], 0, traffic.most[i]);
        }
        ps_simulator_run(line.simulator);
        double ends_s[MOST_FLOWS];
        replay(&traffic, ends_s);
        for (guint i = 0; i < traffic.n_flows; i++) {
            ck_assert_double_eq_tol(ps_ps_to_seconds(end_of(&line, i)), ends_s[i], 1e-9);
        }
    }
}
END_TEST

PS_TEST_MAIN("flows", alone, two_share, bottleneck_moves, ties_end_together, nothing_is_lost,
             fits_the_clock, random_traffic)
