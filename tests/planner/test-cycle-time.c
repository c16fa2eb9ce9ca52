/* The closed form of the cycle time against the event-driven replay, which shares no code with it.
 */
#include <math.h>

#include "planner/check/cycle-time.h"
#include "sim/replay/replay.h"
#include "tests/harness/harness.h"
#include "tests/oracle/pipelines.h"

/* The replayed time per microbatch, or INFINITY for a deadlock. */
static double replay(const PsWorkload *workload)
{
    PsReplaySettings settings;
    g_autoptr(GError) error = NULL;
    ps_replay_settings_init(&settings);
    ck_assert(ps_replay_settings_set(&settings, "assume", "piper", &error));
    g_autoptr(PsReplayResult) result = ps_replay_run(workload, &settings, NULL, &error);
    ck_assert_msg(result == NULL || result->steady, "no period was found");
    return result != NULL ? result->tps_s : INFINITY;
}

static gboolean same(double a, double b)
{
    return a == b || fabs(a / b - 1) < 1e-9;
}

/* The schedule keeps two weight versions, so it never runs two batches ahead; with batches long
 * enough that is no bound of its own. */
static void lengthen_batches(PsWorkload *workload)
{
    workload->microbatches *= 64;
    for (guint i = 0; i < workload->n_stages; i++) {
        workload->stages[i].resync_s *= 64; /* the same for each microbatch */
    }
}

static void raise_in_flight(PsWorkload *workload, GRand *random)
{
    for (guint i = 0; i < workload->n_stages; i++) {
        workload->stages[i].in_flight += (guint)g_rand_int_range(random, 0, 3);
    }
}

START_TEST(agrees_with_the_replay)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("agrees_with_the_replay"));
    guint deadlocks = 0;
    for (guint round = 0; round < 400; round++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(random, FALSE);
        lengthen_batches(workload);
        if (round % 2 == 1) {
            raise_in_flight(workload, random);
        }
        double cycle_s = ps_cycle_time(workload), replayed_s = replay(workload);
        ck_assert_msg(same(cycle_s, replayed_s), "round %u: %.15g, replayed %.15g", round, cycle_s,
                      replayed_s);
        deadlocks += isinf(cycle_s);
    }
    ck_assert_uint_gt(deadlocks, 5);
}
END_TEST

/* The largest load of a stage, by the planner's formula. */
static double largest_load(const PsWorkload *workload)
{
    double most_s = 0;
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *stage = &workload->stages[i];
        double borders_s = 0;
        for (guint b = 0; b < workload->n_borders; b++) {
            const PsWorkBorder *border = &workload->borders[b];
            borders_s += border->source == i ? 2 * border->source_s : 0;
            borders_s += border->target == i ? 2 * border->target_s : 0;
        }
        double load_s = (stage->forward_s + stage->recompute_s + stage->backward_s + borders_s) /
                            stage->data_parallel +
                        stage->resync_s / workload->microbatches;
        most_s = MAX(most_s, load_s);
    }
    return most_s;
}

START_TEST(least_bounds_restore_the_estimate_and_no_less_do)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("least_bounds_restore_the_estimate_and_no_less_do"));
    for (guint round = 0; round < 200; round++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(random, FALSE);
        lengthen_batches(workload);
        double estimate_s = largest_load(workload);
        g_autofree guint *least = ps_least_in_flight(workload, estimate_s);
        for (guint i = 0; i < workload->n_stages; i++) {
            workload->stages[i].in_flight = least[i];
        }
        ck_assert_msg(same(replay(workload), estimate_s),
                      "round %u: %.15g, not %.15g; closed form %.15g", round, replay(workload),
                      estimate_s, ps_cycle_time(workload));
        for (guint i = 0; i < workload->n_stages; i++) {
            if (least[i] > 1) {
                workload->stages[i].in_flight--;
                ck_assert_msg(replay(workload) > estimate_s * (1 + 1e-9), "round %u, stage %u",
                              round, i);
                workload->stages[i].in_flight++;
            }
        }
    }
}
END_TEST

/* y = 1 + ceil(u/d) from the sink, whatever the degrees: proven in plan.h, seen here. */
START_TEST(sufficient_bounds_reach_the_estimate)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("sufficient_bounds_reach_the_estimate"));
    for (guint round = 0; round < 300; round++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(random, FALSE);
        lengthen_batches(workload);
        guint wanted = 0;
        for (guint i = workload->n_stages; i-- > 0;) {
            guint d = workload->stages[i].data_parallel;
            workload->stages[i].in_flight = 1 + (wanted + d - 1) / d;
            wanted = workload->stages[i].in_flight * d;
        }
        double estimate_s = largest_load(workload);
        ck_assert_msg(same(replay(workload), estimate_s), "round %u", round);
        ck_assert_msg(same(ps_cycle_time(workload), estimate_s), "round %u", round);
    }
}
END_TEST

PS_TEST_MAIN("cycle-time", sufficient_bounds_reach_the_estimate, agrees_with_the_replay,
             least_bounds_restore_the_estimate_and_no_less_do)
