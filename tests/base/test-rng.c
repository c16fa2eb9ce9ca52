#include <math.h>
#include "sim/base/rng.h"
#include "tests/harness/harness.h"

#define DRAWS 400000
/* Six standard errors: a right generator fails one such check in 500 million. */
#define SIGMAS 6.0

static guint64 seed_of(const char *test)
{
    return ps_test_seed(test);
}

/* Holds the mean of n values against its expectation and the standard deviation of one value. */
static void check_mean(const char *what, double sum, guint n, double expected, double deviation)
{
    double error = fabs(sum / n - expected), allowed = SIGMAS * deviation / sqrt(n);
    ck_assert_msg(error <= allowed, "%s: %.9g (expected %.9g +- %.3g)", what, sum / n, expected,
                  allowed);
}

/* Uniform: mean 1/2 and variance 1/12; cells of equal width fill equally (chi-square of 100 cells
 * has mean 99 and variance 198); neighbours are uncorrelated. */
START_TEST(uniforms_are_uniform)
{
    enum { CELLS = 100 };
    g_autoptr(PsRng) rng = ps_rng_new(seed_of("uniforms_are_uniform"), "test", 0);
    double sum = 0, squares = 0, products = 0, last = 0.5;
    guint filled[CELLS] = {0};
    for (guint i = 0; i < DRAWS; i++) {
        double x = ps_rng_uniform(rng);
        ck_assert(x >= 0 && x < 1);
        filled[(guint)(x * CELLS)]++;
        sum += x;
        squares += (x - 0.5) * (x - 0.5);
        products += (x - 0.5) * (last - 0.5);
        last = x;
    }
    check_mean("mean", sum, DRAWS, 0.5, sqrt(1.0 / 12));
    /* The fourth central moment is 1/80. */
    check_mean("variance", squares, DRAWS, 1.0 / 12, sqrt(1.0 / 80 - 1.0 / 144));
    check_mean("correlation of neighbours", products, DRAWS, 0, 1.0 / 12);
    double chi_square = 0;
    for (guint i = 0; i < CELLS; i++) {
        double expected = (double)DRAWS / CELLS;
        chi_square += (filled[i] - expected) * (filled[i] - expected) / expected;
    }
    ck_assert_msg(fabs(chi_square - 99) < SIGMAS * sqrt(198), "chi-square %g", chi_square);
}
END_TEST

/* E X^k: exp(k mu + k^2 sigma^2 / 2) is (1 + c^2)^(k (k - 1) / 2) for the lognormal, and the
 * product of (1 + i c^2) over i < k for the gamma. */
static double moment(PsNoise noise, double cv, int k)
{
    double square = cv * cv;
    if (noise == PS_NOISE_LOGNORMAL) {
        return pow(1 + square, k * (k - 1) / 2.0);
    }
    double product = 1;
    for (int i = 0; i < k; i++) {
        product *= 1 + i * square;
    }
    return product;
}

START_TEST(noise_has_its_moments)
{
    static const double cvs[] = {0.01, 0.05, 0.2, 0.5};
    guint64 seed = seed_of("noise_has_its_moments");
    for (guint noise = 0; noise < PS_N_NOISES; noise++) {
        for (guint i = 0; i < G_N_ELEMENTS(cvs); i++) {
            double sums[4] = {0};
            g_autoptr(PsRng) rng = ps_rng_new(seed, "noise", noise * 100 + i);
            for (guint draw = 0; draw < DRAWS; draw++) {
                double x = ps_rng_noise(rng, noise, cvs[i]);
                ck_assert(x > 0 && isfinite(x));
                sums[1] += x;
                sums[2] += x * x;
                sums[3] += x * x * x;
            }
            for (int k = 1; k <= 3; k++) {
                double expected = moment(noise, cvs[i], k);
                double variance = moment(noise, cvs[i], 2 * k) - expected * expected;
                g_autofree char *what =
                    g_strdup_printf("%s, cv %g, moment %d", ps_noise_names[noise], cvs[i], k);
                check_mean(what, sums[k], DRAWS, expected, sqrt(variance));
            }
        }
    }
}
END_TEST

/* Shapes, not only moments: the logarithm of a lognormal is below its mean -sigma^2/2 half of the
 * time and below mean + sigma with Phi(1); a gamma of cv 1 is exponential, one of cv 1/sqrt 2 has
 * the tail (1 + 2x) e^-2x (Erlang, two phases). */
START_TEST(noise_has_its_shape)
{
    guint64 seed = seed_of("noise_has_its_shape");
    double sigma = sqrt(log(1 + 0.09));
    const struct {
        PsNoise noise;
        double cv, at, below;
    } cases[] = {
        {PS_NOISE_LOGNORMAL, 0.3, exp(-sigma * sigma / 2), 0.5},
        {PS_NOISE_LOGNORMAL, 0.3, exp(-sigma * sigma / 2 + sigma), 0.841344746068543},
        {PS_NOISE_GAMMA, 1, 0.25, 1 - exp(-0.25)},
        {PS_NOISE_GAMMA, 1, 3, 1 - exp(-3)},
        {PS_NOISE_GAMMA, sqrt(0.5), 0.5, 1 - 2 * exp(-1)},
        {PS_NOISE_GAMMA, sqrt(0.5), 2, 1 - 5 * exp(-4)},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsRng) rng = ps_rng_new(seed, "shape", i);
        guint below = 0;
        for (guint draw = 0; draw < DRAWS; draw++) {
            below += ps_rng_noise(rng, cases[i].noise, cases[i].cv) < cases[i].at;
        }
        g_autofree char *what = g_strdup_printf("case %u", i);
        check_mean(what, below, DRAWS, cases[i].below, sqrt(cases[i].below * (1 - cases[i].below)));
    }
}
END_TEST

/* Streams whose names differ in one part only, even by one, are uncorrelated draw by draw. */
START_TEST(streams_are_independent)
{
    guint64 seed = seed_of("streams_are_independent");
    const struct {
        guint64 seed;
        const char *kind;
        guint64 number;
    } names[] = {
        {seed, "lane", 0},
        {seed, "lane", 1},
        {seed, "lane", 2},
        {seed, "lane", 1 << 16},
        {seed, "lane", G_GUINT64_CONSTANT(1) << 32},
        {seed, "server", 0},
        {seed + 1, "lane", 0},
        {seed | G_GUINT64_CONSTANT(1) << 40, "lane", 0},
    };
    enum { DRAWS_OF_PAIR = 50000 };
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        for (guint j = 0; j < i; j++) {
            g_autoptr(PsRng) a = ps_rng_new(names[i].seed, names[i].kind, names[i].number);
            g_autoptr(PsRng) b = ps_rng_new(names[j].seed, names[j].kind, names[j].number);
            double products = 0;
            for (guint draw = 0; draw < DRAWS_OF_PAIR; draw++) {
                products += (ps_rng_uniform(a) - 0.5) * (ps_rng_uniform(b) - 0.5);
            }
            g_autofree char *what = g_strdup_printf("streams %u and %u", i, j);
            check_mean(what, products, DRAWS_OF_PAIR, 0, 1.0 / 12);
        }
    }
}
END_TEST

/* Of the streams of one seed and kind no two begin alike: three draws tell 96 bits of state. */
START_TEST(no_two_streams_are_the_same)
{
    enum { STREAMS = 100000 };
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < STREAMS; i++) {
        g_autoptr(PsRng) rng = ps_rng_new(1, "lane", i);
        double x = ps_rng_uniform(rng), y = ps_rng_uniform(rng), z = ps_rng_uniform(rng);
        g_hash_table_add(seen, g_strdup_printf("%a %a %a", x, y, z));
    }
    ck_assert_uint_eq(g_hash_table_size(seen), STREAMS);
}
END_TEST

/* Whatever other streams do meanwhile. */
START_TEST(same_name_same_bytes)
{
    guint64 seed = seed_of("same_name_same_bytes");
    g_autoptr(PsRng) first = ps_rng_new(seed, "lane", 7);
    g_autoptr(PsRng) other = ps_rng_new(seed, "lane", 8);
    double draws[1000];
    for (guint i = 0; i < G_N_ELEMENTS(draws); i++) {
        draws[i] = ps_rng_noise(first, i % PS_N_NOISES, 0.05);
    }
    g_autoptr(PsRng) second = ps_rng_new(seed, "lane", 7);
    for (guint i = 0; i < G_N_ELEMENTS(draws); i++) {
        (void)ps_rng_noise(other, PS_NOISE_GAMMA, 2);
        double again = ps_rng_noise(second, i % PS_N_NOISES, 0.05);
        ck_assert(memcmp(&again, &draws[i], sizeof again) == 0);
    }
}
END_TEST

/* A regression: runs recorded with a seed stay what they were. */
START_TEST(first_values_stay)
{
    g_autoptr(PsRng) rng = ps_rng_new(1, "lane", 0);
    ck_assert_double_eq_tol(ps_rng_uniform(rng), 0.89670321880839765, 1e-15);
    ck_assert_double_eq_tol(ps_rng_noise(rng, PS_NOISE_LOGNORMAL, 0.05), 1.0015807985089222, 1e-12);
    ck_assert_double_eq_tol(ps_rng_noise(rng, PS_NOISE_GAMMA, 0.05), 1.0162336447568732, 1e-12);
}
END_TEST

PS_TEST_MAIN("rng", uniforms_are_uniform, noise_has_its_moments, noise_has_its_shape,
             streams_are_independent, no_two_streams_are_the_same, same_name_same_bytes,
             first_values_stay)
