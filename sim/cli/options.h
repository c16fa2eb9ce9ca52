/* Options that several commands share, and the parser all of them use. */
#pragma once

#include <glib.h>
#include "sim/base/table.h"
#include "sim/cli/command.h"

/* Parses argv by the NULL-entry-terminated groups (a NULL-terminated list of entry arrays). Knows
 * --help (prints usage, details, options) and suggests the nearest option for an unknown one.
 * Positional arguments are left in *positional (NULL-terminated, caller frees with g_strfreev),
 * whose number must lie in [min_positional, max_positional]. Returns FALSE with error (USAGE), or
 * with *error untouched where --help was printed. */
gboolean ps_options_parse(const PsCommand *command, const GOptionEntry *const *groups, int argc,
                          char **argv, guint min_positional, guint max_positional,
                          char ***positional, GError **error) G_GNUC_WARN_UNUSED_RESULT;
