#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sim/base/folder.h"
#include "sim/base/interrupt.h"
#include "sim/base/output.h"
#include "tests/harness/harness.h"

static const int all_signals[] = {SIGINT, SIGTERM, SIGHUP};

static void take_signals(gpointer unused)
{
    (void)unused;
    for (guint i = 0; i < G_N_ELEMENTS(all_signals); i++) {
        signal(all_signals[i], SIG_DFL);
    }
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

/* Runs func in a child with the handlers installed; returns its wait status. */
static int status_of(void (*func)(const char *folder), const char *folder)
{
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        take_signals(NULL);
        ps_interrupt_install();
        func(folder);
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static PsOutput *open_output(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    PsOutput *output = ps_output_open(path, NULL);
    ps_output_puts(output, "half a file");
    return output;
}

static int dies_by; /* set before the child is made */

static void die_with_outputs(const char *folder)
{
    (void)open_output(folder, "one");
    (void)open_output(folder, "two");
    PsOutput *done = open_output(folder, "done");
    PsOutput *dropped = open_output(folder, "dropped");
    if (!ps_output_commit(done, NULL) || count_files(folder) != 4) {
        _exit(1);
    }
    ps_output_free(done);
    ps_output_free(dropped);
    raise(dies_by);
}

START_TEST(a_signal_removes_what_is_under_way)
{
    for (guint i = 0; i < G_N_ELEMENTS(all_signals); i++) {
        const char *folder = ps_test_folder();
        dies_by = all_signals[i];
        int status = status_of(die_with_outputs, folder);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == dies_by);
        ck_assert_uint_eq(count_files(folder), 1); /* done */
    }
}
END_TEST

/* Two folders made for outputs, one of which is finished; the second signal comes while it is held
 * off. */
static void die_with_folders(const char *folder)
{
    g_autofree char *deep = g_build_filename(folder, "a", "b", NULL);
    g_autofree char *kept = g_build_filename(folder, "c", "d", NULL);
    PsFolder *unfinished = ps_folder_make(deep, NULL);
    PsFolder *finished = ps_folder_make(kept, NULL);
    (void)open_output(deep, "one");
    PsOutput *done = open_output(kept, "done");
    if (unfinished == NULL || finished == NULL || !ps_output_commit(done, NULL)) {
        _exit(1);
    }
    ps_folder_keep(finished);
    ps_output_free(done);
    ps_folder_free(finished);
    ps_interrupt_hold();
    raise(dies_by);
    g_usleep(G_USEC_PER_SEC / 2);
    raise(SIGTERM);
}

START_TEST(a_signal_removes_empty_folders)
{
    for (guint i = 0; i < G_N_ELEMENTS(all_signals); i++) {
        const char *folder = ps_test_folder();
        dies_by = all_signals[i];
        int status = status_of(die_with_folders, folder);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        ck_assert_uint_eq(count_files(folder), 1); /* c */
        g_autofree char *done = g_build_filename(folder, "c", "d", "done", NULL);
        ck_assert(g_file_test(done, G_FILE_TEST_EXISTS));
    }
}
END_TEST

static gpointer open_and_commit(gpointer folder)
{
    for (guint i = 0;; i++) {
        g_autofree char *name = g_strdup_printf("%p-%u", (gpointer)g_thread_self(), i % 3);
        PsOutput *output = open_output(folder, name);
        gboolean fine = i % 2 == 1 || ps_output_commit(output, NULL);
        ps_output_free(output);
        if (!fine) {
            _exit(1);
        }
    }
    return NULL;
}

static void die_among_threads(const char *folder)
{
    for (guint i = 0; i < 4; i++) {
        g_thread_unref(g_thread_new("writer", open_and_commit, (gpointer)folder));
    }
    g_usleep(G_USEC_PER_SEC / 20);
    kill(getpid(), SIGTERM);
    pause();
}

/* Whole files stay, temporary ones (their names begin with a dot) do not. */
START_TEST(threads_leave_no_files)
{
    const char *folder = ps_test_folder();
    int status = status_of(die_among_threads, folder);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    guint n_whole = 0, n_temporary = 0;
    for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir)) {
        if (*name != '.') {
            g_autofree char *path = g_build_filename(folder, name, NULL);
            gsize length;
            g_autofree char *text = ps_read_file(path, &length, NULL);
            ck_assert_str_eq(text, "half a file");
            n_whole++;
        } else {
            n_temporary++;
        }
    }
    ck_assert_uint_gt(n_whole, 0);
    ck_assert_uint_eq(n_temporary, 0);
}
END_TEST

static void hold_off(const char *folder)
{
    gboolean right = !ps_interrupt_requested();
    ps_interrupt_hold();
    ps_interrupt_hold();
    right = right && !ps_interrupt_requested();
    raise(SIGTERM);
    raise(SIGTERM); /* the same wish, sent twice */
    right = right && ps_interrupt_requested();
    ps_interrupt_release(FALSE); /* not the last */
    ps_interrupt_release(TRUE);
    right = right && ps_interrupt_requested(); /* for whoever ends the run */
    ps_interrupt_hold();
    right = right && !ps_interrupt_requested();
    ps_interrupt_release(FALSE); /* nothing came */
    (void)folder;
    _exit(right ? 42 : 1);
}

static void hang_up_twice(const char *folder)
{
    (void)open_output(folder, "held");
    ps_interrupt_hold();
    raise(SIGHUP);
    g_usleep(G_USEC_PER_SEC / 2);
    raise(SIGHUP); /* the shell's, after the terminal's */
    _exit(ps_interrupt_requested() && count_files(folder) == 1 ? 42 : 1);
}

static void signal_twice(const char *folder)
{
    (void)open_output(folder, "held");
    ps_interrupt_hold();
    raise(SIGTERM);
    g_usleep(G_USEC_PER_SEC / 2);
    raise(SIGINT);
}

static void signal_after_release(const char *folder)
{
    (void)folder;
    ps_interrupt_hold();
    ps_interrupt_release(TRUE);
    raise(SIGINT);
}

/* Nobody has heeded it when there is nothing left that could end early. */
static void signal_unanswered(const char *folder)
{
    (void)open_output(folder, "held");
    ps_interrupt_hold();
    raise(dies_by);
    ps_interrupt_release(FALSE);
}

START_TEST(a_held_signal_sets_a_flag)
{
    const char *folder = ps_test_folder();
    int status = status_of(hold_off, folder);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    status = status_of(hang_up_twice, ps_test_folder());
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    status = status_of(signal_twice, folder);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    ck_assert_uint_eq(count_files(folder), 0);
    status = status_of(signal_after_release, folder);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    for (guint i = 0; i < G_N_ELEMENTS(all_signals); i++) {
        dies_by = all_signals[i];
        status = status_of(signal_unanswered, folder);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == dies_by);
        ck_assert_uint_eq(count_files(folder), 0);
    }
}
END_TEST

static void signal_while_ignored(const char *folder)
{
    (void)folder;
    for (guint i = 0; i < G_N_ELEMENTS(all_signals); i++) {
        signal(all_signals[i], SIG_IGN);
    }
    ps_interrupt_install();
    for (guint i = 0; i < G_N_ELEMENTS(all_signals); i++) {
        raise(all_signals[i]);
    }
    _exit(42);
}

/* As nohup and shells without job control start programs. */
START_TEST(an_ignored_signal_stays_ignored)
{
    int status = status_of(signal_while_ignored, "");
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}
END_TEST

/* More than the table holds: the rest is written all the same. */
static void open_many(const char *folder)
{
    for (guint i = 0; i < 300; i++) {
        g_autofree char *name = g_strdup_printf("%u", i);
        PsOutput *output = open_output(folder, name);
        if (i % 100 == 99 && !ps_output_commit(output, NULL)) {
            _exit(1);
        }
    }
    _exit(42);
}

START_TEST(many_files_find_no_place)
{
    const char *folder = ps_test_folder();
    int status = status_of(open_many, folder);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    g_autofree char *last = g_build_filename(folder, "299", NULL);
    ck_assert(g_file_test(last, G_FILE_TEST_EXISTS));
}
END_TEST

/* ---- from the command line ------------------------------------------------------------------ */

static gboolean has_temporary_file(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name = NULL;
    do {
        name = dir != NULL ? g_dir_read_name(dir) : NULL;
    } while (name != NULL && *name != '.');
    return name != NULL;
}

static GPid start_command(const char *const *arguments)
{
    const char *program = g_getenv("PIPERSIM");
    ck_assert_msg(program != NULL, "PIPERSIM is not set");
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_ptr_array_add(argv, (gpointer)program);
    for (; *arguments != NULL; arguments++) {
        g_ptr_array_add(argv, (gpointer)*arguments);
    }
    g_ptr_array_add(argv, NULL);
    g_autoptr(GError) error = NULL;
    GPid pid;
    g_spawn_async(NULL, (char **)argv->pdata, NULL,
                  G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL |
                      G_SPAWN_STDERR_TO_DEV_NULL,
                  take_signals, NULL, &pid, &error);
    ps_assert_no_error(error);
    return pid;
}

static int end_of_command(GPid pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

/* Starts pipersim, waits for a temporary file in `folder` and then some time longer, sends the
 * signal; then there is no such file. Returns the status. */
static int interrupt_command(const char *const *arguments, const char *folder, gulong later_us,
                             int number)
{
    GPid pid = start_command(arguments);
    for (guint i = 0; i < 10000 && !has_temporary_file(folder); i++) {
        g_usleep(G_USEC_PER_SEC / 1000);
    }
    ck_assert(has_temporary_file(folder));
    g_usleep(later_us);
    kill(pid, number);
    int status = end_of_command(pid);
    ck_assert(!has_temporary_file(folder));
    return status;
}

static void check_partial(const char *run, int status)
{
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    g_autofree char *summary = g_build_filename(run, "summary.json", NULL);
    g_autofree char *text = NULL;
    ck_assert(g_file_get_contents(summary, &text, NULL, NULL));
    ck_assert_ptr_nonnull(strstr(text, "\"partial\": true"));
}

/* It ends early, and its folder says so. */
START_TEST(a_replay_leaves_a_partial_run)
{
    for (guint i = 0; i < G_N_ELEMENTS(all_signals); i++) {
        g_autofree char *run = g_build_filename(ps_test_folder(), "run", NULL);
        const char *const replay[] = {
            "replay", "--synthetic", "stages=64 microbatches=1000000 forward=1ms backward=2ms",
            "-o",     run,           NULL};
        check_partial(run, interrupt_command(replay, run, 0, all_signals[i]));
    }
}
END_TEST

/* With its plan, of which it is a run. */
START_TEST(a_validation_leaves_a_partial_run)
{
    g_autofree char *run = g_build_filename(ps_test_folder(), "run", NULL);
    const char *const validate[] = {"validate",
                                    "planner/profiles/gpt3-13b-a100.json",
                                    "--microbatches",
                                    "1000000",
                                    "--start",
                                    "cold",
                                    "-o",
                                    run,
                                    NULL};
    check_partial(run, interrupt_command(validate, run, 0, SIGINT));
    g_autofree char *plan = g_build_filename(run, "plan.json", NULL);
    const char *const replay[] = {"replay", plan, "--microbatches", "40", NULL};
    int status = end_of_command(start_command(replay));
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

/* Some thousandths of a second after the replay, in a check that takes a second: the
 * command dies at once, and plan and run are whole. */
START_TEST(a_check_dies_by_a_signal)
{
    g_autofree char *run = g_build_filename(ps_test_folder(), "run", NULL);
    g_autofree char *plan = g_build_filename(run, "plan.json", NULL);
    const char *const validate[] = {"validate",
                                    "planner/profiles/gpt3-13b-a100.json",
                                    "--microbatches",
                                    "20000",
                                    "--start",
                                    "cold",
                                    "-o",
                                    run,
                                    NULL};
    for (guint i = 0; i < G_N_ELEMENTS(all_signals); i++) {
        GPid pid = start_command(validate);
        for (guint ms = 0; ms < 60000 && !g_file_test(plan, G_FILE_TEST_EXISTS); ms++) {
            g_usleep(G_USEC_PER_SEC / 1000);
        }
        g_usleep(G_USEC_PER_SEC / 200);
        kill(pid, all_signals[i]);
        int status = end_of_command(pid);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == all_signals[i]);
        ck_assert(!has_temporary_file(run));
        const char *const check[] = {"check", plan, run, "--tolerance", "100%", NULL};
        status = end_of_command(start_command(check));
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        ck_assert_int_eq(g_unlink(plan), 0);
    }
}
END_TEST

#define SWEPT_PROFILE "planner/profiles/gpt3-13b-a100.json"

static void sweep_memory(const char *memory, const char *path, const char *run_arguments[9])
{
    const char *const sweep[] = {"sweep", SWEPT_PROFILE, "--memory", memory, "--threads",
                                 "3",     "-o",          path,       NULL};
    memcpy(run_arguments, sweep, sizeof sweep);
}

/* The values of --memory that the rows of a sweep are of. */
static char *memory_of_rows(const char *text, guint *n_rows)
{
    enum { MEMORY_COLUMN = 3 };
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GString *list = g_string_new(NULL);
    for (*n_rows = 0; *lines[*n_rows + 1] != '\0'; ++*n_rows) {
        g_auto(GStrv) fields = g_strsplit(lines[*n_rows + 1], ",", -1);
        g_string_append_printf(list, "%s%s B", *n_rows > 0 ? "," : "", fields[MEMORY_COLUMN]);
    }
    return g_string_free(list, FALSE);
}

/* Some thousand points on several threads, interrupted after a while: what is written is what a
 * sweep of these points alone writes. FALSE where none was done yet. */
static gboolean interrupt_sweep(gulong later_us)
{
    g_autoptr(GString) memory = g_string_new("40GiB");
    const guint n_points = 10000;
    for (guint i = 1; i < n_points; i++) {
        g_string_append_printf(memory, ",%uMiB", 40960 + i);
    }
    const char *folder = ps_test_folder(), *arguments[9];
    g_autofree char *path = g_build_filename(folder, "sweep.csv", NULL);
    sweep_memory(memory->str, path, arguments);
    int status = interrupt_command(arguments, folder, later_us, SIGINT);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    g_autofree char *text = NULL, *again = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        ck_assert_uint_eq(count_files(folder), 0);
        return FALSE;
    }
    guint n_rows;
    g_autofree char *done = memory_of_rows(text, &n_rows);
    ck_assert_uint_gt(n_rows, 0);
    ck_assert_uint_lt(n_rows, n_points);
    sweep_memory(done, path, arguments);
    status = end_of_command(start_command(arguments));
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(g_file_get_contents(path, &again, NULL, NULL));
    ck_assert_str_eq(text, again);
    return TRUE;
}

START_TEST(a_sweep_keeps_the_rows_that_are_done)
{
    gulong later_us = 20000;
    (void)interrupt_sweep(0);
    while (!interrupt_sweep(later_us)) {
        later_us *= 2;
        ck_assert_uint_lt(later_us, 20 * G_USEC_PER_SEC);
    }
}
END_TEST

PS_TEST_MAIN("interrupt", a_signal_removes_what_is_under_way, a_signal_removes_empty_folders,
             threads_leave_no_files, a_held_signal_sets_a_flag, an_ignored_signal_stays_ignored,
             many_files_find_no_place, a_replay_leaves_a_partial_run,
             a_validation_leaves_a_partial_run, a_check_dies_by_a_signal,
             a_sweep_keeps_the_rows_that_are_done)
