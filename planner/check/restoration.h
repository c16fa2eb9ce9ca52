/* For a plan whose degrees are not nested: what its in-flight bounds really give, and the least
 * ones that would give the planner's estimate. */
#pragma once

#include "sim/base/json.h"
#include "sim/plan/plan.h"

typedef struct {
    guint in_flight, needed; /* y of the planner; y that restores the estimate */
    double memory_bytes;     /* with the needed one */
} PsRestoredStage;

typedef struct {
    double estimate_tps_s;
    double cycle_tps_s; /* of the planner's bounds, with all switches on the planner's side */
    double device_memory_bytes;
    guint n_stages;
    PsRestoredStage *stages;
} PsRestoration;

PsRestoration *ps_restoration_new(const PsPlan *plan, const PsProfile *profile,
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_restoration_free(PsRestoration *restoration);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsRestoration, ps_restoration_free)

/* Sentences for people. Caller frees. */
char *ps_restoration_text(const PsRestoration *restoration);

/* Members of the current JSON object. */
void ps_restoration_write_members(const PsRestoration *restoration, PsJsonWriter *writer);
