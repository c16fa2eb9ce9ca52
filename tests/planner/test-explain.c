#include <math.h>
#include <string.h>

#include "planner/search/explain.h"
#include "planner/search/planner.h"
#include "sim/base/units.h"
#include "sim/cli/setting-options.h"
#include "tests/harness/harness.h"
#include "tests/oracle/exhaustive.h"
#include "tests/oracle/random-profile.h"

static PsProfile *tight_profile(GRand *random)
{
    PsRandomProfile wanted = {
        .n_layers = (guint)g_rand_int_range(random, 1, 4),
        .edge_probability = g_rand_double(random),
        .chain = g_rand_boolean(random),
        .most_tmpcs = 3,
        .tensor_parallel = g_rand_boolean(random),
        .same_weights = g_rand_boolean(random),
        .devices = (guint)g_rand_int_range(random, 1, 4),
        .microbatches = (guint)g_rand_int_range(random, 1, 5),
        .memory_bytes = g_rand_int_range(random, 300, 2000) * 1e6,
        .bandwidth_bytes_per_s = g_rand_int_range(random, 1, 20) * 1e9,
    };
    return ps_random_profile(random, &wanted);
}

static const struct {
    PsPlannerOptions options;
    PsExhaustiveRules rules;
} spaces[] = {
    {{0}, {0}},
    {{.degrees = PS_DEGREES_UNIFORM}, {.uniform = TRUE}},
    {{.restrictions = {.forbid_data_parallel = TRUE}}, {.one_replica = TRUE}},
    {{.restrictions = {.forbid_tensor_parallel = TRUE}}, {.one_rank = TRUE}},
    {{.restrictions = {.recompute = PS_RECOMPUTE_NONE}}, {.no_recompute = TRUE}},
};

/* With t at most 4 and sum d at most N, no plan can use more than 4 N devices. */
static guint fewest_by_trial(const PsProfile *profile, const PsExhaustiveRules *rules)
{
    PsSetting setting = ps_setting_of_profile(profile);
    for (guint k = 1; k <= 4 * setting.microbatches; k++) {
        setting.devices = k;
        if (ps_exhaustive_best(profile, &setting, rules).feasible) {
            return k;
        }
    }
    return 0;
}

START_TEST(names_the_fewest_devices_that_would_do)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("names_the_fewest_devices_that_would_do"));
    guint found = 0, none = 0;
    for (guint round = 0; found + none < 250; round++) {
        g_autoptr(PsProfile) profile = tight_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        guint with = round % G_N_ELEMENTS(spaces);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, &spaces[with].options, &error);
        if (plan != NULL) {
            continue;
        }
        guint fewest = fewest_by_trial(profile, &spaces[with].rules);
        g_autofree char *memory = ps_quantity_format(PS_BYTES, setting.memory_bytes);
        g_autofree char *expected =
            fewest > 0 ? g_strdup_printf("Of %s each, %u devices are the fewest that would do.",
                                         memory, fewest)
                       : g_strdup_printf("Of %s each, no number of devices would do (N = %u).",
                                         memory, setting.microbatches);
        ck_assert_msg(strstr(error->message, expected) != NULL, "round %u: expected %s in: %s",
                      round, expected, error->message);
        *(fewest > 0 ? &found : &none) += 1;
    }
    ck_assert_uint_gt(found, 50);
    ck_assert_uint_gt(none, 50);
}
END_TEST

/* What each switch's sentence begins with, and the rules with it lifted. */
typedef struct {
    const char *allowed;
    PsExhaustiveRules rules;
} Lift;

START_TEST(says_which_restriction_is_in_the_way)
{
    static const PsPlannerOptions options = {
        .degrees = PS_DEGREES_UNIFORM,
        .restrictions = {TRUE, TRUE, PS_RECOMPUTE_NONE},
    };
    /* d = 1 everywhere is uniform, so lifting the degrees alone changes nothing. */
    static const Lift lifts[] = {
        {"recompute chosen per layer", {.uniform = TRUE, .one_replica = TRUE, .one_rank = TRUE}},
        {"tensor parallelism", {.uniform = TRUE, .one_replica = TRUE, .no_recompute = TRUE}},
        {"data parallelism", {.uniform = TRUE, .one_rank = TRUE, .no_recompute = TRUE}},
        {"any data-parallel degrees",
         {.one_replica = TRUE, .one_rank = TRUE, .no_recompute = TRUE}},
    };
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("says_which_restriction_is_in_the_way"));
    guint plans = 0, none = 0, together = 0;
    while (plans < 80 || none < 80 || together < 20) {
        g_autoptr(PsProfile) profile = tight_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, &options, &error);
        gboolean helped = FALSE;
        for (guint i = 0; plan == NULL && i <= G_N_ELEMENTS(lifts); i++) {
            gboolean all = i == G_N_ELEMENTS(lifts);
            if (all && helped) {
                continue;
            }
            PsExhaustiveRules rules = all ? (PsExhaustiveRules){0} : lifts[i].rules;
            PsExhaustive best = ps_exhaustive_best(profile, &setting, &rules);
            g_autofree char *tps = ps_quantity_format(PS_SECONDS, best.tps_s);
            g_autofree char *expected =
                g_strdup_printf(" With %s %s%s.", all ? "all of these" : lifts[i].allowed,
                                best.feasible ? "there is a plan of TPS " : "nothing fits either",
                                best.feasible ? tps : "");
            ck_assert_msg(strstr(error->message, expected) != NULL, "expected%s in: %s", expected,
                          error->message);
            helped |= best.feasible;
            *(best.feasible ? &plans : &none) += 1;
            together += all && best.feasible;
        }
    }
}
END_TEST

/* What layer v takes by itself with one microbatch in flight, at its best degree up to K. */
static double alone_bytes(const PsProfile *profile, guint v, guint k)
{
    double least = INFINITY;
    const PsLayer *layer = &profile->layers[v];
    for (guint s = 0; s < layer->n_sets; s++) {
        for (guint i = 0; i < layer->sets[s].n_tmpcs && layer->sets[s].degree <= k; i++) {
            const PsTmpc *tmpc = &layer->sets[s].tmpcs[i];
            least = fmin(least, tmpc->memory_per_microbatch_bytes + tmpc->memory_fixed_bytes);
        }
    }
    return least;
}

START_TEST(names_a_layer_that_is_too_large_by_itself)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("names_a_layer_that_is_too_large_by_itself"));
    guint large = 0, small = 0;
    while (large < 60 || small < 60) {
        g_autoptr(PsProfile) profile = tight_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, NULL, &error);
        if (plan != NULL) {
            continue;
        }
        guint worst = 0;
        for (guint v = 1; v < profile->n_layers; v++) {
            if (alone_bytes(profile, v, setting.devices) >
                alone_bytes(profile, worst, setting.devices)) {
                worst = v;
            }
        }
        double bytes = alone_bytes(profile, worst, setting.devices);
        g_autofree char *size = ps_quantity_format(PS_BYTES, bytes);
        g_autofree char *expected =
            g_strdup_printf("Layer %u (layer) alone takes %s at the least", worst, size);
        gboolean says = strstr(error->message, expected) != NULL;
        ck_assert_msg(says == (bytes > setting.memory_bytes), "%s: %s", expected, error->message);
        *(says ? &large : &small) += 1;
    }
}
END_TEST

START_TEST(gives_up_on_devices_where_tables_would_explode)
{
    /* Each layer takes 400 MB for each microbatch in flight. In 500 MB the second fits alone, but
     * the first has y >= 2, so no K will do; yet N = 2^24 lets K grow beyond what is tried: 2^24
     * cells for 3 downsets. In 399 MB neither fits alone. */
    const char *path = ps_test_file(
        "two.json",
        "{\"maxDevices\": 2, \"maxMemoryPerDevice\": 5e8, \"bandwidth\": 1e9, \"mbsInBatch\": "
        "16777216, \"nodes\": [{\"id\": 0, \"name\": \"a\", \"TMPCs\": {\"1\": [{\"id\": \"x\", "
        "\"timePerSample\": 1, \"parameterSize\": 0, \"memoryUsageA\": 4e8, \"memoryUsageB\": 0, "
        "\"syncTimeFw\": {}, \"syncTimeBw\": {\"1\": 0}}]}}, {\"id\": 1, \"name\": \"b\", "
        "\"TMPCs\": {\"1\": [{\"id\": \"x\", \"timePerSample\": 1, \"parameterSize\": 0, "
        "\"memoryUsageA\": 4e8, \"memoryUsageB\": 0, \"syncTimeFw\": {\"0\": 0}, \"syncTimeBw\": "
        "{}}]}}], \"edges\": [{\"sourceId\": 0, \"destId\": 1, \"communicationCost\": 0}]}");
    g_autoptr(GError) error = NULL;
    g_autoptr(PsProfile) profile = ps_profile_load(path, NULL, &error);
    ps_assert_no_error(error);
    PsSetting setting = ps_setting_of_profile(profile);
    g_autoptr(PsPlan) none = ps_planner_plan(profile, &setting, NULL, &error);
    ck_assert(none == NULL);
    ck_assert_msg(
        g_str_has_suffix(error->message, "Of 476.8 MiB each, even 5592405 devices would not do."),
        "%s", error->message);
    g_clear_error(&error);
    setting.memory_bytes = 3.99e8;
    g_autoptr(PsPlan) neither = ps_planner_plan(profile, &setting, NULL, &error);
    ck_assert(neither == NULL);
    ck_assert_msg(strstr(error->message, "Layer 0 (a) alone takes 381.5 MiB at the least, at "
                                         "tensor-parallel 1.") != NULL,
                  "%s", error->message);
}
END_TEST

PS_TEST_MAIN("explain", names_the_fewest_devices_that_would_do,
             says_which_restriction_is_in_the_way, names_a_layer_that_is_too_large_by_itself,
             gives_up_on_devices_where_tables_would_explode)
