/* Trade-offs: what each number of devices gives, and what it needs. */
#pragma once

#include "planner/search/planning.h"

typedef struct {
    guint devices;
    PsPlan *plan;              /* the best on so many devices; NULL where none fits */
    double least_memory_bytes; /* at which a plan exists on so many devices; NAN if not asked for */
} PsFrontierPoint;

/* The best plan for every number of devices from 1 to the setting's, fewest first; NULL where none
 * fits. A plan that leaves devices idle stands at several numbers. *exact: FALSE where the graph
 * has too many downsets, so that others may be better. */
GPtrArray *ps_frontier_devices(const PsProfile *profile, const PsSetting *setting,
                               const PsPlannerOptions *options, gboolean *exact);

/* The least memory per device for every number of devices from 1 to the setting's; plans are NULL.
 * *exact as above. */
GPtrArray *ps_frontier_memory(const PsProfile *profile, const PsSetting *setting,
                              const PsPlannerOptions *options, gboolean *exact);

/* The best plan on the fewest devices on which there is one with TPS at most tps_s (to 1e-12); its
 * setting has these devices. NULL with error (NEGATIVE) where there is none on the setting's.
 * *proven: none of any kind does on fewer; FALSE where the graph has too many downsets to tell. */
PsPlan *ps_fewest_devices_plan(const PsProfile *profile, const PsSetting *setting,
                               const PsPlannerOptions *options, double tps_s, gboolean *proven,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
