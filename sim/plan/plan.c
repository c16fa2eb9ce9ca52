#include "sim/plan/plan.h"

#include <math.h>

#include <stdlib.h>

PsPlan *ps_plan_new(guint n_stages, const PsSetting *setting)
{
    PsPlan *plan = g_new0(PsPlan, 1);
    plan->n_stages = n_stages;
    plan->stages = g_new0(PsStage, n_stages);
    plan->setting = *setting;
    plan->batch_gap = NAN;
    return plan;
}

void ps_plan_free(PsPlan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (guint i = 0; i < plan->n_stages; i++) {
        g_free(plan->stages[i].layers);
        g_free(plan->stages[i].tmpcs);
    }
    g_free(plan->stages);
    g_free(plan->among);
    g_free(plan);
}

const PsTmpc *ps_stage_tmpc(const PsStage *stage, const PsProfile *profile, guint index)
{
    const PsLayer *layer = &profile->layers[stage->layers[index]];
    return &ps_layer_set(layer, stage->tensor_parallel)->tmpcs[stage->tmpcs[index]];
}

gboolean ps_plan_is_nested(const PsPlan *plan)
{
    gboolean rises = FALSE, falls = FALSE;
    for (guint i = 1; i < plan->n_stages; i++) {
        guint before = plan->stages[i - 1].data_parallel, after = plan->stages[i].data_parallel;
        rises |= after > before;
        falls |= after < before;
        if (MAX(before, after) % MIN(before, after) != 0) {
            return FALSE;
        }
    }
    return !(rises && falls);
}

/* ---- layers as text ------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

/* Sorts ids. Caller frees. */
static char *ranges_text(GArray *ids)
{
    g_array_sort(ids, compare_ids);
    GString *text = g_string_new(NULL);
    for (guint begin = 0, end; begin < ids->len; begin = end) {
        gint64 first = g_array_index(ids, gint64, begin);
        end = begin + 1;
        while (end < ids->len && g_array_index(ids, gint64, end) == first + (end - begin)) {
            end++;
        }
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, begin > 0 ? ", " : "", first);
        if (end - begin > 1) {
            g_string_append_printf(text, "-%" G_GINT64_FORMAT, first + (end - begin) - 1);
        }
    }
    return g_string_free(text, FALSE);
}

char *ps_plan_layer_ranges(const PsProfile *profile, const PsStage *stage)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < stage->n_layers; i++) {
        g_array_append_val(ids, profile->layers[stage->layers[i]].id);
    }
    return ranges_text(ids);
}

char *ps_plan_recompute_ranges(const PsProfile *profile, const PsStage *stage)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < stage->n_layers; i++) {
        if (ps_stage_tmpc(stage, profile, i)->recomputes) {
            g_array_append_val(ids, profile->layers[stage->layers[i]].id);
        }
    }
    return ranges_text(ids);
}

const char *const ps_in_flight_names[PS_N_IN_FLIGHT + 1] = {
    [PS_IN_FLIGHT_PIPER] = "piper",
    [PS_IN_FLIGHT_SUFFICIENT] = "sufficient",
};

guint ps_plan_wants_too_many(const PsPlan *plan, guint64 *wanted)
{
    *wanted = 0;
    for (guint i = plan->n_stages; i-- > 0;) {
        guint64 d = plan->stages[i].data_parallel;
        *wanted = d + (*wanted + d - 1) / d * d; /* y·d */
        if (plan->setting.in_flight == PS_IN_FLIGHT_SUFFICIENT &&
            *wanted > plan->setting.microbatches) {
            return i;
        }
    }
    return plan->n_stages;
}

gboolean ps_plan_is_replayable(const PsPlan *plan)
{
    return plan->setting.in_flight == PS_IN_FLIGHT_SUFFICIENT || ps_plan_is_nested(plan);
}
