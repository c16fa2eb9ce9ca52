/* Layouts through which one microbatch passes soon: least sum over the stages of (compute + edges),
 * which does not depend on d, under a threshold on loads and one on the resync of a whole batch.
 *
 * Dynamic programming over downsets. A partial layout matters by its passage so far, the window
 * that it wants in flight (fronts.h) and the devices used, so each downset has its Pareto front of
 * these, one for each shape of the degrees where those are restricted to a class. What cannot be
 * completed within the limit is left out (completion.h).
 *
 * With levels of bandwidth a layout matters by its spot as well (sim/plan/place.h). Where TMPCs of
 * a layer differ in what they send, places are left open and passages are bounded as in transit.h.
 */
#pragma once

#include "planner/search/search.h"

typedef struct PsPassage PsPassage;

/* What is passed must outlive it. */
PsPassage *ps_passage_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver,
                          PsRest *rest, PsDegrees degrees);
void ps_passage_free(PsPassage *passage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsPassage, ps_passage_free)

/* Whether layouts come with the places that are best for them, which only levels ask for; else
 * those of their runs mean nothing. */
gboolean ps_passage_places(const PsPassage *passage);

/* All in time quanta. */
typedef struct {
    gint64 load;   /* of a stage, at most */
    gint64 resync; /* of a stage's batch, at most */
    gint64 limit;  /* no longer passage is of interest */
} PsPassageDemand;

/* *least: the least passage, PS_KNAPSACK_NONE where there is none within the limit. *layout: one
 * that has it, or NULL. *steps counts the entries tried down; FALSE where it reaches 0 before the
 * answer is known: *least then is a lower bound. */
gboolean ps_passage_least(PsPassage *passage, const PsPassageDemand *demand, gint64 *steps,
                          gint64 *least, PsLayout **layout);
