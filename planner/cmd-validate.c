#include "planner/plan-report.h"
#include "planner/planner-options.h"
#include "planner/rehearse.h"
#include "sim/cli/setting-options.h"
#include "sim/replay/replay-options.h"
#include "sim/replay/run-report.h"
#include "sim/trace/summary.h"

static gboolean run(int argc, char **argv, GError **error);

const PsCommand ps_command_validate = {
    .name = "validate",
    .usage = "PROFILE [options]",
    .summary = "plan, replay and check in one go",
    .details = "Finds the optimal plan for PROFILE, replays it and judges the estimate. With -o,\n"
               "DIR gets plan.json and the run. Exit status 3 where the replay is further from\n"
               "the estimate than the tolerance, or needs more memory than a device has. Where\n"
               "the run is interrupted it takes the place of the check, marked as partial.\n"
               "\n" PS_REPLAY_HELP "\n"
               "Example:\n"
               "  pipersim validate planner/profiles/gpt3-13b-a100.json \\\n"
               "      --topology dgx-a100 --devices 64 --assume piper -o run\n",
    .run = run,
};

typedef struct {
    PsSettingOptions setting;
    PsPlannerChoices planner;
    PsReplayChoices replay;
    char *folder, *tolerance, *format;
} Options;

static void options_clear(Options *options)
{
    ps_setting_options_clear(&options->setting);
    ps_planner_choices_clear(&options->planner);
    ps_replay_choices_clear(&options->replay);
    g_free(options->folder);
    g_free(options->tolerance);
    g_free(options->format);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* The check, or the run that did not come to its end. */
static void print_outcome(const PsRehearsal *rehearsal, PsFormat format, PsOutput *output)
{
    if (rehearsal->check != NULL) {
        ps_check_report(rehearsal->check, format, output);
    } else {
        ps_run_report(rehearsal->run, format, output);
    }
}

static void print_json(const PsRehearsal *rehearsal, const PsProfile *profile, PsOutput *output)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(rehearsal->plan, profile);
    g_autoptr(PsJsonWriter) writer = ps_json_writer_new(output);
    ps_json_begin_object(writer, NULL);
    ps_json_begin_object(writer, "plan");
    ps_plan_write_members(rehearsal->plan, profile, profile->path, estimate, writer);
    ps_json_end_object(writer);
    if (rehearsal->check != NULL) {
        ps_json_begin_object(writer, "check");
        ps_check_write_members(rehearsal->check, writer);
    } else {
        ps_json_begin_object(writer, "run");
        ps_run_summary_put(rehearsal->run->summary, writer);
    }
    ps_json_end_object(writer);
    ps_json_end_object(writer);
}

static void print_table(const PsRehearsal *rehearsal, const PsProfile *profile, PsOutput *output)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(rehearsal->plan, profile);
    ps_plan_report(rehearsal->plan, profile, estimate, NULL, PS_FORMAT_TABLE, output);
    ps_output_puts(output, "\n");
    print_outcome(rehearsal, PS_FORMAT_TABLE, output);
}

static gboolean print(const PsRehearsal *rehearsal, const PsProfile *profile, PsFormat format,
                      GError **error)
{
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    switch (format) {
    case PS_FORMAT_JSON:
        print_json(rehearsal, profile, output);
        break;
    case PS_FORMAT_TABLE:
        print_table(rehearsal, profile, output);
        break;
    case PS_FORMAT_CSV:
        print_outcome(rehearsal, format, output);
        break;
    }
    return ps_output_commit(output, error);
}

static gboolean validate(const Options *options, const char *profile_path, GError **error)
{
    PsFormat format = PS_FORMAT_TABLE;
    double tolerance = PS_CHECK_TOLERANCE;
    PsPlannerOptions planner;
    PsReplaySettings replay;
    if ((options->format != NULL && !ps_format_parse(options->format, &format, error)) ||
        (options->tolerance != NULL &&
         !ps_check_parse_tolerance(options->tolerance, &tolerance, error)) ||
        !ps_planner_choose(&options->planner, &planner, error) ||
        !ps_replay_settings_choose(&replay, &options->replay, error)) {
        return FALSE;
    }
    g_autoptr(PsProfile) profile = ps_setting_load_profile(&options->setting, profile_path, error);
    if (profile == NULL) {
        return FALSE;
    }
    PsSetting setting = ps_setting_of_profile(profile);
    if (!ps_setting_apply(&options->setting, &setting, error)) {
        return FALSE;
    }
    g_autoptr(PsRehearsal) rehearsal =
        ps_rehearse(profile, &setting, &planner, &replay, options->folder, tolerance, error);
    return rehearsal != NULL && print(rehearsal, profile, format, error) &&
           ps_run_result(rehearsal->run, error) && ps_check_result(rehearsal->check, error);
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_auto(Options) options = {0};
    g_autofree GOptionEntry *setting_entries = ps_setting_entries(&options.setting);
    g_autofree GOptionEntry *planner_entries = ps_planner_entries(&options.planner);
    g_autofree GOptionEntry *replay_entries = ps_replay_entries(&options.replay);
    const GOptionEntry entries[] = {
        {"tolerance", 0, 0, G_OPTION_ARG_STRING, &options.tolerance,
         "Largest difference that passes (default 5%)", "PERCENT"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.folder, "Write plan and run there",
         "DIR"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &options.format, "What to print (default table)",
         "table|csv|json"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {setting_entries, planner_entries, replay_entries, entries,
                                          NULL};
    g_auto(GStrv) arguments = NULL;
    return ps_options_parse(&ps_command_validate, groups, argc, argv, 1, 1, &arguments, error) &&
           ps_replay_choices_open(&options.replay, options.setting.topology, error) &&
           validate(&options, arguments[0], error);
}
