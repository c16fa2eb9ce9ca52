#include "sim/base/log.h"

#include <stdio.h>
#include <unistd.h>
#include "sim/base/text.h"

/* Both kinds use the message level, so that G_DEBUG=fatal-warnings stays a tool for real faults. */
G_GNUC_PRINTF(2, 0) static void log_line(const char *kind, const char *format, va_list args)
{
    g_autofree char *message = g_strdup_vprintf(format, args);
    g_autofree char *line = ps_printable(message);
    g_log(PS_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, "%s: %s", kind, line);
}

void ps_warning(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_line("warning", format, args);
    va_end(args);
}

void ps_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_line("note", format, args);
    va_end(args);
}

static void print_line(const char *domain, GLogLevelFlags level, const char *message,
                       gpointer user_data)
{
    (void)level;
    (void)user_data;
    /* On a terminal, wipe what a progress bar may have left on the line. */
    fprintf(stderr, "%s%s: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", domain, message);
}

void ps_log_install(void)
{
    g_log_set_handler(PS_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, print_line, NULL);
}
