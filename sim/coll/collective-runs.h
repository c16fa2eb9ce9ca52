/* Collectives under way: each runs its phases one after another as flows, which share their links
 * with whatever else is on them. */
#pragma once

#include "sim/coll/collective.h"

typedef struct PsCollectiveRuns PsCollectiveRuns;

/* flows (over the links of the collectives' network) must outlive it. */
PsCollectiveRuns *ps_collective_runs_new(PsFlows *flows);
void ps_collective_runs_free(PsCollectiveRuns *runs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsCollectiveRuns, ps_collective_runs_free)

/* Starts a collective now; it must outlive its run. At its end `ended` is called once with owner
 * and data. With the links to itself it takes collective->time_s, each phase rounded to
 * picoseconds. */
void ps_collective_runs_start(PsCollectiveRuns *runs, const PsCollective *collective,
                              PsEventFunc ended, gpointer owner, guint64 data);
