/* Lists of stages as people write them: "0-3,7". */
#pragma once

#include <glib.h>

/* [n_stages], TRUE for those in the list; NULL with error (USAGE) for anything else than ascending
 * ranges of stages below n_stages. Caller frees. */
gboolean *ps_stage_list_parse(const char *text, guint n_stages,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
