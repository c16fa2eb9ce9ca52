#include <math.h>

#include "planner/search/planner.h"
#include "sim/base/csv.h"
#include "sim/cli/setting-options.h"
#include "tests/harness/harness.h"
#include "tests/oracle/exhaustive.h"
#include "tests/oracle/random-profile.h"

/* Options of the planner beside the rules of the exhaustive search that say the same. */
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
    {{.restrictions = {.recompute = PS_RECOMPUTE_ALL}}, {.all_recompute = TRUE}},
    {{.restrictions = {.recompute = PS_RECOMPUTE_NONE}}, {.no_recompute = TRUE}},
    {{0}, {.sufficient = TRUE}, PS_IN_FLIGHT_SUFFICIENT},
    {{.degrees = PS_DEGREES_UNIFORM},
     {.sufficient = TRUE, .uniform = TRUE},
     PS_IN_FLIGHT_SUFFICIENT},
};

/* Everything takes 1,000 times as long, as in files read in the wrong unit: whole seconds. */
static void slow_down(PsProfile *profile)
{
    for (guint v = 0; v < profile->n_layers; v++) {
        for (guint s = 0; s < profile->layers[v].n_sets; s++) {
            const PsTmpcSet *set = &profile->layers[v].sets[s];
            for (guint i = 0; i < set->n_tmpcs; i++) {
                set->tmpcs[i].time_s = round(set->tmpcs[i].time_s * 1000);
            }
        }
    }
    profile->bandwidth_bytes_per_s /= 1000;
}

/* Returns whether there was a plan. */
static gboolean compare(const PsProfile *profile, guint with, guint round)
{
    PsSetting setting = ps_setting_of_profile(profile);
    setting.in_flight = restrictions[with].in_flight;
    PsExhaustive expected = ps_exhaustive_best(profile, &setting, &restrictions[with].rules);
    g_autoptr(GError) error = NULL;
    g_autoptr(PsPlan) plan =
        ps_planner_plan(profile, &setting, &restrictions[with].options, &error);
    ck_assert_msg((plan != NULL) == expected.feasible, "round %u, restriction %u: %s", round, with,
                  error != NULL ? error->message : "found a plan where there is none");
    if (plan == NULL) {
        return FALSE;
    }
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    ck_assert_msg(fabs(estimate->tps_s / expected.tps_s - 1) < 1e-9,
                  "round %u, restriction %u: %.17g, not %.17g", round, with, estimate->tps_s,
                  expected.tps_s);
    if (setting.in_flight == PS_IN_FLIGHT_PIPER) {
        ck_assert_int_eq(ps_plan_is_nested(plan), expected.nested);
    }
    ck_assert_uint_eq(estimate->devices_used, expected.devices);
    ck_assert_uint_eq(estimate->sum_data_parallel, expected.sum_data_parallel);
    ck_assert_uint_eq(plan->n_stages, expected.n_stages);
    ck_assert(plan->optimal);
    ck_assert(ps_plan_verify(plan, profile, TRUE, &error));
    return TRUE;
}

START_TEST(agrees_with_exhaustive_search)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("agrees_with_exhaustive_search"));
    guint feasible = 0, infeasible = 0;
    for (guint round = 0; round < 2000; round++) {
        g_autoptr(PsProfile) profile = ps_random_small_profile(random);
        if (g_rand_int_range(random, 0, 4) == 0) {
            slow_down(profile);
        }
        for (guint with = 0; with < G_N_ELEMENTS(restrictions); with++) {
            /* The whole search space each time, the others in turn. */
            if (with == 0 || with == 1 + round % (G_N_ELEMENTS(restrictions) - 1)) {
                *(compare(profile, with, round) ? &feasible : &infeasible) += 1;
            }
        }
    }
    /* Both kinds must have been met often, or the test shows little. */
    ck_assert_uint_gt(infeasible, 200);
    ck_assert_uint_gt(feasible, 2000);
}
END_TEST

START_TEST(names_the_least_memory_that_would_do)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("names_the_least_memory_that_would_do"));
    guint met = 0;
    while (met < 100) {
        g_autoptr(PsProfile) profile = ps_random_small_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        setting.memory_bytes = 50e6;
        g_autoptr(GError) error = NULL;
        guint with = met % G_N_ELEMENTS(restrictions);
        setting.in_flight = restrictions[with].in_flight;
        const PsPlannerOptions *options = &restrictions[with].options;
        g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, options, &error);
        if (plan != NULL) {
            continue;
        }
        met++;
        double expected = ps_exhaustive_least_memory(profile, &setting, &restrictions[with].rules);
        g_autofree char *text = g_strdup_printf("(%.0f bytes) per device", expected);
        ck_assert_msg(strstr(error->message, text) != NULL, "expected %s in: %s", text,
                      error->message);
        setting.memory_bytes = expected;
        g_clear_error(&error);
        g_autoptr(PsPlan) now = ps_planner_plan(profile, &setting, options, &error);
        ps_assert_no_error(error);
    }
}
END_TEST

/* 17 layers without edges have 2^17 downsets, more than are searched. What bounds the optimum from
 * below is the work, each layer at its cheapest degree, spread over all devices. */
START_TEST(bounds_the_distance_where_branches_explode)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("bounds_the_distance_where_branches_explode"));
    guint n_open = 0;
    for (guint round = 0; round < 20; round++) {
        PsRandomProfile wanted = {.n_layers = 17,
                                  .most_tmpcs = 2,
                                  .tensor_parallel = TRUE,
                                  .devices = (guint)g_rand_int_range(random, 1, 20),
                                  .microbatches = 12,
                                  .memory_bytes = 1e12,
                                  .bandwidth_bytes_per_s = 1e10};
        g_autoptr(PsProfile) profile = ps_random_profile(random, &wanted);
        PsSetting setting = ps_setting_of_profile(profile);
        double work_s = 0;
        for (guint v = 0; v < profile->n_layers; v++) {
            double least_s = INFINITY;
            for (guint i = 0; i < profile->layers[v].n_sets; i++) {
                const PsTmpcSet *set = &profile->layers[v].sets[i];
                for (guint j = 0; set->degree <= setting.devices && j < set->n_tmpcs; j++) {
                    least_s = fmin(least_s, set->degree * set->tmpcs[j].time_s);
                }
            }
            work_s += least_s;
        }
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, NULL, &error);
        ps_assert_no_error(error);
        /* One that spreads the work evenly is proven best by that. */
        ck_assert_int_eq(plan->optimal, plan->gap == 0);
        n_open += !plan->optimal;
        ck_assert(ps_plan_verify(plan, profile, TRUE, &error));
        g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
        ck_assert_double_eq_tol(estimate->tps_s / (1 + plan->gap), work_s / setting.devices, 1e-9);
    }
    ck_assert_uint_gt(n_open, 5);
}
END_TEST

/* ---- the published planner's optima --------------------------------------------------------- */

typedef struct {
    guint checked;
} Reference;

enum { PROFILE, DEVICES, MICROBATCHES, MEMORY, BANDWIDTH, FORBID, TPS, N_USED };
static const char *const reference_columns[] = {
    "profile",  "devices",    "microbatches",       "memory_GiB",        "bandwidth_bytes_per_s",
    "forbid",   "tps_s",      "transformer_layers", "downsets",          "downset_pairs",
    "n_stages", "d_sequence", "t_sequence",         "reference_seconds", NULL};

static double number(const PsCsvRow *row, guint column)
{
    return g_ascii_strtod(row->fields[column], NULL);
}

static gboolean check_row(const PsCsvRow *row, gpointer user_data, GError **error)
{
    Reference *reference = user_data;
    const char *forbid = row->fields[FORBID];
    PsPlannerOptions options = {
        .restrictions = {
            .forbid_tensor_parallel = strcmp(forbid, "tensor_parallel") == 0,
            .forbid_data_parallel = strcmp(forbid, "data_parallel") == 0,
            .recompute = strcmp(forbid, "recompute") == 0 ? PS_RECOMPUTE_NONE : 0,
        }};
    g_autofree char *name = g_strdup_printf("profiles/%s.json", row->fields[PROFILE]);
    g_autoptr(PsProfile) profile = ps_profile_load(ps_test_data(name), "s", error);
    if (profile == NULL) {
        return FALSE;
    }
    PsSetting setting = {(guint)number(row, DEVICES), number(row, MEMORY) * 0x1p30,
                         number(row, BANDWIDTH), (guint)number(row, MICROBATCHES)};
    g_autoptr(GError) none = NULL;
    g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, &options, &none);
    gboolean feasible = strcmp(row->fields[TPS], "infeasible") != 0;
    ck_assert_msg((plan != NULL) == feasible, "line %u", row->line);
    if (plan != NULL) {
        g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
        ck_assert_msg(fabs(estimate->tps_s / number(row, TPS) - 1) < 1e-9,
                      "line %u: %.12g, published %s", row->line, estimate->tps_s, row->fields[TPS]);
    }
    reference->checked++;
    return TRUE;
}

START_TEST(reaches_the_published_optima)
{
    const char *path = ps_test_data("measured/piper-reference-tps.csv");
    if (path == NULL) {
        return;
    }
    Reference reference = {0};
    GError *error = NULL;
    ck_assert(ps_csv_read(path, reference_columns, check_row, &reference, &error));
    ps_assert_no_error(error);
    ck_assert_uint_eq(reference.checked, 37);
}
END_TEST

/* With its times read as what they are, milliseconds, communication costs a thousand times as much
 * beside compute, and another plan is best: d = 2, 3, 3 in place of 1, 1, 1, 1, 1, 1, 2. */
START_TEST(the_unit_of_time_changes_plans)
{
    const char *path = ps_test_data("profiles/resnet50-v100.json");
    if (path == NULL) {
        return;
    }
    static const guint degrees[] = {2, 3, 3};
    g_autoptr(GError) error = NULL;
    g_autoptr(PsProfile) profile = ps_profile_load(path, "ms", &error);
    ps_assert_no_error(error);
    const PsSetting setting = {8, 8 * 0x1p30, 25 * 0x1p30, 7680};
    g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, NULL, &error);
    ps_assert_no_error(error);
    ck_assert(plan->optimal);
    ck_assert_uint_eq(plan->n_stages, G_N_ELEMENTS(degrees));
    for (guint i = 0; i < plan->n_stages; i++) {
        ck_assert_uint_eq(plan->stages[i].data_parallel, degrees[i]);
    }
}
END_TEST

PS_TEST_MAIN("planner", the_unit_of_time_changes_plans, agrees_with_exhaustive_search,
             names_the_least_memory_that_would_do, bounds_the_distance_where_branches_explode,
             reaches_the_published_optima)
