#include <math.h>
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "tests/harness/harness.h"

START_TEST(parses_quantities)
{
    static const struct {
        PsDimension dimension;
        const char *text;
        double value;
    } cases[] = {
        {PS_BYTES, "80 GiB", 85899345920.0},
        {PS_BYTES, "80GiB", 85899345920.0},
        {PS_BYTES, "80 \t GiB", 85899345920.0},
        {PS_BYTES, "1e3 B", 1000},
        {PS_BYTES, "1E3B", 1000},
        {PS_BYTES, "2.5e-1 kB", 250},
        {PS_BYTES, "1e+3 B", 1000},
        {PS_BYTES, "1 kB", 1e3},
        {PS_BYTES, "1 MB", 1e6},
        {PS_BYTES, "1 GB", 1e9},
        {PS_BYTES, "1 TB", 1e12},
        {PS_BYTES, "1 KiB", 1024},
        {PS_BYTES, "1 MiB", 1048576},
        {PS_BYTES, "1 TiB", 1099511627776.0},
        {PS_BYTES, "0", 0},
        {PS_BYTES, "0.0", 0},
        {PS_BYTES, "0 B", 0},
        {PS_BYTES, "007 B", 7},
        {PS_BYTES_PER_S, "25 GB/s", 25e9},
        {PS_BYTES_PER_S, "25 GiB/s", 26843545600.0},
        {PS_BYTES_PER_S, "200 Gbit/s", 25e9},
        {PS_BYTES_PER_S, "8 bit/s", 1},
        {PS_BYTES_PER_S, "1 kbit/s", 125},
        {PS_BYTES_PER_S, "1 Mbit/s", 125e3},
        {PS_BYTES_PER_S, "1 Tbit/s", 125e9},
        {PS_SECONDS, "3 us", 3e-6},
        {PS_SECONDS, "7 ps", 7e-12},
        {PS_SECONDS, "11 ns", 11e-9},
        {PS_SECONDS, "13 ms", 13e-3},
        {PS_SECONDS, "1.5 s", 1.5},
        {PS_SECONDS, "2 min", 120},
        {PS_SECONDS, "2 h", 7200},
        {PS_FLOP_PER_S, "312 TFLOP/s", 312e12},
        {PS_FLOP_PER_S, "1 PFLOP/s", 1e15},
        {PS_FLOP_PER_S, "1 GFLOP/s", 1e9},
        {PS_PER_SECOND, "120/s", 120},
        {PS_PER_SECOND, "90 /min", 1.5},
        {PS_PER_SECOND, "1800/h", 0.5},
        {PS_RATIO, "5%", 0.05},
        {PS_RATIO, "0.5 %", 0.005},
        {PS_RATIO, "7%", 0.07},
        {PS_RATIO, "0%", 0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        double value = -1;
        gboolean parsed = ps_quantity_parse(cases[i].dimension, cases[i].text, &value, &error);
        ps_assert_no_error(error);
        ck_assert(parsed);
        ck_assert_msg(value == cases[i].value, "%s: %.17g", cases[i].text, value);
    }
}
END_TEST

#define SIZE " (expected a size with a unit, like 80 GiB)"
#define RATE " (expected a rate with a unit, like 25 GB/s or 200 Gbit/s)"
#define TIME " (expected a time with a unit, like 3 us)"
#define FLOPS " (expected a rate with a unit, like 312 TFLOP/s)"
#define OFTEN " (expected a rate with a unit, like 120/s)"
#define PERCENT " (expected a percentage, like 5%)"

START_TEST(refuses_other_quantities)
{
    static const struct {
        PsDimension dimension;
        const char *text, *message;
    } cases[] = {
        {PS_BYTES, "", "\"\": not a number with a unit" SIZE},
        {PS_BYTES, "-1 B",
         "\"-1 B\": the number is negative (expected 0 or more: a size with a unit, like 80 "
         "GiB)"},
        {PS_BYTES, "- 1 B", "\"- 1 B\": not a number with a unit" SIZE},
        {PS_BYTES, "+1 B", "\"+1 B\": not a number with a unit" SIZE},
        {PS_BYTES, " 1 B", "\" 1 B\": not a number with a unit" SIZE},
        {PS_BYTES, ".5 B", "\".5 B\": not a number with a unit" SIZE},
        {PS_BYTES, "5. B", "\"5. B\": not a number with a unit" SIZE},
        {PS_BYTES, "1.2.3 B", "\"1.2.3 B\": not a number with a unit" SIZE},
        {PS_BYTES, "inf B", "\"inf B\": not a number with a unit" SIZE},
        {PS_BYTES, "nan B", "\"nan B\": not a number with a unit" SIZE},
        {PS_BYTES, "GiB", "\"GiB\": not a number with a unit" SIZE},
        {PS_BYTES, "0x10 B", "\"0x10 B\": unknown unit \"x10 B\"" SIZE},
        {PS_BYTES, "1,5 B", "\"1,5 B\": unknown unit \",5 B\"" SIZE},
        {PS_BYTES, "5", "\"5\": the unit is missing" SIZE},
        {PS_BYTES, "5 ", "\"5 \": the unit is missing" SIZE},
        {PS_BYTES, "5 XB", "\"5 XB\": unknown unit \"XB\"" SIZE},
        {PS_BYTES, "0 XB", "\"0 XB\": unknown unit \"XB\"" SIZE},
        {PS_BYTES, "1 KB", "\"1 KB\": unknown unit \"KB\", did you mean kB?" SIZE},
        {PS_BYTES, "1 gib", "\"1 gib\": unknown unit \"gib\", did you mean GiB?" SIZE},
        {PS_BYTES, "1 GB/s", "\"1 GB/s\": unknown unit \"GB/s\"" SIZE},
        {PS_BYTES, "1e400 B", "\"1e400 B\": the number is too large" SIZE},
        {PS_BYTES, "1e308 GiB", "\"1e308 GiB\": the number is too large" SIZE},
        {PS_BYTES_PER_S, "25 GB", "\"25 GB\": \"/s\" is missing after \"GB\"" RATE},
        {PS_BYTES_PER_S, "25 Gbit", "\"25 Gbit\": \"/s\" is missing after \"Gbit\"" RATE},
        {PS_BYTES_PER_S, "25", "\"25\": the unit is missing" RATE},
        {PS_BYTES_PER_S, "25 GB/S", "\"25 GB/S\": unknown unit \"GB/S\", did you mean GB/s?" RATE},
        {PS_BYTES_PER_S, "1 Gbps", "\"1 Gbps\": unknown unit \"Gbps\", did you mean Gbit/s?" RATE},
        {PS_BYTES_PER_S, "1 Gb/s", "\"1 Gb/s\": unknown unit \"Gb/s\", did you mean Gbit/s?" RATE},
        {PS_BYTES_PER_S, "1 GBps", "\"1 GBps\": unknown unit \"GBps\", did you mean GB/s?" RATE},
        {PS_SECONDS, "1 MS", "\"1 MS\": unknown unit \"MS\", did you mean ms?" TIME},
        {PS_SECONDS, "1 \302\265s",
         "\"1 \302\265s\": unknown unit \"\302\265s\", did you mean us?" TIME},
        {PS_SECONDS, "1 sec", "\"1 sec\": unknown unit \"sec\", did you mean s?" TIME},
        {PS_FLOP_PER_S, "312 TFLOPS",
         "\"312 TFLOPS\": unknown unit \"TFLOPS\", did you mean TFLOP/s?" FLOPS},
        {PS_PER_SECOND, "120", "\"120\": the unit is missing" OFTEN},
        {PS_PER_SECOND, "120/m", "\"120/m\": unknown unit \"/m\"" OFTEN},
        {PS_RATIO, "0.05", "\"0.05\": the unit is missing" PERCENT},
        {PS_RATIO, "-5%",
         "\"-5%\": the number is negative (expected 0 or more: a percentage, like 5%)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        double value = 42;
        ck_assert(!ps_quantity_parse(cases[i].dimension, cases[i].text, &value, &error));
        ps_assert_error(error, PS_ERROR_USAGE, cases[i].message);
        ck_assert(value == 42);
    }
}
END_TEST

START_TEST(parses_counts)
{
    guint64 value = 0;
    GError *error = NULL;
    ck_assert(ps_count_parse("18446744073709551615", 0, G_MAXUINT64, &value, &error));
    ck_assert(value == G_MAXUINT64);
    ck_assert(ps_count_parse("8", 8, 8, &value, &error));
    ck_assert(value == 8);
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "\"\": not a whole number (expected a whole number from 1 to 8)"},
        {"-1", "\"-1\": not a whole number (expected a whole number from 1 to 8)"},
        {"+1", "\"+1\": not a whole number (expected a whole number from 1 to 8)"},
        {" 1", "\" 1\": not a whole number (expected a whole number from 1 to 8)"},
        {"1.0", "\"1.0\": not a whole number (expected a whole number from 1 to 8)"},
        {"0x1", "\"0x1\": not a whole number (expected a whole number from 1 to 8)"},
        {"0", "\"0\": out of range (expected a whole number from 1 to 8)"},
        {"9", "\"9\": out of range (expected a whole number from 1 to 8)"},
        {"18446744073709551616",
         "\"18446744073709551616\": out of range (expected a whole number from 1 to 8)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        ck_assert(!ps_count_parse(cases[i].text, 1, 8, &value, &error));
        ps_assert_error(error, PS_ERROR_USAGE, cases[i].message);
        ck_assert(value == 8);
    }
    ck_assert(!ps_count_parse("0", 1, G_MAXUINT64, &value, &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "\"0\": out of range (expected a whole number of at least 1)");
}
END_TEST

START_TEST(parses_numbers)
{
    double value = 0;
    GError *error = NULL;
    ck_assert(ps_number_parse("1.5", 1, 2, &value, &error) && value == 1.5);
    ck_assert(ps_number_parse("1", 1, 2, &value, &error) && value == 1);
    ck_assert(ps_number_parse("0.2e1", 1, 2, &value, &error) && value == 2);
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", "not a number"},      {"-1", "not a number"},    {"1.5 s", "not a number"},
        {"1.", "not a number"},    {"1,5", "not a number"},   {"nan", "not a number"},
        {"inf", "not a number"},   {"0x1p0", "not a number"}, {"0.999", "out of range"},
        {"2.001", "out of range"}, {"1e400", "out of range"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *message = g_strdup_printf("\"%s\": %s (expected a number from 1 to 2)",
                                                   cases[i].text, cases[i].complaint);
        ck_assert(!ps_number_parse(cases[i].text, 1, 2, &value, &error));
        ps_assert_error(error, PS_ERROR_USAGE, message);
        ck_assert(value == 2);
    }
}
END_TEST

START_TEST(formats_quantities)
{
    static const struct {
        PsDimension dimension;
        double value;
        const char *text;
    } cases[] = {
        {PS_BYTES, 8589934592.0, "8 GiB"},
        {PS_BYTES, 0, "0 B"},
        {PS_BYTES, 1023, "1023 B"},
        {PS_BYTES, 1024, "1 KiB"},
        {PS_BYTES, 1536, "1.5 KiB"},
        {PS_BYTES, 1048575, "1 MiB"},
        {PS_BYTES, 42.5 * 1073741824, "42.5 GiB"},
        {PS_BYTES, -2048, "-2 KiB"},
        {PS_BYTES, 12345.0 * 1099511627776.0, "12345 TiB"},
        {PS_BYTES_PER_S, 25e9, "25 GB/s"},
        {PS_BYTES_PER_S, 1, "1 B/s"},
        {PS_SECONDS, 0.04152, "41.52 ms"},
        {PS_SECONDS, 3e-6, "3 us"},
        {PS_SECONDS, 0.999999, "1 s"},
        {PS_SECONDS, 0, "0 s"},
        {PS_SECONDS, 86400, "86400 s"},
        {PS_SECONDS, 1e-12, "1 ps"},
        {PS_SECONDS, 1e-13, "0.1 ps"},
        {PS_FLOP_PER_S, 312e12, "312 TFLOP/s"},
        {PS_FLOP_PER_S, 5000, "5000 FLOP/s"},
        {PS_PER_SECOND, 120, "120/s"},
        {PS_PER_SECOND, 0.125, "0.125/s"},
        {PS_RATIO, 0.05, "5.0%"},
        {PS_RATIO, 0, "0.0%"},
        {PS_RATIO, -0.125, "-12.5%"},
        {PS_RATIO, 1, "100.0%"},
        {PS_RATIO, 0.00012, "0.012%"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = ps_quantity_format(cases[i].dimension, cases[i].value);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(bounds_are_rounded_up)
{
    static const struct {
        double share;
        const char *text;
    } shares[] = {{0.0874, "8.8 %"}, {0.087, "8.7 %"},  {0.1201, "13 %"},   {0.00094, "0.094 %"},
                  {1.5, "150 %"},    {1e-9, "0.001 %"}, {0.0999999, "10 %"}};
    for (guint i = 0; i < G_N_ELEMENTS(shares); i++) {
        g_autofree char *text = ps_percent_up(shares[i].share);
        ck_assert_str_eq(text, shares[i].text);
    }
    static const struct {
        double bytes;
        const char *text;
    } memories[] = {
        {94.29001, "94.3 B"}, {94.29, "94.29 B"}, {148, "148 B"}, {1024.0001, "1.001 KiB"}};
    for (guint i = 0; i < G_N_ELEMENTS(memories); i++) {
        g_autofree char *text = ps_quantity_format_up(PS_BYTES, memories[i].bytes);
        ck_assert_str_eq(text, memories[i].text);
    }
}
END_TEST

START_TEST(formats_doubles)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-3, "-3"},
        {0.1, "0.1"},
        {0.30000000000000004, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {26843545600.0, "26843545600"},
        {9007199254740992.0, "9007199254740992"},
        {-9007199254740994.0, "-9007199254740994.0"},
        {12345678901234568.0, "12345678901234568.0"},
        {1e16, "1e+16"},
        {1e-12, "1e-12"},
        {2.5e-7, "2.5e-07"},
        {1e300, "1e+300"},
        {123456.789, "123456.789"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = ps_double_format(cases[i].value);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(any_double_reads_back)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("any_double_reads_back"));
    for (int i = 0; i < 20000; i++) {
        guint64 bits = (guint64)g_rand_int(random) << 32 | g_rand_int(random);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) {
            continue;
        }
        g_autofree char *text = ps_double_format(value);
        double back = g_ascii_strtod(text, NULL);
        ck_assert_msg(memcmp(&back, &value, sizeof value) == 0, "%s", text);
    }
}
END_TEST

START_TEST(picoseconds_have_twelve_decimals)
{
    static const struct {
        gint64 time_ps;
        const char *text;
    } cases[] = {
        {0, "0.000000000000"},
        {1, "0.000000000001"},
        {G_GINT64_CONSTANT(1000000000001), "1.000000000001"},
        {G_GINT64_CONSTANT(41520000000), "0.041520000000"},
        {G_MAXINT64, "9223372.036854775807"},
        {-1, "-0.000000000001"},
        {G_MININT64, "-9223372.036854775808"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        char text[PS_SECONDS_TEXT];
        ck_assert_uint_eq(ps_picoseconds_format(cases[i].time_ps, text), strlen(cases[i].text));
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(picoseconds_are_read_exactly)
{
    static const struct {
        const char *text;
        gint64 time_ps;
    } good[] = {
        {"0", 0},
        {"1", G_GINT64_CONSTANT(1000000000000)},
        {"0.5", G_GINT64_CONSTANT(500000000000)},
        {"00.1", G_GINT64_CONSTANT(100000000000)},
        {"1.000000000001", G_GINT64_CONSTANT(1000000000001)},
        {"1.000000000001000", G_GINT64_CONSTANT(1000000000001)},
        {"9223372.036854775807", G_MAXINT64},
    };
    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        gint64 time_ps = -1;
        ck_assert_msg(ps_picoseconds_parse(good[i].text, &time_ps), "%s", good[i].text);
        ck_assert_int_eq(time_ps, good[i].time_ps);
    }
    static const char *const bad[] = {"",
                                      ".",
                                      "1.",
                                      ".5",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0000000000001",
                                      "1e3",
                                      "1.5s",
                                      "0x10",
                                      "1,5",
                                      "inf",
                                      "nan",
                                      "9223372.036854775808",
                                      "9223373",
                                      "99999999999999999999999"};
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        gint64 time_ps = -1;
        ck_assert_msg(!ps_picoseconds_parse(bad[i], &time_ps), "%s", bad[i]);
        ck_assert_int_eq(time_ps, -1);
    }
}
END_TEST

START_TEST(any_picoseconds_read_back)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("any_picoseconds_read_back"));
    for (int i = 0; i < 20000; i++) {
        guint64 bits = (guint64)g_rand_int(random) << 32 | g_rand_int(random);
        gint64 time_ps = (gint64)(bits >> g_rand_int_range(random, 1, 64)), back = -1;
        char text[PS_SECONDS_TEXT];
        ps_picoseconds_format(time_ps, text);
        ck_assert(ps_picoseconds_parse(text, &back));
        ck_assert_int_eq(back, time_ps);
    }
}
END_TEST

START_TEST(seconds_cross_to_the_nearest_picosecond)
{
    ck_assert_int_eq(ps_seconds_to_ps(0), 0);
    ck_assert_int_eq(ps_seconds_to_ps(1.4e-12), 1);
    ck_assert_int_eq(ps_seconds_to_ps(1.6e-12), 2);
    ck_assert_int_eq(ps_seconds_to_ps(0.04152), G_GINT64_CONSTANT(41520000000));
    ck_assert(ps_ps_to_seconds(G_GINT64_CONSTANT(41520000000)) == 0.04152);
}
END_TEST

/* Whatever the largest time, it and smaller ones take at most six characters (ten beyond a million
 * seconds), and those that do not round to nothing show a digit. */
START_TEST(columns_of_times_are_narrow)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("columns_of_times_are_narrow"));
    for (guint round = 0; round < 20000; round++) {
        double largest_s = pow(10, g_rand_double_range(random, -12, 20));
        if (round % 2 == 0) { /* just below a power of ten */
            largest_s = pow(10, (double)g_rand_int_range(random, -9, 10)) *
                        (1 - pow(10, g_rand_double_range(random, -9, -2)));
        }
        PsTimeScale scale = ps_time_scale(largest_s);
        char text[64];
        double shares[] = {1, g_rand_double(random)};
        for (guint i = 0; i < G_N_ELEMENTS(shares); i++) {
            double shown = largest_s * shares[i] / scale.unit_s;
            g_ascii_formatd(text, sizeof text, scale.format, shown);
            ck_assert_uint_le(strlen(text), largest_s < 999999 ? 6 : 10);
            ck_assert_double_le(fabs(g_ascii_strtod(text, NULL) - shown),
                                MAX(0.0005, 0.0006 * largest_s / scale.unit_s));
        }
    }
    ck_assert_str_eq(ps_time_scale(0.5).unit, "ms");
    ck_assert_str_eq(ps_time_scale(1).unit, "s");
    ck_assert_str_eq(ps_time_scale(0.0005).unit, "us");
}
END_TEST

PS_TEST_MAIN("units", columns_of_times_are_narrow, parses_quantities, refuses_other_quantities,
             parses_counts, parses_numbers, formats_quantities, bounds_are_rounded_up,
             formats_doubles, any_double_reads_back, picoseconds_have_twelve_decimals,
             picoseconds_are_read_exactly, any_picoseconds_read_back,
             seconds_cross_to_the_nearest_picosecond)
