/* The event queue alone, in the hold model (pop the first event, push it again at a random later
 * time): nanoseconds per hold with 1e3 to 1e6 events pending. queue-reference.cc does the same work on (time, sequence) keys with std::priority_queue, where there is a C++ compiler.
 * usage: bench-queue PIPERSIM (which it does not use) */
#include <stdio.h>
#include <string.h>

#include "sim/engine/event-queue.h"

#define N_HOLDS 3000000
#define N_ROUNDS 3 /* the best counts */
static const guint sizes[] = {1000, 10000, 100000, 1000000};

/* xorshift64 (Marsaglia, 2003): cheap, the same in both programs. */
static inline guint64 next_random(guint64 *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Up to 2^40 picoseconds, about a second, ahead. */
static inline gint64 random_delay_ps(guint64 *state)
{
    return (gint64)(next_random(state) >> 24) + 1;
}

static double hold_ns(guint n_pending)
{
    g_autoptr(PsEventQueue) queue = ps_event_queue_new();
    guint64 state = 88172645463325252u;
    PsEvent event;
    for (guint i = 0; i < n_pending; i++) {
        ps_event_queue_push(queue, random_delay_ps(&state), 0, 0, i);
    }
    for (guint i = 0; i < n_pending; i++) { /* let the spread of times settle */
        (void)!ps_event_queue_pop(queue, &event);
        ps_event_queue_push(queue, event.time_ps + random_delay_ps(&state), 0, 0, event.data);
    }
    gint64 start_us = g_get_monotonic_time();
    for (guint i = 0; i < N_HOLDS; i++) {
        (void)!ps_event_queue_pop(queue, &event);
        ps_event_queue_push(queue, event.time_ps + random_delay_ps(&state), 0, 0, event.data);
    }
    return (double)(g_get_monotonic_time() - start_us) * 1e3 / N_HOLDS;
}

/* Nanoseconds per hold of the reference program, one line per size; FALSE where it cannot be built.
 */
static gboolean run_reference(const char *folder, double reference_ns[G_N_ELEMENTS(sizes)])
{
    g_autofree char *program = g_build_filename(folder, "bench-queue-reference", NULL);
    g_autofree char *compile =
        g_strdup_printf("c++ -std=c++17 -O2 -o %s tests/bench/queue-reference.cc 2>/dev/null && %s",
                        program, program);
    const char *argv[] = {"sh", "-c", compile, NULL};
    g_autofree char *output = NULL;
    gint status = 0;
    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output, NULL,
                      &status, NULL) ||
        status != 0) {
        return FALSE;
    }
    g_auto(GStrv) lines = g_strsplit(output, "\n", -1);
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        reference_ns[i] = lines[i] != NULL ? g_ascii_strtod(lines[i], NULL) : 0;
    }
    return TRUE;
}

int main(int argc G_GNUC_UNUSED, char **argv)
{
    g_autofree char *folder = g_path_get_dirname(argv[0]);
    double reference_ns[G_N_ELEMENTS(sizes)];
    gboolean compared = run_reference(folder, reference_ns);
    printf("event queue, hold model: ns per pop and push\n");
    printf("%10s  %9s  %19s  %6s\n", "pending", "pipersim", "std::priority_queue", "ratio");
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        double best_ns = hold_ns(sizes[i]);
        for (guint round = 1; round < N_ROUNDS; round++) {
            double again_ns = hold_ns(sizes[i]);
            best_ns = MIN(best_ns, again_ns);
        }
        printf("%10u  %9.1f", sizes[i], best_ns);
        if (compared) {
            printf("  %19.1f  %6.2f", reference_ns[i], reference_ns[i] / best_ns);
        }
        printf("\n");
    }
    printf(compared ? "\n" : "skipped: std::priority_queue (no C++ compiler)\n\n");
    return 0;
}
