#include "planner/search/complete.h"

#include <string.h>

#include "planner/search/stage-solver.h"

/* The downsets that the stages are differences of: set j holds the last j stages. Caller frees. */
static guint64 *union_stages(const PsPlan *plan, guint n_words)
{
    guint64 *sets = g_new0(guint64, ((gsize)plan->n_stages + 1) * n_words);
    for (guint j = 1; j <= plan->n_stages; j++) {
        guint64 *set = sets + (gsize)j * n_words;
        memcpy(set, set - n_words, n_words * sizeof *set);
        const PsStage *stage = &plan->stages[plan->n_stages - j];
        for (guint i = 0; i < stage->n_layers; i++) {
            set[stage->layers[i] / 64] |= G_GUINT64_CONSTANT(1) << (stage->layers[i] % 64);
        }
    }
    return sets;
}

static guint degree_index(const PsCosts *costs, guint degree)
{
    guint index = 0;
    while (costs->degrees[index] != degree) {
        index++;
        g_assert(index < costs->n_degrees);
    }
    return index;
}

static guint *choose(PsStageSolver *solver, const PsStageRun *run, PsStage *stage)
{
    g_autofree guint *layers = NULL;
    return ps_stage_choice(solver, run, &stage->n_layers, &layers);
}

static gboolean complete_stage(PsStage *stage, const PsStageRun *run, PsStageSolver *solver,
                               const PsCosts *costs, const PsDownsets *downsets)
{
    stage->tmpcs = choose(solver, run, stage);
    if (stage->tmpcs != NULL) {
        return TRUE;
    }
    gint64 least = ps_stage_least_memory(solver, run);
    g_autoptr(PsStageSolver) roomy = ps_stage_solver_new(costs, downsets, least, FALSE);
    stage->tmpcs = choose(roomy, run, stage);
    g_assert(stage->tmpcs != NULL);
    return FALSE;
}

gboolean ps_complete_plan(PsPlan *plan, const PsCosts *costs)
{
    guint n_words = (costs->profile->n_layers + 63) / 64;
    g_autofree guint64 *sets = union_stages(plan, n_words);
    const PsDownsets downsets = {
        .n_downsets = plan->n_stages + 1, .n_words = n_words, .sets = sets};
    g_autoptr(PsStageSolver) solver = ps_stage_solver_new(costs, &downsets, costs->memory, FALSE);
    gboolean fits = TRUE;
    guint sum = 0;
    for (guint j = 1; j <= plan->n_stages; j++) {
        PsStage *stage = &plan->stages[plan->n_stages - j];
        guint d = stage->data_parallel;
        sum += d;
        if (stage->tmpcs == NULL) {
            PsStageRun run = {j - 1, j, degree_index(costs, stage->tensor_parallel), d,
                              (sum + d - 1) / d};
            fits &= complete_stage(stage, &run, solver, costs, &downsets);
        }
    }
    return fits;
}
