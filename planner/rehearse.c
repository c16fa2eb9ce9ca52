#include "planner/rehearse.h"

#include "planner/plan-report.h"

#define RECORDS (PS_RUN_OPS | PS_RUN_MEMORY)

/* Writes the plan into the folder and notes where, and with which SHA-256. */
static gboolean save_plan(PsPlanInput *input, const char *folder, GError **error)
{
    if (!ps_make_folder(folder, error)) {
        return FALSE;
    }
    g_autofree char *path = g_build_filename(folder, "plan.json", NULL);
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(input->plan, input->profile);
    if (!ps_plan_save(input->plan, input->profile, estimate, path, error)) {
        return FALSE;
    }
    gsize length;
    g_autofree char *text = ps_read_file(path, &length, error);
    if (text == NULL) {
        return FALSE;
    }
    input->path = g_steal_pointer(&path);
    input->sha256 = ps_sha256(text, length);
    return TRUE;
}

static PsRun *replay_into_folder(const PsPlanInput *input, const PsReplaySettings *settings,
                                 const char *folder, GError **error)
{
    g_autoptr(PsRun) written = ps_replay_plan(input, settings, folder, 0, error);
    return written != NULL ? ps_run_load(folder, RECORDS, error) : NULL;
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
    /* Borrows profile and plan. */
    PsPlanInput input = {.profile = (PsProfile *)profile, .plan = rehearsal->plan};
    if (folder == NULL) {
        rehearsal->run = ps_replay_plan(&input, settings, NULL, RECORDS, error);
    } else if (save_plan(&input, folder, error)) {
        rehearsal->run = replay_into_folder(&input, settings, folder, error);
    }
    g_free(input.path);
    g_free(input.sha256);
    if (rehearsal->run == NULL) {
        return NULL;
    }
    rehearsal->check = ps_check_run(rehearsal->run, tolerance, error);
    if (rehearsal->check == NULL) {
        return NULL;
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
