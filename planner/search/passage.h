/* Layouts through which one microbatch passes soon: least sum over the stages of (compute + edges),
 * which does not depend on d, under a threshold on loads and one on the resync of a whole batch.
 *
 * Dynamic programming over downsets and s, the sum of data-parallel degrees so far, with a price
 * for every device in place of their number: the least of sum (passage + price · d·t) less price ·
 * K is a lower bound for all layouts on K devices, whatever the price (Lagrangian relaxation), and
 * the layout behind it is one of them where it takes no more. */
#pragma once

#include "planner/search/layout.h"

typedef struct PsPassage PsPassage;

/* NULL where it cannot serve: levels of bandwidth, sufficient in-flight bounds, TMPCs of a layer
 * that differ in resync, or tables that take more than about most_steps steps to fill once. What is
 * passed must outlive it. */
PsPassage *ps_passage_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver,
                          double most_steps);
void ps_passage_free(PsPassage *passage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsPassage, ps_passage_free)

/* All in time quanta. load: of a stage, at most. resync: of a stage's batch, at most. Returns the
 * least sum of passages and prices, PS_KNAPSACK_NONE where no layout of any size keeps within both.
 * *layout: one that has it (it may take more devices than there are). */
gint64 ps_passage_least(PsPassage *passage, gint64 load, gint64 resync, gint64 price,
                        PsLayout **layout);
