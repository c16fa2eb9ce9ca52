#include "sim/base/error.h"
#include "sim/base/interrupt.h"
#include "sim/cli/setting-options.h"
#include "sim/replay/replay-options.h"
#include "sim/replay/replay-plan.h"
#include "sim/replay/run-report.h"
#include "sim/replay/synthetic.h"

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
        "--synthetic TEXT takes the place of PLAN: equal stages in one line, to study a schedule.\n"
        "It runs one batch from a cold start and prints the bubble rate, (makespan - m (F + B +\n"
        "W)) / makespan, and the most microbatches stashed on each stage. Fields: stages,\n"
        "microbatches, forward, backward and weight (gradients of inputs and of weights), hop "
        "(from\n"
        "stage to stage), chunks (for schedules with several per stage).\n\n"
        "Examples:\n"
        "  pipersim replay plan.json --assume piper -o run\n"
        "  pipersim replay --schedule zb-h1 --synthetic \\\n"
        "      \"stages=8 microbatches=24 forward=18ms backward=18ms weight=9ms\"\n",
    .run = run,
};

typedef struct {
    PsSettingOptions setting;
    PsReplayChoices choices;
    char *folder, *profile_path, *synthetic, *format_text;
    gboolean enforce_memory;
    PsFormat format;
} Options;

static void options_clear(Options *options)
{
    ps_setting_options_clear(&options->setting);
    ps_replay_choices_clear(&options->choices);
    g_free(options->folder);
    g_free(options->profile_path);
    g_free(options->synthetic);
    g_free(options->format_text);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* What the run says no to. */
static gboolean judge(const Options *options, const PsRun *run, GError **error)
{
    if (!ps_run_result(run, error)) {
        return FALSE;
    }
    if (options->enforce_memory && run->out_of_memory != NULL) {
        ps_error(error, PS_ERROR_NEGATIVE, "%s", run->out_of_memory);
        return FALSE;
    }
    return TRUE;
}

static gboolean replay_plan(const Options *options, const PsReplaySettings *settings,
                            const char *path, GError **error)
{
    g_autoptr(PsPlanInput) input =
        ps_plan_input_load(path, options->profile_path, options->setting.time_unit, error);
    PsSetting setting = input != NULL ? input->plan->setting : (PsSetting){0};
    if (input == NULL || !ps_setting_apply(&options->setting, &setting, error)) {
        return FALSE;
    }
    ps_plan_input_change_setting(input, &setting);
    ps_interrupt_hold();
    g_autoptr(PsRun) result = ps_replay_plan(input, settings, options->folder, 0, error);
    ps_interrupt_release(result == NULL || result->summary->partial);
    g_autoptr(PsOutput) output = result != NULL ? ps_output_open("-", error) : NULL;
    if (output == NULL) {
        return FALSE;
    }
    ps_run_report(result, options->format, output);
    if (!ps_output_commit(output, error)) {
        return FALSE;
    }
    return judge(options, result, error);
}

static gboolean refuse_for_synthetic(const char *name, GError **error)
{
    ps_error(error, PS_ERROR_USAGE,
             "--synthetic has no use for --%s (expected --schedule, --format or --output)", name);
    return FALSE;
}

/* What a line of equal stages has no use for. */
static gboolean check_synthetic(const Options *options, GError **error)
{
    const struct {
        const char *name, *value;
    } unused[] = {
        {"profile", options->profile_path},        {"topology", options->setting.topology},
        {"devices", options->setting.devices},     {"memory", options->setting.memory},
        {"bandwidth", options->setting.bandwidth}, {"microbatches", options->setting.microbatches},
        {"in-flight", options->setting.in_flight}, {"time-unit", options->setting.time_unit},
    };
    if (options->enforce_memory) {
        ps_error(error, PS_ERROR_USAGE,
                 "--synthetic says nothing of memory (expected no --enforce-memory)");
        return FALSE;
    }
    for (guint i = 0; i < G_N_ELEMENTS(unused); i++) {
        if (unused[i].value != NULL) {
            return refuse_for_synthetic(unused[i].name, error);
        }
    }
    for (const PsReplayChoice *choice = ps_replay_choice_table; choice->name != NULL; choice++) {
        if (ps_replay_choice(&options->choices, choice) != NULL &&
            !g_str_equal(choice->name, "schedule")) {
            return refuse_for_synthetic(choice->name, error);
        }
    }
    return TRUE;
}

static gboolean replay_synthetic(const Options *options, PsReplaySettings *settings, GError **error)
{
    if (!check_synthetic(options, error)) {
        return FALSE;
    }
    g_autoptr(PsSynthetic) synthetic = ps_synthetic_parse(options->synthetic, settings, error);
    if (synthetic == NULL) {
        return FALSE;
    }
    ps_interrupt_hold();
    g_autoptr(PsRun) result = ps_synthetic_replay(synthetic, settings, options->folder, error);
    ps_interrupt_release(result == NULL || result->summary->partial);
    g_autoptr(PsOutput) output = result != NULL ? ps_output_open("-", error) : NULL;
    if (output == NULL) {
        return FALSE;
    }
    if (!result->summary->partial) { /* else its figures are those of nothing */
        ps_synthetic_report(synthetic, result->summary, options->format, output);
    }
    return ps_output_commit(output, error) && judge(options, result, error);
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_auto(Options) options = {.format = PS_FORMAT_TABLE};
    g_autofree GOptionEntry *setting_entries = ps_setting_entries(&options.setting);
    g_autofree GOptionEntry *replay_entries = ps_replay_entries(&options.choices);
    const GOptionEntry entries[] = {
        {"profile", 0, 0, G_OPTION_ARG_FILENAME, &options.profile_path,
         "The profile the plan is for (default: as the plan says)", "PROFILE"},
        {"synthetic", 0, 0, G_OPTION_ARG_STRING, &options.synthetic,
         "A pipeline of equal stages instead of a plan", "TEXT"},
        {"enforce-memory", 0, 0, G_OPTION_ARG_NONE, &options.enforce_memory,
         "Exit with 3 where a device runs out of memory, and say when and of what", NULL},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.folder, "Write the run there", "DIR"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &options.format_text, "What to print (default table)",
         "table|csv|json"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {replay_entries, setting_entries, entries, NULL};
    g_auto(GStrv) arguments = NULL;
    PsReplaySettings settings;
    if (!ps_options_parse(&ps_command_replay, groups, argc, argv, 0, 1, &arguments, error) ||
        (options.format_text != NULL &&
         !ps_format_parse(options.format_text, &options.format, error)) ||
        !ps_replay_choices_open(&options.choices, options.setting.topology, error) ||
        !ps_replay_settings_choose(&settings, &options.choices, error)) {
        return FALSE;
    }
    if ((arguments[0] != NULL) == (options.synthetic != NULL)) {
        ps_error(error, PS_ERROR_USAGE, "%s",
                 arguments[0] != NULL ? "a plan and --synthetic (expected one of them)"
                                      : "a missing argument (expected PLAN or --synthetic TEXT)");
        return FALSE;
    }
    settings.shows_progress = TRUE;
    return options.synthetic != NULL ? replay_synthetic(&options, &settings, error)
                                     : replay_plan(&options, &settings, arguments[0], error);
}
