/* What every test program shares: a main, seeds, scratch folders and the shared data. */
#pragma once

#include <check.h>
#include <glib.h>

/* Runs the tests of one program under Check; prints its closing line; returns the exit status.
 * Usage, at the end of a test file:
 *     PS_TEST_MAIN("units", parses_sizes, refuses_bare_numbers)                              */
typedef const TTest *PsTest;
int ps_test_main(const char *name, const PsTest *tests, guint n_tests);
#define PS_TEST_MAIN(name, ...)                                                                    \
    int main(void)                                                                                 \
    {                                                                                              \
        const PsTest tests[] = {__VA_ARGS__};                                                      \
        return ps_test_main(name, tests, G_N_ELEMENTS(tests));                                     \
    }

/* Seed of a property test: from PS_SEED, else fixed; printed, so that a failure can be repeated. */
guint32 ps_test_seed(const char *test);

/* Path below ../shared/data, or NULL (with a printed "skipped" line) where it is absent. The
 * result lives as long as the program. */
const char *ps_test_data(const char *relative);

/* A fresh empty folder, removed when the program ends. */
const char *ps_test_folder(void);

/* Writes a file into the scratch folder and returns its path. Lives as long as the program. */
const char *ps_test_file(const char *name, const char *text);

/* Asserts that no error is set, showing its message. */
#define ps_assert_no_error(error)                                                                  \
    ck_assert_msg((error) == NULL, "unexpected error: %s", (error) ? (error)->message : "")
/* Asserts the exact message and code, then clears. */
#define ps_assert_error(error, expected_code, expected_message)                                    \
    do {                                                                                           \
        ck_assert_msg((error) != NULL, "no error; expected: %s", expected_message);                \
        ck_assert_str_eq((error)->message, expected_message);                                      \
        ck_assert_int_eq((error)->code, expected_code);                                            \
        g_clear_error(&(error));                                                                   \
    } while (0)
