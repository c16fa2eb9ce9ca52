/* What `plan` can do beside printing the best plan: one file plan-<name>.c and one row in
 * plan-modes.def for each. A mode is chosen by an option of its name; at most one is given. */
#pragma once

#include "planner/planner.h"
#include "sim/base/table.h"

/* What the command line asked for. */
typedef struct {
    const PsProfile *profile;
    PsSetting setting;
    PsPlannerOptions options;
    PsFormat format;
    const char *path;     /* of -o, or NULL */
    const char *argument; /* of the mode's option, or NULL where it takes none */
} PsPlanRequest;

typedef struct {
    const char *option;   /* long name: "compare" */
    const char *argument; /* what --help calls its argument; NULL: a flag */
    const char *help;
    gboolean (*run)(const PsPlanRequest *request, GError **error);
} PsPlanMode;

/* Prints the plan to standard output in the request's format, and writes it to the request's path
 * where there is one. */
gboolean ps_plan_deliver(const PsPlanRequest *request, const PsPlan *plan,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
