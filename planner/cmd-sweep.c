#include "planner/planner-options.h"
#include "planner/sweep.h"
#include "sim/base/interrupt.h"
#include "sim/base/units.h"
#include "sim/cli/setting-options.h"
#include "sim/replay/replay-options.h"

#define MOST_POINTS 1000000
#define MOST_THREADS 1024

static gboolean run(int argc, char **argv, GError **error);

const PsCommand ps_command_sweep = {
    .name = "sweep",
    .usage = "PROFILE [options] -o sweep.csv",
    .summary = "plan, replay and check every combination of settings",
    .details = "--devices, --memory, --bandwidth and --microbatches take lists, separated by\n"
               "commas: each combination is planned, replayed and checked, one CSV row each.\n"
               "Settings without a plan are rows too, with the reason. The file is the same for\n"
               "any number of threads. Ctrl-C ends early and keeps the rows that are done.\n"
               "\n" PS_REPLAY_HELP "\n"
               "Example:\n"
               "  pipersim sweep planner/profiles/gpt3-13b-a100.json --devices 32,64 \\\n"
               "      --memory 40GiB,80GiB --bandwidth 6.25GB/s,12.5GB/s,25GB/s -o sweep.csv\n"
               "  pipersim plot sweep.csv --x bandwidth --y replayed_tps --series memory \\\n"
               "      -o sweep.svg\n",
    .run = run,
};

typedef struct {
    PsSettingOptions setting;
    PsPlannerChoices planner;
    PsReplayChoices replay;
    char *threads, *path;
} Options;

static void options_clear(Options *options)
{
    ps_setting_options_clear(&options->setting);
    ps_planner_choices_clear(&options->planner);
    ps_replay_choices_clear(&options->replay);
    g_free(options->threads);
    g_free(options->path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* The values of one option, or a single NULL where it was not given. Caller frees. */
static char **split(const char *list, guint *n)
{
    if (list == NULL) {
        *n = 1;
        return g_new0(char *, 2);
    }
    char **values = g_strsplit(list, ",", -1);
    *n = g_strv_length(values);
    for (guint i = 0; i < *n; i++) {
        g_strstrip(values[i]);
    }
    return values;
}

/* Fills sweep->points with every combination; the last option varies fastest. */
static gboolean lay_out(const PsSettingOptions *options, PsSweep *sweep, GError **error)
{
    guint n_devices, n_memory, n_bandwidth, n_microbatches;
    g_auto(GStrv) devices = split(options->devices, &n_devices);
    g_auto(GStrv) memory = split(options->memory, &n_memory);
    g_auto(GStrv) bandwidth = split(options->bandwidth, &n_bandwidth);
    g_auto(GStrv) microbatches = split(options->microbatches, &n_microbatches);
    guint64 n = (guint64)n_devices * n_memory * n_bandwidth * n_microbatches;
    if (n == 0 || n > MOST_POINTS) {
        ps_error(error, PS_ERROR_USAGE,
                 "the lists make %" G_GUINT64_FORMAT " settings (expected 1 to %d)", n,
                 MOST_POINTS);
        return FALSE;
    }
    sweep->n_points = (guint)n;
    sweep->points = g_new0(PsSweepPoint, n);
    for (guint i = 0; i < n; i++) {
        PsSettingOptions one = *options;
        guint rest = i;
        one.bandwidth = bandwidth[rest % n_bandwidth];
        rest /= n_bandwidth;
        one.memory = memory[rest % n_memory];
        rest /= n_memory;
        one.devices = devices[rest % n_devices];
        one.microbatches = microbatches[rest / n_devices];
        sweep->points[i].setting = ps_setting_of_profile(sweep->profile);
        if (!ps_setting_apply(&one, &sweep->points[i].setting, error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* The file is opened first: hours of work must not end in "cannot write". Nothing is written where
 * no row is done. */
static gboolean run_and_write(PsSweep *sweep, guint n_threads, const char *path, GError **error)
{
    g_autoptr(PsOutput) output = ps_output_open(path, error);
    if (output == NULL) {
        return FALSE;
    }
    guint n_done = ps_sweep_run(sweep, n_threads);
    if (n_done > 0) {
        ps_sweep_write(sweep, output);
        if (!ps_output_commit(output, error)) {
            return FALSE;
        }
    }
    if (n_done < sweep->n_points) {
        ps_error(error, PS_ERROR_IO, "interrupted: the rows are those of %u of %u settings", n_done,
                 sweep->n_points);
    }
    return n_done == sweep->n_points;
}

static gboolean sweep_all(const Options *options, const char *profile_path, GError **error)
{
    PsPlannerOptions planner;
    PsReplaySettings replay;
    guint64 n_threads = 0;
    if (!ps_planner_choose(&options->planner, &planner, error) ||
        !ps_replay_settings_choose(&replay, &options->replay, error)) {
        return FALSE;
    }
    if (options->threads != NULL &&
        !ps_count_parse(options->threads, 1, MOST_THREADS, &n_threads, error)) {
        g_prefix_error(error, "--threads: ");
        return FALSE;
    }
    g_autoptr(PsProfile) profile = ps_setting_load_profile(&options->setting, profile_path, error);
    if (profile == NULL) {
        return FALSE;
    }
    g_auto(PsSweep) sweep = {.profile = profile, .planner = &planner, .replay = &replay};
    if (!lay_out(&options->setting, &sweep, error)) {
        return FALSE;
    }
    ps_interrupt_hold();
    gboolean done =
        run_and_write(&sweep, (guint)n_threads, options->path != NULL ? options->path : "-", error);
    ps_interrupt_release(!done);
    return done;
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_auto(Options) options = {0};
    g_autofree GOptionEntry *setting_entries = ps_setting_entries(&options.setting);
    g_autofree GOptionEntry *planner_entries = ps_planner_entries(&options.planner);
    g_autofree GOptionEntry *replay_entries = ps_replay_entries(&options.replay);
    const GOptionEntry entries[] = {
        {"threads", 0, 0, G_OPTION_ARG_STRING, &options.threads, "Threads (default: all cores)",
         "N"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.path,
         "Write the rows there (default: standard output)", "sweep.csv"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {setting_entries, planner_entries, replay_entries, entries,
                                          NULL};
    g_auto(GStrv) arguments = NULL;
    return ps_options_parse(&ps_command_sweep, groups, argc, argv, 1, 1, &arguments, error) &&
           ps_replay_choices_open(&options.replay, options.setting.topology, error) &&
           sweep_all(&options, arguments[0], error);
}
