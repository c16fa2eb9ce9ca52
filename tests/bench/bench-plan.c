/* Times whole processes: `pipersim plan`, reading the profile included, beside what the published
 * implementation took on a two-core machine; then how the time grows with devices, microbatches,
 * layers, levels and downsets, what each objective takes, and `validate` from end to end. Median of
 * several runs; memory is the process's largest resident set. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib.h>

#define RUNS 5
#define PROFILES "../shared/data/profiles/"

typedef struct {
    double seconds;
    double megabytes;
} Cost;

static gint by_seconds(gconstpointer a, gconstpointer b)
{
    const Cost *x = a, *y = b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static Cost run_once(char **argv)
{
    struct rusage usage;
    int status;
    gint64 start_us = g_get_monotonic_time();
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL ||
            freopen("/dev/null", "w", stderr) == NULL) {
            _exit(127);
        }
        execv(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) == 127) {
        fprintf(stderr, "cannot run %s\n", argv[0]);
        exit(1);
    }
    return (Cost){(double)(g_get_monotonic_time() - start_us) * 1e-6,
                  (double)usage.ru_maxrss / 1024};
}

static Cost median_of(const char *program, const char *arguments)
{
    g_autofree char *line = g_strdup_printf("%s %s", program, arguments);
    g_auto(GStrv) argv = NULL;
    g_assert(g_shell_parse_argv(line, NULL, &argv, NULL));
    Cost costs[RUNS];
    run_once(argv);
    for (guint i = 0; i < RUNS; i++) {
        costs[i] = run_once(argv);
    }
    qsort(costs, RUNS, sizeof *costs, by_seconds);
    return costs[RUNS / 2];
}

static char *plan_arguments(const char *profile, guint devices, guint microbatches,
                            const char *memory)
{
    return g_strdup_printf("plan " PROFILES
                           "%s.json --format json --time-unit s --bandwidth 25GiB/s "
                           "--devices %u --microbatches %u --memory %s",
                           profile, devices, microbatches, memory);
}

static void compare_with_reference(const char *program)
{
    static const struct {
        const char *profile, *memory;
        guint devices, microbatches;
        double reference_s;
    } rows[] = {
        {"bert32-a100", "8GiB", 512, 1920, 9.49},    {"bert32-a100", "8GiB", 1024, 1920, 53},
        {"bert32-a100", "8GiB", 2048, 1920, 174.84}, {"bert96-a100", "8GiB", 512, 2048, 41},
        {"resnet50-v100", "4GiB", 8, 7680, 2.54},    {"resnet50-v100", "4GiB", 64, 7680, 8.05},
        {"gnmt", "3.5GiB", 2, 256, 282.04},          {"gnmt", "3.5GiB", 8, 256, 496},
    };
    printf("plan, against the published implementation\n"
           "profile        devices     N  memory  reference s    ours s    ratio      MB\n");
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *arguments =
            plan_arguments(rows[i].profile, rows[i].devices, rows[i].microbatches, rows[i].memory);
        Cost cost = median_of(program, arguments);
        printf("%-13s  %7u  %4u  %6s  %11.2f  %8.4f  %7.0f  %6.1f\n", rows[i].profile,
               rows[i].devices, rows[i].microbatches, rows[i].memory, rows[i].reference_s,
               cost.seconds, rows[i].reference_s / cost.seconds, cost.megabytes);
    }
}

static void show_growth(const char *program)
{
    static const struct {
        const char *profile;
        guint devices, microbatches;
    } rows[] = {
        {"bert32-a100", 256, 1920},  {"bert32-a100", 512, 1920},  {"bert32-a100", 1024, 1920},
        {"bert32-a100", 2048, 1920}, {"bert32-a100", 4096, 7680}, {"bert32-a100", 16384, 7680},
        {"bert32-a100", 2048, 480},  {"bert32-a100", 2048, 960},  {"bert32-a100", 2048, 3840},
        {"bert48-a100", 2048, 2048}, {"bert96-a100", 2048, 2048},
    };
    printf("\nplan, growth with devices, microbatches and layers (8 GiB)\n"
           "profile        devices     N    ours s      MB\n");
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *arguments =
            plan_arguments(rows[i].profile, rows[i].devices, rows[i].microbatches, "8GiB");
        Cost cost = median_of(program, arguments);
        printf("%-13s  %7u  %4u  %8.4f  %6.1f\n", rows[i].profile, rows[i].devices,
               rows[i].microbatches, cost.seconds, cost.megabytes);
    }
}

static void show_levels(const char *program)
{
    static const struct {
        const char *profile, *network, *topology;
    } rows[] = {
        {"bert32-a100", "flat", "cluster:16384 25GB/s 8GiB"},
        {"bert32-a100", "two levels", "node:8 300GB/s cluster:16384 25GB/s 8GiB"},
        {"bert32-a100", "three levels", "node:8 300GB/s pod:256 100GB/s cluster:16384 25GB/s 8GiB"},
        {"bert96-a100", "flat", "cluster:16384 25GB/s 8GiB"},
        {"bert96-a100", "two levels", "node:8 300GB/s cluster:16384 25GB/s 8GiB"},
        {"bert96-a100", "three levels", "node:8 300GB/s pod:256 100GB/s cluster:16384 25GB/s 8GiB"},
    };
    printf("\nplan, growth with levels of bandwidth (2048 devices, N = 1920, 8 GiB)\n"
           "profile        network         ours s      MB\n");
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *arguments =
            g_strdup_printf("plan " PROFILES "%s.json --topology '%s' --devices 2048 "
                            "--microbatches 1920 --format json",
                            rows[i].profile, rows[i].topology);
        Cost cost = median_of(program, arguments);
        printf("%-13s  %-13s  %8.4f  %6.1f\n", rows[i].profile, rows[i].network, cost.seconds,
               cost.megabytes);
    }
}

/* Branches of layers beside each other, of 1 to 7 ms, that fit only if some recompute. */
static void write_branches(const char *path, guint branches, guint length)
{
    GString *json = g_string_new("{\"maxDevices\": 16, \"maxMemoryPerDevice\": 1e9, "
                                 "\"bandwidth\": 1e10, \"mbsInBatch\": 64, \"nodes\": [");
    GString *edges = g_string_new(NULL);
    for (guint v = 0; v < branches * length; v++) {
        gboolean first = v % length == 0, last = v % length == length - 1;
        g_autofree char *in = first ? g_strdup("") : g_strdup_printf("\"%u\": 0", v - 1);
        g_autofree char *out = last ? g_strdup("") : g_strdup_printf("\"%u\": 0", v + 1);
        g_string_append_printf(json, "%s{\"id\": %u, \"name\": \"l\", \"TMPCs\": {\"1\": [",
                               v > 0 ? ", " : "", v);
        for (guint i = 0; i < 2; i++) {
            g_string_append_printf(
                json,
                "%s{\"id\": \"%s\", \"timePerSample\": %.4f, \"parameterSize\": 1e6, "
                "\"memoryUsageA\": %.0f, \"memoryUsageB\": 1e6, \"syncTimeFw\": {%s}, "
                "\"syncTimeBw\": {%s}}",
                i > 0 ? ", " : "", i > 0 ? "activation recomp" : "vanilla",
                (1 + v % 7) * (i > 0 ? 1.3e-3 : 1e-3), (i > 0 ? 2e9 : 8e9) / (branches * length),
                in, out);
        }
        g_string_append(json, "]}}");
        if (!last) {
            g_string_append_printf(
                edges, "%s{\"sourceId\": %u, \"destId\": %u, \"communicationCost\": 1e5}",
                edges->len > 0 ? ", " : "", v, v + 1);
        }
    }
    g_string_append_printf(json, "], \"edges\": [%s]}", edges->str);
    g_assert(g_file_set_contents(path, json->str, -1, NULL));
    g_string_free(json, TRUE);
    g_string_free(edges, TRUE);
}

static void show_downsets(const char *program)
{
    static const struct {
        guint branches, length;
    } rows[] = {{1, 100}, {1, 300}, {1, 1000}, {2, 20}, {2, 50}, {2, 100}, {3, 20}, {3, 100}};
    g_autofree char *folder = g_dir_make_tmp("pipersim-bench-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "branches.json", NULL);
    printf("\nplan, growth with layers and downsets (16 devices, N = 64; 20000 are contracted)\n"
           "branches  layers  downsets    ours s      MB\n");
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        write_branches(path, rows[i].branches, rows[i].length);
        g_autofree char *arguments = g_strdup_printf("plan %s --format json", path);
        guint n_downsets = 1;
        for (guint k = 0; k < rows[i].branches; k++) {
            n_downsets *= rows[i].length + 1;
        }
        Cost cost = median_of(program, arguments);
        printf("%8u  %6u  %8u  %8.4f  %6.1f\n", rows[i].branches, rows[i].branches * rows[i].length,
               n_downsets, cost.seconds, cost.megabytes);
    }
    g_unlink(path);
    g_rmdir(folder);
}

static void show_objectives(const char *program)
{
    static const struct {
        const char *what, *options;
    } rows[] = {
        {"steady", ""},
        {"flush", "--objective flush"},
        {"flush, N = 64", "--objective flush --microbatches 64"},
        {"nested", "--degrees nested"},
        {"sufficient", "--in-flight sufficient"},
        {"the 20 best", "--top 20"},
        {"certify", "--certify"},
        {"frontier, devices", "--frontier devices"},
        {"frontier, memory", "--frontier memory"},
    };
    printf("\nplan, what is asked (bert32-a100, 64 devices, N = 1920, 8 GiB)\n"
           "asked for          ours s      MB\n");
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *arguments =
            g_strdup_printf("plan " PROFILES "bert32-a100.json --bandwidth 25GiB/s --memory 8GiB "
                            "--devices 64 --format csv %s",
                            rows[i].options);
        Cost cost = median_of(program, arguments);
        printf("%-17s  %6.3f  %6.1f\n", rows[i].what, cost.seconds, cost.megabytes);
    }
}

static void time_validate(const char *program)
{
    static const char *const assumptions[] = {"piper", "real"};
    printf("\nvalidate (plan, replay and check): bert32-a100, 64 devices, N = 1920, 8 GiB\n"
           "assume    in memory s  with a run folder s\n");
    g_autofree char *folder = g_dir_make_tmp("pipersim-bench-XXXXXX", NULL);
    for (guint i = 0; i < G_N_ELEMENTS(assumptions); i++) {
        g_autofree char *arguments =
            g_strdup_printf("validate " PROFILES "bert32-a100.json --bandwidth 25GiB/s "
                            "--devices 64 --memory 8GiB --tolerance 100%% --assume %s",
                            assumptions[i]);
        g_autofree char *with_folder = g_strdup_printf("%s -o %s", arguments, folder);
        printf("%-8s  %11.4f  %19.4f\n", assumptions[i], median_of(program, arguments).seconds,
               median_of(program, with_folder).seconds);
    }
    g_autofree char *remove = g_strdup_printf("rm -r %s", folder);
    g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: bench-plan PIPERSIM\n");
        return 2;
    }
    if (!g_file_test(PROFILES, G_FILE_TEST_IS_DIR)) {
        printf("skipped: " PROFILES " is not here\n");
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    compare_with_reference(argv[1]);
    show_growth(argv[1]);
    show_levels(argv[1]);
    show_downsets(argv[1]);
    show_objectives(argv[1]);
    time_validate(argv[1]);
    return 0;
}
