#include "plots/stage-list.h"

#include <string.h>
#include "sim/base/error.h"
#include "sim/base/units.h"

/* "3" or "0-3". */
static gboolean parse_range(const char *text, guint n_stages, guint64 *first, guint64 *last,
                            GError **error)
{
    const char *dash = strchr(text, '-');
    g_autofree char *from = dash != NULL ? g_strndup(text, (gsize)(dash - text)) : g_strdup(text);
    if (!ps_count_parse(from, 0, n_stages - 1, first, error) ||
        !ps_count_parse(dash != NULL ? dash + 1 : from, 0, n_stages - 1, last, error)) {
        return FALSE;
    }
    if (*first > *last) {
        ps_error(error, PS_ERROR_USAGE, "\"%s\" runs backwards (expected %s-%s)", text, dash + 1,
                 from);
        return FALSE;
    }
    return TRUE;
}

gboolean *ps_stage_list_parse(const char *text, guint n_stages, GError **error)
{
    g_autofree gboolean *stages = g_new0(gboolean, n_stages);
    g_auto(GStrv) ranges = g_strsplit(*text != '\0' ? text : ",", ",", -1);
    for (char **range = ranges; *range != NULL; range++) {
        guint64 first, last;
        if (!parse_range(*range, n_stages, &first, &last, error)) {
            return NULL;
        }
        for (guint64 stage = first; stage <= last; stage++) {
            stages[stage] = TRUE;
        }
    }
    return g_steal_pointer(&stages);
}
