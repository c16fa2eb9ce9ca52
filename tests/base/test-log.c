#include <fcntl.h>
#include <unistd.h>
#include "sim/base/error.h"
#include "sim/base/log.h"
#include "sim/base/progress.h"
#include "tests/harness/harness.h"

/* Sends standard error to a file, in this test's own process; returns its path. */
static const char *catch_stderr(void)
{
    const char *path = ps_test_file("stderr", "");
    int target = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_ge(dup2(target, STDERR_FILENO), 0);
    close(target);
    return path;
}

static void check_contents(const char *path, const char *expected)
{
    g_autofree char *text = NULL;
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    ck_assert_str_eq(text, expected);
}

START_TEST(messages_are_single_lines)
{
    const char *path = catch_stderr();
    ps_log_install();
    ps_warning("%d stages, %s", 3, "100% busy");
    ps_note("done");
    check_contents(path, "pipersim: warning: 3 stages, 100% busy\npipersim: note: done\n");
}
END_TEST

static void keep(const char *domain, GLogLevelFlags level, const char *message, gpointer user_data)
{
    ck_assert_str_eq(domain, "pipersim");
    ck_assert_int_eq(level, G_LOG_LEVEL_MESSAGE);
    g_string_append(user_data, message);
}

START_TEST(messages_can_be_caught)
{
    g_autoptr(GString) kept = g_string_new(NULL);
    g_log_set_handler(PS_LOG_DOMAIN, G_LOG_LEVEL_MASK, keep, kept);
    g_log_set_always_fatal(G_LOG_LEVEL_WARNING);
    ps_warning("odd");
    ck_assert_str_eq(kept->str, "warning: odd");
}
END_TEST

START_TEST(errors_name_the_line)
{
    GError *error = NULL;
    ps_error_at(&error, "a.csv", 7, "%d%% of %s", 5, "it");
    ps_assert_error(error, PS_ERROR_INPUT, "a.csv:7: 5% of it");
    ps_error_at(&error, "a%s.csv", 0, "bad");
    ps_assert_error(error, PS_ERROR_INPUT, "a%s.csv: bad");
    ps_error(&error, PS_ERROR_NEGATIVE, "no plan for %u devices", 3u);
    ps_assert_error(error, PS_ERROR_NEGATIVE, "no plan for 3 devices");
    ps_error(NULL, PS_ERROR_USAGE, "nobody listens");
    ps_error_at(NULL, "a", 1, "nobody listens");
}
END_TEST

static gpointer step_often(gpointer progress)
{
    for (int i = 0; i < 10000; i++) {
        ps_progress_step(progress, 1);
    }
    return NULL;
}

START_TEST(no_progress_bar_without_a_terminal)
{
    const char *path = catch_stderr();
    PsProgress *progress = ps_progress_new("planning", 20000);
    GThread *thread = g_thread_new("steps", step_often, progress);
    step_often(progress);
    g_thread_join(thread);
    ps_progress_step(NULL, 1);
    ps_progress_free(progress);
    check_contents(path, "");
}
END_TEST

/* On a pseudo terminal: drawn at most ten times a second, then wiped. */
START_TEST(a_progress_bar_is_drawn_and_wiped)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_eq(grantpt(terminal), 0);
    ck_assert_int_eq(unlockpt(terminal), 0);
    int end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(dup2(end, STDERR_FILENO), 0);
    PsProgress *progress = ps_progress_new("planning", 200);
    g_usleep(G_USEC_PER_SEC / 5);
    for (int i = 0; i < 100; i++) {
        ps_progress_step(progress, i == 0 ? 50 : 1);
    }
    ps_progress_free(progress);
    char text[512] = "";
    ck_assert_int_gt(read(terminal, text, sizeof text - 1), 0);
    ck_assert(g_str_has_prefix(text, "\r\033[Kplanning [#######                       ]  25% "));
    ck_assert(g_str_has_suffix(text, " s left\r\033[K"));
    ck_assert_ptr_null(strstr(text, " 26%"));
}
END_TEST

PS_TEST_MAIN("log", messages_are_single_lines, messages_can_be_caught, errors_name_the_line,
             no_progress_bar_without_a_terminal, a_progress_bar_is_drawn_and_wiped)
