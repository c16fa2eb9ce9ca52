/* Whether a plan is legal. Stages are counted from 0, layers named by their id in the profile. */
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/plan/plan.h"

#define NO_STAGE G_MAXUINT

static gint64 layer_id(const PsProfile *profile, guint layer)
{
    return profile->layers[layer].id;
}

static gboolean refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    ps_error(error, PS_ERROR_INPUT, "%s", message);
    return FALSE;
}

/* Each layer in one stage, each stage with a layer; fills stage_of. */
static gboolean verify_partition(const PsPlan *plan, const PsProfile *profile, guint *stage_of,
                                 GError **error)
{
    for (guint i = 0; i < profile->n_layers; i++) {
        stage_of[i] = NO_STAGE;
    }
    for (guint s = 0; s < plan->n_stages; s++) {
        const PsStage *stage = &plan->stages[s];
        if (stage->n_layers == 0) {
            return refuse(error, "stage %u has no layer (expected at least one)", s);
        }
        for (guint i = 0; i < stage->n_layers; i++) {
            guint layer = stage->layers[i];
            if (stage_of[layer] != NO_STAGE) {
                return refuse(error,
                              "layer %" G_GINT64_FORMAT " is in stage %u and in stage %u (expected "
                              "one)",
                              layer_id(profile, layer), stage_of[layer], s);
            }
            stage_of[layer] = s;
        }
    }
    for (guint i = 0; i < profile->n_layers; i++) {
        if (stage_of[i] == NO_STAGE) {
            return refuse(error, "layer %" G_GINT64_FORMAT " is in no stage (expected one)",
                          layer_id(profile, i));
        }
    }
    return TRUE;
}

/* A path that leaves a stage and comes back would have to run backwards somewhere. */
static gboolean verify_order(const PsProfile *profile, const guint *stage_of, GError **error)
{
    for (guint e = 0; e < profile->n_edges; e++) {
        const PsEdge *edge = &profile->edges[e];
        if (stage_of[edge->source] > stage_of[edge->target]) {
            return refuse(error,
                          "edge %" G_GINT64_FORMAT " -> %" G_GINT64_FORMAT " runs from stage %u "
                          "back to stage %u (expected stages in the order of the graph)",
                          layer_id(profile, edge->source), layer_id(profile, edge->target),
                          stage_of[edge->source], stage_of[edge->target]);
        }
    }
    return TRUE;
}

static gboolean verify_tmpcs(const PsProfile *profile, const PsStage *stage, guint s,
                             GError **error)
{
    for (guint i = 0; i < stage->n_layers; i++) {
        const PsTmpcSet *set =
            ps_layer_set(&profile->layers[stage->layers[i]], stage->tensor_parallel);
        if (set == NULL || stage->tmpcs[i] >= set->n_tmpcs) {
            return refuse(error,
                          "stage %u: layer %" G_GINT64_FORMAT
                          " has no such TMPC for tensor-parallel "
                          "degree %u (expected one of the profile's)",
                          s, layer_id(profile, stage->layers[i]), stage->tensor_parallel);
        }
    }
    return TRUE;
}

static gboolean verify_degrees(const PsPlan *plan, const PsProfile *profile, GError **error)
{
    const PsSetting *setting = &plan->setting;
    guint64 degrees = 0, devices = 0;
    for (guint s = 0; s < plan->n_stages; s++) {
        const PsStage *stage = &plan->stages[s];
        if (stage->data_parallel == 0 || setting->microbatches % stage->data_parallel != 0) {
            return refuse(error,
                          "stage %u has data-parallel degree %u (expected a divisor of the %u "
                          "microbatches)",
                          s, stage->data_parallel, setting->microbatches);
        }
        if (!verify_tmpcs(profile, stage, s, error)) {
            return FALSE;
        }
        degrees += stage->data_parallel;
        devices += (guint64)stage->data_parallel * stage->tensor_parallel;
    }
    if (devices > setting->devices) {
        return refuse(error,
                      "the stages take %" G_GUINT64_FORMAT
                      " devices (expected at most the %u there "
                      "are)",
                      devices, setting->devices);
    }
    if (degrees > setting->microbatches) {
        return refuse(error,
                      "the data-parallel degrees sum to %" G_GUINT64_FORMAT
                      " (expected at most the "
                      "%u microbatches)",
                      degrees, setting->microbatches);
    }
    guint64 wanted;
    guint s = ps_plan_wants_too_many(plan, &wanted);
    if (s < plan->n_stages) {
        return refuse(error,
                      "stage %u wants %" G_GUINT64_FORMAT
                      " microbatches in flight (expected at most the %u of a batch, for a run to "
                      "keep up)",
                      s, wanted, setting->microbatches);
    }
    return TRUE;
}

static gboolean verify_tensor_groups(const PsLevels *levels, const PsStage *stage, guint s,
                                     GError **error)
{
    if (ps_levels_hold(levels, stage->first_device, stage->data_parallel, stage->tensor_parallel)) {
        return TRUE;
    }
    guint i = 0;
    while (levels->level[i].size < stage->tensor_parallel) {
        i++;
    }
    return refuse(error,
                  "stage %u from device %u on: its tensor-parallel groups of %u lie across borders "
                  "of the groups of %u devices (expected each within one)",
                  s, stage->first_device, stage->tensor_parallel, levels->level[i].size);
}

gboolean ps_plan_verify_places(const PsPlan *plan, GError **error)
{
    PsLevels levels = ps_setting_levels(&plan->setting);
    guint64 end = 0;
    for (guint s = 0; levels.n > 1 && s < plan->n_stages; s++) {
        const PsStage *stage = &plan->stages[s];
        if (stage->first_device < end) {
            return refuse(
                error,
                "stage %u begins at device %u, before stage %u ends (expected %" G_GUINT64_FORMAT
                " or more: stages lie in pipeline order)",
                s, stage->first_device, s - 1, end);
        }
        if (!verify_tensor_groups(&levels, stage, s, error)) {
            return FALSE;
        }
        end = stage->first_device + (guint64)stage->data_parallel * stage->tensor_parallel;
    }
    guint64 span = levels.n > 1 ? ps_plan_span(plan) : 0;
    if (span > plan->setting.devices) {
        return refuse(
            error,
            "from device %u to the border of groups behind the last stage the stages take "
            "%" G_GUINT64_FORMAT " devices, idle ones included (expected at most the %u "
            "there are)",
            plan->stages[0].first_device, span, plan->setting.devices);
    }
    return TRUE;
}

static gboolean verify_memory(const PsPlan *plan, const PsProfile *profile, GError **error)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    for (guint s = 0; s < plan->n_stages; s++) {
        double needed = estimate->stages[s].memory_bytes, there = plan->setting.memory_bytes;
        if (!ps_memory_fits(needed, there)) {
            g_autofree char *needed_text = ps_quantity_format_up(PS_BYTES, needed);
            g_autofree char *there_text = ps_quantity_format(PS_BYTES, there);
            g_autofree char *layers = ps_plan_layer_ranges(profile, &plan->stages[s]);
            return refuse(error,
                          "stage %u (layers %s) takes %s of memory on each device (expected at "
                          "most %s)",
                          s, layers, needed_text, there_text);
        }
    }
    return TRUE;
}

gboolean ps_plan_verify(const PsPlan *plan, const PsProfile *profile, gboolean enforce_memory,
                        GError **error)
{
    g_autofree guint *stage_of = g_new(guint, profile->n_layers);
    return verify_partition(plan, profile, stage_of, error) &&
           verify_order(profile, stage_of, error) && verify_degrees(plan, profile, error) &&
           ps_plan_verify_places(plan, error) &&
           (!enforce_memory || verify_memory(plan, profile, error));
}
