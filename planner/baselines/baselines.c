#include "planner/baselines/baselines.h"

#include <math.h>

const PsBaseline ps_baselines[] = {
#define PS_BASELINE(way, name, ...) {name, {__VA_ARGS__}, ps_baseline_##way},
#include "planner/baselines/baselines.def"
#undef PS_BASELINE
};
const guint ps_n_baselines = G_N_ELEMENTS(ps_baselines);

void ps_baseline_result_clear(PsBaselineResult *result)
{
    ps_plan_free(result->plan);
    g_free(result->reason);
}

/* Both rules at once; FALSE where they contradict each other. Per layer holds all the others, all
 * or none holds both all and none. */
static gboolean merge_recompute(PsRecompute one, PsRecompute other, PsRecompute *both)
{
    static const guint width[PS_N_RECOMPUTE] = {
        [PS_RECOMPUTE_PER_LAYER] = 2,
        [PS_RECOMPUTE_ALL_OR_NONE] = 1,
    };
    *both = width[one] < width[other] ? one : other;
    return one == other || width[one] != width[other];
}

PsBaselineResult ps_baseline_run(const PsBaseline *baseline, const PsProfile *profile,
                                 const PsSetting *setting, const PsPlannerOptions *options)
{
    PsPlannerOptions both = *options;
    both.restrictions.forbid_data_parallel |= baseline->restrictions.forbid_data_parallel;
    both.restrictions.forbid_tensor_parallel |= baseline->restrictions.forbid_tensor_parallel;
    PsRecompute asked = options->restrictions.recompute;
    if (!merge_recompute(asked, baseline->restrictions.recompute, &both.restrictions.recompute)) {
        return (PsBaselineResult){
            NULL, NAN, g_strdup_printf("contradicts --recompute %s", ps_recompute_names[asked])};
    }
    return baseline->run(profile, setting, &both);
}
