#include "sim/base/units.h"
#include "sim/cli/setting-options.h"
#include "sim/replay/replay-options.h"
#include "sim/replay/replay-plan.h"
#include "sim/replay/run-report.h"

static gboolean run(int argc, char **argv, GError **error);

const PsCommand ps_command_replay = {
    .name = "replay",
    .usage = "PLAN [options] -o DIR",
    .summary = "run a plan event by event and write what happened",
    .details =
        "PLAN is a plan of ours or of Piper's code. Ours names its profile (looked for from the\n"
        "plan's folder, then from here); for Piper's give --profile. --devices, --memory,\n"
        "--bandwidth and --microbatches replay it in another setting than the plan's.\n"
        "\n" PS_REPLAY_HELP "\n"
        "DIR gets trace.csv, memory.csv and summary.json; without -o nothing is written.\n\n"
        "Example:\n"
        "  pipersim replay plan.json --assume piper -o run\n",
    .run = run,
};

static gboolean print_run(const PsRun *run, PsFormat format, GError **error)
{
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    ps_run_report(run->summary, format, output);
    return ps_output_commit(output, error);
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_auto(PsSettingOptions) setting_options = {0};
    g_auto(PsReplayChoices) choices = {0};
    g_autofree char *folder = NULL, *profile_path = NULL, *format_text = NULL;
    g_autofree GOptionEntry *setting_entries = ps_setting_entries(&setting_options);
    g_autofree GOptionEntry *replay_entries = ps_replay_entries(&choices);
    const GOptionEntry entries[] = {
        {"profile", 0, 0, G_OPTION_ARG_FILENAME, &profile_path,
         "The profile the plan is for (default: as the plan says)", "PROFILE"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &folder, "Write the run there", "DIR"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &format_text, "What to print (default table)",
         "table|csv|json"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {replay_entries, setting_entries, entries, NULL};
    g_auto(GStrv) arguments = NULL;
    PsFormat format = PS_FORMAT_TABLE;
    PsReplaySettings settings;
    if (!ps_options_parse(&ps_command_replay, groups, argc, argv, 1, 1, &arguments, error) ||
        (format_text != NULL && !ps_format_parse(format_text, &format, error)) ||
        !ps_replay_settings_choose(&settings, &choices, error)) {
        return FALSE;
    }
    g_autoptr(PsPlanInput) input =
        ps_plan_input_load(arguments[0], profile_path, setting_options.time_unit, error);
    if (input == NULL || !ps_setting_apply(&setting_options, &input->plan->setting, error)) {
        return FALSE;
    }
    g_autoptr(PsRun) result = ps_replay_plan(input, &settings, folder, 0, error);
    return result != NULL && print_run(result, format, error);
}
