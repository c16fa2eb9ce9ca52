/* A list of plans as one table, for the modes that answer with several. JSON has each plan whole.
 */
#pragma once

#include "planner/plan-mode.h"

/* One row. The plan must live until the list is printed. */
typedef struct {
    const PsPlan *plan;
    double replayed_tps_s; /* NAN where it was not replayed */
    const char *remark;    /* "" where there is none */
} PsListedPlan;

typedef struct PsPlanList PsPlanList;

/* with_replay: has the replayed TPS and its distance from the estimate. */
PsPlanList *ps_plan_list_new(const PsProfile *profile, gboolean with_replay);
void ps_plan_list_add(PsPlanList *list, const PsListedPlan *plan);
void ps_plan_list_print(const PsPlanList *list, PsFormat format, PsOutput *output);
void ps_plan_list_free(PsPlanList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsPlanList, ps_plan_list_free)
