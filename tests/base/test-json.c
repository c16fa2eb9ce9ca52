#include <math.h>
#include "sim/base/error.h"
#include "sim/base/json.h"
#include "tests/harness/harness.h"

static PsJsonReader *parse(const char *text)
{
    GError *error = NULL;
    PsJsonReader *reader = ps_json_parse("t.json", text, strlen(text), &error);
    ps_assert_no_error(error);
    return reader;
}

/* ---- the grammar ----------------------------------------------------------------------------- */

START_TEST(takes_what_rfc_8259_takes)
{
    static const char *const good[] = {
        "{}",
        "[]",
        " \t\r\n[ ] ",
        "1",
        "\"x\"",
        "null",
        "[true,false,null]",
        "[0,-0,1,-1,0.5,-0.5,1e5,1E5,1e+5,1e-5,0e0,1.5e-3]",
        "[9007199254740992,-9007199254740992]",
        "[1e-400]",
        "{\"\":1}",
        "{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"]",
        "[\"\177\"]",
        "[\"//\",\"/*\",\"'\",\"#\"]",
        "[[[[[[[[[[]]]]]]]]]]",
        "\357\273\277[]",
    };
    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autoptr(PsJsonReader) reader = parse(good[i]);
        ck_assert_msg(reader != NULL, "%s", good[i]);
    }
}
END_TEST

START_TEST(refuses_what_rfc_8259_refuses)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "1: the text ends too early (expected a value)"},
        {" \n ", "2: the text ends too early (expected a value)"},
        {"[", "1: the text ends too early (expected a value)"},
        {"[1,]", "1: unexpected ']' (expected a value)"},
        {"[,1]", "1: unexpected ',' (expected a value)"},
        {"[1,,2]", "1: unexpected ',' (expected a value)"},
        {"[1 2]", "1: unexpected '2' (expected ',' or ']')"},
        {"[1}", "1: unexpected '}' (expected ',' or ']')"},
        {"{\"a\":1]", "1: unexpected ']' (expected ',' or '}')"},
        {"{\"a\":1,}", "1: unexpected '}' (expected a string in double quotes)"},
        {"{\"a\"}", "1: unexpected '}' (expected ':' after a key)"},
        {"{\"a\":}", "1: unexpected '}' (expected a value)"},
        {"{a:1}", "1: unexpected 'a' (expected a string in double quotes)"},
        {"{'a':1}", "1: unexpected ''' (expected a string in double quotes)"},
        {"['a']", "1: unexpected ''' (expected a value)"},
        {"{\n\"a\": 1\n} x", "3: unexpected 'x' (expected the end of the text)"},
        {"[]]", "1: unexpected ']' (expected the end of the text)"},
        {"/* x */ []", "1: unexpected '/' (expected a value)"},
        {"[] // x", "1: unexpected '/' (expected the end of the text)"},
        {"[1 /* x */]", "1: unexpected '/' (expected ',' or ']')"},
        {"# x\n[]", "1: unexpected '#' (expected a value)"},
        {"var x = [];", "1: unexpected 'v' (expected a value)"},
        {"[01]", "1: a number begins with 0 (expected no leading zeros)"},
        {"[-01]", "1: a number begins with 0 (expected no leading zeros)"},
        {"[0x10]", "1: unexpected 'x' (expected ',' or ']')"},
        {"[1.]", "1: unexpected ']' (expected a digit)"},
        {"[.5]", "1: unexpected '.' (expected a value)"},
        {"[+1]", "1: unexpected '+' (expected a value)"},
        {"[-]", "1: unexpected ']' (expected a digit)"},
        {"[- 1]", "1: unexpected byte 0x20 (expected a digit)"},
        {"[1e]", "1: unexpected ']' (expected a digit)"},
        {"[1e+-1]", "1: unexpected '-' (expected a digit)"},
        {"[NaN]", "1: unexpected 'N' (expected a value)"},
        {"[Infinity]", "1: unexpected 'I' (expected a value)"},
        {"[-Infinity]", "1: unexpected 'I' (expected a digit)"},
        {"[TRUE]", "1: unexpected 'T' (expected a value)"},
        {"[nul]", "1: unexpected 'n' (expected a value)"},
        {"[nullx]", "1: unexpected 'x' (expected ',' or ']')"},
        {"[1e400]", "1: the number is too large (expected a finite number)"},
        {"[9007199254740994]", "1: the integer is too large (expected at most 9007199254740992)"},
        {"[9007199254740993]", "1: the integer is too large (expected at most 9007199254740992)"},
        {"[123456789012345678901234567890]",
         "1: the integer is too large (expected at most 9007199254740992)"},
        {"[\"a", "1: the text ends too early (expected a closing quote; control characters need "
                 "an escape)"},
        {"[\"a\tb\"]", "1: unexpected byte 0x09 (expected a closing quote; control characters need "
                       "an escape)"},
        {"[\"a\nb\"]", "1: unexpected byte 0x0a (expected a closing quote; control characters need "
                       "an escape)"},
        {"[\"\\x\"]", "1: unexpected 'x' (expected one of \"\\/bfnrtu after a backslash)"},
        {"[\"\\u12g4\"]", "1: bad \\u escape (expected four hex digits of a character other than "
                          "NUL, or a surrogate pair)"},
        {"[\"\\u0000\"]", "1: bad \\u escape (expected four hex digits of a character other than "
                          "NUL, or a surrogate pair)"},
        {"[\"\\ud83d\"]", "1: bad \\u escape (expected four hex digits of a character other than "
                          "NUL, or a surrogate pair)"},
        {"[\"\\ude00\"]", "1: bad \\u escape (expected four hex digits of a character other than "
                          "NUL, or a surrogate pair)"},
        {"[\"\\ud83d\\u0041\"]", "1: bad \\u escape (expected four hex digits of a character other "
                                 "than NUL, or a surrogate pair)"},
        {"[\n\"\377\"]", "2: not valid text (expected UTF-8 without NUL)"},
        {"{\"a\": 1,\n \"b\": 2,\n \"a\": 3}",
         "3: key \"a\" appears twice in an object (expected once)"},
        {"[{\"x\": {\"a\": {}, \"a\": []}}]",
         "1: key \"a\" appears twice in an object (expected once)"},
        {"{\"a\": 1, \"\\u0061\": 2}", "1: key \"a\" appears twice in an object (expected once)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        PsJsonReader *reader =
            ps_json_parse("t.json", cases[i].text, strlen(cases[i].text), &error);
        ck_assert_msg(reader == NULL, "accepted: %s", cases[i].text);
        g_autofree char *expected = g_strconcat("t.json:", cases[i].message, NULL);
        ps_assert_error(error, PS_ERROR_INPUT, expected);
    }
    GError *error = NULL;
    ck_assert(ps_json_parse("t.json", "[1\0]", 4, &error) == NULL);
    ps_assert_error(error, PS_ERROR_INPUT, "t.json:1: not valid text (expected UTF-8 without NUL)");
}
END_TEST

START_TEST(survives_deep_nesting)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 100000; i++) {
        g_string_append_c(text, '[');
    }
    GError *error = NULL;
    ck_assert(ps_json_parse("t.json", text->str, text->len, &error) == NULL);
    ps_assert_error(error, PS_ERROR_INPUT,
                    "t.json:1: nested too deeply (expected at most 200 levels)");
    g_autofree char *open = g_strnfill(200, '['), *close = g_strnfill(200, ']');
    g_autofree char *both = g_strconcat(open, close, NULL);
    g_autoptr(PsJsonReader) reader = parse(both);
    ck_assert(reader != NULL);
}
END_TEST

START_TEST(text_may_be_cut_anywhere)
{
    const char *text = "{\"a\": [1.5e3, \"\\ud83d\\ude00\", true], \"b\": null}";
    for (gsize length = 1; length < strlen(text); length++) {
        g_autofree char *cut = g_memdup2(text, length);
        g_autoptr(GError) error = NULL;
        ck_assert(ps_json_parse("t.json", cut, length, &error) == NULL);
    }
}
END_TEST

/* ---- the reader ------------------------------------------------------------------------------ */

static const char document[] = "{\"name\": \"bert\", \"devices\": 8, \"bandwidth\": 2.5e10,\n"
                               " \"big\": 9007199254740992, \"whole\": 8.0, \"on\": true,\n"
                               " \"none\": null, \"empty\": {}, \"zeta\": 1, \"alpha\": 2,\n"
                               " \"nodes\": [{\"id\": 7, \"odd key\": {\"x\": -1}}, [3, 4]]}";

START_TEST(reads_values)
{
    g_autoptr(PsJsonReader) reader = parse(document);
    ck_assert(ps_json_is_object(reader));
    ck_assert(!ps_json_is_array(reader));
    ck_assert_str_eq(ps_json_string(reader, "name"), "bert");
    ck_assert_int_eq(ps_json_int(reader, "devices", 1, 100), 8);
    ck_assert_int_eq(ps_json_int(reader, "whole", 1, 100), 8);
    ck_assert_int_eq(ps_json_int(reader, "big", G_MININT64, G_MAXINT64),
                     G_GINT64_CONSTANT(9007199254740992));
    ck_assert(ps_json_double(reader, "bandwidth", 0, INFINITY) == 2.5e10);
    ck_assert(ps_json_double(reader, "devices", 8, 8) == 8);
    ck_assert(ps_json_boolean(reader, "on"));
    ck_assert(ps_json_has(reader, "none"));
    ck_assert(!ps_json_has(reader, "nothing"));
    ck_assert_uint_eq(ps_json_size(reader), 11);
    ps_json_enter(reader, "nodes");
    ck_assert(ps_json_is_array(reader));
    ck_assert_uint_eq(ps_json_size(reader), 2);
    ps_json_enter_index(reader, 0);
    ps_json_enter(reader, "odd key");
    ps_json_enter(reader, "x");
    ck_assert(ps_json_double(reader, NULL, -1, 0) == -1);
    ps_json_leave(reader);
    ps_json_leave(reader);
    ck_assert_int_eq(ps_json_int(reader, "id", 0, 9), 7);
    ps_json_leave(reader);
    ps_json_enter_index(reader, 1);
    ps_json_enter_index(reader, 1);
    ck_assert_int_eq(ps_json_int(reader, NULL, 0, 9), 4);
    ps_json_leave(reader);
    ps_json_leave(reader);
    ps_json_leave(reader);
    ck_assert_str_eq(ps_json_string(reader, "name"), "bert");
    GError *error = NULL;
    ck_assert(ps_json_finish(reader, &error));
    ps_assert_no_error(error);
}
END_TEST

/* Numbers in any spelling, among strings and keys that look like numbers. */
START_TEST(numbers_are_spelled_as_in_the_file)
{
    g_autoptr(PsJsonReader) reader =
        parse("{\"1\": -0, \"a\\\\\": \"\\\"2\\\\\", \"b\": [1E+05, \"3\", true, "
              "{\"c 4\": 0.10000000000000000000001}], \"-\": 9007199254740992}");
    ck_assert_str_eq(ps_json_number_text(reader, "-"), "9007199254740992");
    ck_assert_str_eq(ps_json_number_text(reader, "1"), "-0");
    ps_json_enter(reader, "b");
    ps_json_enter_index(reader, 3);
    ck_assert_str_eq(ps_json_number_text(reader, "c 4"), "0.10000000000000000000001");
    ps_json_leave(reader);
    ps_json_enter_index(reader, 0);
    ck_assert_str_eq(ps_json_number_text(reader, NULL), "1E+05");
    ps_json_leave(reader);
    ps_json_enter_index(reader, 1);
    ck_assert_str_eq(ps_json_number_text(reader, NULL), "");
    GError *error = NULL;
    ck_assert(!ps_json_finish(reader, &error));
    ps_assert_error(error, PS_ERROR_INPUT, "t.json: $.b[1]: is a string (expected a number)");
}
END_TEST

START_TEST(keys_come_in_file_order)
{
    g_autoptr(PsJsonReader) reader = parse("{\"z\": 1, \"a\": {\"y\": 1, \"b\": 2}, \"m\": 3}");
    ck_assert_str_eq(ps_json_key(reader, 0), "z");
    ck_assert_str_eq(ps_json_key(reader, 2), "m");
    ck_assert_str_eq(ps_json_key(reader, 1), "a");
    ps_json_enter(reader, "a");
    ck_assert_str_eq(ps_json_key(reader, 0), "y");
    ck_assert_str_eq(ps_json_key(reader, 1), "b");
    ps_json_leave(reader);
    ck_assert_str_eq(ps_json_key(reader, 1), "a");
}
END_TEST

static void get_double_at_least_0(PsJsonReader *reader)
{
    ps_json_enter(reader, "nodes");
    ps_json_enter_index(reader, 0);
    ps_json_enter(reader, "odd key");
    ps_json_double(reader, "x", 0, INFINITY);
}
static void get_double_range(PsJsonReader *reader)
{
    ps_json_double(reader, "bandwidth", 0, 1.5);
}
static void get_double_positive(PsJsonReader *reader)
{
    ps_json_double(reader, "name", G_MINDOUBLE, INFINITY);
}
static void get_double_positive_to(PsJsonReader *reader)
{
    ps_json_double(reader, "none", G_MINDOUBLE, 1);
}
static void get_double_at_most(PsJsonReader *reader)
{
    ps_json_double(reader, "empty", -INFINITY, 1);
}
static void get_double_any(PsJsonReader *reader)
{
    ps_json_double(reader, "nodes", -INFINITY, INFINITY);
}
static void get_missing_double(PsJsonReader *reader)
{
    ps_json_enter(reader, "nodes");
    ps_json_enter_index(reader, 0);
    ps_json_double(reader, "time", 0, INFINITY);
}
static void get_int_fraction(PsJsonReader *reader)
{
    ps_json_int(reader, "bandwidth", 1, 1000);
}
static void get_int_any(PsJsonReader *reader)
{
    ps_json_int(reader, "on", G_MININT64, G_MAXINT64);
}
static void get_boolean(PsJsonReader *reader)
{
    ps_json_boolean(reader, "devices");
}
static void get_string(PsJsonReader *reader)
{
    ps_json_enter(reader, "nodes");
    ps_json_enter_index(reader, 1);
    ps_json_enter_index(reader, 0);
    ps_json_string(reader, NULL);
}
static void enter_missing(PsJsonReader *reader)
{
    ps_json_enter(reader, "nodez");
}
static void enter_index_too_large(PsJsonReader *reader)
{
    ps_json_enter(reader, "nodes");
    ps_json_enter_index(reader, 2);
}
static void enter_index_of_object(PsJsonReader *reader)
{
    ps_json_enter_index(reader, 2);
}
static void size_of_scalar(PsJsonReader *reader)
{
    ps_json_enter(reader, "devices");
    ps_json_size(reader);
}
static void expect_object(PsJsonReader *reader)
{
    ps_json_enter(reader, "nodes");
    ps_json_expect_object(reader);
}
static void expect_array(PsJsonReader *reader)
{
    ps_json_expect_array(reader);
}
static void expect_keys(PsJsonReader *reader)
{
    static const char *const keys[] = {"name", "device", NULL};
    ps_json_expect_keys(reader, keys);
}
static void expect_keys_far(PsJsonReader *reader)
{
    static const char *const keys[] = {"id", "time", NULL};
    ps_json_enter(reader, "nodes");
    ps_json_enter_index(reader, 0);
    ps_json_expect_keys(reader, keys);
}
static void fail_by_hand(PsJsonReader *reader)
{
    ps_json_fail(reader, "devices", "is %d too many (expected %s)", 3, "fewer");
}

START_TEST(errors_name_the_place)
{
    static const struct {
        void (*ask)(PsJsonReader *);
        const char *message;
    } cases[] = {
        {get_double_at_least_0,
         "$.nodes[0][\"odd key\"].x: is -1 (expected a number of at least 0)"},
        {get_double_range, "$.bandwidth: is 25000000000 (expected a number from 0 to 1.5)"},
        {get_double_positive, "$.name: is a string (expected a number above 0)"},
        {get_double_positive_to, "$.none: is null (expected a number above 0 and at most 1)"},
        {get_double_at_most, "$.empty: is an object (expected a number of at most 1)"},
        {get_double_any, "$.nodes: is an array (expected a number)"},
        {get_missing_double, "$.nodes[0].time: is missing (expected a number of at least 0)"},
        {get_int_fraction, "$.bandwidth: is 25000000000 (expected a whole number from 1 to 1000)"},
        {get_int_any, "$.on: is true (expected a whole number)"},
        {get_boolean, "$.devices: is 8 (expected true or false)"},
        {get_string, "$.nodes[1][0]: is 3 (expected a string)"},
        {enter_missing, "$.nodez: is missing (expected a value)"},
        {enter_index_too_large, "$.nodes: has 2 elements (expected at least 3)"},
        {enter_index_of_object, "$: is an object (expected an array)"},
        {size_of_scalar, "$.devices: is 8 (expected an array)"},
        {expect_object, "$.nodes: is an array (expected an object)"},
        {expect_array, "$: is an object (expected an array)"},
        {expect_keys, "$.devices: unknown key (did you mean device?)"},
        {expect_keys_far, "$.nodes[0][\"odd key\"]: unknown key (expected id or time)"},
        {fail_by_hand, "$.devices: is 3 too many (expected fewer)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsJsonReader) reader = parse(document);
        cases[i].ask(reader);
        ck_assert(ps_json_failed(reader));
        GError *error = NULL;
        ck_assert(!ps_json_finish(reader, &error));
        g_autofree char *expected = g_strconcat("t.json: ", cases[i].message, NULL);
        ps_assert_error(error, PS_ERROR_INPUT, expected);
    }
}
END_TEST

START_TEST(the_first_error_stays)
{
    g_autoptr(PsJsonReader) reader = parse(document);
    ps_json_enter(reader, "missing");
    ps_json_enter(reader, "deeper");
    ps_json_enter_index(reader, 3);
    ck_assert_uint_eq(ps_json_size(reader), 0);
    ck_assert_str_eq(ps_json_key(reader, 0), "");
    ck_assert_str_eq(ps_json_string(reader, "name"), "");
    ck_assert(ps_json_double(reader, "x", 1, 2) == 0);
    ck_assert_int_eq(ps_json_int(reader, NULL, 1, 2), 0);
    ck_assert(!ps_json_boolean(reader, "on"));
    ck_assert(!ps_json_has(reader, "name"));
    ck_assert(!ps_json_is_object(reader));
    ps_json_leave(reader);
    ps_json_leave(reader);
    ps_json_leave(reader);
    /* Back at a good place, but still in error. */
    ck_assert_str_eq(ps_json_string(reader, "name"), "");
    ck_assert_uint_eq(ps_json_size(reader), 0);
    ps_json_fail(reader, NULL, "another");
    GError *error = NULL;
    ck_assert(!ps_json_finish(reader, &error));
    ps_assert_error(error, PS_ERROR_INPUT, "t.json: $.missing: is missing (expected a value)");
}
END_TEST

/* ---- the writer ------------------------------------------------------------------------------ */

static char *contents(const char *path)
{
    char *text;
    g_assert(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

START_TEST(writes_documents)
{
    const char *path = ps_test_file("w.json", "");
    g_autoptr(PsOutput) output = ps_output_open(path, NULL);
    PsJsonWriter *writer = ps_json_writer_new(output);
    ps_json_begin_object(writer, NULL);
    ps_json_put_string(writer, "text", "say \"hi\"\\\n\001\303\251\377");
    ps_json_put_string(writer, "nothing", NULL);
    ps_json_put_double(writer, "tenth", 0.1);
    ps_json_put_double(writer, "nan", NAN);
    ps_json_put_int(writer, "count", -3);
    ps_json_put_boolean(writer, "on", TRUE);
    ps_json_begin_array(writer, "flat");
    ps_json_put_int(writer, NULL, 1);
    ps_json_put_int(writer, NULL, 2);
    ps_json_end_array(writer);
    ps_json_begin_array(writer, "deep");
    ps_json_begin_object(writer, NULL);
    ps_json_put_boolean(writer, "a", FALSE);
    ps_json_end_object(writer);
    ps_json_begin_array(writer, NULL);
    ps_json_end_array(writer);
    ps_json_end_array(writer);
    ps_json_begin_object(writer, "empty");
    ps_json_end_object(writer);
    ps_json_end_object(writer);
    ps_json_writer_free(writer);
    ck_assert(ps_output_commit(output, NULL));
    g_autofree char *text = contents(path);
    ck_assert_str_eq(text, "{\n"
                           "  \"text\": \"say \\\"hi\\\"\\\\\\u000a\\u0001\303\251\357\277\275\",\n"
                           "  \"nothing\": null,\n"
                           "  \"tenth\": 0.1,\n"
                           "  \"nan\": null,\n"
                           "  \"count\": -3,\n"
                           "  \"on\": true,\n"
                           "  \"flat\": [1, 2],\n"
                           "  \"deep\": [\n"
                           "    {\n"
                           "      \"a\": false\n"
                           "    },\n"
                           "    []\n"
                           "  ],\n"
                           "  \"empty\": {}\n"
                           "}\n");
}
END_TEST

/* ---- any document reads back ----------------------------------------------------------------- */

static double random_double(GRand *random)
{
    return ldexp(g_rand_double_range(random, -1, 1), g_rand_int_range(random, -900, 900));
}

/* More digits than a double holds. */
static char *random_number_text(GRand *random)
{
    return g_strdup_printf("%u.%06u%06u", g_rand_int(random), g_rand_int_range(random, 0, 1000000),
                           g_rand_int_range(random, 0, 1000000));
}

static char *random_text(GRand *random)
{
    static const char *const pieces[] = {
        "\"", "\\", "\n", "\001", "/", "a", "\303\251", "\360\237\230\200", "{", "u0000"};
    GString *text = g_string_new(NULL);
    for (gint n = g_rand_int_range(random, 0, 8); n > 0; n--) {
        g_string_append(text, pieces[g_rand_int_range(random, 0, G_N_ELEMENTS(pieces))]);
    }
    return g_string_free(text, FALSE);
}

/* Unlike any other key of the same object. */
static char *random_key(GRand *random, guint index)
{
    g_autofree char *text = random_text(random);
    return g_strdup_printf("%s%u", text, index);
}

static void write_value(PsJsonWriter *writer, const char *key, GRand *random, int depth)
{
    int kind = g_rand_int_range(random, -1, depth > 0 ? 6 : 4);
    g_autofree char *text = random_text(random);
    if (kind == -1) {
        g_autofree char *number = random_number_text(random);
        ps_json_put_number_text(writer, key, number);
    } else if (kind == 0) {
        ps_json_put_string(writer, key, text);
    } else if (kind == 1) {
        ps_json_put_double(writer, key, random_double(random));
    } else if (kind == 2) {
        ps_json_put_int(writer, key, g_rand_int_range(random, G_MININT32, G_MAXINT32));
    } else if (kind == 3) {
        ps_json_put_boolean(writer, key, g_rand_boolean(random));
    } else {
        guint size = (guint)g_rand_int_range(random, 0, 5);
        (kind == 4 ? ps_json_begin_array : ps_json_begin_object)(writer, key);
        for (guint i = 0; i < size; i++) {
            g_autofree char *name = random_key(random, i);
            write_value(writer, kind == 4 ? NULL : name, random, depth - 1);
        }
        (kind == 4 ? ps_json_end_array : ps_json_end_object)(writer);
    }
}

/* Draws the same numbers as write_value did, and compares. */
static void compare_value(PsJsonReader *reader, GRand *random, int depth)
{
    int kind = g_rand_int_range(random, -1, depth > 0 ? 6 : 4);
    g_autofree char *text = random_text(random);
    if (kind == -1) {
        g_autofree char *number = random_number_text(random);
        ck_assert_str_eq(ps_json_number_text(reader, NULL), number);
    } else if (kind == 0) {
        ck_assert_str_eq(ps_json_string(reader, NULL), text);
    } else if (kind == 1) {
        ck_assert(ps_json_double(reader, NULL, -INFINITY, INFINITY) == random_double(random));
    } else if (kind == 2) {
        ck_assert_int_eq(ps_json_int(reader, NULL, G_MININT64, G_MAXINT64),
                         g_rand_int_range(random, G_MININT32, G_MAXINT32));
    } else if (kind == 3) {
        ck_assert_int_eq(ps_json_boolean(reader, NULL), g_rand_boolean(random));
    } else {
        guint size = (guint)g_rand_int_range(random, 0, 5);
        ck_assert_int_eq(ps_json_is_array(reader), kind == 4);
        ck_assert_uint_eq(ps_json_size(reader), size);
        for (guint i = 0; i < size; i++) {
            g_autofree char *name = random_key(random, i);
            if (kind == 4) {
                ps_json_enter_index(reader, i);
            } else {
                ck_assert_str_eq(ps_json_key(reader, i), name);
                ps_json_enter(reader, name);
            }
            compare_value(reader, random, depth - 1);
            ps_json_leave(reader);
        }
    }
}

static char *random_document(guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    static const char *path;
    path = path != NULL ? path : ps_test_file("r.json", "");
    g_autoptr(PsOutput) output = ps_output_open(path, NULL);
    PsJsonWriter *writer = ps_json_writer_new(output);
    write_value(writer, NULL, random, 5);
    ps_json_writer_free(writer);
    g_assert(ps_output_commit(output, NULL));
    return contents(path);
}

START_TEST(any_document_reads_back)
{
    guint32 seed = ps_test_seed("any_document_reads_back");
    for (guint32 round = 0; round < 500; round++) {
        g_autofree char *text = random_document(seed + round);
        g_autoptr(PsJsonReader) reader = parse(text);
        g_autoptr(GRand) random = g_rand_new_with_seed(seed + round);
        compare_value(reader, random, 5);
        GError *error = NULL;
        ck_assert(ps_json_finish(reader, &error));
        ps_assert_no_error(error);
    }
}
END_TEST

/* What our grammar takes, json-glib must take too: then every message is one of ours. */
START_TEST(damaged_documents_get_our_messages)
{
    guint32 seed = ps_test_seed("damaged_documents_get_our_messages");
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    static const char bytes[] = "{}[]\",:\\/*'0123456789.eE+-ntfu \n\377x";
    for (guint32 round = 0; round < 3000; round++) {
        g_autofree char *text = random_document(seed + round % 300);
        gsize length = strlen(text);
        for (int i = g_rand_int_range(random, 1, 4); i > 0; i--) {
            text[g_rand_int_range(random, 0, (gint)length)] =
                bytes[g_rand_int_range(random, 0, sizeof bytes - 1)];
        }
        g_autoptr(GError) error = NULL;
        g_autoptr(PsJsonReader) reader = ps_json_parse("t.json", text, length, &error);
        ck_assert((reader == NULL) == (error != NULL));
        ck_assert_msg(error == NULL || strstr(error->message, " (expected ") != NULL, "%s: %s",
                      error != NULL ? error->message : "", text);
    }
}
END_TEST

START_TEST(reads_the_published_profiles)
{
    static const char *const names[] = {"profiles/bert32-a100.json", "profiles/gnmt.json"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        const char *path = ps_test_data(names[i]);
        if (path == NULL) {
            continue;
        }
        gsize length;
        GError *error = NULL;
        g_autofree char *text = ps_read_file(path, &length, &error);
        ps_assert_no_error(error);
        g_autoptr(PsJsonReader) reader = ps_json_parse(path, text, length, &error);
        ps_assert_no_error(error);
        ps_json_enter(reader, "nodes");
        ck_assert_uint_gt(ps_json_size(reader), 10);
        ck_assert(!ps_json_failed(reader));
    }
}
END_TEST

PS_TEST_MAIN("json", takes_what_rfc_8259_takes, refuses_what_rfc_8259_refuses,
             survives_deep_nesting, text_may_be_cut_anywhere, reads_values,
             numbers_are_spelled_as_in_the_file, keys_come_in_file_order, errors_name_the_place,
             the_first_error_stays, writes_documents, any_document_reads_back,
             damaged_documents_get_our_messages, reads_the_published_profiles)
