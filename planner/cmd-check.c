#include "planner/check/check.h"
#include "sim/base/log.h"
#include "sim/cli/options.h"
#include "sim/replay/plan-input.h"

static gboolean run(int argc, char **argv, GError **error);

const PsCommand ps_command_check = {
    .name = "check",
    .usage = "PLAN DIR [options]",
    .summary = "judge the planner's estimate by a run folder",
    .details =
        "Measures the traces in DIR anew and compares them, stage by stage, with what the\n"
        "planner estimated for PLAN; says whether the plan's degrees can reach the estimate\n"
        "at all. Exit status 3 where the replay is further from the estimate than the\n"
        "tolerance, or needs more memory than a device has.\n\n"
        "Example:\n"
        "  pipersim replay plan.json --assume piper -o run\n"
        "  pipersim check plan.json run --tolerance 1%\n",
    .run = run,
};

/* The run must have been made from this very plan. */
static gboolean same_plan(const char *plan_path, const PsRun *run, GError **error)
{
    g_autoptr(PsPlanFile) plan = ps_plan_file_load(plan_path, error);
    if (plan == NULL) {
        return FALSE;
    }
    const char *recorded = run->summary->plan_sha256 != NULL ? run->summary->plan_sha256 : "none";
    if (g_strcmp0(ps_plan_file_sha256(plan), recorded) != 0) {
        ps_error(
            error, PS_ERROR_INPUT,
            "%s: %s was made from another plan (expected SHA-256 %.12s..., as its summary.json "
            "has it, found %.12s...)",
            plan_path, run->folder, recorded, ps_plan_file_sha256(plan));
        return FALSE;
    }
    return TRUE;
}

/* What would restore the estimate needs the profile, which may not be here any more. */
static void restore(PsCheck *check, const char *plan_path, const PsRunSummary *summary)
{
    g_autoptr(GError) error = NULL;
    const char *unit = summary->time_unit_s == 1 ? "s" : "ms";
    g_autoptr(PsPlanInput) input =
        ps_plan_input_load(plan_path, summary->profile_path, unit, &error);
    if (input != NULL) {
        ps_plan_change_setting(input->plan, input->profile, &summary->setting);
    }
    if (input == NULL || !ps_check_restore(check, input->plan, input->profile, &error)) {
        ps_note("no word on in-flight bounds that restore the estimate: %s", error->message);
    }
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_autofree char *format_text = NULL, *tolerance_text = NULL;
    const GOptionEntry entries[] = {
        {"tolerance", 0, 0, G_OPTION_ARG_STRING, &tolerance_text,
         "Largest difference that passes (default 5%)", "PERCENT"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &format_text, "What to print (default table)",
         "table|csv|json"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {entries, NULL};
    g_auto(GStrv) arguments = NULL;
    PsFormat format = PS_FORMAT_TABLE;
    double tolerance = PS_CHECK_TOLERANCE;
    if (!ps_options_parse(&ps_command_check, groups, argc, argv, 2, 2, &arguments, error) ||
        (format_text != NULL && !ps_format_parse(format_text, &format, error)) ||
        (tolerance_text != NULL && !ps_check_parse_tolerance(tolerance_text, &tolerance, error))) {
        return FALSE;
    }
    g_autoptr(PsRun) run = ps_run_load(arguments[1], PS_RUN_EVERYTHING, error);
    if (run == NULL || !same_plan(arguments[0], run, error)) {
        return FALSE;
    }
    g_autoptr(PsCheck) check = ps_check_run(run, tolerance, error);
    if (check != NULL && !check->exact) {
        restore(check, arguments[0], run->summary);
    }
    g_autoptr(PsOutput) output = check != NULL ? ps_output_open("-", error) : NULL;
    if (output == NULL) {
        return FALSE;
    }
    ps_check_report(check, format, output);
    return ps_output_commit(output, error) && ps_check_result(check, error);
}
