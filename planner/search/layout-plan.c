#include "planner/search/layout-plan.h"

PsPlan *ps_layout_to_plan(const PsLayout *layout, const PsCosts *costs, PsStageSolver *solver)
{
    PsPlan *plan = ps_plan_new(layout->n_stages, &costs->setting);
    guint64 border = ps_levels_border(&costs->levels, layout->devices);
    for (guint i = 0; i < layout->n_stages; i++) {
        PsStage *stage = &plan->stages[i];
        stage->data_parallel = layout->runs[i].data_parallel;
        stage->tensor_parallel = costs->degrees[layout->runs[i].degree];
        stage->first_device = (guint)(border - layout->runs[i].devices);
        stage->tmpcs = ps_stage_choice(solver, &layout->runs[i], &stage->n_layers, &stage->layers);
        g_assert(stage->tmpcs != NULL);
    }
    return plan;
}

char *ps_run_layers(const PsCosts *costs, const PsDownsets *downsets, const PsStageRun *run)
{
    g_autoptr(GArray) layers = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint v = 0; v < costs->profile->n_layers; v++) {
        if (ps_set_has(ps_downset(downsets, run->upper), v) &&
            !ps_set_has(ps_downset(downsets, run->lower), v)) {
            g_array_append_val(layers, v);
        }
    }
    PsStage stage = {.n_layers = layers->len, .layers = (guint *)(void *)layers->data};
    if (stage.n_layers == 1) {
        const PsLayer *layer = &costs->profile->layers[stage.layers[0]];
        return g_strdup_printf("layer %" G_GINT64_FORMAT " (%s)", layer->id, layer->name);
    }
    g_autofree char *ranges = ps_plan_layer_ranges(costs->profile, &stage);
    return g_strdup_printf("layers %s", ranges);
}
