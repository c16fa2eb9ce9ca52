#include "planner/check/restoration.h"

#include <math.h>

#include "planner/check/cycle-time.h"
#include "sim/base/units.h"

static double memory_at(const PsPlan *plan, const PsProfile *profile, guint stage, guint in_flight)
{
    double memory_bytes = 0;
    for (guint i = 0; i < plan->stages[stage].n_layers; i++) {
        const PsTmpc *tmpc = ps_stage_tmpc(&plan->stages[stage], profile, i);
        memory_bytes += tmpc->memory_per_microbatch_bytes * in_flight + tmpc->memory_fixed_bytes;
    }
    return memory_bytes;
}

PsRestoration *ps_restoration_new(const PsPlan *plan, const PsProfile *profile, GError **error)
{
    g_autoptr(PsWorkload) workload = ps_workload_from_plan(plan, profile, error);
    if (workload == NULL) {
        return NULL;
    }
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    g_autofree guint *needed = ps_least_in_flight(workload, estimate->tps_s);
    PsRestoration *restoration = g_new0(PsRestoration, 1);
    restoration->estimate_tps_s = estimate->tps_s;
    restoration->cycle_tps_s = ps_cycle_time(workload);
    restoration->device_memory_bytes = plan->setting.memory_bytes;
    restoration->n_stages = plan->n_stages;
    restoration->stages = g_new0(PsRestoredStage, plan->n_stages);
    for (guint i = 0; i < plan->n_stages; i++) {
        /* Some stages could do with less than the planner's bound; none is taken away. */
        guint in_flight = estimate->stages[i].in_flight;
        guint most = MAX(needed[i], in_flight);
        restoration->stages[i] =
            (PsRestoredStage){in_flight, most, memory_at(plan, profile, i, most)};
    }
    return restoration;
}

void ps_restoration_free(PsRestoration *restoration)
{
    if (restoration != NULL) {
        g_free(restoration->stages);
        g_free(restoration);
    }
}

/* "stage 0: 4 -> 5 (7.1 GiB)" for each stage that needs more; *fits tells whether all fit. */
static char *list_raised(const PsRestoration *restoration, gboolean *fits)
{
    GString *text = g_string_new(NULL);
    *fits = TRUE;
    for (guint i = 0; i < restoration->n_stages; i++) {
        const PsRestoredStage *stage = &restoration->stages[i];
        if (stage->needed == stage->in_flight) {
            continue;
        }
        g_autofree char *memory = ps_quantity_format(PS_BYTES, stage->memory_bytes);
        g_string_append_printf(text, "%sstage %u from %u to %u (then %s)",
                               text->len > 0 ? ", " : "", i, stage->in_flight, stage->needed,
                               memory);
        *fits &= ps_memory_fits(stage->memory_bytes, restoration->device_memory_bytes);
    }
    return g_string_free(text, FALSE);
}

char *ps_restoration_text(const PsRestoration *restoration)
{
    double excess = restoration->cycle_tps_s / restoration->estimate_tps_s - 1;
    if (excess < 1e-9) {
        return g_strdup("The planner's in-flight bounds are enough for its estimate all the same.");
    }
    gboolean fits;
    g_autofree char *raised = list_raised(restoration, &fits);
    g_autofree char *device = ps_quantity_format(PS_BYTES, restoration->device_memory_bytes);
    g_autofree char *cycle = ps_quantity_format(PS_SECONDS, restoration->cycle_tps_s);
    return g_strdup_printf("With the planner's in-flight bounds the critical cycle takes %s per "
                           "microbatch (+%.4g %%). The least bounds that restore the estimate: %s; "
                           "%s %s.",
                           cycle, 100 * excess, raised,
                           fits ? "that fits into" : "that is more than", device);
}

void ps_restoration_write_members(const PsRestoration *restoration, PsJsonWriter *writer)
{
    ps_json_put_double(writer, "cycle_tps_s", restoration->cycle_tps_s);
    ps_json_begin_array(writer, "restoring_stages");
    for (guint i = 0; i < restoration->n_stages; i++) {
        const PsRestoredStage *stage = &restoration->stages[i];
        ps_json_begin_object(writer, NULL);
        ps_json_put_int(writer, "in_flight", stage->in_flight);
        ps_json_put_int(writer, "needed_in_flight", stage->needed);
        ps_json_put_double(writer, "needed_memory_bytes", stage->memory_bytes);
        ps_json_end_object(writer);
    }
    ps_json_end_array(writer);
}
