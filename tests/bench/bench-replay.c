/* Replays: cost per trace row as runs grow from 1e4 to 1e7 rows, and one batch of the largest
 * layout of Megatron's paper. usage: bench-replay PIPERSIM (which it does not use) */
#include <stdio.h>
#include <sys/resource.h>

#include "sim/replay/replay.h"

static double peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

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
    gboolean fine = ps_workload_finish(workload, NULL);
    g_assert(fine);
    return workload;
}

static void count_row(const PsTraceOp *op G_GNUC_UNUSED, gpointer n_rows)
{
    ++*(gint64 *)n_rows;
}

static void time_replay(const PsWorkload *workload, const char *schedule)
{
    const PsReplayChoices choices = {.schedule = (char *)schedule, .start = "cold"};
    PsReplaySettings settings;
    gint64 n_rows = 0;
    const PsTraceSink sink = {.op = count_row, .user_data = &n_rows};
    if (!ps_replay_settings_choose(&settings, &choices, NULL)) {
        return;
    }
    gint64 start_us = g_get_monotonic_time();
    g_autoptr(PsReplayResult) result = ps_replay_run(workload, &settings, &sink, NULL);
    double elapsed_us = (double)(g_get_monotonic_time() - start_us);
    printf("%-12s  %6u  %12u  %9" G_GINT64_FORMAT "  %8.3f  %10.0f  %8.0f\n", schedule,
           workload->n_lanes, workload->microbatches, n_rows, elapsed_us * 1e-6,
           elapsed_us * 1e3 / (double)n_rows, peak_mib());
}

int main(void)
{
    printf("replay, cold start, overlapped transfers\n");
    printf("%-12s  %6s  %12s  %9s  %8s  %10s  %8s\n", "schedule", "lanes", "microbatches", "rows",
           "seconds", "ns per row", "peak MiB");
    for (guint microbatches = 225; microbatches <= 225000; microbatches *= 10) {
        g_autoptr(PsWorkload) workload = chain(8, 1, 1, microbatches);
        time_replay(workload, "1f1b");
    }
    static const char *const others[] = {"gpipe", "1f1b-2bw", "interleaved", "zb-h1", "zb-v"};
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        g_autoptr(PsWorkload) workload = chain(8, 1, 1, 22500);
        time_replay(workload, others[i]);
    }
    /* 64 stages, 8-way tensor, 6-way data, 512 microbatches per pipeline: the 1-trillion-parameter
     * row of Narayanan et al., SC 2021, table 1. */
    g_autoptr(PsWorkload) trillion = chain(64, 8, 6, 6 * 512);
    time_replay(trillion, "1f1b");
    printf("\n");
    return 0;
}
