/* Errors of the whole program: one GError domain whose codes say what kind of "no" it is.
 *
 * The code is all a caller ever branches on, and it fixes the exit status of the command line:
 * INPUT and IO end with 1, USAGE with 2, NEGATIVE and STUCK with 3. The message is one line, but
 * for the list of a STUCK one, which the command line breaks; where a file is to blame it begins
 * with "file:line: " or "file: JSON path: ". */
#pragma once

#include <glib.h>

#define PS_ERROR (ps_error_quark())

typedef enum {
    PS_ERROR_INPUT,    /* a file or a value in it is wrong */
    PS_ERROR_IO,       /* the system refused to read or write */
    PS_ERROR_USAGE,    /* the command line is wrong */
    PS_ERROR_NEGATIVE, /* it ran, and the answer is no: infeasible, out of tolerance */
    PS_ERROR_STUCK,    /* it ran, and could not go on: a list of who waits for whom */
} PsErrorCode;

GQuark ps_error_quark(void);

/* Sets *error (which may be NULL) to "path:line: message"; line 0 leaves ":line" out. Control
 * characters in what is quoted become text (sim/base/text.h), so that it stays on one line. */
void ps_error_at(GError **error, const char *path, guint line, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* Shorthand for g_set_error in our domain. */
void ps_error(GError **error, PsErrorCode code, const char *format, ...) G_GNUC_PRINTF(3, 4);
