/* Plan, replay and check in one go: what `validate` and `sweep` are made of. */
#pragma once

#include "planner/check/check.h"
#include "planner/search/planner.h"
#include "sim/replay/replay-plan.h"

typedef struct {
    PsPlan *plan;
    PsRun *run;     /* without its records */
    PsCheck *check; /* NULL where the run did not come to its end (see ps_run_result) */
} PsRehearsal;

/* With a folder, plan.json and the run are written there, and the check is made from these files
 * alone; without one it is made from the records in memory. Errors are those of the three steps;
 * that the check does not pass is none, nor is a run that ends early, as it does where somebody
 * interrupts it. Several threads may share the profile. */
PsRehearsal *ps_rehearse(const PsProfile *profile, const PsSetting *setting,
                         const PsPlannerOptions *options, const PsReplaySettings *settings,
                         const char *folder, double tolerance,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_rehearsal_free(PsRehearsal *rehearsal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsRehearsal, ps_rehearsal_free)
