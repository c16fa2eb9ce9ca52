#include "planner/plan-mode.h"
#include "planner/plan-report.h"
#include "planner/planner-options.h"
#include "sim/cli/setting-options.h"

static gboolean run(int argc, char **argv, GError **error);

const PsCommand ps_command_plan = {
    .name = "plan",
    .usage = "PROFILE [options]",
    .summary = "find the optimal parallel training plan for a profile",
    .details = "PROFILE is a layer graph in Piper's JSON format. The plan has the least time per\n"
               "microbatch (TPS) in steady state under Piper's cost model; of equal ones one with\n"
               "nested degrees, and the fewest devices. What an option does not say comes from\n"
               "the topology, or else from the profile. A topology with levels counts them: what\n"
               "stages send pays the level it crosses; with --bandwidth every device has the\n"
               "same to everywhere.\n\n"
               "Example:\n"
               "  pipersim plan planner/profiles/gpt3-13b-a100.json --topology dgx-a100 \\\n"
               "      --devices 64 -o plan.json\n",
    .run = run,
};

#define PS_PLAN_MODE(name) extern const PsPlanMode ps_plan_mode_##name;
#include "planner/plan-modes.def"
#undef PS_PLAN_MODE

static const PsPlanMode *const modes[] = {
#define PS_PLAN_MODE(name) &ps_plan_mode_##name,
#include "planner/plan-modes.def"
#undef PS_PLAN_MODE
};
#define N_MODES G_N_ELEMENTS(modes)

/* What was given of one mode's option. */
typedef union {
    gboolean flag;
    char *text;
} Given;

gboolean ps_plan_save_if_asked(const PsPlanRequest *request, const PsPlan *plan, GError **error)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, request->profile);
    return request->path == NULL ||
           ps_plan_save(plan, request->profile, estimate, request->path, error);
}

gboolean ps_plan_deliver(const PsPlanRequest *request, const PsPlan *plan, const char *claim,
                         GError **error)
{
    g_autoptr(PsOutput) output = NULL;
    if (!ps_plan_save_if_asked(request, plan, error)) {
        return FALSE;
    }
    if (g_strcmp0(request->path, "-") == 0) {
        return TRUE; /* it is on standard output already */
    }
    if ((output = ps_output_open("-", error)) == NULL) {
        return FALSE;
    }
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, request->profile);
    ps_plan_report(plan, request->profile, estimate, claim, request->format, output);
    return ps_output_commit(output, error);
}

static GOptionEntry *mode_entries(Given *given)
{
    GOptionEntry *entries = g_new0(GOptionEntry, N_MODES);
    for (guint i = 1; i < N_MODES; i++) {
        gboolean flag = modes[i]->argument == NULL;
        entries[i - 1] = (GOptionEntry){
            .long_name = modes[i]->option,
            .arg = flag ? G_OPTION_ARG_NONE : G_OPTION_ARG_STRING,
            .arg_data = flag ? (gpointer)&given[i].flag : (gpointer)&given[i].text,
            .description = modes[i]->help,
            .arg_description = modes[i]->argument,
        };
    }
    return entries;
}

static const PsPlanMode *chosen_mode(const Given *given, const char **argument, GError **error)
{
    const PsPlanMode *chosen = modes[0];
    *argument = NULL;
    for (guint i = 1; i < N_MODES; i++) {
        gboolean flag = modes[i]->argument == NULL;
        if (flag ? !given[i].flag : given[i].text == NULL) {
            continue;
        }
        if (chosen != modes[0]) {
            ps_error(error, PS_ERROR_USAGE, "--%s and --%s do not go together (expected one)",
                     chosen->option, modes[i]->option);
            return NULL;
        }
        chosen = modes[i];
        *argument = flag ? NULL : given[i].text;
    }
    return chosen;
}

/* Everything between the command line and the mode. */
typedef struct {
    PsSettingOptions setting;
    PsPlannerChoices planner;
    char *path, *format, *tps, *placement;
    Given given[N_MODES];
} Options;

static void options_clear(Options *options)
{
    ps_setting_options_clear(&options->setting);
    ps_planner_choices_clear(&options->planner);
    g_free(options->path);
    g_free(options->format);
    g_free(options->tps);
    g_free(options->placement);
    for (guint i = 1; i < N_MODES; i++) {
        if (modes[i]->argument != NULL) {
            g_free(options->given[i].text);
        }
    }
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* Stages one after the other are what the search builds, and what lets a stage's costs depend on
 * its neighbours alone. */
static gboolean check_placement(const char *text, GError **error)
{
    PsPlacement placement = PS_PLACE_TENSOR_DATA_PIPELINE;
    if (text != NULL && !ps_placement_parse(text, &placement, error)) {
        g_prefix_error(error, "--placement: ");
        return FALSE;
    }
    if (placement != PS_PLACE_TENSOR_DATA_PIPELINE) {
        ps_error(
            error, PS_ERROR_USAGE,
            "--placement: plans are made of stages one after the other, so there is no planning "
            "for %s (expected tensor,data,pipeline; replay knows the others)",
            text);
        return FALSE;
    }
    return TRUE;
}

static gboolean run_mode(const Options *options, const char *profile_path, GError **error)
{
    PsPlanRequest request = {.format = PS_FORMAT_TABLE, .path = options->path, .tps = options->tps};
    const PsPlanMode *mode = chosen_mode(options->given, &request.argument, error);
    if (mode == NULL ||
        (options->format != NULL && !ps_format_parse(options->format, &request.format, error)) ||
        !ps_planner_choose(&options->planner, &request.options, error) ||
        !check_placement(options->placement, error)) {
        return FALSE;
    }
    if (options->tps != NULL && (g_strcmp0(mode->option, "objective") != 0 ||
                                 g_strcmp0(request.argument, "devices") != 0)) {
        ps_error(error, PS_ERROR_USAGE, "--tps is a target (expected --objective devices with it)");
        return FALSE;
    }
    g_autoptr(PsProfile) profile = ps_setting_load_profile(&options->setting, profile_path, error);
    if (profile == NULL) {
        return FALSE;
    }
    request.profile = profile;
    request.setting = ps_setting_of_profile(profile);
    gboolean done = (mode->prepare == NULL || mode->prepare(&request, error)) &&
                    ps_setting_apply(&options->setting, &request.setting, error) &&
                    mode->run(&request, error);
    g_clear_pointer(&request.input, request.free_input);
    return done;
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_auto(Options) options = {0};
    g_autofree GOptionEntry *setting_entries = ps_setting_entries(&options.setting);
    g_autofree GOptionEntry *planner_entries = ps_planner_entries(&options.planner);
    g_autofree GOptionEntry *entries_of_modes = mode_entries(options.given);
    const GOptionEntry entries[] = {
        {"tps", 0, 0, G_OPTION_ARG_STRING, &options.tps, "Target of --objective devices", "TIME"},
        {"placement", 0, 0, G_OPTION_ARG_STRING, &options.placement,
         "Order in which ranks are neighbours, innermost first", "tensor,data,pipeline"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.path, "Write the plan there",
         "PLAN.json"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &options.format, "What to print (default table)",
         "table|csv|json"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {setting_entries, planner_entries, entries_of_modes,
                                          entries, NULL};
    g_auto(GStrv) arguments = NULL;
    return ps_options_parse(&ps_command_plan, groups, argc, argv, 1, 1, &arguments, error) &&
           run_mode(&options, arguments[0], error);
}
