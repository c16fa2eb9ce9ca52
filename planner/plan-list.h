/* A list of plans as one table, for the modes that answer with several. */
#pragma once

#include "planner/plan-mode.h"

/* One row. */
typedef struct {
    const PsPlan *plan;
    double replayed_tps_s; /* NAN where it was not replayed */
    const char *remark;    /* "" where there is none */
} PsListedPlan;

typedef struct PsPlanList PsPlanList;

/* with_replay: has columns for the replayed TPS and its distance from the estimate. */
PsPlanList *ps_plan_list_new(const PsProfile *profile, PsFormat format, gboolean with_replay);
void ps_plan_list_add(PsPlanList *list, const PsListedPlan *plan);
/* Prints the rows so far. */
void ps_plan_list_print(const PsPlanList *list, PsOutput *output);
void ps_plan_list_free(PsPlanList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsPlanList, ps_plan_list_free)
