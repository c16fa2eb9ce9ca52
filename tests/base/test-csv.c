#include <math.h>
#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "tests/harness/harness.h"

/* Rows as "line:field|field;" in one text. */
static gboolean join_row(const PsCsvRow *row, gpointer user_data, GError **error)
{
    (void)error;
    GString *text = user_data;
    g_string_append_printf(text, "%u:", row->line);
    for (guint i = 0; i < row->n_fields; i++) {
        g_string_append_printf(text, "%s%s", i > 0 ? "|" : "", row->fields[i]);
    }
    g_string_append_c(text, ';');
    return TRUE;
}

static const char *const ab[] = {"a", "b", NULL};

static void check_rows(const char *file_text, gssize length, const char *const *columns,
                       const char *rows)
{
    const char *path = ps_test_file("t.csv", "");
    g_assert(g_file_set_contents(path, file_text, length, NULL));
    g_autoptr(GString) text = g_string_new(NULL);
    GError *error = NULL;
    gboolean read = ps_csv_read(path, columns, join_row, text, &error);
    ps_assert_no_error(error);
    ck_assert(read);
    ck_assert_str_eq(text->str, rows);
}

/* message without the file's path. */
static void check_refused(const char *file_text, gssize length, const char *const *columns,
                          const char *message)
{
    const char *path = ps_test_file("t.csv", "");
    g_assert(g_file_set_contents(path, file_text, length, NULL));
    g_autoptr(GString) text = g_string_new(NULL);
    GError *error = NULL;
    ck_assert_msg(!ps_csv_read(path, columns, join_row, text, &error), "accepted: %s", file_text);
    g_autofree char *expected = g_strconcat(path, ":", message, NULL);
    ps_assert_error(error, PS_ERROR_INPUT, expected);
}

START_TEST(reads_rows_with_their_lines)
{
    check_rows("a,b\n1,2\n3,4\n", -1, ab, "2:1|2;3:3|4;");
    check_rows("a,b\n1,2", -1, ab, "2:1|2;");
    check_rows("a,b\r\n1,2\r\n3,4\r\n", -1, ab, "2:1|2;3:3|4;");
    check_rows("a,b\n\n\n1,2\n\r\n3,4\n\n", -1, ab, "4:1|2;6:3|4;");
    check_rows("b,a\n1,2\n", -1, ab, "2:2|1;");
    check_rows("\357\273\277a,b\n1,2\n", -1, ab, "2:1|2;");
    check_rows("a,b\n", -1, ab, "");
    check_rows("a,b\n,\n", -1, ab, "2:|;");
    check_rows("a,b\n 1 ,\t2\n", -1, ab, "2: 1 |\t2;");
}
END_TEST

START_TEST(reads_quoted_fields)
{
    check_rows("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n", -1, ab, "2:x,y|say \"hi\";");
    check_rows("a,b\n\"1\n2\",\"3\r\n4\"\n5,6\n", -1, ab, "2:1\n2|3\r\n4;5:5|6;");
    check_rows("\"a\",\"b\"\n\"\",1", -1, ab, "2:|1;");
}
END_TEST

START_TEST(reads_without_a_header)
{
    check_rows("1,2\n3\n4,5,6\n", -1, NULL, "1:1|2;2:3;3:4|5|6;");
}
END_TEST

START_TEST(refuses_wrong_headers)
{
    check_refused("a\n", -1, ab, "1: column \"b\" is missing (expected a,b)");
    check_refused("a,b,a\n", -1, ab, "1: column \"a\" appears twice (expected once)");
    check_refused("a,b,c\n", -1, ab, "1: unknown column \"c\" (expected a or b)");
    static const char *const words[] = {"stage", "replica", NULL};
    check_refused("stage,replca\n", -1, words,
                  "1: unknown column \"replca\" (did you mean "
                  "replica?)");
    check_refused("", -1, ab, " the file is empty (expected a header row)");
    check_refused("\n\n", -1, ab, " the file is empty (expected a header row)");
    check_refused("", -1, NULL, " the file is empty (expected rows)");
    check_refused("\357\273\277", -1, NULL, " the file is empty (expected rows)");
}
END_TEST

START_TEST(refuses_malformed_rows)
{
    check_refused("a,b\n1,2\n3\n", -1, ab, "3: the row has 1 field (expected 2)");
    check_refused("a,b\n1,2,3\n", -1, ab, "2: the row has 3 fields (expected 2)");
    check_refused("a,b\n1,x\"y\n", -1, ab,
                  "2: misplaced quote (expected \"\" for a quote inside a quoted field)");
    check_refused("a,b\n\"1\n\n2\",\"x\"y\n", -1, ab,
                  "4: misplaced quote (expected \"\" for a quote inside a quoted field)");
    check_refused("a,b\n1,2\n3,\"4\n5\n", -1, ab,
                  "3: the file ends inside a quoted field (expected a closing quote)");
    check_refused("a,b\n1,2\n3,\0004\n", 12, ab, "3: NUL byte (expected text)");
    check_refused("a,b\n1,\377\n", -1, ab, "2: field 2 is not valid UTF-8");
}
END_TEST

START_TEST(reports_files_that_cannot_be_read)
{
    GError *error = NULL;
    ck_assert(!ps_csv_read("/nonexistent/t.csv", ab, join_row, NULL, &error));
    ps_assert_error(error, PS_ERROR_IO,
                    "/nonexistent/t.csv: cannot read: No such file or directory");
    ck_assert(!ps_csv_read("/", ab, join_row, NULL, &error));
    ps_assert_error(error, PS_ERROR_IO, "/: cannot read: Is a directory");
}
END_TEST

/* Stops at the second row. */
static gboolean stop_at_two(const PsCsvRow *row, gpointer user_data, GError **error)
{
    guint *n = user_data;
    if (++*n == 2) {
        ps_csv_error(row, "b", error, "is %s", row->fields[1]);
        return FALSE;
    }
    return TRUE;
}

START_TEST(stops_where_the_callback_says_so)
{
    guint n = 0;
    GError *error = NULL;
    const char *path = ps_test_file("t.csv", "a,b\n1,2\n3,4\n5,6\n\"");
    ck_assert(!ps_csv_read(path, ab, stop_at_two, &n, &error));
    g_autofree char *expected = g_strconcat(path, ":3: column b: is 4", NULL);
    ps_assert_error(error, PS_ERROR_INPUT, expected);
    ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(parses_fields)
{
    const char *fields[] = {"1.5e-3", "-7", "0.000000000003"};
    PsCsvRow row = {"t.csv", 9, fields, 3};
    double number;
    gint64 whole, time_ps;
    GError *error = NULL;
    ck_assert(ps_csv_get_double(&row, 0, "x", &number, &error));
    ck_assert(number == 0.0015);
    ck_assert(ps_csv_get_double(&row, 1, "x", &number, &error));
    ck_assert(number == -7);
    ck_assert(ps_csv_get_int(&row, 1, "x", -7, 7, &whole, &error));
    ck_assert_int_eq(whole, -7);
    ck_assert(ps_csv_get_time(&row, 2, "x", &time_ps, &error));
    ck_assert_int_eq(time_ps, 3);
}
END_TEST

START_TEST(refuses_other_fields)
{
    static const char *const not_numbers[] = {"",    " 1",    "1 ",  "inf", "nan",
                                              "0x1", "1e999", "--1", "+1",  "."};
    for (guint i = 0; i < G_N_ELEMENTS(not_numbers); i++) {
        PsCsvRow row = {"t.csv", 9, &not_numbers[i], 1};
        double number = 42;
        GError *error = NULL;
        ck_assert(!ps_csv_get_double(&row, 0, "x", &number, &error));
        g_autofree char *expected =
            g_strdup_printf("t.csv:9: column x: \"%s\" is not a number (expected a finite decimal)",
                            not_numbers[i]);
        ps_assert_error(error, PS_ERROR_INPUT, expected);
        ck_assert(number == 42);
    }
    static const char *const not_whole[] = {"", " 1", "1.0", "1e3", "+1", "-", "0x1"};
    gint64 whole;
    GError *error = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(not_whole); i++) {
        PsCsvRow row = {"t.csv", 9, &not_whole[i], 1};
        ck_assert(!ps_csv_get_int(&row, 0, "x", 0, 8, &whole, &error));
        g_autofree char *expected =
            g_strdup_printf("t.csv:9: column x: \"%s\" is not a whole number (expected a whole "
                            "number from 0 to 8)",
                            not_whole[i]);
        ps_assert_error(error, PS_ERROR_INPUT, expected);
    }
    const char *nine = "9", *huge = "99999999999999999999";
    PsCsvRow row = {"t.csv", 9, &nine, 1}, huge_row = {"t.csv", 9, &huge, 1};
    ck_assert(!ps_csv_get_int(&row, 0, "x", 0, 8, &whole, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "t.csv:9: column x: \"9\" is out of range (expected a "
                    "whole number from 0 to 8)");
    ck_assert(!ps_csv_get_int(&huge_row, 0, "x", 0, G_MAXINT64, &whole, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "t.csv:9: column x: \"99999999999999999999\" is out of range (expected a whole "
                    "number from 0 to 9223372036854775807)");
    ck_assert(!ps_csv_get_time(&huge_row, 0, "x", &whole, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "t.csv:9: column x: \"99999999999999999999\" is not a time (expected seconds "
                    "with at most 12 decimals)");
}
END_TEST

static char *written(const char *path)
{
    char *text;
    g_assert(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

START_TEST(writes_every_kind_of_field)
{
    const char *path = ps_test_file("w.csv", "");
    g_autoptr(PsOutput) output = ps_output_open(path, NULL);
    g_autoptr(PsCsvWriter) writer = ps_csv_writer_new(output);
    ps_csv_text(writer, "plain text");
    ps_csv_text(writer, "a,b");
    ps_csv_text(writer, "say \"hi\"");
    ps_csv_text(writer, "two\nlines");
    ps_csv_text(writer, NULL);
    ps_csv_end_row(writer);
    ps_csv_int(writer, 0);
    ps_csv_int(writer, G_MININT64);
    ps_csv_int(writer, G_MAXINT64);
    ps_csv_double(writer, 0.1);
    ps_csv_double(writer, INFINITY);
    ps_csv_time(writer, G_GINT64_CONSTANT(1000000000001));
    ps_csv_end_row(writer);
    ps_csv_text(writer, "");
    ps_csv_end_row(writer);
    ps_csv_text(writer, "");
    ps_csv_text(writer, "");
    ps_csv_end_row(writer);
    ps_csv_flush(writer);
    ck_assert(ps_output_commit(output, NULL));
    g_autofree char *text = written(path);
    ck_assert_str_eq(text, "plain text,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\n"
                           "0,-9223372036854775808,9223372036854775807,0.1,,1.000000000001\n"
                           "\"\"\n"
                           ",\n");
}
END_TEST

/* All lengths, and the powers of ten where they change. */
START_TEST(whole_numbers_are_what_printf_prints)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("whole_numbers"));
    const char *path = ps_test_file("n.csv", "");
    g_autoptr(PsOutput) output = ps_output_open(path, NULL);
    g_autoptr(PsCsvWriter) writer = ps_csv_writer_new(output);
    g_autoptr(GString) expected = g_string_new(NULL);
    for (gint64 power = 1; power <= G_MAXINT64 / 10; power *= 10) {
        const gint64 values[] = {power - 1,
                                 power,
                                 -power,
                                 power + 1,
                                 (gint64)((double)power * 10 * g_rand_double(random)),
                                 (gint64)(-(double)power * 10 * g_rand_double(random))};
        for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
            ps_csv_int(writer, values[i]);
            ps_csv_end_row(writer);
            g_string_append_printf(expected, "%" G_GINT64_FORMAT "\n", values[i]);
        }
    }
    ps_csv_flush(writer);
    ck_assert(ps_output_commit(output, NULL));
    g_autofree char *text = written(path);
    ck_assert_str_eq(text, expected->str);
}
END_TEST

/* ---- any table reads back -------------------------------------------------------------------- */

static char *random_text(GRand *random)
{
    static const char *const pieces[] = {",", "\"", "\n",       "\r\n", "\r", " ",
                                         "x", "0",  "\303\251", "\t",   "'",  ";"};
    GString *text = g_string_new(NULL);
    for (gint n = g_rand_int_range(random, 0, 8); n > 0; n--) {
        g_string_append(text, pieces[g_rand_int_range(random, 0, G_N_ELEMENTS(pieces))]);
    }
    return g_string_free(text, FALSE);
}

typedef struct {
    GPtrArray *cells;
    guint n_columns, next, line;
} Expected;

static gboolean compare_row(const PsCsvRow *row, gpointer user_data, GError **error)
{
    (void)error;
    Expected *expected = user_data;
    ck_assert_uint_eq(row->n_fields, expected->n_columns);
    ck_assert_uint_eq(row->line, expected->line);
    expected->line++;
    for (guint i = 0; i < row->n_fields; i++) {
        const char *cell = g_ptr_array_index(expected->cells, expected->next++);
        ck_assert_str_eq(row->fields[i], cell);
        for (const char *c = cell; *c != '\0'; c++) {
            expected->line += *c == '\n';
        }
    }
    return TRUE;
}

START_TEST(any_table_reads_back)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("any_table_reads_back"));
    const char *path = ps_test_file("r.csv", "");
    for (int round = 0; round < 300; round++) {
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
        guint n_columns = (guint)g_rand_int_range(random, 1, 6);
        guint n_cells = n_columns * (guint)g_rand_int_range(random, 1, 60);
        g_autoptr(PsOutput) output = ps_output_open(path, NULL);
        g_autoptr(PsDigest) digest = ps_digest_new();
        g_autoptr(PsCsvWriter) writer = ps_csv_writer_new(output);
        ps_output_digest(output, digest);
        for (guint i = 0; i < n_cells; i++) {
            char *cell = random_text(random);
            g_ptr_array_add(cells, cell);
            ps_csv_text(writer, cell);
            if (i % n_columns == n_columns - 1) {
                ps_csv_end_row(writer);
            }
        }
        ps_csv_flush(writer);
        ck_assert(ps_output_commit(output, NULL));
        g_autofree char *text = written(path), *sha256 = ps_digest_finish(digest);
        g_autofree char *of_text = ps_sha256(text, strlen(text));
        ck_assert_str_eq(sha256, of_text);
        Expected expected = {cells, n_columns, 0, 1};
        GError *error = NULL;
        gboolean read = ps_csv_read(path, NULL, compare_row, &expected, &error);
        ps_assert_no_error(error);
        ck_assert(read);
        ck_assert_uint_eq(expected.next, n_cells);
    }
}
END_TEST

/* Rows and quoted fields that straddle the reader's chunks. */
static gboolean add_up(const PsCsvRow *row, gpointer user_data, GError **error)
{
    gint64 *sum = user_data, whole;
    ck_assert_uint_eq(row->line, 2 * (guint)*sum + 1);
    if (!ps_csv_get_int(row, 0, "n", 0, G_MAXINT64, &whole, error)) {
        return FALSE;
    }
    ck_assert_int_eq(whole, *sum);
    ck_assert_str_eq(row->fields[1], "first,\nsecond \"line\"");
    *sum += 1;
    return TRUE;
}

START_TEST(long_files_read_back)
{
    const char *path = ps_test_file("l.csv", "");
    g_autoptr(PsOutput) output = ps_output_open(path, NULL);
    g_autoptr(PsCsvWriter) writer = ps_csv_writer_new(output);
    for (int i = 0; i < 20000; i++) {
        ps_csv_int(writer, i);
        ps_csv_text(writer, "first,\nsecond \"line\"");
        ps_csv_end_row(writer);
    }
    ps_csv_flush(writer);
    ck_assert(ps_output_commit(output, NULL));
    gint64 n = 0;
    GError *error = NULL;
    ck_assert(ps_csv_read(path, NULL, add_up, &n, &error));
    ps_assert_no_error(error);
    ck_assert_int_eq(n, 20000);
}
END_TEST

PS_TEST_MAIN("csv", reads_rows_with_their_lines, reads_quoted_fields, reads_without_a_header,
             refuses_wrong_headers, refuses_malformed_rows, reports_files_that_cannot_be_read,
             stops_where_the_callback_says_so, parses_fields, refuses_other_fields,
             writes_every_kind_of_field, whole_numbers_are_what_printf_prints, any_table_reads_back,
             long_files_read_back)
