#include <string.h>

#include "planner/sweep.h"
#include "tests/harness/harness.h"
#include "tests/oracle/random-profile.h"

static char *sweep_text(const PsProfile *profile, guint n_threads)
{
    PsPlannerOptions planner = {0};
    PsReplaySettings replay;
    g_autoptr(GError) error = NULL;
    ps_replay_settings_init(&replay);
    ck_assert(ps_replay_settings_set(&replay, "assume", "piper", &error));
    g_auto(PsSweep) sweep = {.profile = profile, .planner = &planner, .replay = &replay};
    sweep.n_points = 24;
    sweep.points = g_new0(PsSweepPoint, sweep.n_points);
    for (guint i = 0; i < sweep.n_points; i++) {
        sweep.points[i].setting = (PsSetting){1 + i % 4, (1 + i / 4) * 300e6, 1e10, 6};
    }
    ps_sweep_run(&sweep, n_threads);
    const char *path = ps_test_file("sweep.csv", "");
    g_autoptr(PsOutput) output = ps_output_open(path, &error);
    ps_sweep_write(&sweep, output);
    ck_assert(ps_output_commit(output, &error));
    char *text;
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

START_TEST(threads_change_nothing)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("threads_change_nothing"));
    for (guint round = 0; round < 5; round++) {
        PsRandomProfile wanted = {.n_layers = 6,
                                  .edge_probability = 0.3,
                                  .chain = TRUE,
                                  .most_tmpcs = 3,
                                  .tensor_parallel = TRUE,
                                  .devices = 4,
                                  .microbatches = 6,
                                  .memory_bytes = 1e9,
                                  .bandwidth_bytes_per_s = 1e10};
        g_autoptr(PsProfile) profile = ps_random_profile(random, &wanted);
        g_autofree char *one = sweep_text(profile, 1);
        static const guint threads[] = {2, 3, 8};
        for (guint i = 0; i < G_N_ELEMENTS(threads); i++) {
            g_autofree char *many = sweep_text(profile, threads[i]);
            ck_assert_str_eq(one, many);
        }
        /* Six layers do not fit one device of 300 MB as a rule, nor fail to fit four of 1.8 GB. */
        ck_assert(strstr(one, ",infeasible,") != NULL);
        ck_assert(strstr(one, ",ok,") != NULL);
    }
}
END_TEST

PS_TEST_MAIN("sweep", threads_change_nothing)
