/* The planner: the plan of least TPS for a profile and a setting (Piper's problem, design section
 * 3), solved exactly. */
#pragma once

#include "planner/search/costs.h"
#include "planner/search/degrees.h"

typedef struct {
    PsDegrees degrees;
    PsRestrictions restrictions;
} PsPlannerOptions;

/* The best plan within the options (NULL: Piper's search space). Of equal TPS a nested one, since
 * only its replay is sure to reach the TPS (with sufficient in-flight bounds all do); then the one
 * with the fewest devices, the least sum of d, the fewest stages, and the least sum of squared
 * stage loads. NULL with error NEGATIVE where no plan fits (the message names the stage that needs
 * most, and the least memory that would do) or where the graph has too many downsets. */
PsPlan *ps_planner_plan(const PsProfile *profile, const PsSetting *setting,
                        const PsPlannerOptions *options, GError **error) G_GNUC_WARN_UNUSED_RESULT;
