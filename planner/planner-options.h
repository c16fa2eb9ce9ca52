/* The options that restrict what the planner may choose: --degrees, --forbid, --recompute. */
#pragma once

#include "planner/search/planner.h"

typedef struct {
    char *degrees, *recompute;
    char **forbid; /* may be given several times */
} PsPlannerChoices;

/* Entries that fill `choices`, for ps_options_parse. Caller frees with g_free. */
GOptionEntry *ps_planner_entries(PsPlannerChoices *choices);
void ps_planner_choices_clear(PsPlannerChoices *choices);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PsPlannerChoices, ps_planner_choices_clear)

/* Turns texts into options; unknown values are refused (USAGE), as is what contradicts itself. */
gboolean ps_planner_choose(const PsPlannerChoices *choices, PsPlannerOptions *options,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
