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

/* The stages of a plan for a solver. */
typedef struct {
    const PsCosts *costs;
    guint64 *sets;
    PsDownsets downsets;
    PsStageSolver *solver;
    PsStageRun *runs; /* [n_stages]; all pay the last level */
} Stages;

static void stages_init(Stages *stages, const PsPlan *plan, const PsCosts *costs)
{
    guint n_words = (costs->profile->n_layers + 63) / 64, sum = 0, window = 0;
    guint8 last = (guint8)(costs->levels.n - 1);
    stages->costs = costs;
    stages->sets = union_stages(plan, n_words);
    stages->downsets =
        (PsDownsets){.n_downsets = plan->n_stages + 1, .n_words = n_words, .sets = stages->sets};
    stages->solver = ps_stage_solver_new(costs, &stages->downsets, costs->memory, FALSE);
    stages->runs = g_new0(PsStageRun, plan->n_stages);
    for (guint j = 1; j <= plan->n_stages; j++) {
        const PsStage *stage = &plan->stages[plan->n_stages - j];
        guint d = stage->data_parallel, in_flight = 1 + (window + d - 1) / d;
        sum += d;
        window = costs->setting.in_flight == PS_IN_FLIGHT_PIPER ? sum : in_flight * d;
        stages->runs[plan->n_stages - j] =
            (PsStageRun){.lower = j - 1,
                         .upper = j,
                         .degree = degree_index(costs, stage->tensor_parallel),
                         .data_parallel = d,
                         .in_flight = in_flight,
                         .crossing = {last, last, last}};
    }
}

static void stages_clear(Stages *stages)
{
    ps_stage_solver_free(stages->solver);
    g_free(stages->runs);
    g_free(stages->sets);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Stages, stages_clear)

static guint *choose(PsStageSolver *solver, const PsStageRun *run)
{
    guint n_layers;
    g_autofree guint *layers = NULL;
    return ps_stage_choice(solver, run, &n_layers, &layers);
}

static gboolean complete_stage(const Stages *stages, PsStage *stage, const PsStageRun *run)
{
    stage->tmpcs = choose(stages->solver, run);
    if (stage->tmpcs != NULL) {
        return TRUE;
    }
    gint64 least = ps_stage_least_memory(stages->solver, run);
    g_autoptr(PsStageSolver) roomy =
        ps_stage_solver_new(stages->costs, &stages->downsets, least, FALSE);
    stage->tmpcs = choose(roomy, run);
    g_assert(stage->tmpcs != NULL);
    return FALSE;
}

gboolean ps_complete_plan(PsPlan *plan, const PsCosts *costs)
{
    g_auto(Stages) stages;
    stages_init(&stages, plan, costs);
    gboolean fits = TRUE;
    for (guint i = plan->n_stages; i-- > 0;) {
        if (plan->stages[i].tmpcs == NULL) {
            fits &= complete_stage(&stages, &plan->stages[i], &stages.runs[i]);
        }
    }
    return fits;
}

/* ---- places --------------------------------------------------------------------------------- */

typedef struct {
    const Stages *stages;
    const PsPlan *plan;
    const gboolean *free;
} Placed;

static gboolean is_free(const Placed *placed, guint stage)
{
    return placed->free == NULL || placed->free[stage];
}

static double load_s(guint stage, PsCrossing crossing, gpointer user_data)
{
    const Placed *placed = user_data;
    const Stages *stages = placed->stages;
    PsStageRun run = stages->runs[stage];
    run.crossing = crossing;
    PsLinkSums links[PS_MOST_LEVELS];
    PsStageSums sums = {.links = links};
    ps_stage_sum(stages->costs, ps_downset(&stages->downsets, run.lower),
                 ps_downset(&stages->downsets, run.upper), run.degree, &sums);
    gint64 load =
        is_free(placed, stage) ? ps_stage_load(stages->solver, &run, &sums) : PS_KNAPSACK_NONE;
    if (load == PS_KNAPSACK_NONE) {
        return ps_stage_load_s(placed->plan, stages->costs->profile, stage, crossing);
    }
    return (double)load / run.data_parallel * stages->costs->time_quantum_s;
}

gboolean ps_complete_places(PsPlan *plan, const PsCosts *costs, const gboolean *free)
{
    if (costs->same_resync && costs->same_borders) {
        return ps_plan_place(plan, costs->profile); /* the choice is best in any place */
    }
    g_auto(Stages) stages;
    stages_init(&stages, plan, costs);
    Placed placed = {&stages, plan, free};
    gboolean done = ps_plan_place_by(plan, load_s, &placed);
    g_autofree PsCrossing *crossings = g_new(PsCrossing, plan->n_stages);
    ps_plan_crossings(plan, crossings);
    for (guint i = 0; i < plan->n_stages; i++) {
        stages.runs[i].crossing = crossings[i];
        guint *tmpcs = is_free(&placed, i) ? choose(stages.solver, &stages.runs[i]) : NULL;
        if (tmpcs != NULL) {
            g_free(plan->stages[i].tmpcs);
            plan->stages[i].tmpcs = tmpcs;
        }
    }
    return done;
}
