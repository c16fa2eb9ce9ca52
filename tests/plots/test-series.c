#include <math.h>
#include <string.h>
#include "plots/chart.h"
#include "plots/series.h"
#include "plots/stage-list.h"
#include "sim/base/error.h"
#include "tests/harness/harness.h"

static PsDataTable *load(const char *text)
{
    g_autoptr(GError) error = NULL;
    PsDataTable *table = ps_data_table_load(ps_test_file("t.csv", text), &error);
    ps_assert_no_error(error);
    return table;
}

/* Messages begin with the path of a scratch file. */
static void assert_message(GError *error, PsErrorCode code, const char *expected)
{
    ck_assert_ptr_nonnull(error);
    const char *message = strstr(error->message, "t.csv");
    ck_assert_str_eq(message != NULL ? message : error->message, expected);
    ck_assert_int_eq(error->code, code);
}

START_TEST(broken_tables_are_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a,,c\n1,2,3\n", "t.csv:1: column 2 has no name (expected a header)"},
        {"a,b,a\n1,2,3\n", "t.csv:1: column \"a\" appears twice (expected once)"},
        {"a,b\n1,2\n\n3\n", "t.csv:4: the row has 1 field (expected 2)"},
        {"a,b\n1,2,3\n", "t.csv:2: the row has 3 fields (expected 2)"},
        {"a,b\n", "t.csv: there are no rows below the header (expected at least one)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        ck_assert_ptr_null(ps_data_table_load(ps_test_file("t.csv", cases[i].text), &error));
        assert_message(error, PS_ERROR_INPUT, cases[i].message);
    }
}
END_TEST

START_TEST(columns_are_found_without_their_unit)
{
    static const struct {
        const char *name;
        guint column;
    } cases[] = {{"bandwidth", 1}, {"bandwidth_bytes_per_s", 1},
                 {"memory", 2},    {"time", 3},
                 {"devices", 0},   {"rate", 5},
                 {"time_s", 3},    {"rate_s", 4}};
    g_autoptr(PsDataTable) table =
        load("devices,bandwidth_bytes_per_s,memory_bytes,time_s,rate_s,rate,size_s,size_bytes\n"
             "1,2,3,4,5,6,7,8\n");
    g_autoptr(GError) error = NULL;
    guint column;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        ck_assert(ps_data_table_find(table, "x", cases[i].name, &column, &error));
        ck_assert_uint_eq(column, cases[i].column);
    }
    ck_assert(!ps_data_table_find(table, "y", "size", &column, &error));
    ck_assert_int_eq(error->code, PS_ERROR_USAGE);
    ck_assert(g_str_has_prefix(error->message, "--y: 'size' is ambiguous in "));
    ck_assert(g_str_has_suffix(error->message, "t.csv (expected size_s or size_bytes)"));
    g_clear_error(&error);
    ck_assert(!ps_data_table_find(table, "x", "bandwith", &column, &error));
    assert_message(error, PS_ERROR_USAGE,
                   "t.csv has no column 'bandwith' (did you mean bandwidth?)");
    g_clear_error(&error);
    ck_assert(!ps_data_table_find(table, "x", "memroy_bytes", &column, &error));
    assert_message(error, PS_ERROR_USAGE,
                   "t.csv has no column 'memroy_bytes' (did you mean memory_bytes?)");
    g_clear_error(&error);
    ck_assert(!ps_data_table_find(table, "x", "colour", &column, &error));
    assert_message(error, PS_ERROR_USAGE,
                   "t.csv has no column 'colour' (expected devices, bandwidth, memory, time, rate, "
                   "rate, size or size)");
}
END_TEST

START_TEST(titles_and_dimensions_come_from_names)
{
    static const struct {
        const char *column, *title;
        PsDimension dimension;
    } cases[] = {
        {"bandwidth_bytes_per_s", "bandwidth", PS_BYTES_PER_S},
        {"peak_memory_bytes", "peak memory", PS_BYTES},
        {"replayed_tps_s", "replayed TPS", PS_SECONDS},
        {"peak_flop_per_s", "peak", PS_FLOP_PER_S},
        {"devices", "devices", PS_N_DIMENSIONS},
        {"_s", " s", PS_N_DIMENSIONS},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *title = ps_column_title(cases[i].column);
        ck_assert_str_eq(title, cases[i].title);
        ck_assert_int_eq(ps_column_dimension(cases[i].column), cases[i].dimension);
    }
}
END_TEST

static const char sweep[] = "devices,memory_bytes,bandwidth_bytes_per_s,status,tps_s\n"
                            "32,8589934592,25000000000,ok,0.04\n"
                            "32,8589934592,6250000000,infeasible,\n"
                            "32,17179869184,6250000000,ok,0.035\n"
                            "32,17179869184,25000000000,ok,0.03\n"
                            "64,8589934592,25000000000,ok,0.02\n"
                            "64,8589934592,6250000000,infeasible,\n"
                            "64,17179869184,25000000000,ok,0.015\n"
                            "64,17179869184,6250000000,ok,0.0175\n";

START_TEST(other_settings_split_the_lines)
{
    static const char *const labels[] = {"8 GiB, 32 devices", "8 GiB, 64 devices",
                                         "16 GiB, 32 devices", "16 GiB, 64 devices"};
    static const double values[][2] = {{NAN, 0.04}, {NAN, 0.02}, {0.035, 0.03}, {0.0175, 0.015}};
    g_autoptr(PsDataTable) table = load(sweep);
    g_autoptr(GError) error = NULL;
    g_autoptr(PsSeriesSet) set = ps_series_collect(table, 2, 4, 1, &error);
    ps_assert_no_error(error);
    ck_assert_str_eq(set->heading, "memory, devices");
    ck_assert_uint_eq(set->n, G_N_ELEMENTS(labels));
    for (guint i = 0; i < set->n; i++) {
        ck_assert_str_eq(set->series[i].label, labels[i]);
        ck_assert_uint_eq(set->series[i].points->len, 2);
        for (guint j = 0; j < 2; j++) {
            const PsPoint *point = &g_array_index(set->series[i].points, PsPoint, j);
            ck_assert_double_eq(point->x, j == 0 ? 6.25e9 : 25e9);
            ck_assert(point->y == values[i][j] || (isnan(point->y) && isnan(values[i][j])));
        }
    }
    ck_assert_uint_eq(set->n_missing, 2);
    ck_assert_str_eq(set->missing_why, "infeasible");
}
END_TEST

/* A grid of random settings, in random order, with results to the right. The lines are then the
 * combinations of the settings that vary beside x, and no result splits anything. */
START_TEST(lines_are_the_combinations_of_settings)
{
    g_autoptr(GRand) rand =
        g_rand_new_with_seed(ps_test_seed("lines_are_the_combinations_of_settings"));
    for (guint trial = 0; trial < 200; trial++) {
        guint n[4], total = 1;
        for (guint i = 0; i < 4; i++) {
            n[i] = (guint)g_rand_int_range(rand, 1, 5);
            total *= n[i];
        }
        g_autofree guint *order = g_new(guint, total);
        for (guint i = 0; i < total; i++) {
            guint j = (guint)g_rand_int_range(rand, 0, (gint32)i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        g_autoptr(GString) text = g_string_new("a,b,c,d,result,y\n");
        for (guint i = 0; i < total; i++) {
            guint k = order[i];
            g_string_append_printf(text, "%u,%u,%u,%u,%u,%u\n", k % n[0], k / n[0] % n[1],
                                   k / n[0] / n[1] % n[2], k / n[0] / n[1] / n[2], k % 3, k);
        }
        guint x = (guint)g_rand_int_range(rand, 0, 4);
        gint series = g_rand_int_range(rand, -1, 4);
        series = series == (gint)x ? -1 : series;
        g_autoptr(PsDataTable) table = load(text->str);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsSeriesSet) set = ps_series_collect(table, x, 5, series, &error);
        ps_assert_no_error(error);
        ck_assert_uint_eq(set->n, total / n[x]);
        for (guint i = 0; i < set->n; i++) {
            ck_assert_uint_eq(set->series[i].points->len, n[x]);
            for (guint j = 0; j < n[x]; j++) {
                ck_assert_double_eq(g_array_index(set->series[i].points, PsPoint, j).x, j);
            }
        }
    }
}
END_TEST

START_TEST(broken_points_are_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"x,y\n1,2\n,3\n", "t.csv:3: column x: \"\" is not a number (expected a finite decimal)"},
        {"x,y\n1,two\n", "t.csv:2: column y: \"two\" is not a number (expected a finite decimal)"},
        {"x,y\n1,1e200\n",
         "t.csv:2: column y: \"1e200\" cannot be drawn (expected 0 or a size from "
         "1e-100 to 1e100)"},
        {"x,y\n1,\n2,\n", "t.csv: column y is empty in every row (expected at least one number)"},
        {"x,y\n1,2\n2,5\n1,3\n",
         "t.csv:4: the row differs from line 2 in y only (expected one row for each place)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsDataTable) table = load(cases[i].text);
        g_autoptr(GError) error = NULL;
        ck_assert_ptr_null(ps_series_collect(table, 0, 1, -1, &error));
        assert_message(error, PS_ERROR_INPUT, cases[i].message);
    }
}
END_TEST

START_TEST(too_many_lines_are_refused)
{
    g_autoptr(GString) text = g_string_new("run,x,y\n");
    for (guint i = 0; i <= PS_MOST_LINES; i++) {
        g_string_append_printf(text, "%u,1,%u\n", i, i);
    }
    g_autoptr(PsDataTable) table = load(text->str);
    g_autoptr(GError) error = NULL;
    PsChartColumns columns = {"x", "y", NULL};
    ck_assert_ptr_null(ps_chart_draw(table, &columns, PS_CANVAS_SVG, &error));
    assert_message(error, PS_ERROR_INPUT,
                   "t.csv: 25 lines, by run, are too many (expected at most 24)");
}
END_TEST

START_TEST(stage_lists)
{
    static const struct {
        const char *text, *message;
    } broken[] = {
        {"", "\"\": not a whole number (expected a whole number from 0 to 7)"},
        {"1,,2", "\"\": not a whole number (expected a whole number from 0 to 7)"},
        {"1-", "\"\": not a whole number (expected a whole number from 0 to 7)"},
        {"1-2-3", "\"2-3\": not a whole number (expected a whole number from 0 to 7)"},
        {"8", "\"8\": out of range (expected a whole number from 0 to 7)"},
        {"5-3", "\"5-3\" runs backwards (expected 3-5)"},
    };
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(broken); i++) {
        ck_assert_ptr_null(ps_stage_list_parse(broken[i].text, 8, &error));
        ps_assert_error(error, PS_ERROR_USAGE, broken[i].message);
    }
    g_autofree gboolean *stages = ps_stage_list_parse("0-2,7,1", 8, &error);
    ps_assert_no_error(error);
    static const gboolean expected[] = {TRUE, TRUE, TRUE, FALSE, FALSE, FALSE, FALSE, TRUE};
    ck_assert_mem_eq(stages, expected, sizeof expected);
}
END_TEST

PS_TEST_MAIN("series", broken_tables_are_refused, columns_are_found_without_their_unit,
             titles_and_dimensions_come_from_names, other_settings_split_the_lines,
             lines_are_the_combinations_of_settings, broken_points_are_refused,
             too_many_lines_are_refused, stage_lists)
