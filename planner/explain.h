/* Why there is no plan. */
#pragma once

#include "planner/search.h"

/* One sentence for a setting in which nothing fits: the least memory per device that would do, and
 * the stage that needs it in the layout that needs least. Caller frees. */
char *ps_explain_no_fit(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees);
