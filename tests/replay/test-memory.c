#include <math.h>

#include "tests/harness/harness.h"
#include "tests/oracle/pipelines.h"
#include "tests/oracle/recording.h"

static double largest_peak(const PsReplayResult *result)
{
    double peak_bytes = 0;
    for (guint i = 0; i < result->n_stages; i++) {
        peak_bytes = fmax(peak_bytes, result->stages[i].peak_memory_bytes);
    }
    return peak_bytes;
}

/* A run is out of memory where its peak says so, and only there: what is given back at the instant
 * at which something else is taken counts for both. */
static void expect_overflow_above(PsWorkload *workload, const PsReplayChoices *choices)
{
    g_auto(PsRecording) run = ps_record(workload, choices);
    ck_assert_ptr_null(run.result->out_of_memory);
    double peak_bytes = largest_peak(run.result);
    for (guint fits = 0; fits < 2 && peak_bytes > 0; fits++) {
        workload->memory_bytes = fits ? peak_bytes : peak_bytes * (1 - 1e-9);
        g_auto(PsRecording) again = ps_record(workload, choices);
        ck_assert_double_eq(largest_peak(again.result), peak_bytes);
        ck_assert_int_eq(again.result->out_of_memory == NULL, fits);
    }
}

/* A send takes as long as the forward after it: one buffer is given back as the next is taken. */
START_TEST(buffers_change_hands)
{
    g_autoptr(PsWorkload) workload = ps_chain_new(2, 6, 0.003, 0.003);
    workload->borders[0].source_s = workload->borders[0].target_s = 0.003;
    workload->borders[0].source_bytes = workload->borders[0].target_bytes = 1000;
    workload->stages[0].in_flight = 6;
    const PsReplayChoices choices = {.schedule = (char *)"gpipe", .start = (char *)"cold"};
    expect_overflow_above(workload, &choices);
}
END_TEST

START_TEST(overflows_go_by_the_peak)
{
    static char *const communications[] = {"serial", "overlap"};
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("overflows_go_by_the_peak"));
    for (guint trial = 0; trial < 60; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, FALSE);
        const PsReplayChoices choices = {.communication = communications[trial % 2],
                                         .flush = trial & 2 ? "none" : "batch",
                                         .start = "cold"};
        expect_overflow_above(workload, &choices);
    }
}
END_TEST

PS_TEST_MAIN("memory", buffers_change_hands, overflows_go_by_the_peak)
