#include "sim/replay/plan-input.h"

#include "sim/base/error.h"

static char *find_profile(const char *plan_path, const char *given, const PsPlanOrigin *origin,
                          GError **error)
{
    if (given != NULL) {
        return g_strdup(given);
    }
    if (origin->path == NULL) {
        ps_error(error, PS_ERROR_USAGE,
                 "%s: the plan does not say which profile it is for (expected --profile PROFILE)",
                 plan_path);
        return NULL;
    }
    g_autofree char *folder = g_path_get_dirname(plan_path);
    g_autofree char *beside = g_path_is_absolute(origin->path)
                                  ? g_strdup(origin->path)
                                  : g_build_filename(folder, origin->path, NULL);
    if (g_file_test(beside, G_FILE_TEST_EXISTS)) {
        return g_steal_pointer(&beside);
    }
    return g_strdup(origin->path);
}

static const char *recorded_unit(const PsPlanOrigin *origin)
{
    return origin->time_unit_s == 1 ? "s" : origin->time_unit_s == 1e-3 ? "ms" : NULL;
}

PsPlanInput *ps_plan_input_load(const char *path, const char *profile_path, const char *time_unit,
                                GError **error)
{
    g_autoptr(PsPlanFile) file = ps_plan_file_load(path, error);
    if (file == NULL) {
        return NULL;
    }
    const PsPlanOrigin *origin = ps_plan_file_origin(file);
    g_autofree char *found = find_profile(path, profile_path, origin, error);
    if (found == NULL) {
        return NULL;
    }
    g_autoptr(PsProfile) profile =
        ps_profile_load(found, time_unit != NULL ? time_unit : recorded_unit(origin), error);
    g_autoptr(PsPlan) plan = profile != NULL ? ps_plan_file_resolve(file, profile, error) : NULL;
    if (plan == NULL) {
        return NULL;
    }
    gboolean counted = origin->path == NULL;
    if (counted) {
        g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
        plan->setting.devices = estimate->devices_used;
    }
    PsPlanInput *input = ps_plan_input_new(g_steal_pointer(&profile), g_steal_pointer(&plan));
    input->counted = counted;
    input->path = g_strdup(path);
    input->sha256 = g_strdup(ps_plan_file_sha256(file));
    return input;
}

PsPlanInput *ps_plan_input_new(PsProfile *profile, PsPlan *plan)
{
    PsPlanInput *input = g_new0(PsPlanInput, 1);
    input->profile = profile;
    input->plan = plan;
    return input;
}

void ps_plan_input_change_setting(PsPlanInput *input, const PsSetting *setting)
{
    PsSetting own = *setting;
    if (input->counted && own.devices == input->plan->setting.devices) {
        ps_setting_use_devices(&own, MAX(own.devices, ps_plan_least_devices(input->plan, setting)));
    }
    ps_plan_change_setting(input->plan, input->profile, &own);
}

void ps_plan_input_free(PsPlanInput *input)
{
    if (input != NULL) {
        ps_profile_free(input->profile);
        ps_plan_free(input->plan);
        g_free(input->path);
        g_free(input->sha256);
        g_free(input);
    }
}
