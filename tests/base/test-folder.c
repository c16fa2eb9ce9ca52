#include <glib/gstdio.h>
#include "sim/base/error.h"
#include "sim/base/folder.h"
#include "tests/harness/harness.h"

static gboolean is_folder(const char *path)
{
    return g_file_test(path, G_FILE_TEST_IS_DIR);
}

START_TEST(makes_folders)
{
    g_autofree char *path = g_build_filename(ps_test_folder(), "a", "b", NULL);
    GError *error = NULL;
    for (guint i = 0; i < 2; i++) { /* the second time it is there */
        g_autoptr(PsFolder) folder = ps_folder_make(path, &error);
        ps_assert_no_error(error);
        ck_assert(is_folder(path));
        ps_folder_keep(folder);
    }
    ck_assert(is_folder(path));
    const char *file = ps_test_file("out", "");
    ck_assert_ptr_null(ps_folder_make(file, &error));
    g_autofree char *expected =
        g_strdup_printf("%s: cannot make the folder: Not a directory", file);
    ps_assert_error(error, PS_ERROR_IO, expected);
}
END_TEST

START_TEST(removes_what_it_made)
{
    const char *place = ps_test_folder();
    g_autofree char *top = g_build_filename(place, "a", NULL);
    g_autofree char *path = g_build_filename(top, "..", "a", "b", "c", NULL);
    ps_folder_free(ps_folder_make(path, NULL));
    ck_assert(!g_file_test(top, G_FILE_TEST_EXISTS));
    ck_assert(is_folder(place));
    /* Not what was there, nor what others have put something into. */
    ck_assert_int_eq(g_mkdir(top, 0777), 0);
    ps_folder_free(ps_folder_make(path, NULL));
    ck_assert(is_folder(top));
    PsFolder *folder = ps_folder_make(path, NULL);
    g_autofree char *middle = g_build_filename(top, "b", NULL);
    g_autofree char *file = g_build_filename(middle, "file", NULL);
    ck_assert(g_file_set_contents(file, "x", -1, NULL));
    ps_folder_free(folder);
    ck_assert(g_file_test(file, G_FILE_TEST_EXISTS));
    g_autofree char *innermost = g_build_filename(middle, "c", NULL);
    ck_assert(!g_file_test(innermost, G_FILE_TEST_EXISTS));
}
END_TEST

/* Those above the one that cannot be made go as well. */
START_TEST(a_failure_leaves_nothing)
{
    const char *place = ps_test_folder();
    g_autofree char *long_name = g_strnfill(300, 'x'); /* file systems allow 255 */
    g_autofree char *top = g_build_filename(place, "a", NULL);
    g_autofree char *path = g_build_filename(top, "b", long_name, NULL);
    GError *error = NULL;
    ck_assert_ptr_null(ps_folder_make(path, &error));
    g_autofree char *expected =
        g_strdup_printf("%s: cannot make the folder: File name too long", path);
    ps_assert_error(error, PS_ERROR_IO, expected);
    ck_assert(!g_file_test(top, G_FILE_TEST_EXISTS));
    ck_assert(is_folder(place));
}
END_TEST

PS_TEST_MAIN("folder", makes_folders, removes_what_it_made, a_failure_leaves_nothing)
