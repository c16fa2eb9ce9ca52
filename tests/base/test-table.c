#include <locale.h>
#include <stdio.h>
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

static void check_printed(PsTable *table, PsFormat format, const char *expected)
{
    const char *path = ps_test_file("out", "");
    g_autoptr(PsOutput) output = ps_output_open(path, NULL);
    ps_table_print(table, format, output);
    ck_assert(ps_output_commit(output, NULL));
    g_autofree char *text = NULL;
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
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

START_TEST(numbers_alone_do_not_wrap)
{
    static const PsColumn numbers[] = {{"a", "a", TRUE}, {"b", "b", TRUE}};
    g_autoptr(PsTable) table = ps_table_new(numbers, G_N_ELEMENTS(numbers));
    g_autofree char *wide = g_strnfill(90, '7');
    ps_table_cell(table, wide, NULL);
    ps_table_int(table, 1);
    g_autofree char *blanks = g_strnfill(89, ' ');
    g_autofree char *expected = g_strdup_printf("%sa  b\n%s  1\n", blanks, wide);
    check_printed(table, PS_FORMAT_TABLE, expected);
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
             wraps_the_last_text_column, numbers_alone_do_not_wrap, no_locale_changes_the_numbers,
             parses_format_names)
