/* What every search for one profile and setting shares. */
#pragma once

#include "planner/planner.h"
#include "planner/search.h"

typedef struct {
    PsPlannerOptions options;
    PsDownsets *downsets;
    PsCosts *costs;
    PsStageSolver *solver;
} PsPlanning;

/* The downsets of a graph that can be planned exactly; NULL with error (NEGATIVE) where there are
 * too many. */
PsDownsets *ps_planning_downsets(const PsProfile *profile,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The profile must outlive it. options NULL: Piper's search space. NULL with error (NEGATIVE) where
 * the graph has too many downsets. */
PsPlanning *ps_planning_new(const PsProfile *profile, const PsSetting *setting,
                            const PsPlannerOptions *options,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_planning_free(PsPlanning *planning);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsPlanning, ps_planning_free)

/* The best layout, as ps_planner_plan describes it; NULL with error (NEGATIVE) where nothing fits.
 */
PsLayout *ps_planning_best(PsPlanning *planning, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The best nested layout, given that none of any kind is better than `best`; NULL where none fits.
 */
PsLayout *ps_planning_nested(PsPlanning *planning, const PsLayout *best);

/* The n best layouts, or as many as there are: the best one, then by TPS, devices, sum of d,
 * stages, sum of squared loads, and at last by place. All differ in stages or degrees. The list
 * owns them; NULL as above. */
GPtrArray *ps_planning_top(PsPlanning *planning, guint n, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The plan of a layout. */
PsPlan *ps_planning_plan(PsPlanning *planning, const PsLayout *layout);
