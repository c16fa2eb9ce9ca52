#include "planner/planner-options.h"

#include <string.h>

#include "sim/base/error.h"
#include "sim/base/suggest.h"

GOptionEntry *ps_planner_entries(PsPlannerChoices *choices)
{
    const GOptionEntry entries[] = {
        {"degrees", 0, 0, G_OPTION_ARG_STRING, &choices->degrees,
         "Data-parallel degrees (default any)", "any|nested|uniform"},
        {"forbid", 0, 0, G_OPTION_ARG_STRING_ARRAY, &choices->forbid,
         "data-parallel, tensor-parallel or recompute; may be given again", "WHAT"},
        {"recompute", 0, 0, G_OPTION_ARG_STRING, &choices->recompute,
         "per-layer (default), all-or-none, all, none", "HOW"},
        G_OPTION_ENTRY_NULL,
    };
    return g_memdup2(entries, sizeof entries);
}

void ps_planner_choices_clear(PsPlannerChoices *choices)
{
    g_free(choices->degrees);
    g_free(choices->recompute);
    g_strfreev(choices->forbid);
}

/* Index of text among the names; 0 where text is NULL. */
static gboolean choose(const char *option, const char *text, const char *const *names,
                       guint *chosen, GError **error)
{
    *chosen = 0;
    for (guint i = 0; text != NULL && names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0) {
            *chosen = i;
            return TRUE;
        }
    }
    if (text == NULL) {
        return TRUE;
    }
    g_autofree char *hint = ps_suggest_text(text, names);
    ps_error(error, PS_ERROR_USAGE, "--%s: unknown value '%s'%s", option, text, hint);
    return FALSE;
}

static gboolean forbid(const char *what, const PsPlannerChoices *choices, PsPlannerOptions *options,
                       GError **error)
{
    static const char *const names[] = {"data-parallel", "tensor-parallel", "recompute", NULL};
    guint index;
    if (!choose("forbid", what, names, &index, error)) {
        return FALSE;
    }
    if (index == 2 && choices->recompute != NULL &&
        !g_str_equal(choices->recompute, ps_recompute_names[PS_RECOMPUTE_NONE])) {
        ps_error(error, PS_ERROR_USAGE,
                 "--forbid recompute and --recompute %s do not go together (expected one of them)",
                 choices->recompute);
        return FALSE;
    }
    options->restrictions.forbid_data_parallel |= index == 0;
    options->restrictions.forbid_tensor_parallel |= index == 1;
    if (index == 2) {
        options->restrictions.recompute = PS_RECOMPUTE_NONE;
    }
    return TRUE;
}

gboolean ps_planner_choose(const PsPlannerChoices *choices, PsPlannerOptions *options,
                           GError **error)
{
    guint degrees, recompute;
    if (!choose("degrees", choices->degrees, ps_degrees_names, &degrees, error) ||
        !choose("recompute", choices->recompute, ps_recompute_names, &recompute, error)) {
        return FALSE;
    }
    *options = (PsPlannerOptions){.degrees = degrees, .restrictions = {.recompute = recompute}};
    for (char **what = choices->forbid; what != NULL && *what != NULL; what++) {
        if (!forbid(*what, choices, options, error)) {
            return FALSE;
        }
    }
    return TRUE;
}
