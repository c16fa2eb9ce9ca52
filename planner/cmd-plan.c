#include "planner/plan-report.h"
#include "planner/planner-options.h"
#include "sim/cli/setting-options.h"

static gboolean run(int argc, char **argv, GError **error);

const PsCommand ps_command_plan = {
    .name = "plan",
    .usage = "PROFILE [options]",
    .summary = "find the optimal parallel training plan for a profile",
    .details = "PROFILE is a layer graph in Piper's JSON format. The plan has the least time per\n"
               "microbatch (TPS) in steady state under Piper's cost model; of equal ones it uses\n"
               "the fewest devices. What an option does not say comes from the topology, or else\n"
               "from the profile.\n\n"
               "Example:\n"
               "  pipersim plan planner/profiles/gpt3-13b-a100.json --topology dgx-a100 \\\n"
               "      --devices 64 -o plan.json\n",
    .run = run,
};

static gboolean print_and_save(const PsPlan *plan, const PsProfile *profile, const char *path,
                               PsFormat format, GError **error)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    if (path != NULL && !ps_plan_save(plan, profile, estimate, path, error)) {
        return FALSE;
    }
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    ps_plan_report(plan, profile, estimate, format, output);
    return ps_output_commit(output, error);
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_auto(PsSettingOptions) setting_options = {0};
    g_auto(PsPlannerChoices) choices = {0};
    g_autofree char *path = NULL, *format_text = NULL;
    g_autofree GOptionEntry *setting_entries = ps_setting_entries(&setting_options);
    g_autofree GOptionEntry *planner_entries = ps_planner_entries(&choices);
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &path, "Write the plan there", "PLAN.json"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &format_text, "What to print (default table)",
         "table|csv|json"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {setting_entries, planner_entries, entries, NULL};
    g_auto(GStrv) arguments = NULL;
    PsFormat format = PS_FORMAT_TABLE;
    PsPlannerOptions options;
    if (!ps_options_parse(&ps_command_plan, groups, argc, argv, 1, 1, &arguments, error) ||
        (format_text != NULL && !ps_format_parse(format_text, &format, error)) ||
        !ps_planner_choose(&choices, &options, error)) {
        return FALSE;
    }
    g_autoptr(PsProfile) profile = ps_setting_load_profile(&setting_options, arguments[0], error);
    if (profile == NULL) {
        return FALSE;
    }
    PsSetting setting = ps_setting_of_profile(profile);
    if (!ps_setting_apply(&setting_options, &setting, error)) {
        return FALSE;
    }
    g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, &options, error);
    return plan != NULL && print_and_save(plan, profile, path, format, error);
}
