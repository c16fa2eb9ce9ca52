/* The options that say which cluster a plan is for: --topology, --devices, --memory, --bandwidth,
 * --microbatches, --in-flight, and --time-unit for the profile. */
#pragma once

#include "sim/cli/options.h"
#include "sim/plan/plan.h"

typedef struct {
    char *topology, *devices, *memory, *bandwidth, *microbatches, *in_flight, *time_unit;
} PsSettingOptions;

/* Entries that fill `options`, for ps_options_parse. Caller frees with g_free. */
GOptionEntry *ps_setting_entries(PsSettingOptions *options);
void ps_setting_options_clear(PsSettingOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PsSettingOptions, ps_setting_options_clear)

/* Loads the profile with --time-unit. */
PsProfile *ps_setting_load_profile(const PsSettingOptions *options, const char *path,
                                   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Applies the options to `setting`, which holds the defaults (a profile's or a plan's). An option
 * beats the topology, which beats the default. Of a topology the setting takes the accelerator's
 * memory (a list of links has none) and the levels; where one level holds all devices, and where
 * --bandwidth is given, it is flat. Levels must hold all devices (USAGE). */
gboolean ps_setting_apply(const PsSettingOptions *options, PsSetting *setting,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The setting a profile asks for. */
PsSetting ps_setting_of_profile(const PsProfile *profile);
