/* Plans for clusters with levels, against exhaustive search over all plans and all their places. */
#include <math.h>

#include "planner/evaluate.h"
#include "planner/flush.h"
#include "planner/frontier.h"
#include "planner/plan-report.h"
#include "planner/rehearse.h"
#include "planner/search/complete.h"
#include "planner/search/planning.h"
#include "sim/base/error.h"
#include "sim/cli/setting-options.h"
#include "tests/harness/harness.h"
#include "tests/oracle/exhaustive.h"
#include "tests/oracle/random-levels.h"
#include "tests/oracle/random-profile.h"

static const PsPlannerOptions whole_space = {0};
static const PsExhaustiveRules no_rules = {0};

static const struct {
    PsPlannerOptions options;
    PsExhaustiveRules rules;
    PsInFlight in_flight;
} restrictions[] = {
    {{0}, {0}},
    {{.degrees = PS_DEGREES_NESTED}, {.nested = TRUE}},
    {{.degrees = PS_DEGREES_UNIFORM}, {.uniform = TRUE}},
    {{.restrictions = {.forbid_data_parallel = TRUE}}, {.one_replica = TRUE}},
    {{.restrictions = {.forbid_tensor_parallel = TRUE}}, {.one_rank = TRUE}},
    {{.restrictions = {.recompute = PS_RECOMPUTE_ALL_OR_NONE}}, {.same_recompute = TRUE}},
    {{0}, {.sufficient = TRUE}, PS_IN_FLIGHT_SUFFICIENT},
};

/* Microbatches that 3 divides make thirds of a femtosecond, so that equals may not tie. */
static PsProfile *small_profile(GRand *random, guint most_layers, guint most_devices,
                                gboolean thirds)
{
    static const guint microbatches[] = {1, 2, 4, 8, 16, 6, 12, 24};
    PsRandomProfile wanted = {
        .n_layers = (guint)g_rand_int_range(random, 1, (gint)most_layers + 1),
        .edge_probability = g_rand_double(random),
        .chain = g_rand_boolean(random),
        .most_tmpcs = 2,
        .tensor_parallel = g_rand_int_range(random, 0, 4) > 0,
        .any_degree = g_rand_boolean(random),
        .same_weights = g_rand_boolean(random),
        .devices = (guint)g_rand_int_range(random, 1, (gint)most_devices + 1),
        .microbatches = microbatches[g_rand_int_range(random, 0, thirds ? 8 : 5)],
        .memory_bytes = g_rand_int_range(random, 300, 6000) * 1e6,
        .bandwidth_bytes_per_s = 1e9,
    };
    return ps_random_profile(random, &wanted);
}

static PsSetting random_setting(GRand *random, const PsProfile *profile)
{
    PsSetting setting = ps_setting_of_profile(profile);
    ps_random_levels(random, &setting);
    return setting;
}

static void assert_legal(const PsPlan *plan, const PsProfile *profile)
{
    g_autoptr(GError) error = NULL;
    gboolean legal = ps_plan_verify(plan, profile, TRUE, &error);
    ps_assert_no_error(error);
    ck_assert(legal);
}

static double tps_of(const PsPlan *plan, const PsProfile *profile)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    return estimate->tps_s;
}

/* ---- the best plan -------------------------------------------------------------------------- */

/* Returns whether there was a plan. */
static gboolean compare(const PsProfile *profile, const PsSetting *setting, guint with, guint round)
{
    PsExhaustive expected = ps_exhaustive_best(profile, setting, &restrictions[with].rules);
    g_autoptr(GError) error = NULL;
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, &restrictions[with].options);
    g_autoptr(PsLayout) layout = ps_planning_best(planning, &error);
    ck_assert_msg((layout != NULL) == expected.feasible, "round %u, restriction %u: %s", round,
                  with, error != NULL ? error->message : "found a plan where there is none");
    if (layout == NULL) {
        return FALSE;
    }
    g_autoptr(PsPlan) plan = ps_planning_plan(planning, layout);
    double tps_s = tps_of(plan, profile);
    ck_assert_msg(fabs(tps_s / expected.tps_s - 1) < 1e-12,
                  "round %u, restriction %u: %.17g, not %.17g", round, with, tps_s, expected.tps_s);
    assert_legal(plan, profile);
    ck_assert_uint_le(ps_plan_span(plan), layout->devices);
    if (setting->microbatches % 3 != 0) {
        if (setting->in_flight == PS_IN_FLIGHT_PIPER) {
            ck_assert_int_eq(ps_plan_is_nested(plan), expected.nested);
        }
        ck_assert_msg(layout->devices == expected.devices, "round %u, restriction %u: %u, not %u",
                      round, with, layout->devices, expected.devices);
        ck_assert_uint_eq(layout->sum_data_parallel, expected.sum_data_parallel);
        ck_assert_uint_eq(plan->n_stages, expected.n_stages);
    }
    return TRUE;
}

START_TEST(agrees_with_exhaustive_search)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("agrees_with_exhaustive_search"));
    guint feasible = 0, infeasible = 0;
    for (guint round = 0; round < 6000; round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 4, 12, TRUE);
        guint with = round % 2 == 0 ? 0 : round / 2 % G_N_ELEMENTS(restrictions);
        PsSetting setting = random_setting(random, profile);
        setting.in_flight = restrictions[with].in_flight;
        *(compare(profile, &setting, with, round) ? &feasible : &infeasible) += 1;
    }
    ck_assert_uint_gt(infeasible, 300);
    ck_assert_uint_gt(feasible, 4000);
}
END_TEST

/* Three layers in a chain, 1 s each on one device, 1 GB from each to the next. Four devices in
 * groups of two, 1 GB/s between the groups; two microbatches and no data parallelism, so at most
 * two stages.
 *
 * On t = 2 devices a layer takes 0.6 s. At 1 GB/s a border costs either side 2 GB / 1 GB/s = 2 s,
 * so all layers in one stage with t = 2 are best, 1.8 s. With 4 GB/s inside groups a border there
 * costs 0.5 s, and two stages of one device in one group take 2 + 0.5 s: still 1.8 s. Two stages
 * with t = 2 fill a group each, and pay 1.2 + 2 s. But where a layer takes 1.7 s on two devices and
 * a border inside a group 0.05 s (40 GB/s), two stages of one device win with 2.05 s: over 3 s on
 * one device, and 5.1 s with t = 2. */
START_TEST(small_clusters_work_out_by_hand)
{
    static const struct {
        double inner_bytes_per_s;
        const char *wide_s;
        double tps_s;
        guint n_stages;
    } cases[] = {{1e9, "0.6", 1.8, 1}, {4e9, "0.6", 1.8, 1}, {40e9, "1.7", 2.05, 2}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) text =
            g_string_new("{\"maxDevices\": 4, \"maxMemoryPerDevice\": 1e9, "
                         "\"bandwidth\": 1e9, \"mbsInBatch\": 2, \"nodes\": [");
        for (guint v = 0; v < 3; v++) {
            static const char *const forward[] = {"", "\"0\": 0", "\"1\": 0"};
            static const char *const backward[] = {"\"1\": 0", "\"2\": 0", ""};
            const char *seconds[] = {"1", cases[i].wide_s};
            g_string_append_printf(text, "%s{\"id\": %u, \"name\": \"l\", \"TMPCs\": {",
                                   v > 0 ? ", " : "", v);
            for (guint t = 1; t <= 2; t++) {
                g_string_append_printf(
                    text,
                    "%s\"%u\": [{\"id\": \"v\", \"timePerSample\": %s, \"parameterSize\": 1, "
                    "\"memoryUsageA\": 1, \"memoryUsageB\": 1, \"syncTimeFw\": {%s}, "
                    "\"syncTimeBw\": {%s}}]",
                    t > 1 ? ", " : "", t, seconds[t - 1], forward[v], backward[v]);
            }
            g_string_append(text, "}}");
        }
        g_string_append(text, "], \"edges\": [{\"sourceId\": 0, \"destId\": 1, "
                              "\"communicationCost\": 1e9}, {\"sourceId\": 1, \"destId\": 2, "
                              "\"communicationCost\": 1e9}]}");
        g_autoptr(GError) error = NULL;
        g_autoptr(PsProfile) profile =
            ps_profile_load(ps_test_file("hand.json", text->str), "s", &error);
        ps_assert_no_error(error);
        PsSetting setting = ps_setting_of_profile(profile);
        setting.levels = (PsLevels){2, {{2, cases[i].inner_bytes_per_s}, {4, 1e9}}};
        const PsPlannerOptions options = {.restrictions = {.forbid_data_parallel = TRUE}};
        g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, &options, &error);
        ps_assert_no_error(error);
        ck_assert_double_eq_tol(tps_of(plan, profile), cases[i].tps_s, 1e-12);
        ck_assert_uint_eq(plan->n_stages, cases[i].n_stages);
    }
}
END_TEST

/* ---- lists ---------------------------------------------------------------------------------- */

static gboolean same(const PsExhaustive *expected, const PsPlanning *planning,
                     const PsLayout *layout)
{
    PsThreshold load = ps_layout_load(layout);
    double tps_s =
        (double)load.numerator / (double)load.denominator * planning->costs->time_quantum_s;
    return fabs(tps_s / expected->tps_s - 1) < 1e-12 && layout->devices == expected->devices &&
           layout->sum_data_parallel == expected->sum_data_parallel &&
           layout->n_stages == expected->n_stages;
}

START_TEST(top_is_the_head_of_all_plans)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("top_is_the_head_of_all_plans"));
    guint listed = 0;
    for (guint round = 0; round < 300; round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 3, 8, FALSE);
        PsSetting setting = random_setting(random, profile);
        g_autoptr(GArray) all = ps_exhaustive_all(profile, &setting, &no_rules);
        guint n = (guint)g_rand_int_range(random, 2, 30);
        g_autoptr(PsPlanning) planning = ps_planning_new(profile, &setting, NULL);
        g_autoptr(GPtrArray) top = ps_planning_top(planning, n, NULL);
        ck_assert_uint_eq(top != NULL ? top->len : 0, MIN(n, all->len));
        /* The first may have been moved up from among its equals, because it is nested. */
        guint moved = 0;
        while (top != NULL &&
               !same(&g_array_index(all, PsExhaustive, moved), planning, top->pdata[0])) {
            ck_assert_uint_lt(++moved, all->len);
        }
        for (guint i = 0; top != NULL && i < top->len; i++) {
            guint j = i == 0 ? moved : i <= moved ? i - 1 : i;
            ck_assert_msg(same(&g_array_index(all, PsExhaustive, j), planning, top->pdata[i]),
                          "round %u, rank %u", round, i);
            g_autoptr(PsPlan) plan = ps_planning_plan(planning, top->pdata[i]);
            assert_legal(plan, profile);
            listed++;
        }
    }
    ck_assert_uint_gt(listed, 1000);
}
END_TEST

START_TEST(frontier_has_the_best_of_each_number)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("frontier_has_the_best_of_each_number"));
    for (guint round = 0; round < 150; round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 3, 10, TRUE);
        PsSetting setting = random_setting(random, profile);
        gboolean exact;
        g_autoptr(GPtrArray) points = ps_frontier_devices(profile, &setting, &whole_space, &exact);
        g_autoptr(GPtrArray) memory = ps_frontier_memory(profile, &setting, &whole_space, &exact);
        ck_assert(exact);
        ck_assert_uint_eq(points->len, setting.devices);
        for (guint i = 0; i < points->len; i++) {
            const PsFrontierPoint *point = points->pdata[i], *needs = memory->pdata[i];
            PsSetting one = setting;
            ps_setting_use_devices(&one, i + 1);
            PsExhaustive expected = ps_exhaustive_best(profile, &one, &no_rules);
            ck_assert_int_eq(point->plan != NULL, expected.feasible);
            if (point->plan != NULL) {
                ck_assert_double_eq_tol(tps_of(point->plan, profile) / expected.tps_s, 1, 1e-12);
                assert_legal(point->plan, profile);
            }
            ck_assert_double_eq_tol(needs->least_memory_bytes,
                                    ps_exhaustive_least_memory(profile, &one, &no_rules), 1);
        }
    }
}
END_TEST

START_TEST(target_takes_the_fewest_devices)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("target_takes_the_fewest_devices"));
    guint reached = 0;
    for (guint round = 0; round < 300; round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 3, 8, TRUE);
        PsSetting setting = random_setting(random, profile);
        double target_s = g_rand_double_range(random, 0.005, 0.1);
        guint fewest = 0;
        for (guint k = setting.devices; k > 0; k--) {
            PsSetting one = setting;
            ps_setting_use_devices(&one, k);
            PsExhaustive best = ps_exhaustive_best(profile, &one, &no_rules);
            fewest = best.feasible && best.tps_s <= target_s ? k : fewest;
        }
        gboolean proven;
        g_autoptr(PsPlan) plan =
            ps_fewest_devices_plan(profile, &setting, &whole_space, target_s, &proven, NULL);
        ck_assert_int_eq(plan != NULL, fewest > 0);
        if (plan != NULL) {
            reached++;
            ck_assert_double_le(tps_of(plan, profile), target_s * (1 + 1e-9));
            ck_assert_uint_eq(plan->setting.devices, fewest);
        }
    }
    ck_assert_uint_gt(reached, 50);
}
END_TEST

/* All plans, each where its largest load is least: a batch of the plan chosen is as near to the
 * shortest of theirs as its gap says. */
START_TEST(flush_is_within_its_gap)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("flush_is_within_its_gap"));
    guint met = 0, closed = 0;
    for (guint round = 0; round < 300; round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 3, 8, TRUE);
        PsSetting setting = random_setting(random, profile);
        g_autoptr(PsPlanning) planning = ps_planning_new(profile, &setting, NULL);
        g_autoptr(GPtrArray) all = ps_planning_top(planning, 100000, NULL);
        double least_s = INFINITY;
        g_autoptr(PsPlan) plan = ps_flush_plan(profile, &setting, &whole_space, 3, NULL);
        ck_assert_int_eq(plan != NULL, all != NULL);
        for (guint i = 0; all != NULL && i < all->len; i++) {
            g_autoptr(PsPlan) one = ps_planning_plan(planning, all->pdata[i]);
            g_autoptr(PsEstimate) estimate = ps_plan_estimate(one, profile);
            least_s = fmin(least_s, estimate->batch_s);
        }
        if (plan != NULL) {
            met++;
            assert_legal(plan, profile);
            g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
            ck_assert_double_le(estimate->batch_s / (1 + plan->batch_gap), least_s * (1 + 1e-9));
            if (ps_tmpcs_send_alike(profile)) {
                closed++;
                ck_assert_double_le(plan->batch_gap, 1e-3);
            }
        }
    }
    ck_assert_uint_gt(met, 150);
    ck_assert_uint_gt(closed, 50);
}
END_TEST

/* ---- the same plans by other roads ---------------------------------------------------------- */

/* All plans of a profile, without their places and TMPCs: placed again they cost what the search
 * found, on as many devices. */
START_TEST(given_stages_find_the_same_places)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("given_stages_find_the_same_places"));
    guint plans = 0;
    for (guint round = 0; round < 300; round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 3, 10, TRUE);
        PsSetting setting = random_setting(random, profile);
        g_autoptr(PsPlanning) planning = ps_planning_new(profile, &setting, NULL);
        g_autoptr(GPtrArray) top = ps_planning_top(planning, 40, NULL);
        for (guint i = 0; top != NULL && i < top->len; i++) {
            const PsLayout *layout = top->pdata[i];
            g_autoptr(PsPlan) plan = ps_planning_plan(planning, layout);
            double tps_s = tps_of(plan, profile);
            for (guint s = 0; s < plan->n_stages; s++) {
                plan->stages[s].first_device = 0;
                g_clear_pointer(&plan->stages[s].tmpcs, g_free);
            }
            ck_assert(ps_complete_plan(plan, planning->costs));
            ck_assert(ps_complete_places(plan, planning->costs, NULL));
            assert_legal(plan, profile);
            ck_assert_msg(fabs(tps_of(plan, profile) / tps_s - 1) < 1e-12,
                          "round %u, rank %u: %.17g, not %.17g", round, i, tps_of(plan, profile),
                          tps_s);
            if (setting.microbatches % 3 != 0) {
                ck_assert_uint_le(ps_plan_span(plan), layout->devices);
            }
            plans++;
        }
    }
    ck_assert_uint_gt(plans, 2000);
}
END_TEST

/* A layout file, judged: as good as the plan that it was taken from. */
START_TEST(layouts_are_placed_where_they_are_best)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("layouts_are_placed_where_they_are_best"));
    for (guint round = 0; round < 300; round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 4, 10, TRUE);
        PsSetting setting = random_setting(random, profile);
        g_autoptr(PsPlan) best = ps_planner_plan(profile, &setting, NULL, NULL);
        if (best == NULL) {
            continue;
        }
        g_autoptr(GString) stages = g_string_new(NULL), d = g_string_new(NULL),
                           t = g_string_new(NULL);
        for (guint s = 0; s < best->n_stages; s++) {
            const PsStage *stage = &best->stages[s];
            const char *comma = s > 0 ? ", " : "";
            g_string_append_printf(stages, "%s[", comma);
            for (guint i = 0; i < stage->n_layers; i++) {
                g_string_append_printf(stages, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "",
                                       profile->layers[stage->layers[i]].id);
            }
            g_string_append(stages, "]");
            g_string_append_printf(d, "%s%u", comma, stage->data_parallel);
            g_string_append_printf(t, "%s%u", comma, stage->tensor_parallel);
        }
        g_autofree char *text = g_strdup_printf(
            "{\"schema\": \"pipersim-layout/1\", \"stages\": [%s], \"data_parallel\": [%s], "
            "\"tensor_parallel\": [%s], \"recompute\": \"best\"}",
            stages->str, d->str, t->str);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsDraft) draft =
            ps_draft_load(ps_test_file("layout.json", text), profile, &error);
        ps_assert_no_error(error);
        g_autoptr(PsEvaluation) evaluation =
            ps_evaluate(draft, profile, &setting, PS_RECOMPUTE_PER_LAYER, &error);
        ps_assert_no_error(error);
        ck_assert_uint_eq(evaluation->violations->len, 0);
        ck_assert_double_eq_tol(tps_of(evaluation->plan, profile) / tps_of(best, profile), 1,
                                1e-12);
        assert_legal(evaluation->plan, profile);
    }
}
END_TEST

/* Nested plans, so that their runs are sure to reach the estimate. */
START_TEST(replays_reach_the_estimate)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("replays_reach_the_estimate"));
    PsReplaySettings replay;
    ps_replay_settings_init(&replay);
    ck_assert(ps_replay_settings_set(&replay, "assume", "piper", NULL));
    const PsPlannerOptions nested = {.degrees = PS_DEGREES_NESTED};
    guint replayed = 0, crossing = 0;
    for (guint round = 0; round < 300; round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 5, 16, TRUE);
        PsSetting setting = random_setting(random, profile);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsRehearsal) rehearsal =
            ps_rehearse(profile, &setting, &nested, &replay, NULL, 0.5, &error);
        if (rehearsal == NULL) {
            ck_assert_int_eq(error->code, PS_ERROR_NEGATIVE);
            continue;
        }
        replayed++;
        crossing += rehearsal->plan->n_stages > 1 && !ps_setting_is_flat(&setting);
        ck_assert_msg(fabs(rehearsal->check->relative_error) < 1e-9, "round %u: off by %g", round,
                      rehearsal->check->relative_error);
    }
    ck_assert_uint_gt(replayed, 150);
    ck_assert_uint_gt(crossing, 50);
}
END_TEST

static char *saved(const PsPlan *plan, const PsProfile *profile)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(ps_test_folder(), "plan.json", NULL);
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    ck_assert(ps_plan_save(plan, profile, estimate, path, &error));
    char *text = NULL;
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

START_TEST(one_level_is_flat)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("one_level_is_flat"));
    for (guint round = 0; round < 300; round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 4, 8, TRUE);
        PsSetting flat = ps_setting_of_profile(profile), one = flat, within = flat;
        flat.bandwidth_bytes_per_s = g_rand_double_range(random, 1e9, 2e10);
        one.levels = (PsLevels){1, {{8, flat.bandwidth_bytes_per_s}}};
        within.levels = (PsLevels){2, {{8, flat.bandwidth_bytes_per_s}, {64, 1e9}}};
        ps_setting_use_devices(&one, one.devices);
        ps_setting_use_devices(&within, within.devices);
        g_autoptr(PsPlan) a = ps_planner_plan(profile, &flat, NULL, NULL);
        g_autoptr(PsPlan) b = ps_planner_plan(profile, &one, NULL, NULL);
        g_autoptr(PsPlan) c = ps_planner_plan(profile, &within, NULL, NULL);
        ck_assert((a != NULL) == (b != NULL) && (a != NULL) == (c != NULL));
        if (a != NULL) {
            g_autofree char *x = saved(a, profile), *y = saved(b, profile), *z = saved(c, profile);
            ck_assert_str_eq(x, y);
            ck_assert_str_eq(x, z);
        }
    }
}
END_TEST

START_TEST(files_keep_places)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("files_keep_places"));
    for (guint round = 0; round < 200; round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 4, 16, TRUE);
        PsSetting setting = random_setting(random, profile);
        g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, NULL, NULL);
        if (plan == NULL || ps_setting_is_flat(&setting)) {
            continue;
        }
        g_autoptr(GError) error = NULL;
        g_autofree char *text = saved(plan, profile);
        g_autoptr(PsPlanFile) file = ps_plan_file_load(ps_test_file("again.json", text), &error);
        ps_assert_no_error(error);
        g_autoptr(PsPlan) again = ps_plan_file_resolve(file, profile, &error);
        ps_assert_no_error(error);
        for (guint s = 0; s < plan->n_stages; s++) {
            ck_assert_uint_eq(again->stages[s].first_device, plan->stages[s].first_device);
        }
        PsLevels levels = ps_setting_levels(&setting);
        ck_assert_uint_eq(again->setting.levels.n, levels.n);
        ck_assert_double_eq(tps_of(again, profile), tps_of(plan, profile));
    }
}
END_TEST

PS_TEST_MAIN("levels", agrees_with_exhaustive_search, small_clusters_work_out_by_hand,
             top_is_the_head_of_all_plans, frontier_has_the_best_of_each_number,
             target_takes_the_fewest_devices, flush_is_within_its_gap,
             given_stages_find_the_same_places, layouts_are_placed_where_they_are_best,
             replays_reach_the_estimate, one_level_is_flat, files_keep_places)
