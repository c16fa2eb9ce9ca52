#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <glib/gstdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sim/base/error.h"
#include "sim/base/output.h"
#include "tests/harness/harness.h"

static void check_contents(const char *path, const char *expected)
{
    gsize length;
    GError *error = NULL;
    g_autofree char *text = ps_read_file(path, &length, &error);
    ps_assert_no_error(error);
    ck_assert_uint_eq(length, strlen(expected));
    ck_assert_str_eq(text, expected);
}

static guint count_files(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    guint n = 0;
    while (g_dir_read_name(dir) != NULL) {
        n++;
    }
    return n;
}

START_TEST(appears_at_commit)
{
    const char *folder = ps_test_folder();
    g_autofree char *path = g_build_filename(folder, "out", NULL);
    GError *error = NULL;
    g_autoptr(PsOutput) output = ps_output_open(path, &error);
    ps_assert_no_error(error);
    ps_output_puts(output, "one ");
    ps_output_write(output, "two three", 3);
    ps_output_printf(output, " %d%%\n", 3);
    ck_assert(!g_file_test(path, G_FILE_TEST_EXISTS));
    ck_assert(ps_output_commit(output, &error));
    ps_assert_no_error(error);
    check_contents(path, "one two 3%\n");
    ck_assert_uint_eq(count_files(folder), 1);
}
END_TEST

START_TEST(honours_the_umask)
{
    g_autofree char *path = g_build_filename(ps_test_folder(), "out", NULL);
    mode_t mask = umask(027);
    g_autoptr(PsOutput) output = ps_output_open(path, NULL);
    umask(mask);
    ck_assert(ps_output_commit(output, NULL));
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0640);
}
END_TEST

START_TEST(without_commit_nothing_changes)
{
    const char *path = ps_test_file("out", "old");
    g_autofree char *folder = g_path_get_dirname(path);
    PsOutput *output = ps_output_open(path, NULL);
    ps_output_puts(output, "new");
    ps_output_free(output);
    check_contents(path, "old");
    ck_assert_uint_eq(count_files(folder), 1);
}
END_TEST

START_TEST(replaces_the_file_behind_a_link)
{
    const char *path = ps_test_file("out", "old");
    g_autofree char *link = g_build_filename(ps_test_folder(), "link", NULL);
    ck_assert_int_eq(symlink(path, link), 0);
    g_autoptr(PsOutput) output = ps_output_open(link, NULL);
    ps_output_puts(output, "new");
    ck_assert(ps_output_commit(output, NULL));
    check_contents(path, "new");
    ck_assert(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
}
END_TEST

START_TEST(refuses_what_cannot_be_written)
{
    GError *error = NULL;
    ck_assert_ptr_null(ps_output_open("/nonexistent/out", &error));
    ps_assert_error(error, PS_ERROR_IO,
                    "/nonexistent/out: cannot write: No such file or directory");
    ck_assert_ptr_null(ps_output_open("/", &error));
    ps_assert_error(error, PS_ERROR_IO, "/: cannot write: Is a directory");
    ck_assert_ptr_null(ps_output_open("", &error));
    ps_assert_error(error, PS_ERROR_IO, ": cannot write: No such file or directory");
}
END_TEST

START_TEST(refuses_write_protected_folders)
{
    const char *folder = ps_test_folder();
    g_autofree char *path = g_build_filename(folder, "out", NULL);
    ck_assert_int_eq(g_chmod(folder, 0555), 0);
    uid_t user = geteuid();
    if (user == 0) { /* root may write anywhere */
        ck_assert_int_eq(seteuid(65534), 0);
    }
    GError *error = NULL;
    PsOutput *output = ps_output_open(path, &error);
    ck_assert_int_eq(seteuid(user), 0);
    prctl(PR_SET_DUMPABLE, 1); /* lost with the change of user, and needed by the leak checker */
    ck_assert_ptr_null(output);
    g_autofree char *expected = g_strdup_printf("%s: cannot write: Permission denied", path);
    ps_assert_error(error, PS_ERROR_IO, expected);
}
END_TEST

START_TEST(a_full_device_is_reported)
{
    for (int big = 0; big < 2; big++) {
        GError *error = NULL;
        g_autoptr(PsOutput) output = ps_output_open("/dev/full", &error);
        ps_assert_no_error(error);
        for (int i = 0; i < (big ? 100000 : 1); i++) {
            ps_output_puts(output, "0123456789");
        }
        ck_assert(!ps_output_commit(output, &error));
        ps_assert_error(error, PS_ERROR_IO, "/dev/full: cannot write: No space left on device");
    }
}
END_TEST

START_TEST(writes_straight_to_devices)
{
    g_autoptr(PsOutput) output = ps_output_open("/dev/null", NULL);
    ps_output_puts(output, "gone");
    ck_assert(ps_output_commit(output, NULL));
    ck_assert(!g_file_test("/dev/null", G_FILE_TEST_IS_REGULAR));
}
END_TEST

START_TEST(writes_straight_to_pipes)
{
    g_autofree char *path = g_build_filename(ps_test_folder(), "pipe", NULL);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    g_autoptr(PsOutput) output = ps_output_open(path, NULL);
    ps_output_puts(output, "through");
    ck_assert(ps_output_commit(output, NULL));
    char text[16] = "";
    ck_assert_int_eq(read(reader, text, sizeof text - 1), 7);
    ck_assert_str_eq(text, "through");
    close(reader);
}
END_TEST

/* Standard output goes where the path says, in this test's own process. */
static void redirect(const char *path)
{
    int target = open(path, O_WRONLY | O_TRUNC);
    fflush(stdout);
    ck_assert_int_ge(dup2(target, STDOUT_FILENO), 0);
    close(target);
}

START_TEST(dash_is_standard_output)
{
    const char *path = ps_test_file("out", "");
    redirect(path);
    GError *error = NULL;
    g_autoptr(PsOutput) output = ps_output_open("-", &error);
    ps_output_puts(output, "results\n");
    ck_assert(ps_output_commit(output, &error));
    ps_assert_no_error(error);
    check_contents(path, "results\n");
}
END_TEST

START_TEST(full_standard_output_is_reported)
{
    redirect("/dev/full");
    GError *error = NULL;
    g_autoptr(PsOutput) output = ps_output_open("-", &error);
    ps_output_puts(output, "results\n");
    ck_assert(!ps_output_commit(output, &error));
    ps_assert_error(error, PS_ERROR_IO, "-: cannot write: No space left on device");
}
END_TEST

START_TEST(a_closed_pipe_is_reported)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    fflush(stdout);
    ck_assert_int_ge(dup2(ends[1], STDOUT_FILENO), 0);
    GError *error = NULL;
    g_autoptr(PsOutput) output = ps_output_open("-", &error);
    ps_output_puts(output, "results\n");
    ck_assert(!ps_output_commit(output, &error));
    ps_assert_error(error, PS_ERROR_IO, "-: cannot write: Broken pipe");
}
END_TEST

/* What is settled is on the disk, but not there yet. */
START_TEST(files_appear_together)
{
    const char *folder = ps_test_folder();
    static const char *const names[] = {"one", "two"};
    PsOutput *outputs[2];
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < 2; i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        outputs[i] = ps_output_open(path, &error);
        ps_output_puts(outputs[i], names[i]);
        ck_assert(ps_output_settle(outputs[i], &error));
        ps_assert_no_error(error);
        ck_assert(!g_file_test(path, G_FILE_TEST_EXISTS));
    }
    for (guint i = 0; i < 2; i++) {
        ck_assert(ps_output_settle(outputs[i], &error)); /* again: nothing new */
        ck_assert(ps_output_commit(outputs[i], &error));
        ps_assert_no_error(error);
        ps_output_free(outputs[i]);
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        check_contents(path, names[i]);
    }
    /* A failure is told by whoever asks. */
    g_autoptr(PsOutput) full = ps_output_open("/dev/full", &error);
    ps_output_puts(full, "no room");
    for (guint i = 0; i < 2; i++) {
        ck_assert(!(i == 0 ? ps_output_settle(full, &error) : ps_output_commit(full, &error)));
        ps_assert_error(error, PS_ERROR_IO, "/dev/full: cannot write: No space left on device");
    }
}
END_TEST

START_TEST(reads_whole_files)
{
    GError *error = NULL;
    gsize length = 0;
    g_autofree char *big = g_strnfill(300000, 'x');
    check_contents(ps_test_file("big", big), big);
    check_contents(ps_test_file("empty", ""), "");
    check_contents("/proc/self/comm", "test-output\n");
    ck_assert_ptr_null(ps_read_file("/nonexistent", &length, &error));
    ps_assert_error(error, PS_ERROR_IO, "/nonexistent: cannot read: No such file or directory");
    ck_assert_ptr_null(ps_read_file("/", &length, &error));
    ps_assert_error(error, PS_ERROR_IO, "/: cannot read: Is a directory");
}
END_TEST

START_TEST(hashes)
{
    /* FIPS 180-2, appendix B.1. */
    g_autofree char *abc = ps_sha256("abc", 3);
    ck_assert_str_eq(abc, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

PS_TEST_MAIN("output", appears_at_commit, honours_the_umask, without_commit_nothing_changes,
             replaces_the_file_behind_a_link, refuses_what_cannot_be_written,
             refuses_write_protected_folders, a_full_device_is_reported, writes_straight_to_devices,
             writes_straight_to_pipes, dash_is_standard_output, full_standard_output_is_reported,
             a_closed_pipe_is_reported, files_appear_together, reads_whole_files, hashes)
