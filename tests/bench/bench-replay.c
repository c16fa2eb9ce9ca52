/* Replays: cost per trace row as runs grow from 1e4 to 1e7 rows, for each schedule, and one batch
 * of the largest layout of Megatron's paper, in memory and written to a folder. Each is run in a
 * process of its own, for its peak memory. usage: bench-replay PIPERSIM (which it does not use) */
#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/replay/fold.h"
#include "sim/replay/record.h"

static PsWorkload *chain(guint p, guint t, guint d, guint microbatches)
{
    PsWorkload *workload = ps_workload_new(p, p - 1, microbatches);
    for (guint i = 0; i < p; i++) {
        workload->stages[i] = (PsWorkStage){
            .data_parallel = d,
            .tensor_parallel = t,
            .in_flight = p - i,
            .forward_s = 0.010,
            .backward_s = 0.020,
            .weight_gradient_s = 0.010,
            .resync_s = d > 1 ? 0.050 : 0,
            .resync_bytes = 1e9,
            .stash_bytes = 1e8,
        };
    }
    for (guint i = 0; i + 1 < p; i++) {
        workload->borders[i] = (PsWorkBorder){.source = i,
                                              .target = i + 1,
                                              .source_s = 0.0005,
                                              .source_bytes = 1e7,
                                              .target_s = 0.0005,
                                              .target_bytes = 1e7};
    }
    return workload;
}

/* The 1-trillion-parameter row of Narayanan et al., SC 2021, table 1: 128 layers of hidden size h =
 * 25600 on 64 stages, 8-way tensor and 6-way data parallel on 3072 devices, a batch of 3072
 * sequences of s = 2048 tokens, one per microbatch. From first principles, per device:
 * - a layer's forward is 24 s h^2 + 4 s^2 h FLOP (their appendix, without the logits): with two
 *   layers on 8 devices at half of 312 TFLOP/s, (2 / 8) 3.264e13 / 156e12 = 52.3 ms; the backward
 *   is twice that; activations are recomputed, so it begins with a forward
 * - s h values of 2 bytes cross a border, an eighth of them from each device (their section 4.1),
 *   at 25 GB/s: 13.1 MB in 0.52 ms
 * - 12 h^2 parameters per layer make 1.97e9 on each device; their gradients of 2 bytes go around a
 *   ring of 6 at 25 GB/s: 2 (5 / 6) 3.93 GB in 0.262 s
 * - stashed is a layer's input, s h values; of the workspace, 10 s h + 24 s h / 8 + 5 a s^2 / 8
 *   bytes per layer with a = 160 heads (Korthikanti et al., MLSys 2023, section 4.1). */
static PsWorkload *trillion_parameters(void)
{
    static const double s = 2048, h = 25600, a = 160, layers = 2, t = 8, d = 6;
    static const double flop_per_s = 312e12 / 2, bytes_per_s = 25e9;
    double flop = layers * (24 * s * h * h + 4 * s * s * h) / t;
    double border_bytes = 2 * s * h / t, gradient_bytes = 2 * layers * 12 * h * h / t;
    PsWorkload *workload = chain(64, (guint)t, (guint)d, 6 * 512);
    for (guint i = 0; i < 64; i++) {
        PsWorkStage *stage = &workload->stages[i];
        stage->forward_s = flop / flop_per_s;
        stage->backward_s = 2 * stage->forward_s;
        stage->weight_gradient_s = stage->recompute_s = stage->forward_s;
        stage->resync_bytes = 2 * (d - 1) / d * gradient_bytes;
        stage->resync_s = stage->resync_bytes / bytes_per_s;
        stage->gradient_bytes = stage->weights_bytes = stage->gradients_bytes = gradient_bytes;
        stage->optimizer_bytes = 6 * gradient_bytes;
        stage->stash_bytes = layers * 2 * s * h;
        stage->workspace_bytes = layers * (10 * s * h + 24 * s * h / t + 5 * a * s * s / t);
    }
    for (guint i = 0; i + 1 < 64; i++) {
        PsWorkBorder *border = &workload->borders[i];
        border->source_bytes = border->target_bytes = border_bytes;
        border->source_s = border->target_s = border_bytes / bytes_per_s;
    }
    return workload;
}

/* ---- one line of the table ------------------------------------------------------------------- */

typedef enum { IN_MEMORY, FOLDED, WRITTEN } Way;
static const char *const way_names[] = {"in memory", "folded", "written"};

static void count_row(const PsTraceOp *op G_GNUC_UNUSED, gpointer n_rows)
{
    ++*(gint64 *)n_rows;
}

static gint64 replay_in_memory(const PsWorkload *workload, const PsReplaySettings *settings,
                               gboolean fold)
{
    gint64 n_rows = 0;
    const PsTraceSink sink = {.op = count_row, .user_data = &n_rows};
    g_autoptr(PsReplayResult) result =
        (fold ? ps_fold_run : ps_replay_run)(workload, settings, &sink, NULL);
    g_assert(result != NULL);
    return n_rows;
}

static void remove_folder(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
    }
    g_rmdir(folder);
}

static gint64 replay_to_folder(const PsWorkload *workload, const PsReplaySettings *settings,
                               const char *folder)
{
    g_autoptr(PsRun) run = ps_run_new(workload->n_stages);
    for (guint i = 0; i < workload->n_stages; i++) {
        run->summary->stages[i].layers = g_strdup("");
    }
    gboolean fine = ps_replay_record(run, workload, settings, folder, 0, NULL);
    g_assert(fine);
    return run->summary->n_ops;
}

static void print_line(const PsWorkload *workload, const char *schedule, const char *topology,
                       Way way, const char *folder)
{
    PsReplayChoices choices = {.schedule = (char *)schedule, .start = (char *)"cold"};
    PsReplaySettings settings;
    struct rusage usage;
    gboolean known = ps_replay_choices_open(&choices, topology, NULL) &&
                     ps_replay_settings_choose(&settings, &choices, NULL);
    g_assert(known);
    gint64 start_us = g_get_monotonic_time();
    gint64 n_rows = way == WRITTEN ? replay_to_folder(workload, &settings, folder)
                                   : replay_in_memory(workload, &settings, way == FOLDED);
    double elapsed_us = (double)(g_get_monotonic_time() - start_us);
    getrusage(RUSAGE_SELF, &usage);
    printf("%-11s  %-9s  %-8s  %5u  %9u  %8" G_GINT64_FORMAT "  %7.3f  %6.0f  %5.0f\n", schedule,
           way_names[way], topology != NULL ? "dgx-a100" : "flat", workload->n_lanes,
           workload->microbatches, n_rows, elapsed_us * 1e-6, elapsed_us * 1e3 / (double)n_rows,
           (double)usage.ru_maxrss / 1024);
    fflush(stdout);
}

/* Takes the workload over. */
static void time_replay(PsWorkload *workload, const char *schedule, const char *topology, Way way)
{
    int status = 0;
    g_autofree char *folder = way == WRITTEN ? g_dir_make_tmp("bench-replay-XXXXXX", NULL) : NULL;
    gboolean fine = ps_workload_finish(workload, NULL);
    g_assert(fine);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        print_line(workload, schedule, topology, way, folder);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (status != 0) {
        printf("%-11s  %-9s  failed\n", schedule, way_names[way]);
    }
    if (folder != NULL) {
        remove_folder(folder);
    }
    ps_workload_free(workload);
}

#define DGX_A100 "topologies/dgx-a100.topo"

int main(void)
{
    static const char *const others[] = {"gpipe", "1f1b-2bw", "interleaved", "zb-h1", "zb-v"};
    printf("replay, cold start, overlapped transfers\n");
    printf("%-11s  %-9s  %-8s  %5s  %9s  %8s  %7s  %6s  %5s\n", "schedule", "trace", "network",
           "lanes", "microb.", "rows", "seconds", "ns/row", "MiB");
    for (guint microbatches = 225; microbatches <= 225000; microbatches *= 10) {
        time_replay(chain(8, 1, 1, microbatches), "1f1b", NULL, IN_MEMORY);
    }
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        time_replay(chain(8, 1, 1, 22500), others[i], NULL, IN_MEMORY);
    }
    printf("\n1 trillion parameters: 64 stages, t = 8, d = 6\n");
    time_replay(trillion_parameters(), "1f1b", NULL, FOLDED);
    time_replay(trillion_parameters(), "1f1b", NULL, IN_MEMORY);
    time_replay(trillion_parameters(), "1f1b", DGX_A100, IN_MEMORY);
    time_replay(trillion_parameters(), "1f1b", DGX_A100, WRITTEN);
    printf("\n");
    return 0;
}
