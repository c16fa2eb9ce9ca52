/* Plans judged by their replay instead of their estimate. */
#pragma once

#include "planner/search/planner.h"

typedef struct {
    PsPlan *plan;
    double replayed_tps_s; /* with all switches on the planner's side, steady state */
} PsCertified;

typedef struct {
    GPtrArray *candidates; /* PsCertified, owned: the n best estimates, then the nested optimum,
                              then the optimum with sufficient in-flight bounds */
    guint best;            /* the one that replays fastest; of equals, the first */
    double bound_s;        /* no plan replays faster (design section 4): the best estimate, or where
                              that is not proven the best, what is proven */
} PsCertificate;

/* Plans the n best candidates, the best nested plan and the best one with sufficient in-flight
 * bounds, and replays them all on all cores. The last two replay at their estimates, so no plan
 * whose estimate is worse can beat them. Errors as of ps_planner_plan. */
PsCertificate *ps_certify(const PsProfile *profile, const PsSetting *setting,
                          const PsPlannerOptions *options, guint n,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_certificate_free(PsCertificate *certificate);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsCertificate, ps_certificate_free)
