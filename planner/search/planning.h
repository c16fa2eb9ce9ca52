/* What every search for one profile and setting shares. */
#pragma once

#include "planner/search/planner.h"
#include "planner/search/least.h"

typedef struct {
    PsPlannerOptions options;
    gboolean exact; /* all downsets are searched */
    PsDownsets *downsets;
    PsCosts *costs;
    PsStageSolver *solver;
    PsRest *rest;
    PsSearch *searches[PS_N_DEGREES]; /* made when first asked for */
} PsPlanning;

/* All downsets of the graph, or where there are more than PS_MOST_DOWNSETS those of a contracted
 * one
 * (*exact is FALSE then): plans are as valid, but others may be better. */
#define PS_MOST_DOWNSETS 20000 /* tables grow with the square */
PsDownsets *ps_planning_downsets(const PsProfile *profile, gboolean *exact);

/* The profile must outlive it. options NULL: Piper's search space. */
PsPlanning *ps_planning_new(const PsProfile *profile, const PsSetting *setting,
                            const PsPlannerOptions *options);
void ps_planning_free(PsPlanning *planning);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsPlanning, ps_planning_free)

/* A search in it, on the setting's devices. Belongs to the planning, which uses it as well: what
 * was set of it lasts until the next call of anything here. */
PsSearch *ps_planning_search(PsPlanning *planning, PsDegrees degrees);

/* The best layout on so many devices, at most the setting's; NULL where none fits. `floor` (may be
 * NULL) is a load that the caller knows none to be below. */
PsLayout *ps_planning_best_on(PsPlanning *planning, guint devices, const PsThreshold *floor);

/* The best one on all of them, as ps_planner_plan describes it; NULL with error (NEGATIVE) where
 * nothing fits.
 */
PsLayout *ps_planning_best(PsPlanning *planning, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The best nested layout, given that none of any kind is better than `best`; NULL where none fits.
 */
PsLayout *ps_planning_nested(PsPlanning *planning, const PsLayout *best);

/* The n best layouts, or as many as there are: the best one, then by TPS, devices, sum of d,
 * stages, sum of squared loads, and at last by place. All differ in stages or degrees. The list
 * owns them; NULL as above. */
GPtrArray *ps_planning_top(PsPlanning *planning, guint n, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The plan of a layout that is the best of what is searched. */
PsPlan *ps_planning_plan(PsPlanning *planning, const PsLayout *layout);
