/* Lists of ranks as people write them: "0-7", "0,2,4", "0-3,8-11". */
#pragma once

#include <glib.h>

/* In the order written. NULL with error (USAGE) for what is no list, a rank that comes twice or is
 * not below n_devices. Caller frees with g_array_unref; elements are guint. */
GArray *ps_rank_list_parse(const char *text, guint n_devices,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
