/* The grammar of RFC 8259 to the letter. json-glib, which builds the tree, also takes comments,
 * single quotes, hex and octal numbers, "var x = ...;" and infinities, rounds large integers, and
 * recurses without limit; so the text is checked here before it gets there. */
#pragma once

#include <glib.h>

/* text[length] must be NUL. Refuses what is not one JSON value, with "path:line: message (expected
 * ...)". Refused as well, because nothing downstream could hold them: nesting beyond 200 levels,
 * integers beyond 2^53, numbers beyond a double, and NUL in strings. */
gboolean ps_json_scan(const char *path, const char *text, gsize length,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
