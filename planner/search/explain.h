/* Why there is no plan, and what would give one.
 *
 * One layer on one device always is a stage, so nothing but memory can be lacking: all questions
 * here leave times aside and ask what fits. `costs` holds setting and restrictions, `degrees` the
 * class of degree sequences. */
#pragma once

#include "planner/search/search.h"

/* Whether any plan fits. */
gboolean ps_fits(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees);

/* The least memory per device at which a plan exists, in bytes, to the costs' memory quantum. For
 * costs in which nothing fits. enough_bytes: at which one is known to exist, or 0. */
double ps_least_memory_bytes(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees,
                             double enough_bytes);

/* The fewest devices on which a plan fits into less memory than this, or 0 where none does on those
 * that there are. */
guint ps_fewest_below(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees,
                      double bytes);

/* The fewest devices on which a plan fits, or 0 where none up to *tried does. More devices never
 * hurt, since K only bounds what a plan may use. *exhausted: no plan can use more than *tried. For
 * costs in which nothing fits. */
guint ps_fewest_devices(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees,
                        guint *tried, gboolean *exhausted);

/* One line of a few sentences for costs in which nothing fits: the least memory per device that
 * would do and the stage that needs it, the layer that is too large by itself, the fewest devices
 * that would do, and for each restriction whether there is a plan without it and of which TPS.
 * Caller frees. */
char *ps_explain_no_fit(const PsCosts *costs, const PsDownsets *downsets, PsDegrees degrees);
