#include "sim/cli/setting-options.h"

#include "sim/base/suggest.h"
#include "sim/base/units.h"
#include "sim/topo/topology.h"

#define MOST_DEVICES 1000000

GOptionEntry *ps_setting_entries(PsSettingOptions *options)
{
    const GOptionEntry entries[] = {
        {"topology", 0, 0, G_OPTION_ARG_FILENAME, &options->topology,
         ".topo file, name, or \"flat:64 25GB/s 80GiB\"", "T"},
        {"devices", 0, 0, G_OPTION_ARG_STRING, &options->devices, "Accelerators to use", "K"},
        {"memory", 0, 0, G_OPTION_ARG_STRING, &options->memory, "Memory of one device", "SIZE"},
        {"bandwidth", 0, 0, G_OPTION_ARG_STRING, &options->bandwidth,
         "Bandwidth of one device to the outside", "RATE"},
        {"microbatches", 0, 0, G_OPTION_ARG_STRING, &options->microbatches,
         "Microbatches per batch", "N"},
        {"in-flight", 0, 0, G_OPTION_ARG_STRING, &options->in_flight,
         "Bounds: Piper's, or such that runs keep up", "piper|sufficient"},
        {"time-unit", 0, 0, G_OPTION_ARG_STRING, &options->time_unit, "Unit of the profile's times",
         "s|ms"},
        G_OPTION_ENTRY_NULL,
    };
    return g_memdup2(entries, sizeof entries);
}

void ps_setting_options_clear(PsSettingOptions *options)
{
    g_free(options->topology);
    g_free(options->devices);
    g_free(options->memory);
    g_free(options->bandwidth);
    g_free(options->microbatches);
    g_free(options->in_flight);
    g_free(options->time_unit);
}

PsProfile *ps_setting_load_profile(const PsSettingOptions *options, const char *path,
                                   GError **error)
{
    return ps_profile_load(path, options->time_unit, error);
}

PsSetting ps_setting_of_profile(const PsProfile *profile)
{
    return (PsSetting){.devices = profile->devices,
                       .memory_bytes = profile->memory_bytes,
                       .bandwidth_bytes_per_s = profile->bandwidth_bytes_per_s,
                       .microbatches = profile->microbatches};
}

static gboolean apply_count(const char *option, const char *text, guint *count, GError **error)
{
    guint64 value;
    if (text == NULL) {
        return TRUE;
    }
    if (!ps_count_parse(text, 1, MOST_DEVICES, &value, error)) {
        g_prefix_error(error, "--%s: ", option);
        return FALSE;
    }
    *count = (guint)value;
    return TRUE;
}

static gboolean apply_quantity(const char *option, PsDimension dimension, const char *text,
                               double *quantity, GError **error)
{
    double value;
    if (text == NULL) {
        return TRUE;
    }
    if (!ps_quantity_parse(dimension, text, &value, error)) {
        g_prefix_error(error, "--%s: ", option);
        return FALSE;
    }
    if (value <= 0) {
        ps_error(error, PS_ERROR_USAGE, "--%s: '%s' is nothing (expected more than 0)", option,
                 text);
        return FALSE;
    }
    *quantity = value;
    return TRUE;
}

static gboolean apply_in_flight(const char *text, PsSetting *setting, GError **error)
{
    for (guint i = 0; text != NULL && i < PS_N_IN_FLIGHT; i++) {
        if (g_str_equal(text, ps_in_flight_names[i])) {
            setting->in_flight = i;
            return TRUE;
        }
    }
    if (text != NULL) {
        g_autofree char *hint = ps_suggest_text(text, ps_in_flight_names);
        ps_error(error, PS_ERROR_USAGE, "--in-flight: unknown value '%s'%s", text, hint);
    }
    return text == NULL;
}

/* A level outside that is faster than one inside serves those inside as well. */
static gboolean take_levels(const PsTopology *topology, PsLevels *levels, GError **error)
{
    if (topology->n_levels > PS_MOST_LEVELS) {
        ps_error(error, PS_ERROR_USAGE, "topology %s has %u levels (expected at most %d)",
                 topology->name, topology->n_levels, PS_MOST_LEVELS);
        return FALSE;
    }
    double fastest_bytes_per_s = 0;
    for (guint i = topology->n_levels; i-- > 0;) {
        const PsTopologyLevel *level = &topology->levels[i];
        fastest_bytes_per_s = MAX(fastest_bytes_per_s, level->bandwidth_bytes_per_s);
        levels->level[i] = (PsLevel){level->size, fastest_bytes_per_s};
    }
    levels->n = topology->n_levels;
    return TRUE;
}

static gboolean apply_topology(const char *text, PsSetting *setting, GError **error)
{
    if (text == NULL) {
        return TRUE;
    }
    g_autoptr(PsTopology) topology = ps_topology_load(text, error);
    if (topology == NULL || ps_topology_span_level(topology, setting->devices, error) == NULL ||
        !take_levels(topology, &setting->levels, error)) {
        return FALSE;
    }
    if (topology->accelerator.memory_bytes > 0) { /* a list of links does not say */
        setting->memory_bytes = topology->accelerator.memory_bytes;
    }
    return TRUE;
}

static gboolean apply_bandwidth(const char *text, PsSetting *setting, GError **error)
{
    if (text != NULL) {
        setting->levels.n = 0;
        return apply_quantity("bandwidth", PS_BYTES_PER_S, text, &setting->bandwidth_bytes_per_s,
                              error);
    }
    const PsLevels *levels = &setting->levels;
    if (levels->n == 0) {
        return TRUE;
    }
    if (setting->devices > levels->level[levels->n - 1].size) {
        ps_error(error, PS_ERROR_USAGE,
                 "--devices: %u are more than the plan's levels hold (expected at most %u, or a "
                 "--topology)",
                 setting->devices, levels->level[levels->n - 1].size);
        return FALSE;
    }
    if (!(levels->level[levels->n - 1].bandwidth_bytes_per_s > 0)) {
        ps_error(error, PS_ERROR_INPUT,
                 "--topology: some device has no link out (expected one for each, or "
                 "--bandwidth)");
        return FALSE;
    }
    ps_setting_use_devices(setting, setting->devices);
    return TRUE;
}

gboolean ps_setting_apply(const PsSettingOptions *options, PsSetting *setting, GError **error)
{
    return apply_count("devices", options->devices, &setting->devices, error) &&
           apply_count("microbatches", options->microbatches, &setting->microbatches, error) &&
           apply_in_flight(options->in_flight, setting, error) &&
           apply_topology(options->topology, setting, error) &&
           apply_quantity("memory", PS_BYTES, options->memory, &setting->memory_bytes, error) &&
           apply_bandwidth(options->bandwidth, setting, error);
}
