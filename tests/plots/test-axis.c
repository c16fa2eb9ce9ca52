#include <math.h>
#include "plots/axis.h"
#include "tests/harness/harness.h"

#define N_TRIALS 5000

/* 1, 2 or 5 times a power of ten. */
static gboolean is_round(double value)
{
    double mantissa = value / pow(10, floor(log10(value) + 1e-9));
    return fabs(mantissa - 1) < 1e-6 || fabs(mantissa - 2) < 1e-6 || fabs(mantissa - 5) < 1e-6;
}

START_TEST(linear_ticks_are_round_and_cover)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("linear_ticks_are_round_and_cover"));
    for (guint trial = 0; trial < N_TRIALS; trial++) {
        double range = pow(10, g_rand_double_range(rand, -12, 12));
        double min = range * g_rand_double_range(rand, -50, 50), max = min + range;
        double unit = g_rand_boolean(rand) ? 1 : 1024 * 1024;
        guint most = (guint)g_rand_int_range(rand, 2, PS_MOST_TICKS + 1);
        PsTicks ticks;
        ps_ticks_linear(min, max, unit, most, &ticks);
        ck_assert_uint_le(ticks.n, most);
        /* The next finer step, at least 2/5 of this one, would give more than `most`. */
        ck_assert_double_ge(ticks.n, most / 2.5 - 1);
        ck_assert(is_round(ticks.step / unit));
        double slack = ticks.step * 1e-6;
        for (guint i = 0; i < ticks.n; i++) {
            double multiple = ticks.values[i] / ticks.step;
            ck_assert_double_le(fabs(multiple - rint(multiple)), 1e-6);
            ck_assert_double_ge(ticks.values[i], min - slack);
            ck_assert_double_le(ticks.values[i], max + slack);
            ck_assert(i == 0 || fabs(ticks.values[i] - ticks.values[i - 1] - ticks.step) <= slack);
        }
        ck_assert(ticks.n == 0 || (ticks.values[0] - ticks.step <= min + slack &&
                                   ticks.values[ticks.n - 1] + ticks.step >= max - slack));
    }
}
END_TEST

/* Every candidate in [min, max], found by walking all exponents. */
static guint all_round(double min, double max, gboolean binary, double *values)
{
    static const double mantissas[] = {1, 2, 5};
    guint n = 0;
    for (int exponent = -60; exponent <= 60; exponent++) {
        for (guint i = 0; i < (binary ? 1 : G_N_ELEMENTS(mantissas)); i++) {
            double value = binary ? ldexp(1, exponent) : mantissas[i] * pow(10, exponent);
            if (value >= min && value <= max) {
                values[n++] = value;
            }
        }
    }
    return n;
}

START_TEST(logarithmic_ticks_are_all_or_a_regular_choice)
{
    g_autoptr(GRand) rand =
        g_rand_new_with_seed(ps_test_seed("logarithmic_ticks_are_all_or_a_regular_choice"));
    for (guint trial = 0; trial < N_TRIALS; trial++) {
        double min = pow(10, g_rand_double_range(rand, -9, 6));
        double max = min * pow(10, g_rand_double_range(rand, 0.9, 9));
        gboolean binary = g_rand_boolean(rand);
        guint most = (guint)g_rand_int_range(rand, 2, 40);
        double candidates[1000];
        guint n = all_round(min, max, binary, candidates);
        PsTicks ticks;
        ps_ticks_log(min, max, binary, most, &ticks);
        ck_assert_uint_le(ticks.n, most);
        ck_assert_uint_eq(ticks.n, n <= most ? n : ticks.n);
        for (guint i = 0; i < ticks.n; i++) {
            gboolean found = FALSE;
            for (guint j = 0; j < n; j++) {
                found = found || fabs(ticks.values[i] / candidates[j] - 1) < 1e-9;
            }
            ck_assert(found);
        }
        for (guint i = 2; n > most && i < ticks.n; i++) {
            double ratio = ticks.values[i] / ticks.values[i - 1];
            ck_assert_double_eq_tol(ratio * ticks.values[i - 2] / ticks.values[i - 1], 1, 1e-9);
        }
    }
}
END_TEST

START_TEST(an_axis_holds_its_values_in_order)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("an_axis_holds_its_values_in_order"));
    for (guint trial = 0; trial < N_TRIALS; trial++) {
        double values[5], min = INFINITY, max = -INFINITY;
        for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
            values[i] = pow(10, g_rand_double_range(rand, -2, 2)) * (trial % 3 == 0 ? -1 : 1) +
                        (trial % 5 == 0 ? 100 : 0);
            min = fmin(min, values[i]);
            max = fmax(max, values[i]);
        }
        PsAxis axis = ps_axis_fit(values, G_N_ELEMENTS(values), PS_N_DIMENSIONS);
        ck_assert_int_eq(axis.logarithmic, min > 0 && max / min >= 10);
        for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
            double place = ps_axis_place(&axis, values[i]);
            ck_assert(place >= 0 && place <= 1);
            for (guint j = 0; j < i; j++) {
                ck_assert((values[i] < values[j]) == (place < ps_axis_place(&axis, values[j])));
            }
        }
        ck_assert_double_eq_tol(ps_axis_place(&axis, axis.min), 0, 1e-12);
        ck_assert_double_eq_tol(ps_axis_place(&axis, axis.max), 1, 1e-12);
    }
}
END_TEST

START_TEST(odd_values_have_an_axis_too)
{
    static const double cases[][2] = {{0, 0},     {7, 7},          {-7, -7},        {NAN, 3},
                                      {NAN, NAN}, {1e100, -1e100}, {1e-100, 1e100}, {1, 1 + 1e-15}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (PsDimension dimension = 0; dimension <= PS_N_DIMENSIONS; dimension++) {
            PsAxis axis = ps_axis_fit(cases[i], 2, dimension);
            PsTicks ticks;
            ck_assert(axis.min < axis.max);
            ps_axis_ticks(&axis, 8, &ticks);
            ck_assert(ticks.n >= 1 && ticks.n <= 8);
            for (guint j = 0; j < ticks.n; j++) {
                g_autofree char *label = ps_axis_label(&axis, &ticks, ticks.values[j]);
                ck_assert(*label != '\0');
            }
        }
    }
}
END_TEST

static void assert_labels(const PsAxis *axis, const char *expected)
{
    PsTicks ticks;
    g_autoptr(GString) labels = g_string_new(NULL);
    ps_axis_ticks(axis, 6, &ticks);
    for (guint i = 0; i < ticks.n; i++) {
        g_autofree char *label = ps_axis_label(axis, &ticks, ticks.values[i]);
        g_string_append_printf(labels, "%s%s", i > 0 ? "|" : "", label);
    }
    ck_assert_str_eq(labels->str, expected);
}

START_TEST(labels_carry_units)
{
    const double GiB = 1024.0 * 1024 * 1024;
    assert_labels(&(PsAxis){PS_SECONDS, 0, 0.1, FALSE}, "0 ms|20 ms|40 ms|60 ms|80 ms|100 ms");
    assert_labels(&(PsAxis){PS_SECONDS, 12, 12.004, FALSE},
                  "12.000 s|12.001 s|12.002 s|12.003 s|12.004 s");
    assert_labels(&(PsAxis){PS_BYTES, 0, 90 * GiB, FALSE}, "0 GiB|20 GiB|40 GiB|60 GiB|80 GiB");
    assert_labels(&(PsAxis){PS_BYTES, GiB, 32 * GiB, TRUE},
                  "1 GiB|2 GiB|4 GiB|8 GiB|16 GiB|32 GiB");
    assert_labels(&(PsAxis){PS_BYTES_PER_S, 1e9, 1e11, TRUE}, "1 GB/s|10 GB/s|100 GB/s");
    assert_labels(&(PsAxis){PS_N_DIMENSIONS, -0.25, 0.3, FALSE}, "-0.2|-0.1|0.0|0.1|0.2|0.3");
}
END_TEST

PS_TEST_MAIN("axis", linear_ticks_are_round_and_cover,
             logarithmic_ticks_are_all_or_a_regular_choice, an_axis_holds_its_values_in_order,
             odd_values_have_an_axis_too, labels_carry_units)
