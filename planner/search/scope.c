#include "planner/search/scope.h"

#include "planner/search/planning.h"
#include "sim/base/log.h"

static gboolean all_are_1(const PsPlan *plan, gboolean tensor)
{
    for (guint i = 0; i < plan->n_stages; i++) {
        const PsStage *stage = &plan->stages[i];
        if ((tensor ? stage->tensor_parallel : stage->data_parallel) != 1) {
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean has_degrees(const PsPlannerOptions *options, const PsPlan *plan)
{
    gboolean uniform = TRUE;
    for (guint i = 1; i < plan->n_stages; i++) {
        uniform &= plan->stages[i].data_parallel == plan->stages[0].data_parallel;
    }
    return options->degrees == PS_DEGREES_ANY ||
           (options->degrees == PS_DEGREES_NESTED ? ps_plan_is_nested(plan) : uniform);
}

/* Whether some TMPC of the layer at the stage's degree recomputes, or one does not. */
static gboolean could(const PsStage *stage, const PsProfile *profile, guint index,
                      gboolean recompute)
{
    const PsTmpcSet *set =
        ps_layer_set(&profile->layers[stage->layers[index]], stage->tensor_parallel);
    for (guint i = 0; i < set->n_tmpcs; i++) {
        if (set->tmpcs[i].recomputes == recompute) {
            return TRUE;
        }
    }
    return FALSE;
}

/* Whether every layer of the stage that has the choice recomputes, or does not. */
static gboolean all_do(const PsStage *stage, const PsProfile *profile, gboolean recompute)
{
    for (guint i = 0; i < stage->n_layers; i++) {
        gboolean does = ps_stage_tmpc(stage, profile, i)->recomputes;
        if (does != recompute && could(stage, profile, i, recompute)) {
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean has_recompute(PsRecompute recompute, const PsPlan *plan, const PsProfile *profile)
{
    for (guint i = 0; recompute != PS_RECOMPUTE_PER_LAYER && i < plan->n_stages; i++) {
        gboolean all = all_do(&plan->stages[i], profile, TRUE);
        gboolean none = all_do(&plan->stages[i], profile, FALSE);
        if ((recompute == PS_RECOMPUTE_ALL && !all) || (recompute == PS_RECOMPUTE_NONE && !none) ||
            (recompute == PS_RECOMPUTE_ALL_OR_NONE && !all && !none)) {
            return FALSE;
        }
    }
    return TRUE;
}

gboolean ps_scope_has(const PsPlannerOptions *options, const PsPlan *plan, const PsProfile *profile)
{
    const PsRestrictions *restrictions = &options->restrictions;
    return has_degrees(options, plan) &&
           (!restrictions->forbid_data_parallel || all_are_1(plan, FALSE)) &&
           (!restrictions->forbid_tensor_parallel || all_are_1(plan, TRUE)) &&
           has_recompute(restrictions->recompute, plan, profile);
}

char *ps_scope_text(const PsPlannerOptions *options)
{
    static const char *const degrees[PS_N_DEGREES] = {
        [PS_DEGREES_NESTED] = "with nested degrees",
        [PS_DEGREES_UNIFORM] = "with uniform degrees",
    };
    static const char *const recompute[PS_N_RECOMPUTE] = {
        [PS_RECOMPUTE_ALL_OR_NONE] = "with recompute in all or no layers of a stage",
        [PS_RECOMPUTE_ALL] = "with recompute wherever it can be",
        [PS_RECOMPUTE_NONE] = "without recompute",
    };
    const PsRestrictions *restrictions = &options->restrictions;
    const char *const parts[] = {
        degrees[options->degrees],
        restrictions->forbid_data_parallel ? "without data parallelism" : NULL,
        restrictions->forbid_tensor_parallel ? "without tensor parallelism" : NULL,
        recompute[restrictions->recompute],
    };
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (parts[i] != NULL) {
            g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", parts[i]);
        }
    }
    return g_string_free(text, text->len == 0);
}

void ps_scope_note_contracted(void)
{
    ps_note("the graph has more than %d downsets: this is about plans with layers taken "
            "together; others may be better",
            PS_MOST_DOWNSETS);
}
