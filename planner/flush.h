/* Plans for synchronous batches, where fill and drain count. */
#pragma once

#include "planner/search/planner.h"

/* A plan of least batch time (PsEstimate) to a thousandth: the best of the n best in steady state
 * and of those that branch and bound over (largest load, slowest resync) meets. Its batch_gap is
 * above a thousandth where the search was cut short, where TMPCs of a layer differ in weights
 * (passage.h), or where the graph has too many downsets. Errors as of ps_planner_plan. */
PsPlan *ps_flush_plan(const PsProfile *profile, const PsSetting *setting,
                      const PsPlannerOptions *options, guint n,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
