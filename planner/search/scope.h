/* What a claim of the planner speaks of. */
#pragma once

#include "planner/search/planner.h"

/* The class of plans that the options leave: "with nested degrees, without recompute"; NULL where
 * they leave all. Caller frees. */
char *ps_scope_text(const PsPlannerOptions *options);

/* Whether a plan is one of them. */
gboolean ps_scope_has(const PsPlannerOptions *options, const PsPlan *plan,
                      const PsProfile *profile);

/* Ends an error that is only true of those. */
#define PS_TAKEN_TOGETHER                                                                          \
    " (all this with layers taken together: the graph has too many downsets to search them "       \
    "all)"

/* Says on standard error that the graph has too many downsets to search them all. */
void ps_scope_note_contracted(void);
