/* What `plan` can do beside printing the best plan: one file plan-<name>.c and one row in
 * plan-modes.def for each. A mode is chosen by an option of its name; at most one is given. */
#pragma once

#include "planner/search/planner.h"
#include "sim/base/table.h"

/* What the command line asked for. */
typedef struct {
    const PsProfile *profile;
    PsSetting setting;
    PsPlannerOptions options;
    PsFormat format;
    const char *path;     /* of -o, or NULL */
    const char *argument; /* of the mode's option, or NULL where it takes none */
    const char *tps;      /* of --tps, or NULL; only the objective "devices" has a use for it */
    gpointer input;       /* of the mode's `prepare` */
    GDestroyNotify free_input;
} PsPlanRequest;

typedef struct {
    const char *option;   /* long name: "compare" */
    const char *argument; /* what --help calls its argument; NULL: a flag */
    const char *help;
    /* May be NULL. Called before the options are applied to the setting, which it may change: a
     * mode that reads a plan takes the plan's. May leave what it read in request->input. */
    gboolean (*prepare)(PsPlanRequest *request, GError **error);
    gboolean (*run)(const PsPlanRequest *request, GError **error);
} PsPlanMode;

/* Prints the plan to standard output in the request's format, and writes it to the request's path
 * where there is one. claim: what is proven of it, for people. */
gboolean ps_plan_deliver(const PsPlanRequest *request, const PsPlan *plan, const char *claim,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Writes the plan to the request's path, if there is one. */
gboolean ps_plan_save_if_asked(const PsPlanRequest *request, const PsPlan *plan,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
