/* Text for people. */
#pragma once

#include <glib.h>

/* "1 device", "2 devices", "0 batches". Caller frees. */
char *ps_counted(guint64 n, const char *noun);

/* The text on one line: control characters, which would move a terminal's cursor or do worse, as
 * \n, \t or \x1b. Caller frees. */
char *ps_printable(const char *text);
