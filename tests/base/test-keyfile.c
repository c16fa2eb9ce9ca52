#include "sim/base/error.h"
#include "sim/base/keyfile.h"
#include "tests/harness/harness.h"

static PsKeyFile *parse(const char *text)
{
    GError *error = NULL;
    PsKeyFile *file = ps_key_file_parse("t.topo", text, strlen(text), &error);
    ps_assert_no_error(error);
    return file;
}

static const char cluster[] = "# a cluster\n"
                              "[accelerator]\n"
                              "memory = 80 GiB\n"
                              "  name=A100 SXM  \n"
                              "\n"
                              "[level node]\n"
                              "size = 8\r\n"
                              "bandwidth = 300 GB\n";

START_TEST(reads_values)
{
    g_autoptr(PsKeyFile) file = parse(cluster);
    const char *const *groups = ps_key_file_groups(file);
    ck_assert_str_eq(groups[0], "accelerator");
    ck_assert_str_eq(groups[1], "level node");
    ck_assert_ptr_null(groups[2]);
    ck_assert(ps_key_file_has(file, "level node", "size"));
    ck_assert(!ps_key_file_has(file, "level node", "memory"));
    ck_assert(!ps_key_file_has(file, "nowhere", "memory"));
    ck_assert_uint_eq(ps_key_file_line(file, "accelerator", "memory"), 3);
    ck_assert_uint_eq(ps_key_file_line(file, "level node", "memory"), 0);
    GError *error = NULL;
    double memory = 0;
    guint64 size = 0;
    ck_assert(ps_key_file_quantity(file, "accelerator", "memory", PS_BYTES, &memory, &error));
    ck_assert(memory == 85899345920.0);
    ck_assert(ps_key_file_count(file, "level node", "size", 1, 1000, &size, &error));
    ck_assert_uint_eq(size, 8);
    ck_assert_str_eq(ps_key_file_string(file, "accelerator", "name", &error), "A100 SXM");
    ps_assert_no_error(error);
}
END_TEST

START_TEST(value_errors_have_their_line)
{
    g_autoptr(PsKeyFile) file = parse(cluster);
    GError *error = NULL;
    double value = 42;
    guint64 count = 42;
    ck_assert(
        !ps_key_file_quantity(file, "level node", "bandwidth", PS_BYTES_PER_S, &value, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "t.topo:8: bandwidth: \"300 GB\": \"/s\" is missing after \"GB\" (expected a "
                    "rate with a unit, like 25 GB/s or 200 Gbit/s)");
    ck_assert(!ps_key_file_count(file, "level node", "size", 1, 4, &count, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "t.topo:7: size: \"8\": out of range (expected a whole number from 1 to 4)");
    ck_assert(value == 42 && count == 42);
    ck_assert_ptr_null(ps_key_file_string(file, "level node", "latency", &error));
    ps_assert_error(error, PS_ERROR_INPUT, "t.topo:6: latency: missing in [level node]");
    ck_assert_ptr_null(ps_key_file_string(file, "link", "latency", &error));
    ps_assert_error(error, PS_ERROR_INPUT, "t.topo: latency: missing in [link]");
    ps_key_file_error(file, "accelerator", NULL, &error, "has no %s", "links");
    ps_assert_error(error, PS_ERROR_INPUT, "t.topo:2: group accelerator: has no links");
}
END_TEST

START_TEST(refuses_malformed_files)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.topo: the file is empty (expected a [group])"},
        {"# only a comment\n", "t.topo: the file is empty (expected a [group])"},
        {"a = 1\n", "t.topo:1: key before any group (expected [group] first)"},
        {"[x]\na = 1\n\na = 2\n", "t.topo:4: a appears twice (expected once; first on line 2)"},
        {"[x]\na = 1\n[y]\na = 1\n[x]\nb = 1\n",
         "t.topo:5: [x] appears twice (expected once; first on line 1)"},
        {"[x]\nnonsense\n", "t.topo:2: \"nonsense\" cannot be read (expected [group], key = value "
                            "or # comment)"},
        {"[x]\n= 3\n",
         "t.topo:2: \"= 3\" cannot be read (expected [group], key = value or # comment)"},
        {"[x\na = 1\n",
         "t.topo:1: \"[x\" cannot be read (expected [group], key = value or # comment)"},
        {"[]\n", "t.topo:1: \"[]\" cannot be read (expected [group], key = value or # comment)"},
        {"[x]\na = \377\n", "t.topo:2: not valid text (expected UTF-8 without NUL)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        ck_assert_ptr_null(
            ps_key_file_parse("t.topo", cases[i].text, strlen(cases[i].text), &error));
        ps_assert_error(error, PS_ERROR_INPUT, cases[i].message);
    }
}
END_TEST

/* What our scan takes, GKeyFile reads the same; what GKeyFile alone refuses is an error as well. */
START_TEST(any_text_is_taken_or_refused)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("any_text_is_taken_or_refused"));
    static const char *const pieces[] = {"[",  "]",  "x",  "y",       "=",
                                         "#",  " ",  "\n", "\n[a]\n", "\nk = v\n",
                                         "\\", "\t", "\r", "\303\251"};
    for (int round = 0; round < 5000; round++) {
        g_autoptr(GString) text = g_string_new(NULL);
        for (gint n = g_rand_int_range(random, 1, 12); n > 0; n--) {
            g_string_append(text, pieces[g_rand_int_range(random, 0, G_N_ELEMENTS(pieces))]);
        }
        g_autoptr(GError) error = NULL;
        g_autoptr(PsKeyFile) file = ps_key_file_parse("t.topo", text->str, text->len, &error);
        ck_assert((file == NULL) == (error != NULL));
        if (file != NULL) {
            ck_assert(!ps_key_file_all_used(file, &error));
        }
    }
}
END_TEST

START_TEST(all_used_passes_when_all_is_read)
{
    g_autoptr(PsKeyFile) file = parse("[x]\na = 1\nb = 2\n[y]\na = 3\n");
    GError *error = NULL;
    ck_assert(ps_key_file_string(file, "x", "a", &error) != NULL);
    ck_assert(ps_key_file_string(file, "x", "b", &error) != NULL);
    ck_assert(ps_key_file_string(file, "y", "a", &error) != NULL);
    ck_assert(ps_key_file_all_used(file, &error));
    ps_assert_no_error(error);
}
END_TEST

START_TEST(all_used_refuses_the_rest)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[link]\nlatency = 1\nbandwith = 2\n",
         "t.topo:3: unknown key bandwith (did you mean bandwidth?)"},
        {"[link]\nlatency = 1\ncolour = 2\n",
         "t.topo:3: unknown key colour (expected latency, bandwidth or count)"},
        {"[link]\nlatency = 1\ncount = 2\n", "t.topo:3: count: not used here"},
        {"[link]\nlatency = 1\n[links]\nlatency = 1\n",
         "t.topo:3: unknown group [links] (did you mean link?)"},
        {"[link]\nlatency = 1\n[colour]\n", "t.topo:3: unknown group [colour] (expected link)"},
        {"[link]\n", "t.topo:1: group link: empty (expected keys)"},
        {"[link]\nlatencies = 1\n", "t.topo:2: unknown key latencies (did you mean latency?)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsKeyFile) file = parse(cases[i].text);
        if (ps_key_file_has(file, "link", "latency")) {
            ck_assert(ps_key_file_string(file, "link", "latency", NULL) != NULL);
        }
        ps_key_file_has(file, "link", "bandwidth");
        ps_key_file_has(file, "link", "count");
        GError *error = NULL;
        ck_assert(!ps_key_file_all_used(file, &error));
        ps_assert_error(error, PS_ERROR_INPUT, cases[i].message);
    }
}
END_TEST

START_TEST(takes_a_byte_order_mark)
{
    g_autoptr(PsKeyFile) file = parse("\357\273\277[x]\na = 1\n");
    ck_assert_str_eq(ps_key_file_groups(file)[0], "x");
    ck_assert_str_eq(ps_key_file_string(file, "x", "a", NULL), "1");
}
END_TEST

START_TEST(loads_from_a_file)
{
    const char *path = ps_test_file("t.topo", cluster);
    GError *error = NULL;
    g_autoptr(PsKeyFile) file = ps_key_file_load(path, &error);
    ps_assert_no_error(error);
    ck_assert(ps_key_file_has(file, "accelerator", "memory"));
    ck_assert_ptr_null(ps_key_file_load("/nonexistent/t.topo", &error));
    ps_assert_error(error, PS_ERROR_IO,
                    "/nonexistent/t.topo: cannot read: No such file or directory");
}
END_TEST

PS_TEST_MAIN("keyfile", reads_values, value_errors_have_their_line, refuses_malformed_files,
             any_text_is_taken_or_refused, all_used_passes_when_all_is_read,
             all_used_refuses_the_rest, takes_a_byte_order_mark, loads_from_a_file)
