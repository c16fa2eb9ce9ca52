/* Lists of plans: the best ones, frontiers, targets. Against the list of all plans. */
#include <math.h>

#include "planner/certify.h"
#include "planner/flush.h"
#include "planner/frontier.h"
#include "planner/search/planning.h"
#include "sim/base/error.h"
#include "sim/cli/setting-options.h"
#include "tests/harness/harness.h"
#include "tests/oracle/exhaustive.h"
#include "tests/oracle/random-profile.h"

static const PsPlannerOptions whole_space = {0};
static const PsExhaustiveRules no_rules = {0};

static PsProfile *small_profile(GRand *random)
{
    PsRandomProfile wanted = {
        .n_layers = (guint)g_rand_int_range(random, 1, 5),
        .edge_probability = g_rand_double(random),
        .chain = g_rand_boolean(random),
        .most_tmpcs = 2,
        .tensor_parallel = g_rand_boolean(random),
        .devices = (guint)g_rand_int_range(random, 1, 6),
        .microbatches = (guint)g_rand_int_range(random, 1, 9),
        .memory_bytes = g_rand_int_range(random, 400, 5000) * 1e6,
        .bandwidth_bytes_per_s = g_rand_int_range(random, 1, 20) * 1e9,
    };
    return ps_random_profile(random, &wanted);
}

static gboolean same(const PsExhaustive *expected, const PsPlan *plan, const PsProfile *profile)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    return fabs(estimate->tps_s / expected->tps_s - 1) < 1e-9 &&
           estimate->devices_used == expected->devices &&
           estimate->sum_data_parallel == expected->sum_data_parallel &&
           plan->n_stages == expected->n_stages;
}

static gboolean plans_equal(const PsPlan *a, const PsPlan *b)
{
    gboolean equal = a->n_stages == b->n_stages;
    for (guint i = 0; equal && i < a->n_stages; i++) {
        const PsStage *x = &a->stages[i], *y = &b->stages[i];
        equal = x->data_parallel == y->data_parallel && x->tensor_parallel == y->tensor_parallel &&
                x->n_layers == y->n_layers;
        for (guint j = 0; equal && j < x->n_layers; j++) {
            equal = x->layers[j] == y->layers[j];
        }
    }
    return equal;
}

START_TEST(top_is_the_head_of_all_plans)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("top_is_the_head_of_all_plans"));
    for (guint round = 0; round < 300; round++) {
        g_autoptr(PsProfile) profile = small_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        g_autoptr(GArray) all = ps_exhaustive_all(profile, &setting, &no_rules);
        guint n = (guint)g_rand_int_range(random, 1, 30);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlanning) planning = ps_planning_new(profile, &setting, NULL);
        g_autoptr(GPtrArray) top = ps_planning_top(planning, n, &error);
        if (all->len == 0) {
            ck_assert_ptr_null(top);
            continue;
        }
        ck_assert_uint_eq(top->len, MIN(n, all->len));
        g_autoptr(GPtrArray) plans = g_ptr_array_new_with_free_func((GDestroyNotify)ps_plan_free);
        for (guint i = 0; i < top->len; i++) {
            g_ptr_array_add(plans, ps_planning_plan(planning, top->pdata[i]));
            for (guint j = 0; j < i; j++) {
                ck_assert(!plans_equal(plans->pdata[i], plans->pdata[j]));
            }
        }
        /* The first may have been moved up from among its equals, because it is nested. */
        guint moved = 0;
        while (!same(&g_array_index(all, PsExhaustive, moved), plans->pdata[0], profile)) {
            ck_assert_uint_lt(++moved, all->len);
        }
        for (guint i = 1; i < plans->len; i++) {
            guint j = i <= moved ? i - 1 : i;
            ck_assert_msg(same(&g_array_index(all, PsExhaustive, j), plans->pdata[i], profile),
                          "round %u, rank %u", round, i);
        }
    }
}
END_TEST

START_TEST(frontier_has_the_best_of_each_number)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("frontier_has_the_best_of_each_number"));
    for (guint round = 0; round < 200; round++) {
        g_autoptr(PsProfile) profile = small_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        g_autoptr(GError) error = NULL;
        gboolean exact;
        g_autoptr(GPtrArray) points = ps_frontier_devices(profile, &setting, &whole_space, &exact);
        g_autoptr(GPtrArray) memory = ps_frontier_memory(profile, &setting, &whole_space, &exact);
        ck_assert(exact);
        ps_assert_no_error(error);
        ck_assert_uint_eq(points->len, setting.devices);
        for (guint i = 0; i < points->len; i++) {
            const PsFrontierPoint *point = points->pdata[i], *needs = memory->pdata[i];
            PsSetting one = setting;
            one.devices = i + 1;
            PsExhaustive expected = ps_exhaustive_best(profile, &one, &no_rules);
            ck_assert_uint_eq(point->devices, i + 1);
            ck_assert_int_eq(point->plan != NULL, expected.feasible);
            if (point->plan != NULL) {
                g_autoptr(PsEstimate) estimate = ps_plan_estimate(point->plan, profile);
                ck_assert_double_eq_tol(estimate->tps_s / expected.tps_s, 1, 1e-9);
                ck_assert(ps_plan_verify(point->plan, profile, TRUE, &error));
            }
            ck_assert_double_eq_tol(needs->least_memory_bytes,
                                    ps_exhaustive_least_memory(profile, &one, &no_rules), 1);
        }
    }
}
END_TEST

/* Bytes with three decimals, as published profiles have them, do not add up in doubles. */
static void add_fractions(PsProfile *profile, GRand *random)
{
    for (guint v = 0; v < profile->n_layers; v++) {
        for (guint s = 0; s < profile->layers[v].n_sets; s++) {
            const PsTmpcSet *set = &profile->layers[v].sets[s];
            for (guint i = 0; i < set->n_tmpcs; i++) {
                set->tmpcs[i].memory_per_microbatch_bytes +=
                    g_rand_int_range(random, 0, 1000) / 1e3;
                set->tmpcs[i].memory_fixed_bytes += g_rand_int_range(random, 0, 1000) / 1e3;
            }
        }
    }
}

START_TEST(least_memory_is_enough)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("least_memory_is_enough"));
    for (guint round = 0; round < 200; round++) {
        g_autoptr(PsProfile) profile = small_profile(random);
        add_fractions(profile, random);
        PsSetting setting = ps_setting_of_profile(profile);
        gboolean exact;
        g_autoptr(GPtrArray) points = ps_frontier_memory(profile, &setting, &whole_space, &exact);
        for (guint i = 0; i < points->len; i++) {
            const PsFrontierPoint *point = points->pdata[i];
            ps_setting_use_devices(&setting, point->devices);
            setting.memory_bytes = point->least_memory_bytes;
            g_autoptr(GError) error = NULL;
            g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, NULL, &error);
            ps_assert_no_error(error);
            ck_assert(ps_plan_verify(plan, profile, TRUE, &error));
            setting.memory_bytes *= 1 - 1e-9;
            g_autoptr(PsPlan) none = ps_planner_plan(profile, &setting, NULL, NULL);
            ck_assert_ptr_null(none);
        }
    }
}
END_TEST

START_TEST(target_takes_the_fewest_devices)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("target_takes_the_fewest_devices"));
    guint reached = 0;
    for (guint round = 0; round < 300; round++) {
        g_autoptr(PsProfile) profile = small_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        double target_s = g_rand_double_range(random, 0.005, 0.1);
        g_autoptr(GArray) all = ps_exhaustive_all(profile, &setting, &no_rules);
        if (all->len > 0 && g_rand_boolean(random)) { /* one that a plan meets exactly */
            guint i = (guint)g_rand_int_range(random, 0, (gint)all->len);
            target_s = g_array_index(all, PsExhaustive, i).tps_s;
        }
        guint fewest = G_MAXUINT;
        double best_s = INFINITY;
        for (guint i = 0; i < all->len; i++) {
            const PsExhaustive *one = &g_array_index(all, PsExhaustive, i);
            fewest = one->tps_s <= target_s * (1 + 1e-13) ? MIN(fewest, one->devices) : fewest;
        }
        for (guint i = 0; i < all->len; i++) {
            const PsExhaustive *one = &g_array_index(all, PsExhaustive, i);
            best_s = one->devices <= fewest ? fmin(best_s, one->tps_s) : best_s;
        }
        gboolean proven;
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlan) plan =
            ps_fewest_devices_plan(profile, &setting, &whole_space, target_s, &proven, &error);
        ck_assert_int_eq(plan != NULL, fewest != G_MAXUINT);
        if (plan == NULL) {
            ck_assert_int_eq(error->code, PS_ERROR_NEGATIVE);
            continue;
        }
        reached++;
        g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
        ck_assert_uint_eq(plan->setting.devices, fewest);
        ck_assert_uint_eq(estimate->devices_used, fewest);
        ck_assert_double_eq_tol(estimate->tps_s, best_s, 1e-9 * best_s);
        ck_assert(proven);
    }
    ck_assert_uint_gt(reached, 50);
}
END_TEST

/* What is certified is never slower than the nested optimum, which replays at its estimate
 * (0.02079206718 s for bert32 at 64 devices), and never faster than the best estimate. At 64
 * devices the free optimum replays 23.5 % slower than that; with sufficient in-flight bounds, for
 * which the memory is there, it is reached. */
START_TEST(certified_plans_replay_fastest)
{
    const char *path = ps_test_data("profiles/bert32-a100.json");
    if (path == NULL) {
        return;
    }
    static const struct {
        guint devices;
        double certified_s;
    } cases[] = {{8, 0.16585575}, {32, 0.04151545044}, {64, 0.02020055029}};
    g_autoptr(GError) error = NULL;
    g_autoptr(PsProfile) profile = ps_profile_load(path, NULL, &error);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PsSetting setting = {cases[i].devices, 8 * 0x1p30, 25 * 0x1p30, 1920};
        g_autoptr(PsCertificate) certificate =
            ps_certify(profile, &setting, &whole_space, 4, &error);
        ps_assert_no_error(error);
        const PsCertified *best = certificate->candidates->pdata[certificate->best];
        ck_assert_double_eq_tol(best->replayed_tps_s / cases[i].certified_s, 1, 1e-9);
        ck_assert(ps_plan_is_replayable(best->plan));
        ck_assert_double_le(certificate->bound_s, best->replayed_tps_s * (1 + 1e-9));
        const PsCertified *first = certificate->candidates->pdata[0];
        ck_assert_double_ge(first->replayed_tps_s, best->replayed_tps_s * (1 - 1e-9));
    }
}
END_TEST

/* All plans of a small profile are listed, so the least batch among them is the optimum: the plan
 * found must be as near to it as its gap says. */
static double batch_of(const PsPlan *plan, const PsProfile *profile)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    return estimate->batch_s;
}

/* Least batch over all layouts: their TMPCs are those of least load, which also take least in a
 * batch where a layer's TMPCs share their weights. */
static double least_batch_s(const PsProfile *profile, const PsSetting *setting,
                            const PsPlannerOptions *options)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    g_autoptr(GPtrArray) all = ps_planning_top(planning, 100000, NULL);
    double least_s = INFINITY;
    for (guint i = 0; all != NULL && i < all->len; i++) {
        g_autoptr(PsPlan) one = ps_planning_plan(planning, all->pdata[i]);
        least_s = fmin(least_s, batch_of(one, profile));
    }
    return least_s;
}

static PsProfile *flush_profile(GRand *random)
{
    PsRandomProfile wanted = {
        .n_layers = (guint)g_rand_int_range(random, 1, 5),
        .edge_probability = g_rand_double(random),
        .chain = g_rand_boolean(random),
        .most_tmpcs = 2,
        .same_weights = g_rand_boolean(random),
        .tensor_parallel = g_rand_boolean(random),
        .devices = (guint)g_rand_int_range(random, 1, 7),
        .microbatches = (guint)g_rand_int_range(random, 1, 9),
        .memory_bytes = g_rand_int_range(random, 400, 5000) * 1e6,
        .bandwidth_bytes_per_s = g_rand_int_range(random, 1, 20) * 1e9,
    };
    return ps_random_profile(random, &wanted);
}

START_TEST(flush_is_within_its_gap)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("flush_is_within_its_gap"));
    guint n_found = 0, n_exact = 0;
    for (guint round = 0; round < 400; round++) {
        g_autoptr(PsProfile) profile = flush_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        setting.in_flight = (PsInFlight)g_rand_int_range(random, 0, PS_N_IN_FLIGHT);
        PsPlannerOptions options = {.degrees = (PsDegrees)g_rand_int_range(random, 0, PS_N_DEGREES),
                                    .restrictions.recompute =
                                        (PsRecompute)g_rand_int_range(random, 0, PS_N_RECOMPUTE)};
        double least_s = least_batch_s(profile, &setting, &options);
        g_autoptr(PsPlan) plan = ps_flush_plan(profile, &setting, &options, 3, NULL);
        ck_assert_int_eq(plan != NULL, isfinite(least_s));
        if (plan != NULL) {
            double batch_s = batch_of(plan, profile);
            double gap = plan->batch_gap;
            ck_assert_double_ge(gap, 0);
            ck_assert_double_le(batch_s / (1 + gap), least_s * (1 + 1e-9));
            n_found++;
            if (ps_tmpcs_send_alike(profile)) {
                ck_assert_double_ge(batch_s, least_s * (1 - 1e-9));
                ck_assert_double_le(gap, 1e-3);
                n_exact++;
            }
        }
    }
    ck_assert_uint_gt(n_found, 200);
    ck_assert_uint_gt(n_exact, 100);
}
END_TEST

START_TEST(flush_of_equal_stages_is_1f1b)
{
    const char *text =
        "{\"maxDevices\": 3, \"maxMemoryPerDevice\": 1e9, \"bandwidth\": 1e9, \"mbsInBatch\": 7,"
        " \"nodes\": [";
    g_autoptr(GString) json = g_string_new(text);
    for (guint i = 0; i < 3; i++) {
        g_string_append_printf(json,
                               "%s{\"id\": %u, \"name\": \"l\", \"TMPCs\": {\"1\": [{\"id\": "
                               "\"v\", \"timePerSample\": "
                               "0.5, \"parameterSize\": 1, \"memoryUsageA\": 1, \"memoryUsageB\": "
                               "1, \"syncTimeFw\": {}, "
                               "\"syncTimeBw\": {}}]}}",
                               i > 0 ? ", " : "", i);
    }
    g_string_append(json, "], \"edges\": []}");
    g_autoptr(GError) error = NULL;
    g_autoptr(PsProfile) profile =
        ps_profile_load(ps_test_file("equal.json", json->str), NULL, &error);
    ps_assert_no_error(error);
    PsSetting setting = ps_setting_of_profile(profile);
    PsPlannerOptions options = {.restrictions = {.forbid_data_parallel = TRUE}};
    g_autoptr(PsPlan) plan = ps_flush_plan(profile, &setting, &options, 1, &error);
    ps_assert_no_error(error);
    ck_assert_uint_eq(plan->n_stages, 3);
    ck_assert_double_eq_tol(batch_of(plan, profile), (7 + 3 - 1) * 0.5, 1e-12);
}
END_TEST

PS_TEST_MAIN("lists", flush_is_within_its_gap, flush_of_equal_stages_is_1f1b,
             top_is_the_head_of_all_plans, frontier_has_the_best_of_each_number,
             least_memory_is_enough, target_takes_the_fewest_devices,
             certified_plans_replay_fastest)
