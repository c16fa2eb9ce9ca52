/* Plans for clusters with levels, against exhaustive search over all plans and all their places. */
#include <math.h>

#include "planner/frontier.h"
#include "planner/search/planning.h"
#include "sim/cli/setting-options.h"
#include "tests/harness/harness.h"
#include "tests/oracle/exhaustive.h"
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

static PsProfile *small_profile(GRand *random, guint most_layers, guint most_devices)
{
    static const guint microbatches[] = {1, 2, 4, 6, 8, 12, 16, 24};
    PsRandomProfile wanted = {
        .n_layers = (guint)g_rand_int_range(random, 1, (gint)most_layers + 1),
        .edge_probability = g_rand_double(random),
        .chain = g_rand_boolean(random),
        .most_tmpcs = 2,
        .tensor_parallel = g_rand_int_range(random, 0, 4) > 0,
        .any_degree = g_rand_boolean(random),
        .same_weights = g_rand_boolean(random),
        .devices = (guint)g_rand_int_range(random, 1, (gint)most_devices + 1),
        .microbatches = microbatches[g_rand_int_range(random, 0, G_N_ELEMENTS(microbatches))],
        .memory_bytes = g_rand_int_range(random, 300, 6000) * 1e6,
        .bandwidth_bytes_per_s = 1e9,
    };
    return ps_random_profile(random, &wanted);
}

/* Two or three levels that hold the devices, each slower than the one inside or as fast. */
static void set_levels(GRand *random, PsSetting *setting)
{
    static const PsLevels structures[] = {
        {2, {{2}, {16}}},      {2, {{3}, {18}}},      {2, {{4}, {16}}},
        {2, {{5}, {20}}},      {2, {{6}, {24}}},      {2, {{8}, {16}}},
        {2, {{1}, {16}}},      {3, {{2}, {4}, {16}}}, {3, {{2}, {6}, {18}}},
        {3, {{3}, {6}, {18}}}, {3, {{1}, {4}, {16}}}, {3, {{4}, {8}, {16}}},
        {3, {{2}, {8}, {16}}}, {3, {{3}, {9}, {18}}}, {4, {{2}, {4}, {8}, {16}}},
    };
    static const double steps[] = {1, 1.25, 2, 4, 10};
    setting->levels = structures[g_rand_int_range(random, 0, G_N_ELEMENTS(structures))];
    static const double slowest[] = {1e9, 2e9, 4e9, 5e9};
    double bandwidth = slowest[g_rand_int_range(random, 0, G_N_ELEMENTS(slowest))];
    for (guint i = setting->levels.n; i-- > 0;) {
        setting->levels.level[i].bandwidth_bytes_per_s = bandwidth;
        bandwidth *= steps[g_rand_int_range(random, 0, G_N_ELEMENTS(steps))];
    }
    ps_setting_use_devices(setting, setting->devices);
}

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
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    ck_assert_msg(fabs(estimate->tps_s / expected.tps_s - 1) < 1e-12,
                  "round %u, restriction %u: %.17g, not %.17g", round, with, estimate->tps_s,
                  expected.tps_s);
    ck_assert(ps_plan_verify(plan, profile, TRUE, &error) || error != NULL);
    ps_assert_no_error(error);
    ck_assert_uint_le(ps_plan_span(plan), layout->devices);
    if (setting->microbatches % 3 == 0) { /* thirds of a femtosecond: equals may not tie */
        return TRUE;
    }
    if (setting->in_flight == PS_IN_FLIGHT_PIPER) {
        ck_assert_int_eq(ps_plan_is_nested(plan), expected.nested);
    }
    ck_assert_msg(layout->devices == expected.devices, "round %u, restriction %u: %u, not %u",
                  round, with, layout->devices, expected.devices);
    ck_assert_uint_eq(estimate->sum_data_parallel, expected.sum_data_parallel);
    ck_assert_uint_eq(plan->n_stages, expected.n_stages);
    return TRUE;
}

START_TEST(agrees_with_exhaustive_search)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("agrees_with_exhaustive_search"));
    guint feasible = 0, infeasible = 0;
    for (guint round = 0; round < (g_getenv("ROUNDS") ? atoi(g_getenv("ROUNDS")) : 3000); round++) {
        g_autoptr(PsProfile) profile = small_profile(random, 4, 12);
        guint with = round % 2 == 0 ? 0 : round / 2 % G_N_ELEMENTS(restrictions);
        PsSetting setting = ps_setting_of_profile(profile);
        set_levels(random, &setting);
        setting.in_flight = restrictions[with].in_flight;
        *(compare(profile, &setting, with, round) ? &feasible : &infeasible) += 1;
    }
    ck_assert_uint_gt(infeasible, 100);
    ck_assert_uint_gt(feasible, 2000);
}
END_TEST

PS_TEST_MAIN("levels", agrees_with_exhaustive_search)
