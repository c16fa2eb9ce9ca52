/* Lists of flows: CSV files with the columns start_s, source, destination and bytes. */
#pragma once

#include <glib.h>

typedef struct {
    gint64 start_ps;
    guint source, destination; /* devices, distinct */
    double bytes;
    guint line; /* of the file */
} PsFlowRow;

/* In file order, which need not be that of time. Times are rounded to picoseconds. Ranks are below
 * n_devices. NULL with error (INPUT, IO). Caller frees with g_array_unref; elements are
 * PsFlowRow. */
GArray *ps_flow_file_read(const char *path, guint n_devices,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
