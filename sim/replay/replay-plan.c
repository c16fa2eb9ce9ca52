#include "sim/replay/replay-plan.h"

#include "sim/replay/record.h"

static void describe_inputs(PsRunSummary *summary, const PsPlanInput *input)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(input->plan, input->profile);
    summary->setting = input->plan->setting;
    summary->plan_path = g_strdup(input->path);
    summary->plan_sha256 = g_strdup(input->sha256);
    summary->profile_path = g_strdup(input->profile->path);
    summary->profile_sha256 = g_strdup(input->profile->sha256);
    summary->time_unit_s = input->profile->time_unit_s;
    summary->estimate_tps_s = estimate->tps_s;
    summary->nested = ps_plan_is_nested(input->plan);
    ps_run_summary_add_setting(summary, "in-flight",
                               ps_in_flight_names[input->plan->setting.in_flight]);
    for (guint i = 0; i < summary->n_stages; i++) {
        PsRunStage *stage = &summary->stages[i];
        stage->layers = ps_plan_layer_ranges(input->profile, &input->plan->stages[i]);
        stage->estimate = estimate->stages[i];
    }
}

PsRun *ps_replay_plan(const PsPlanInput *input, const PsReplaySettings *settings,
                      const char *folder, PsRunParts parts, GError **error)
{
    if (!ps_plan_verify(input->plan, input->profile, FALSE, error)) {
        g_prefix_error(error, "%s%s", input->path != NULL ? input->path : "",
                       input->path != NULL ? ": " : "");
        return NULL;
    }
    g_autoptr(PsWorkload) workload = ps_workload_from_plan(input->plan, input->profile, error);
    if (workload == NULL) {
        return NULL;
    }
    g_autoptr(PsRun) run = ps_run_new(workload->n_stages);
    describe_inputs(run->summary, input);
    if (!ps_replay_record(run, workload, settings, folder, parts, error)) {
        return NULL;
    }
    return g_steal_pointer(&run);
}
