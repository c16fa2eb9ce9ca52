#include <locale.h>
#include <stdio.h>
#include <string.h>
#include "sim/base/error.h"
#include "sim/base/table.h"
#include "tests/harness/harness.h"

static const PsColumn columns[] = {
    {"stage", "stage", TRUE},
    {"kind", "kind", FALSE},
    {"edge_s", "edge", TRUE},
    {"note", "note", FALSE},
};

static PsTable *sample(void)
{
    PsTable *table = ps_table_new(columns, G_N_ELEMENTS(columns));
    ps_table_int(table, 0);
    ps_table_cell(table, "embedding", NULL);
    ps_table_double(table, "%.2f ms", 1.5, 0.0015);
    ps_table_cell(table, "-", "");
    ps_table_int(table, 12);
    ps_table_cell(table, "t\303\252te", NULL);
    ps_table_double(table, "%.1f%%", 100, 1);
    ps_table_cell(table, "a, \"b\"", NULL);
    return table;
}

/* Caller frees. */
static char *printed(PsTable *table, PsFormat format)
{
    static const char *path;
    if (path == NULL) {
        path = ps_test_file("out", "");
    }
    g_autoptr(PsOutput) output = ps_output_open(path, NULL);
    ps_table_print(table, format, output);
    ck_assert(ps_output_commit(output, NULL));
    char *text = NULL;
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

static void check_printed(PsTable *table, PsFormat format, const char *expected)
{
    g_autofree char *text = printed(table, format);
    ck_assert_str_eq(text, expected);
}

START_TEST(prints_for_people)
{
    g_autoptr(PsTable) table = sample();
    check_printed(table, PS_FORMAT_TABLE,
                  "stage  kind          edge  note\n"
                  "    0  embedding  1.50 ms  -\n"
                  "   12  t\303\252te        100.0%  a, \"b\"\n");
}
END_TEST

START_TEST(prints_csv)
{
    g_autoptr(PsTable) table = sample();
    check_printed(table, PS_FORMAT_CSV,
                  "stage,kind,edge_s,note\n"
                  "0,embedding,0.0015,\n"
                  "12,t\303\252te,1,\"a, \"\"b\"\"\"\n");
}
END_TEST

START_TEST(prints_json)
{
    g_autoptr(PsTable) table = sample();
    check_printed(table, PS_FORMAT_JSON,
                  "[\n"
                  "  {\n"
                  "    \"stage\": 0,\n"
                  "    \"kind\": \"embedding\",\n"
                  "    \"edge_s\": 0.0015,\n"
                  "    \"note\": null\n"
                  "  },\n"
                  "  {\n"
                  "    \"stage\": 12,\n"
                  "    \"kind\": \"t\303\252te\",\n"
                  "    \"edge_s\": 1,\n"
                  "    \"note\": \"a, \\\"b\\\"\"\n"
                  "  }\n"
                  "]\n");
}
END_TEST

START_TEST(prints_empty_tables)
{
    g_autoptr(PsTable) table = ps_table_new(columns, G_N_ELEMENTS(columns));
    check_printed(table, PS_FORMAT_TABLE, "stage  kind  edge  note\n");
    check_printed(table, PS_FORMAT_CSV, "stage,kind,edge_s,note\n");
    check_printed(table, PS_FORMAT_JSON, "[]\n");
}
END_TEST

START_TEST(wraps_the_last_text_column)
{
    static const PsColumn wide[] = {{"n", "n", TRUE}, {"text", "text", FALSE}, {"m", "m", TRUE}};
    g_autoptr(PsTable) table = ps_table_new(wide, G_N_ELEMENTS(wide));
    ps_table_int(table, 1);
    /* 80 columns leave 80 - 1 - 2 - 2 - 2 = 73 for the text. */
    ps_table_cell(table,
                  "The stage does not fit: it needs 12 GiB and each device has 8 GiB; with two "
                  "more devices it would.",
                  NULL);
    ps_table_int(table, 22);
    ps_table_int(table, 2);
    g_autofree char *long_word = g_strnfill(80, 'x');
    ps_table_cell(table, long_word, NULL);
    ps_table_int(table, 3);
    check_printed(
        table, PS_FORMAT_TABLE,
        "n  text                                                                        m\n"
        "1  The stage does not fit: it needs 12 GiB and each device has 8 GiB; with    22\n"
        "   two more devices it would.\n"
        "2  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx   3\n"
        "   xxxxxxx\n");
}
END_TEST

/* 30 + 2 + 30 + 2 + 30 = 94 columns; the first one is too wide to be said again. */
START_TEST(too_many_numbers_go_into_several_tables)
{
    static const PsColumn numbers[] = {{"a", "a", TRUE}, {"b", "b", TRUE}, {"c", "c", TRUE}};
    g_autoptr(PsTable) table = ps_table_new(numbers, G_N_ELEMENTS(numbers));
    g_autofree char *digits = g_strnfill(30, '7'), *blanks = g_strnfill(29, ' ');
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
        ps_table_cell(table, digits, NULL);
    }
    g_autofree char *expected = g_strdup_printf("%sa  %sb\n%s  %s\n\n%sc\n%s\n", blanks, blanks,
                                                digits, digits, blanks, digits);
    check_printed(table, PS_FORMAT_TABLE, expected);
    g_autoptr(PsTable) ranked = ps_table_new(numbers, G_N_ELEMENTS(numbers));
    g_autofree char *wide = g_strnfill(50, '7'), *gap = g_strnfill(49, ' ');
    ps_table_int(ranked, 1);
    ps_table_cell(ranked, wide, NULL);
    ps_table_cell(ranked, wide, NULL);
    g_autofree char *twice =
        g_strdup_printf("a  %sb\n1  %s\n\na  %sc\n1  %s\n", gap, wide, gap, wide);
    check_printed(ranked, PS_FORMAT_TABLE, twice);
}
END_TEST

#define MOST_COLUMNS 16

/* A number of up to 20 digits, or words of up to 30 letters; all distinct: `next` is in each. */
static char *random_cell(GRand *random, gboolean numeric, guint *next)
{
    GString *text = g_string_new(NULL);
    if (numeric) {
        g_string_append_printf(text, "%0*u", g_rand_int_range(random, 6, 21), (*next)++);
        return g_string_free(text, FALSE);
    }
    for (gint n = g_rand_int_range(random, 1, 8); n > 0; n--) {
        g_autofree char *letters = g_strnfill((gsize)g_rand_int_range(random, 0, 25), 'x');
        g_string_append_printf(text, "%s%06u%s", text->len > 0 ? " " : "", (*next)++, letters);
    }
    return g_string_free(text, FALSE);
}

static char *without_blanks(const char *text)
{
    GString *rest = g_string_new(NULL);
    for (; *text != '\0'; text++) {
        if (!g_ascii_isspace(*text)) {
            g_string_append_c(rest, *text);
        }
    }
    return g_string_free(rest, FALSE);
}

/* Whatever the columns, no line is wider than 80, and every number stands there whole. */
START_TEST(no_line_is_too_wide)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("no_line_is_too_wide"));
    for (guint round = 0; round < 2000; round++) {
        PsColumn some[MOST_COLUMNS];
        guint n_columns = (guint)g_rand_int_range(random, 1, MOST_COLUMNS + 1);
        guint n_rows = (guint)g_rand_int_range(random, 0, 4), next = 100000;
        for (guint i = 0; i < n_columns; i++) {
            some[i] =
                (PsColumn){"key", i % 2 == 0 ? "heading of it" : "h", g_rand_double(random) < 0.7};
        }
        g_autoptr(PsTable) table = ps_table_new(some, n_columns);
        g_autoptr(GPtrArray) numbers = g_ptr_array_new_with_free_func(g_free);
        for (guint i = 0; i < n_rows * n_columns; i++) {
            gboolean numeric = some[i % n_columns].numeric;
            g_autofree char *cell = random_cell(random, numeric, &next);
            ps_table_cell(table, cell, NULL);
            if (numeric) {
                g_ptr_array_add(numbers, g_steal_pointer(&cell));
            }
        }
        g_autofree char *text = printed(table, PS_FORMAT_TABLE);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line != NULL; line++) {
            ck_assert_uint_le(strlen(*line), PS_TABLE_WIDTH);
        }
        for (guint i = 0; i < numbers->len; i++) {
            ck_assert_ptr_nonnull(strstr(text, numbers->pdata[i]));
        }
    }
}
END_TEST

/* The second of two columns wraps; read downwards it is what it was. */
START_TEST(wrapping_loses_nothing)
{
    static const PsColumn two[] = {{"n", "n", TRUE}, {"text", "text", FALSE}};
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("wrapping_loses_nothing"));
    for (guint round = 0; round < 500; round++) {
        g_autoptr(PsTable) table = ps_table_new(two, G_N_ELEMENTS(two));
        guint next = 100000;
        g_autofree char *number = random_cell(random, TRUE, &next);
        g_autofree char *cell = random_cell(random, FALSE, &next);
        ps_table_cell(table, number, NULL);
        ps_table_cell(table, cell, NULL);
        g_autofree char *text = printed(table, PS_FORMAT_TABLE);
        g_autofree char *whole = g_strconcat("ntext", number, cell, NULL);
        g_autofree char *expected = without_blanks(whole), *found = without_blanks(text);
        ck_assert_str_eq(found, expected);
    }
}
END_TEST

START_TEST(breaks_lists)
{
    static const struct {
        const char *text, *broken;
    } cases[] = {
        {"deadlock: lane 0 waits -> lane 1 waits -> lane 0", NULL},
        {"no list, but longer than a line: a sentence that goes on and on and on, up to its end.",
         NULL},
        {"deadlock: lane 0 (stage 0, replica 0) waits in forward of microbatch 0 -> lane 1 -> "
         "lane 0",
         "deadlock: lane 0 (stage 0, replica 0) waits in forward of microbatch 0 ->\n"
         "  lane 1 ->\n"
         "  lane 0"},
        {"standstill: lane 1 has stopped; lane 1000 (stage 100, replica 10) waits in the gathering "
         "of weights for microbatch 100000 for lane 1; and 3 more",
         "standstill: lane 1 has stopped;\n"
         "  lane 1000 (stage 100, replica 10) waits in the gathering of weights for\n"
         "  microbatch 100000 for lane 1;\n"
         "  and 3 more"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *broken = ps_break_list(cases[i].text);
        ck_assert_str_eq(broken, cases[i].broken != NULL ? cases[i].broken : cases[i].text);
    }
}
END_TEST

START_TEST(no_locale_changes_the_numbers)
{
    static const char *const with_comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    gboolean set = FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(with_comma) && !set; i++) {
        set = setlocale(LC_NUMERIC, with_comma[i]) != NULL;
    }
    if (!set) {
        printf("skipped: no locale with a decimal comma is installed\n");
    }
    g_autoptr(PsTable) table = sample();
    check_printed(table, PS_FORMAT_CSV,
                  "stage,kind,edge_s,note\n"
                  "0,embedding,0.0015,\n"
                  "12,t\303\252te,1,\"a, \"\"b\"\"\"\n");
}
END_TEST

START_TEST(parses_format_names)
{
    static const char *const names[] = {"table", "csv", "json"};
    PsFormat format = PS_FORMAT_TABLE;
    GError *error = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        ck_assert(ps_format_parse(names[i], &format, &error));
        ck_assert_uint_eq(format, i);
    }
    ck_assert(!ps_format_parse("xml", &format, &error));
    ps_assert_error(error, PS_ERROR_USAGE, "unknown format \"xml\" (expected table, csv or json)");
    ck_assert(!ps_format_parse("jsn", &format, &error));
    ps_assert_error(error, PS_ERROR_USAGE, "unknown format \"jsn\" (did you mean json?)");
}
END_TEST

PS_TEST_MAIN("table", prints_for_people, prints_csv, prints_json, prints_empty_tables,
             wraps_the_last_text_column, too_many_numbers_go_into_several_tables,
             no_line_is_too_wide, wrapping_loses_nothing, breaks_lists,
             no_locale_changes_the_numbers, parses_format_names)
