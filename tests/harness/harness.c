#include "tests/harness/harness.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>

static char *scratch;

/* Strings handed to tests live as long as the program, in a place that leak checkers can see. */
static const char *keep(char *text)
{
    static GPtrArray *kept;
    if (kept == NULL) {
        kept = g_ptr_array_new();
    }
    g_ptr_array_add(kept, text);
    return text;
}

static void remove_tree(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        remove_tree(child);
    }
    g_remove(path);
}

const char *ps_test_folder(void)
{
    if (scratch == NULL) {
        scratch = g_dir_make_tmp("pipersim-test-XXXXXX", NULL);
        g_assert(scratch != NULL);
        return scratch;
    }
    /* Later ones live inside the first, which is removed at the end. */
    char *nested = g_build_filename(scratch, "XXXXXX", NULL);
    g_assert(g_mkdtemp(nested) != NULL);
    return keep(nested);
}

const char *ps_test_file(const char *name, const char *text)
{
    char *path = g_build_filename(ps_test_folder(), name, NULL);
    g_assert(g_file_set_contents(path, text, -1, NULL));
    return keep(path);
}

guint32 ps_test_seed(const char *test)
{
    const char *given = g_getenv("PS_SEED");
    guint32 seed = given != NULL ? (guint32)strtoul(given, NULL, 10) : 20211206u;
    printf("%s: seed %u\n", test, seed);
    return seed;
}

const char *ps_test_data(const char *relative)
{
    char *path = g_build_filename("..", "shared", "data", relative, NULL);
    if (g_file_test(path, G_FILE_TEST_EXISTS)) {
        return keep(path);
    }
    printf("skipped: ../shared/data/%s is not here\n", relative);
    g_free(path);
    return NULL;
}

int ps_test_main(const char *name, const PsTest *tests, guint n_tests)
{
    Suite *suite = suite_create(name);
    for (guint i = 0; i < n_tests; i++) {
        TCase *tcase = tcase_create(tests[i]->name);
        tcase_set_timeout(tcase, 120);
        tcase_add_test(tcase, tests[i]);
        suite_add_tcase(suite, tcase);
    }
    SRunner *runner = srunner_create(suite);
    /* Created before the tests fork, so that all of them share it and it can be removed. */
    ps_test_folder();
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    remove_tree(scratch);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
