#include "planner/rehearse.h"

#include "planner/plan-report.h"
#include "sim/base/folder.h"
#include "sim/base/interrupt.h"

#define RECORDS (PS_RUN_OPS | PS_RUN_MEMORY)

/* The plan's file in the folder, written but for the commit; notes where, and its SHA-256. */
static PsOutput *open_plan(PsPlanInput *input, const char *folder, GError **error)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(input->plan, input->profile);
    input->path = g_build_filename(folder, "plan.json", NULL);
    return ps_plan_open(input->plan, input->profile, estimate, input->path, &input->sha256, error);
}

/* Plan and run appear together. Without the run's records. */
static PsRun *replay_into_folder(PsPlanInput *input, const PsReplaySettings *settings,
                                 const char *folder, GError **error)
{
    g_autoptr(PsFolder) made = ps_folder_make(folder, error);
    g_autoptr(PsOutput) plan = made != NULL ? open_plan(input, folder, error) : NULL;
    if (plan == NULL) {
        return NULL;
    }
    g_autoptr(PsRun) run = ps_replay_plan(input, settings, folder, 0, error);
    if (run == NULL || !ps_output_commit(plan, error)) {
        return NULL;
    }
    ps_folder_keep(made);
    return g_steal_pointer(&run);
}

/* With its records, unless it is partial. Only the replay can end early: a signal that comes when
 * plan and run are there, or that the replay no longer heeds, ends the program. */
static PsRun *replay_plan(const PsProfile *profile, PsPlan *plan, const PsReplaySettings *settings,
                          const char *folder, GError **error)
{
    /* Borrows profile and plan. */
    PsPlanInput input = {.profile = (PsProfile *)profile, .plan = plan};
    ps_interrupt_hold();
    g_autoptr(PsRun) run = folder != NULL ? replay_into_folder(&input, settings, folder, error)
                                          : ps_replay_plan(&input, settings, NULL, RECORDS, error);
    gboolean complete = run != NULL && !run->summary->partial;
    ps_interrupt_release(!complete);
    g_free(input.path);
    g_free(input.sha256);
    return complete && folder != NULL ? ps_run_load(folder, RECORDS, error) : g_steal_pointer(&run);
}

static void drop_records(PsRun *run)
{
    g_clear_pointer(&run->ops, g_array_unref);
    g_clear_pointer(&run->memory, g_array_unref);
}

PsRehearsal *ps_rehearse(const PsProfile *profile, const PsSetting *setting,
                         const PsPlannerOptions *options, const PsReplaySettings *settings,
                         const char *folder, double tolerance, GError **error)
{
    g_autoptr(PsRehearsal) rehearsal = g_new0(PsRehearsal, 1);
    rehearsal->plan = ps_planner_plan(profile, setting, options, error);
    if (rehearsal->plan == NULL) {
        return NULL;
    }
    rehearsal->run = replay_plan(profile, rehearsal->plan, settings, folder, error);
    if (rehearsal->run == NULL) {
        return NULL;
    }
    if (!rehearsal->run->summary->partial) {
        rehearsal->check = ps_check_run(rehearsal->run, tolerance, error);
        if (rehearsal->check == NULL) {
            return NULL;
        }
    }
    drop_records(rehearsal->run);
    return g_steal_pointer(&rehearsal);
}

void ps_rehearsal_free(PsRehearsal *rehearsal)
{
    if (rehearsal == NULL) {
        return;
    }
    ps_plan_free(rehearsal->plan);
    ps_run_free(rehearsal->run);
    ps_check_free(rehearsal->check);
    g_free(rehearsal);
}
