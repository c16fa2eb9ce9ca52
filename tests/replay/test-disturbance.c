#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/rng.h"
#include "sim/replay/disturbance.h"
#include "tests/harness/harness.h"

#define OP_PS G_GINT64_CONSTANT(18522000000)

static PsDisturbance *read_one(PsDisturbanceKind kind, const char *text)
{
    const char *texts[PS_N_DISTURBANCES] = {NULL};
    texts[kind] = text;
    g_autoptr(GError) error = NULL;
    PsDisturbance *disturbance = ps_disturbance_new(texts, &error);
    ps_assert_no_error(error);
    ck_assert(disturbance != NULL);
    return disturbance;
}

START_TEST(nothing_set_changes_nothing)
{
    const char *texts[PS_N_DISTURBANCES] = {NULL};
    GError *error = NULL;
    ck_assert(ps_disturbance_new(texts, &error) == NULL);
    ps_assert_no_error(error);
    g_autoptr(PsDisturbance) stop = read_one(PS_DISTURBANCE_STOP, "rank=9 at=1s");
    const PsDisturbance *quiet[] = {NULL, stop};
    for (guint i = 0; i < G_N_ELEMENTS(quiet); i++) {
        g_autoptr(PsDraws) draws = ps_draws_new(quiet[i], 1);
        /* More than a double can hold exactly. */
        static const gint64 times_ps[] = {0, 1, OP_PS, (G_GINT64_CONSTANT(1) << 53) + 1,
                                          (G_GINT64_CONSTANT(1) << 61) + 1};
        for (guint j = 0; j < G_N_ELEMENTS(times_ps); j++) {
            ck_assert_int_eq(ps_draws_duration_ps(draws, 0, ps_disturbance_slowness(quiet[i], 0, 8),
                                                  times_ps[j]),
                             times_ps[j]);
        }
        ck_assert(!ps_disturbance_is_random(quiet[i]));
        ck_assert(ps_disturbance_stop_ps(quiet[i], 0, 8) == G_MAXINT64);
        ck_assert(ps_disturbance_link_factor(quiet[i], 0, 16) == 1);
        ck_assert(ps_disturbance_text(quiet[i], PS_DISTURBANCE_JITTER) == NULL);
        ck_assert(ps_disturbance_text(quiet[i], PS_DISTURBANCE_SEED) == NULL);
    }
}
END_TEST

/* Mean 1 and the spread asked for, within six standard errors: that of a mean is cv / sqrt(n); that
 * of a standard deviation of nearly normal values is cv / sqrt(2n). */
START_TEST(jitter_has_its_mean_and_spread)
{
    enum { DRAWS = 100000 };
    static const char *const texts[] = {"lognormal 5%", "gamma 5%"};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(PsDisturbance) jitter = read_one(PS_DISTURBANCE_JITTER, texts[i]);
        ck_assert(ps_disturbance_is_random(jitter));
        g_autoptr(PsDraws) draws = ps_draws_new(jitter, 4);
        double sum = 0, squares = 0;
        for (guint draw = 0; draw < DRAWS; draw++) {
            double x = (double)ps_draws_duration_ps(draws, 3, 1, OP_PS) / (double)OP_PS;
            sum += x;
            squares += (x - 1) * (x - 1);
        }
        double mean = sum / DRAWS, deviation = sqrt(squares / DRAWS);
        ck_assert_msg(fabs(mean - 1) < 6 * 0.05 / sqrt(DRAWS), "%s: mean %g", texts[i], mean);
        ck_assert_msg(fabs(deviation - 0.05) < 6 * 0.05 / sqrt(2.0 * DRAWS), "%s: spread %g",
                      texts[i], deviation);
    }
}
END_TEST

/* A lane's factors are those of its own stream, whoever else draws when; another seed gives others;
 * slowness comes on top. */
START_TEST(lanes_draw_from_their_own_streams)
{
    enum { LANES = 5, OPS = 200 };
    guint32 seed = ps_test_seed("lanes_draw_from_their_own_streams");
    g_autofree char *seed_text = g_strdup_printf("%u", seed);
    const char *texts[PS_N_DISTURBANCES] = {
        [PS_DISTURBANCE_JITTER] = "gamma 20%",
        [PS_DISTURBANCE_SLOW] = "rank=5 factor=1.5; rank=4 factor=1.25",
        [PS_DISTURBANCE_SEED] = seed_text,
    };
    g_autoptr(PsDisturbance) disturbance = ps_disturbance_new(texts, NULL);
    g_autoptr(PsDraws) draws = ps_draws_new(disturbance, LANES);
    PsRng *streams[LANES];
    for (guint lane = 0; lane < LANES; lane++) {
        streams[lane] = ps_rng_new(seed, "lane", lane);
    }
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    for (guint op = 0; op < LANES * OPS; op++) {
        guint lane = (guint)g_rand_int_range(rand, 0, LANES);
        double factor = ps_rng_noise(streams[lane], PS_NOISE_GAMMA, 0.2);
        double slow = lane == 2 ? 1.5 : 1; /* ranks 4 and 5 */
        ck_assert_int_eq(ps_draws_duration_ps(
                             draws, lane, ps_disturbance_slowness(disturbance, 2 * lane, 2), OP_PS),
                         llrint((double)OP_PS * (slow * factor)));
    }
    for (guint lane = 0; lane < LANES; lane++) {
        ps_rng_free(streams[lane]);
    }
    /* A second run draws the same again; another seed does not. */
    texts[PS_DISTURBANCE_SEED] = "18446744073709551615";
    g_autoptr(PsDisturbance) other = ps_disturbance_new(texts, NULL);
    g_autoptr(PsDraws) first = ps_draws_new(disturbance, 1), second = ps_draws_new(disturbance, 1);
    g_autoptr(PsDraws) third = ps_draws_new(other, 1);
    gint64 drawn_ps = ps_draws_duration_ps(first, 0, 1, OP_PS);
    ck_assert_int_eq(ps_draws_duration_ps(second, 0, 1, OP_PS), drawn_ps);
    ck_assert_int_ne(ps_draws_duration_ps(third, 0, 1, OP_PS), drawn_ps);
}
END_TEST

#define DEVICES 40

/* A random list of devices: its text, and what it says of each device. */
typedef struct {
    GString *text;
    double value[DEVICES]; /* 0: nothing */
} List;

/* Highest ranks first, at least one; values are steps of `unit`, from `least` of them on. */
static List draw_list(GRand *rand, const char *entry, int least, double unit)
{
    List list = {.text = g_string_new(NULL)};
    for (int rank = DEVICES - 1; rank >= 0; rank--) {
        double value = g_rand_int_range(rand, least, 40) * unit;
        if (g_rand_int_range(rand, 0, 8) == 0 || (rank == 0 && list.text->len == 0)) {
            list.value[rank] = value;
            g_autofree char *number = g_strdup_printf("%g", value);
            const char *separator = list.text->len > 0 ? " ;" : "";
            g_string_append_printf(list.text, "%srank=%d %s", separator, rank, entry);
            g_string_replace(list.text, "VALUE", number, 0);
        }
    }
    return list;
}

/* Random lists against a walk through every device of a lane. */
START_TEST(a_lane_is_as_slow_as_its_slowest_device)
{
    g_autoptr(GRand) rand =
        g_rand_new_with_seed(ps_test_seed("a_lane_is_as_slow_as_its_slowest_device"));
    for (guint round = 0; round < 300; round++) {
        List slow = draw_list(rand, "factor=VALUE", 8, 0.125);
        List slow_link = draw_list(rand, "factor=VALUE", 8, 0.125);
        List stop = draw_list(rand, "at=VALUEms", 1, 1);
        const char *given[PS_N_DISTURBANCES] = {
            [PS_DISTURBANCE_SLOW] = slow.text->str,
            [PS_DISTURBANCE_SLOW_LINK] = slow_link.text->str,
            [PS_DISTURBANCE_STOP] = stop.text->str,
        };
        g_autoptr(GError) error = NULL;
        g_autoptr(PsDisturbance) disturbance = ps_disturbance_new(given, &error);
        ps_assert_no_error(error);
        g_autoptr(PsDraws) draws = ps_draws_new(disturbance, 1);
        for (guint range = 0; range < 30; range++) {
            guint first = (guint)g_rand_int_range(rand, 0, DEVICES);
            guint n = (guint)g_rand_int_range(rand, 1, (int)(DEVICES - first) + 1);
            double factor = 1, link_factor = 1, stop_ms = G_MAXDOUBLE;
            for (guint rank = first; rank < first + n; rank++) {
                factor = MAX(factor, slow.value[rank]);
                link_factor = MAX(link_factor, slow_link.value[rank]);
                stop_ms = stop.value[rank] > 0 ? MIN(stop_ms, stop.value[rank]) : stop_ms;
            }
            gint64 stop_ps = stop_ms < G_MAXDOUBLE ? (gint64)(stop_ms * 1e9) : G_MAXINT64;
            ck_assert_int_eq(ps_draws_duration_ps(
                                 draws, 0, ps_disturbance_slowness(disturbance, first, n), 8000),
                             (gint64)(8000 * factor));
            ck_assert(ps_disturbance_link_factor(disturbance, first, n) == link_factor);
            ck_assert_int_eq(ps_disturbance_stop_ps(disturbance, first, n), stop_ps);
        }
        g_string_free(slow.text, TRUE);
        g_string_free(slow_link.text, TRUE);
        g_string_free(stop.text, TRUE);
    }
}
END_TEST

START_TEST(long_times_stay_on_the_clock)
{
    g_autoptr(PsDisturbance) disturbance = read_one(PS_DISTURBANCE_SLOW, "rank=0 factor=1000000");
    g_autoptr(PsDraws) draws = ps_draws_new(disturbance, 1);
    const gint64 longest_ps = G_GINT64_CONSTANT(1) << 60;
    ck_assert_int_eq(ps_draws_duration_ps(draws, 0, ps_disturbance_slowness(disturbance, 0, 1),
                                          G_GINT64_CONSTANT(1000000000000)),
                     G_GINT64_CONSTANT(1000000000000000000));
    ck_assert_int_eq(ps_draws_duration_ps(draws, 0, ps_disturbance_slowness(disturbance, 0, 1),
                                          G_GINT64_CONSTANT(1) << 50),
                     longest_ps);
    ck_assert_int_eq(
        ps_draws_duration_ps(draws, 0, ps_disturbance_slowness(disturbance, 0, 1), longest_ps + 1),
        longest_ps + 1);
}
END_TEST

/* Names of the links whose capacity was divided, with the factor. Caller frees. */
static char *slowed(const char *topology_text, const char *slow_link)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsTopology) topology = ps_topology_load(topology_text, &error);
    ps_assert_no_error(error);
    g_autoptr(PsNetwork) network = ps_network_new(topology);
    g_autoptr(PsDisturbance) disturbance = read_one(PS_DISTURBANCE_SLOW_LINK, slow_link);
    ck_assert(ps_disturbance_check(disturbance, ps_network_devices(network), network, &error));
    ps_assert_no_error(error);
    guint n = ps_network_links(network);
    const double *full = ps_network_capacities(network);
    g_autofree double *capacities = g_memdup2(full, n * sizeof *full);
    ps_disturbance_slow_capacities(disturbance, network, capacities);
    GString *text = g_string_new(NULL);
    for (guint link = 0; link < n; link++) {
        if (capacities[link] != full[link]) {
            g_autofree char *name = ps_network_link_name(network, link);
            g_string_append_printf(text, "%s%s /%g", text->len > 0 ? ", " : "", name,
                                   full[link] / capacities[link]);
        }
    }
    return g_string_free(text, FALSE);
}

START_TEST(slow_links_have_less_capacity)
{
    static const struct {
        const char *topology, *slow_link, *slowed;
    } cases[] = {
        {"flat:4 25GB/s 1GiB", "rank=2 factor=4", "2>flat/0 /4, flat/0>2 /4"},
        {"flat:4 25GB/s 1GiB", "link=2>flat/0 factor=4", "2>flat/0 /4"},
        /* At every level. */
        {"node:2 64GB/s all:4 16GB/s 1GiB", "rank=1 factor=2",
         "1>node/0 /2, node/0>1 /2, 1>all/0 /2, all/0>1 /2"},
        {"node:2 64GB/s all:4 16GB/s shared 1GiB", "rank=2 factor=2",
         "2>node/1 /2, node/1>2 /2, node/1>all/0 /2, all/0>node/1 /2"},
        /* Of several factors the largest, in whatever order they come. */
        {"flat:4 25GB/s 1GiB",
         "rank=2 factor=4;link=2>flat/0 factor=8;link=flat/0>2 factor=2;rank=0 factor=1",
         "2>flat/0 /8, flat/0>2 /4"},
        {"ring:4 16GB/s ring 1GiB", "rank=1 factor=2; rank=2 factor=8",
         "0>1 /2, 1>2 /8, 1>0 /2, 2>3 /8, 2>1 /8, 3>2 /8"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = slowed(cases[i].topology, cases[i].slow_link);
        ck_assert_str_eq(text, cases[i].slowed);
    }
}
END_TEST

/* What is in force reads back as itself. */
START_TEST(texts_read_back)
{
    const char *texts[PS_N_DISTURBANCES] = {
        [PS_DISTURBANCE_JITTER] = " lognormal \t 5 %",
        [PS_DISTURBANCE_SLOW] = "factor=1.50  rank=12;rank=3 factor=2",
        [PS_DISTURBANCE_SLOW_LINK] = " link=0>flat/0 factor=2 ;factor=3 rank=1 ",
        [PS_DISTURBANCE_STOP] = "at=1.2s rank=5",
    };
    static const char *const in_force[PS_N_DISTURBANCES] = {
        [PS_DISTURBANCE_JITTER] = "lognormal 5 %",
        [PS_DISTURBANCE_SLOW] = "rank=12 factor=1.50; rank=3 factor=2",
        [PS_DISTURBANCE_SLOW_LINK] = "factor=2 link=0>flat/0; rank=1 factor=3",
        [PS_DISTURBANCE_STOP] = "rank=5 at=1.2s",
        [PS_DISTURBANCE_SEED] = "1",
    };
    for (guint round = 0; round < 2; round++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(PsDisturbance) disturbance = ps_disturbance_new(texts, &error);
        ps_assert_no_error(error);
        for (guint kind = 0; kind < PS_N_DISTURBANCES; kind++) {
            ck_assert_str_eq(ps_disturbance_text(disturbance, kind), in_force[kind]);
            texts[kind] = in_force[kind];
        }
    }
}
END_TEST

START_TEST(refuses_broken_texts)
{
    static const struct {
        PsDisturbanceKind kind;
        const char *text, *message;
    } cases[] = {
        {PS_DISTURBANCE_JITTER, "5%",
         "--jitter: \"5%\" (expected a distribution and a spread such as \"lognormal 5%\")"},
        {PS_DISTURBANCE_JITTER, "",
         "--jitter: \"\" (expected a distribution and a spread such as \"lognormal 5%\")"},
        {PS_DISTURBANCE_JITTER, "lognorm 5%",
         "--jitter: unknown distribution \"lognorm\" (did you mean lognormal?)"},
        {PS_DISTURBANCE_JITTER, "normal 5%",
         "--jitter: unknown distribution \"normal\" (expected lognormal or gamma)"},
        {PS_DISTURBANCE_JITTER, "gamma 0.05",
         "--jitter: \"0.05\": the unit is missing (expected a percentage, like 5%)"},
        {PS_DISTURBANCE_JITTER, "gamma 0%",
         "--jitter: \"0%\": out of range (expected 0.0001% to 1000%)"},
        {PS_DISTURBANCE_JITTER, "gamma 1001%",
         "--jitter: \"1001%\": out of range (expected 0.0001% to 1000%)"},
        {PS_DISTURBANCE_SLOW, "", "--slow: rank is missing (expected a field such as rank=12)"},
        {PS_DISTURBANCE_SLOW, "rank=1 factor=2;",
         "--slow: rank is missing (expected a field such as rank=12)"},
        {PS_DISTURBANCE_SLOW, "rank=1",
         "--slow: factor is missing (expected a field such as factor=1.5)"},
        {PS_DISTURBANCE_SLOW, "rank=1 faktor=2",
         "--slow: unknown field \"faktor\" (did you mean factor?)"},
        {PS_DISTURBANCE_SLOW, "rank=1 at=2s",
         "--slow: unknown field \"at\" (expected rank or factor)"},
        {PS_DISTURBANCE_SLOW, "rank=1 factor=0.9",
         "--slow: factor: \"0.9\": out of range (expected a number from 1 to 1000000)"},
        {PS_DISTURBANCE_SLOW, "rank=4 factor=2;rank=1 factor=2;rank=4 factor=3",
         "--slow: rank 4 is given twice (expected once)"},
        {PS_DISTURBANCE_SLOW_LINK, "factor=2",
         "--slow-link: neither rank nor link (expected one of them)"},
        {PS_DISTURBANCE_SLOW_LINK, "rank=1 link=A>B factor=2",
         "--slow-link: rank and link (expected one of them)"},
        {PS_DISTURBANCE_SLOW_LINK, "link=A>B factor=2;link=A>B factor=2",
         "--slow-link: link A>B is given twice (expected once)"},
        {PS_DISTURBANCE_STOP, "rank=1 at=1",
         "--stop: at: \"1\": the unit is missing (expected a time with a unit, like 3 us)"},
        {PS_DISTURBANCE_STOP, "rank=-1 at=1s",
         "--stop: rank: \"-1\": not a whole number (expected a whole number from 0 to 16777215)"},
        {PS_DISTURBANCE_SEED, "1", "--seed: nothing is random (expected --jitter as well)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *texts[PS_N_DISTURBANCES] = {NULL};
        texts[cases[i].kind] = cases[i].text;
        GError *error = NULL;
        ck_assert(ps_disturbance_new(texts, &error) == NULL);
        ps_assert_error(error, PS_ERROR_USAGE, cases[i].message);
    }
    const char *texts[PS_N_DISTURBANCES] = {
        [PS_DISTURBANCE_JITTER] = "gamma 5%", [PS_DISTURBANCE_SEED] = "-1"};
    GError *error = NULL;
    ck_assert(ps_disturbance_new(texts, &error) == NULL);
    ps_assert_error(error, PS_ERROR_USAGE,
                    "--seed: \"-1\": not a whole number (expected a whole number of at least 0)");
}
END_TEST

START_TEST(checks_ranks_and_links)
{
    g_autoptr(PsTopology) topology = ps_topology_load("node:4 100GB/s all:8 25GB/s 1GiB", NULL);
    g_autoptr(PsNetwork) levels = ps_network_new(topology);
    g_autofree char *list =
        g_strconcat("links:",
                    ps_test_file("links.csv", "source,destination,bandwidth_bytes_per_s,latency_s\n"
                                              "0,sw,1e9,0\nsw,7,1e9,0\n"),
                    NULL);
    g_autoptr(PsTopology) list_topology = ps_topology_load(list, NULL);
    g_autoptr(PsNetwork) links = ps_network_new(list_topology);
    const struct {
        PsDisturbanceKind kind;
        const char *text;
        const PsNetwork *network;
        const char *message; /* NULL: fine */
    } cases[] = {
        {PS_DISTURBANCE_SLOW, "rank=7 factor=2", NULL, NULL},
        {PS_DISTURBANCE_SLOW, "rank=7 factor=2; rank=8 factor=2", NULL,
         "--slow: rank 8: out of range (expected a rank from 0 to 7)"},
        {PS_DISTURBANCE_STOP, "rank=9 at=0s", levels,
         "--stop: rank 9: out of range (expected a rank from 0 to 7)"},
        {PS_DISTURBANCE_SLOW_LINK, "rank=8 factor=2", NULL,
         "--slow-link: rank 8: out of range (expected a rank from 0 to 7)"},
        {PS_DISTURBANCE_SLOW_LINK, "link=0>node/0 factor=2", NULL,
         "--slow-link: link 0>node/0: a flat network has no links by name (expected rank=RANK)"},
        {PS_DISTURBANCE_SLOW_LINK, "link=0>node/0 factor=2; rank=7 factor=2", levels, NULL},
        {PS_DISTURBANCE_SLOW_LINK, "link=0>node/1 factor=2", levels,
         "--slow-link: unknown link \"0>node/1\" (expected one such as 0>node/0)"},
        {PS_DISTURBANCE_SLOW_LINK, "rank=7 factor=2", links, NULL},
        {PS_DISTURBANCE_SLOW_LINK, "rank=3 factor=2", links,
         "--slow-link: rank 3 has no links (expected a device with links)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsDisturbance) disturbance = read_one(cases[i].kind, cases[i].text);
        GError *error = NULL;
        gboolean fine = ps_disturbance_check(disturbance, 8, cases[i].network, &error);
        ck_assert_int_eq(fine, cases[i].message == NULL);
        if (!fine) {
            ps_assert_error(error, PS_ERROR_USAGE, cases[i].message);
        }
    }
    ck_assert(ps_disturbance_check(NULL, 1, NULL, NULL));
}
END_TEST

PS_TEST_MAIN("disturbance", nothing_set_changes_nothing, jitter_has_its_mean_and_spread,
             lanes_draw_from_their_own_streams, a_lane_is_as_slow_as_its_slowest_device,
             long_times_stay_on_the_clock, slow_links_have_less_capacity, texts_read_back,
             refuses_broken_texts, checks_ranks_and_links)
