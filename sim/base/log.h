/* Messages on standard error, one line each: "pipersim: warning: ...", "pipersim: note: ...".
 * They go through g_log, so that a library user or a test can catch them. */
#pragma once

#include <glib.h>

#define PS_LOG_DOMAIN "pipersim"
void ps_warning(const char *format, ...) G_GNUC_PRINTF(1, 2);
void ps_note(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Installs the plain one-line format for our domain. Called once, by main. */
void ps_log_install(void);
