#include "sim/coll/rank-list.h"

#include <string.h>

#include "sim/base/error.h"
#include "sim/base/units.h"

/* "3" or "0-7". */
static gboolean parse_range(const char *text, guint n_devices, guint64 *first, guint64 *last,
                            GError **error)
{
    const char *dash = strchr(text, '-');
    g_autofree char *left = dash != NULL ? g_strndup(text, (gsize)(dash - text)) : g_strdup(text);
    if (!ps_count_parse(left, 0, n_devices - 1, first, error) ||
        !ps_count_parse(dash != NULL ? dash + 1 : left, 0, n_devices - 1, last, error)) {
        return FALSE;
    }
    if (*last < *first) {
        ps_error(error, PS_ERROR_USAGE, "\"%s\": runs backwards (expected FIRST-LAST)", text);
        return FALSE;
    }
    return TRUE;
}

GArray *ps_rank_list_parse(const char *text, guint n_devices, GError **error)
{
    g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autofree guint8 *seen = g_malloc0(n_devices);
    g_auto(GStrv) ranges = g_strsplit(text, ",", -1);
    if (ranges[0] == NULL) {
        ps_error(error, PS_ERROR_USAGE, "no rank (expected a list such as 0-7 or 0,2,4)");
        return NULL;
    }
    for (char **range = ranges; *range != NULL; range++) {
        guint64 first, last;
        if (!parse_range(*range, n_devices, &first, &last, error)) {
            return NULL;
        }
        for (guint64 i = first; i <= last; i++) {
            guint rank = (guint)i;
            if (seen[rank]) {
                ps_error(error, PS_ERROR_USAGE, "rank %u comes twice (expected once)", rank);
                return NULL;
            }
            seen[rank] = TRUE;
            g_array_append_val(ranks, rank);
        }
    }
    return g_steal_pointer(&ranks);
}
