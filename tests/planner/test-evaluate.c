#include <math.h>
#include <string.h>

#include "planner/baselines/baselines.h"
#include "planner/evaluate.h"
#include "planner/plan-report.h"
#include "planner/baselines/repeats.h"
#include "sim/base/error.h"
#include "sim/cli/setting-options.h"
#include "tests/harness/harness.h"
#include "tests/oracle/random-profile.h"

static guint pick(GRand *random, guint n)
{
    return (guint)g_rand_int_range(random, 0, (gint32)n);
}

/* Layers thrown into stages, mostly in order; d and t of any kind that the layers can run at. */
static PsPlan *random_plan(GRand *random, const PsProfile *profile, const PsSetting *setting)
{
    guint n_stages = 1 + pick(random, profile->n_layers);
    PsPlan *plan = ps_plan_new(n_stages, setting);
    gboolean ordered = pick(random, 4) > 0;
    for (guint s = 0; s < n_stages; s++) {
        plan->stages[s].layers = g_new0(guint, profile->n_layers);
        plan->stages[s].tmpcs = g_new0(guint, profile->n_layers);
        plan->stages[s].data_parallel = 1 + pick(random, 4);
    }
    for (guint v = 0; v < profile->n_layers; v++) {
        /* The first n_stages layers go round, so that no stage is empty. */
        guint s = v < n_stages ? v : ordered ? n_stages - 1 : pick(random, n_stages);
        plan->stages[s].layers[plan->stages[s].n_layers++] = v;
    }
    for (guint s = 0; s < n_stages; s++) {
        PsStage *stage = &plan->stages[s];
        const PsLayer *first = &profile->layers[stage->layers[0]];
        guint t = first->sets[pick(random, first->n_sets)].degree;
        for (guint i = 0; i < stage->n_layers; i++) {
            t = ps_layer_set(&profile->layers[stage->layers[i]], t) != NULL ? t : 1;
        }
        stage->tensor_parallel = t;
        for (guint i = 0; i < stage->n_layers; i++) {
            stage->tmpcs[i] =
                pick(random, ps_layer_set(&profile->layers[stage->layers[i]], t)->n_tmpcs);
        }
    }
    return plan;
}

/* t that falls back to 1 in the middle may leave earlier layers without a set. */
static gboolean runs(const PsPlan *plan, const PsProfile *profile)
{
    for (guint s = 0; s < plan->n_stages; s++) {
        for (guint i = 0; i < plan->stages[s].n_layers; i++) {
            const PsTmpcSet *set = ps_layer_set(&profile->layers[plan->stages[s].layers[i]],
                                                plan->stages[s].tensor_parallel);
            if (set == NULL || plan->stages[s].tmpcs[i] >= set->n_tmpcs) {
                return FALSE;
            }
        }
    }
    return TRUE;
}

static const char *save(const PsPlan *plan, const PsProfile *profile)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    const char *path = ps_test_file("plan.json", "");
    GError *error = NULL;
    ck_assert(ps_plan_save(plan, profile, estimate, path, &error));
    return path;
}

static PsEvaluation *evaluate(const char *path, const PsProfile *profile, const PsSetting *setting)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsDraft) draft = ps_draft_load(path, profile, &error);
    ps_assert_no_error(error);
    PsEvaluation *evaluation = ps_evaluate(draft, profile, setting, PS_RECOMPUTE_PER_LAYER, &error);
    ps_assert_no_error(error);
    return evaluation;
}

START_TEST(judges_as_the_verifier_does)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("judges_as_the_verifier_does"));
    guint legal = 0, illegal = 0;
    while (legal < 100 || illegal < 300) {
        g_autoptr(PsProfile) profile = ps_random_small_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        g_autoptr(PsPlan) plan = random_plan(random, profile, &setting);
        if (!runs(plan, profile)) {
            continue;
        }
        gboolean expected = ps_plan_verify(plan, profile, TRUE, NULL);
        g_autoptr(PsEvaluation) evaluation = evaluate(save(plan, profile), profile, &setting);
        ck_assert_msg((evaluation->violations->len == 0) == expected, "%s",
                      evaluation->violations->len > 0
                          ? (const char *)evaluation->violations->pdata[0]
                          : "nothing found");
        ck_assert_uint_eq(evaluation->completed->len, 0);
        g_autoptr(PsEstimate) wanted = ps_plan_estimate(plan, profile);
        g_autoptr(PsEstimate) found = ps_plan_estimate(evaluation->plan, profile);
        ck_assert_double_eq(found->tps_s, wanted->tps_s);
        *(expected ? &legal : &illegal) += 1;
    }
}
END_TEST

/* ---- completion ----------------------------------------------------------------------------- */

static const char *save_without_tmpcs(const PsPlan *plan, const PsProfile *profile)
{
    g_autoptr(GString) text = g_string_new("{\"stages\": [");
    for (guint s = 0; s < plan->n_stages; s++) {
        const PsStage *stage = &plan->stages[s];
        g_string_append_printf(text,
                               "%s{\"dataParallelDegree\": %u, \"tensorParallelDegree\": %u, ",
                               s > 0 ? ", " : "", stage->data_parallel, stage->tensor_parallel);
        for (guint i = 0; i < stage->n_layers; i++) {
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "\"nodes\": [",
                                   profile->layers[stage->layers[i]].id);
        }
        g_string_append(text, "]}");
    }
    g_string_append(text, "]}");
    return ps_test_file("bare.json", text->str);
}

typedef struct {
    double tps_s, memory_bytes;
} Figures;

static gboolean better(Figures a, Figures b, double memory_bytes)
{
    if (a.memory_bytes <= memory_bytes || b.memory_bytes <= memory_bytes) {
        return a.memory_bytes <= memory_bytes &&
               (b.memory_bytes > memory_bytes || a.tps_s < b.tps_s);
    }
    return a.memory_bytes < b.memory_bytes;
}

/* Best TMPCs of one stage by trying all of them: the fastest that fit, else the smallest. */
static Figures best_by_trial(PsPlan *plan, const PsProfile *profile, guint s)
{
    Figures best = {INFINITY, INFINITY};
    PsStage *stage = &plan->stages[s];
    memset(stage->tmpcs, 0, stage->n_layers * sizeof(guint));
    for (guint i = 0; i < stage->n_layers;) {
        g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
        Figures now = {estimate->stages[s].tps_s, estimate->stages[s].memory_bytes};
        if (better(now, best, plan->setting.memory_bytes)) {
            best = now;
        }
        for (i = 0; i < stage->n_layers; i++) { /* count on in mixed radix */
            const PsTmpcSet *set =
                ps_layer_set(&profile->layers[stage->layers[i]], stage->tensor_parallel);
            if (++stage->tmpcs[i] < set->n_tmpcs) {
                break;
            }
            stage->tmpcs[i] = 0;
        }
        i = i < stage->n_layers ? 0 : i;
    }
    return best;
}

START_TEST(completes_with_the_best_tmpcs)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("completes_with_the_best_tmpcs"));
    guint fitting = 0, too_large = 0;
    while (fitting < 200 || too_large < 50) {
        g_autoptr(PsProfile) profile = ps_random_small_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        g_autoptr(PsPlan) plan = random_plan(random, profile, &setting);
        g_autoptr(PsEvaluation) evaluation =
            evaluate(save_without_tmpcs(plan, profile), profile, &setting);
        if (evaluation->plan == NULL) {
            ck_assert(evaluation->violations->len > 0);
            continue;
        }
        ck_assert_uint_eq(evaluation->completed->len, plan->n_stages);
        g_autoptr(PsEstimate) found = ps_plan_estimate(evaluation->plan, profile);
        for (guint s = 0; s < plan->n_stages; s++) {
            Figures expected = best_by_trial(plan, profile, s);
            gboolean fits = expected.memory_bytes <= setting.memory_bytes;
            if (fits) {
                ck_assert_double_eq_tol(found->stages[s].tps_s / expected.tps_s, 1, 1e-9);
                ck_assert(found->stages[s].memory_bytes <= setting.memory_bytes);
            } else {
                ck_assert_double_eq(found->stages[s].memory_bytes, expected.memory_bytes);
            }
            *(fits ? &fitting : &too_large) += 1;
        }
    }
}
END_TEST

/* ---- layouts -------------------------------------------------------------------------------- */

static gboolean all_recompute(const PsPlan *plan, const PsProfile *profile)
{
    for (guint s = 0; s < plan->n_stages; s++) {
        for (guint i = 0; i < plan->stages[s].n_layers; i++) {
            if (ps_stage_tmpc(&plan->stages[s], profile, i)->recomputes) {
                return TRUE;
            }
        }
    }
    return FALSE;
}

/* An equi-partition plan said as a layout comes out with the same TPS. */
START_TEST(reads_layouts)
{
    const char *path = ps_test_data("profiles/bert32-a100.json");
    if (path == NULL) {
        return;
    }
    GError *error = NULL;
    g_autoptr(PsProfile) profile = ps_profile_load(path, "s", &error);
    ps_assert_no_error(error);
    static const guint devices[] = {8, 32, 64, 128};
    const PsPlannerOptions options = {.restrictions = {.recompute = PS_RECOMPUTE_ALL_OR_NONE}};
    for (guint i = 0; i < 2 * G_N_ELEMENTS(devices); i++) {
        PsSetting setting = {devices[i / 2], 8 * 0x1p30, 25 * 0x1p30, 1920};
        gboolean apart = i % 2;
        g_auto(PsBaselineResult) equi =
            (apart ? ps_baseline_equi_apart : ps_baseline_equi)(profile, &setting, &options);
        ck_assert(equi.plan != NULL);
        PsInnerLayers inner = ps_inner_layers(profile);
        g_autoptr(GString) counts = g_string_new(NULL);
        for (guint s = 0; s < equi.plan->n_stages; s++) {
            const PsStage *stage = &equi.plan->stages[s];
            guint n = 0;
            for (guint j = 0; j < stage->n_layers; j++) {
                n += stage->layers[j] - inner.first < inner.n;
            }
            g_string_append_printf(counts, "%s%u", s > 0 ? ", " : "", n);
        }
        g_autofree char *layout = g_strdup_printf(
            "{\"schema\": \"pipersim-layout/1\", \"layers_per_stage\": [%s], \"data_parallel\": "
            "%u, \"tensor_parallel\": %u, \"recompute\": \"%s\"}",
            counts->str, equi.plan->stages[0].data_parallel, equi.plan->stages[0].tensor_parallel,
            all_recompute(equi.plan, profile) ? "all" : "none");
        g_autoptr(PsEvaluation) evaluation =
            evaluate(ps_test_file("layout.json", layout), profile, &setting);
        ck_assert_msg(evaluation->violations->len == 0, "%s: %s", layout,
                      (const char *)g_ptr_array_index(evaluation->violations, 0));
        g_autoptr(PsEstimate) wanted = ps_plan_estimate(equi.plan, profile);
        g_autoptr(PsEstimate) found = ps_plan_estimate(evaluation->plan, profile);
        ck_assert_double_eq(found->tps_s, wanted->tps_s);
    }
}
END_TEST

/* Three layers, ids 3, 5, 7; t = 2 for the middle one only. */
#define TMPC(id, fw, bw)                                                                           \
    "{\"id\": \"" id "\", \"timePerSample\": 1, \"parameterSize\": 1, \"memoryUsageA\": 10, "      \
    "\"memoryUsageB\": 1, \"syncTimeFw\": {" fw "}, \"syncTimeBw\": {" bw "}}"
#define MODEL                                                                                                                                                                                        \
    "{\"maxDevices\": 4, \"maxMemoryPerDevice\": 43, \"bandwidth\": 1, \"mbsInBatch\": 4, "                                                                                                          \
    "\"nodes\": [{\"id\": 3, \"name\": \"in\", \"TMPCs\": {\"1\": [" TMPC(                                                                                                                           \
        "x", "",                                                                                                                                                                                     \
        "\"5\": 0") "]}}, {\"id\": 5, \"name\": \"block\", \"TMPCs\": {\"1\": [" TMPC("x",                                                                                                           \
                                                                                      "\"3\":"                                                                                                       \
                                                                                      " 0",                                                                                                          \
                                                                                      "\"7\":"                                                                                                       \
                                                                                      " 0") "], "                                                                                                    \
                                                                                            "\"2"                                                                                                    \
                                                                                            "\": "                                                                                                   \
                                                                                            "[" TMPC("w", "\"3\": 0", "\"7\": 0") "]}}, {\"id\": 7, \"name\": \"block\", \"TMPCs\": {\"1\": [" TMPC( \
                                                                                                "x",                                                                                                 \
                                                                                                "\"5\": 0",                                                                                          \
                                                                                                "") "]}}], \"edges\": [{\"sourceId\": 3, \"destId\": 5, \"communicationCost\": 0}, "                 \
                                                                                                    "{\"sourceId\": 5, \"destId\": 7, \"communicationCost\": 0}]}"

#define STAGES(stages) "{\"stages\": [" stages "]}"
#define STAGE(nodes, d, t)                                                                         \
    "{\"nodes\": [" nodes "], \"dataParallelDegree\": " #d ", \"tensorParallelDegree\": " #t "}"

static PsProfile *model(void)
{
    g_autoptr(GError) error = NULL;
    PsProfile *profile = ps_profile_load(ps_test_file("model.json", MODEL), "s", &error);
    ps_assert_no_error(error);
    return profile;
}

START_TEST(names_every_broken_rule)
{
    static const struct {
        const char *file, *expected; /* violations, one per line */
        gboolean costs;              /* can be told all the same */
    } cases[] = {
        {STAGES(STAGE("3, 5, 7", 1, 1)), "", TRUE},
        {STAGES(STAGE("3, 5", 1, 1)), "layer 7: in no stage (expected one)", FALSE},
        {STAGES(STAGE("7", 1, 1)), "layers 3, 5: in no stage (expected one)", FALSE},
        {STAGES(STAGE("3, 5", 1, 1) ", " STAGE("5, 7", 1, 1)),
         "layer 5 is in stage 0 and in stage 1 (expected one)", FALSE},
        {STAGES(STAGE("3, 3, 5, 7", 1, 1)), "layer 3 is in stage 0 and in stage 0 (expected one)",
         FALSE},
        {STAGES(STAGE("5, 7", 1, 1) ", " STAGE("3", 1, 1)),
         "edge 3 -> 5 runs from stage 1 back to stage 0 (expected stages in the order of the "
         "graph)",
         TRUE},
        {STAGES(STAGE("3, 7", 1, 1) ", " STAGE("5", 1, 1)),
         "edge 5 -> 7 runs from stage 1 back to stage 0 (expected stages in the order of the "
         "graph)",
         TRUE},
        {STAGES(STAGE("3, 5, 7", 3, 1)),
         "stage 0 has data-parallel degree 3 (expected a divisor of the 4 microbatches)", TRUE},
        {STAGES(STAGE("3", 2, 1) ", " STAGE("5", 2, 1) ", " STAGE("7", 1, 1)),
         "the data-parallel degrees sum to 5 (expected at most 4, the microbatches)\n"
         "the stages take 5 devices (expected at most the 4 there are)",
         FALSE},
        {STAGES(STAGE("3", 1, 1) ", " STAGE("5", 2, 2) ", " STAGE("7", 1, 1)),
         "the stages take 6 devices (expected at most the 4 there are)", TRUE},
        {STAGES(STAGE("3, 5, 7", 1, 2)),
         "stage 0: the profile has no TMPC for tensor-parallel degree 2 of layers 3, 7", FALSE},
        {STAGES(STAGE("3, 5", 1, 1) ", " STAGE("7", 2, 1)),
         "stage 0 (layers 3, 5) takes 62 B of memory on each device (expected at most 43 B) even "
         "with the smallest TMPCs",
         TRUE},
    };
    g_autoptr(PsProfile) profile = model();
    PsSetting setting = ps_setting_of_profile(profile);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsEvaluation) evaluation =
            evaluate(ps_test_file("case.json", cases[i].file), profile, &setting);
        g_ptr_array_add(evaluation->violations, NULL);
        g_autofree char *found = g_strjoinv("\n", (char **)evaluation->violations->pdata);
        ck_assert_str_eq(found, cases[i].expected);
        ck_assert_msg((evaluation->plan != NULL) == cases[i].costs, "case %u", i);
    }
}
END_TEST

START_TEST(says_what_smaller_tmpcs_would_take)
{
    g_autoptr(GString) text = g_string_new(MODEL);
    const char *wide = TMPC("w", "\"3\": 0", "\"7\": 0");
    g_string_replace(
        text, wide,
        TMPC("w", "\"3\": 0",
             "\"7\": 0") ", {\"id\": \"small recomp\", "
                         "\"timePerSample\": 2, \"parameterSize\": 1, \"memoryUsageA\": 1, "
                         "\"memoryUsageB\": 1, \"syncTimeFw\": {\"3\": 0}, \"syncTimeBw\": {\"7\": "
                         "0}}",
        1);
    g_autoptr(GError) error = NULL;
    g_autoptr(PsProfile) profile =
        ps_profile_load(ps_test_file("small.json", text->str), "s", &error);
    ps_assert_no_error(error);
    PsSetting setting = ps_setting_of_profile(profile);
    setting.memory_bytes = 20;
    const char *path = ps_test_file(
        "large.json", STAGES(STAGE("3", 1, 1) ", "
                                              "{\"nodes\": [5], \"dataParallelDegree\": 1, "
                                              "\"tensorParallelDegree\": 2, \"TMPCids\": {\"5\": "
                                              "\"w\"}}, " STAGE("7", 1, 1)));
    g_autoptr(PsEvaluation) evaluation = evaluate(path, profile, &setting);
    ck_assert_uint_eq(evaluation->violations->len, 2);
    ck_assert_str_eq(evaluation->violations->pdata[1],
                     "stage 1 (layer 5) takes 21 B of memory on each device (expected at most 20 "
                     "B); the smallest TMPCs take 3 B");
    ck_assert_uint_eq(evaluation->completed->len, 2);
}
END_TEST

#define LAYOUT(rest) "{\"schema\": \"pipersim-layout/1\", " rest "}"
#define DEGREES "\"data_parallel\": 1, \"tensor_parallel\": 1"

START_TEST(refuses_broken_files)
{
    static const struct {
        const char *file, *message; /* after the path */
    } cases[] = {
        {"[]", ": $: is an array (expected an object)"},
        {"{\"schema\": \"pipersim-layout/2\", \"stages\": []}",
         ": $.schema: is \"pipersim-layout/2\" (expected \"pipersim-plan/1\")"},
        {LAYOUT(DEGREES), ": $: has neither layers_per_stage nor stages (expected one of them)"},
        {LAYOUT(DEGREES ", \"stages\": [[3, 5, 7]], \"layers_per_stage\": [3]"),
         ": $: has both layers_per_stage and stages (expected one of them)"},
        {LAYOUT(DEGREES ", \"stages\": []"), ": $.stages: is empty (expected at least one stage)"},
        {LAYOUT(DEGREES ", \"stages\": [[3, 5, 7], []]"),
         ": $.stages[1]: is empty (expected at least one layer)"},
        {LAYOUT(DEGREES ", \"stages\": [[3, 5, 6]]"),
         ": $.stages[0]: 6 is no layer (expected a node of MODEL)"},
        {LAYOUT(DEGREES ", \"layers_per_stage\": [4]"),
         ": $.layers_per_stage[0]: is 4 (expected a whole number from 0 to 3)"},
        {LAYOUT(DEGREES ", \"layers_per_stage\": [1]"),
         ": $.layers_per_stage: sums to 1 (expected 2, the repeated layers, or 3, all layers)"},
        {LAYOUT(DEGREES ", \"layers_per_stage\": [2, 0]"),
         ": $.layers_per_stage: leaves stage 1 without a layer (expected at least one)"},
        {LAYOUT("\"data_parallel\": 1, \"layers_per_stage\": [3]"),
         ": $.tensor_parallel: is missing (expected a value)"},
        {LAYOUT("\"data_parallel\": [1, 1], \"tensor_parallel\": 1, \"layers_per_stage\": [3]"),
         ": $.data_parallel: has 2 elements (expected 1, one for each stage)"},
        {LAYOUT("\"data_parallel\": 0, \"tensor_parallel\": 1, \"layers_per_stage\": [3]"),
         ": $.data_parallel: is 0 (expected a whole number from 1 to 16777216)"},
        {LAYOUT(DEGREES ", \"layers_per_stage\": [3], \"recompute\": \"full\""),
         ": $.recompute: is \"full\" (expected none, all or best)"},
        {LAYOUT(DEGREES ", \"layers_per_stage\": [3], \"recomptue\": \"all\""),
         ": $.recomptue: unknown key (did you mean recompute?)"},
        {STAGES("{\"nodes\": [3, 5, 7], \"dataParallelDegree\": 1}"),
         ": $.stages[0].tensorParallelDegree: is missing (expected a whole number from 1 to "
         "16777216)"},
        {STAGES("{\"nodes\": [3, 5, 7], \"dataParallelDegree\": 1, \"tensorParallelDegree\": 1, "
                "\"TMPCids\": {\"3\": \"x\", \"5\": \"y\", \"7\": \"x\"}}"),
         ": $.stages[0].TMPCids: layer 5 has no TMPC \"y\" for tensor-parallel degree 1 (expected "
         "x)"},
        {STAGES("{\"nodes\": [3, 5, 7], \"dataParallelDegree\": 1, \"tensorParallelDegree\": 1, "
                "\"TMPCids\": {\"3\": \"x\"}}"),
         ": $.stages[0].TMPCids: layer 5 is missing (expected a TMPC for each layer)"},
    };
    g_autoptr(PsProfile) profile = model();
    PsSetting setting = ps_setting_of_profile(profile);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path = ps_test_file("broken.json", cases[i].file);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsDraft) draft = ps_draft_load(path, profile, &error);
        g_autoptr(PsEvaluation) evaluation =
            draft != NULL ? ps_evaluate(draft, profile, &setting, PS_RECOMPUTE_PER_LAYER, &error)
                          : NULL;
        ck_assert_msg(evaluation == NULL, "case %u passes", i);
        g_autoptr(GString) expected = g_string_new(path);
        g_string_append(expected, cases[i].message);
        g_string_replace(expected, "MODEL", profile->path, 0);
        ps_assert_error(error, PS_ERROR_INPUT, expected->str);
    }
}
END_TEST

PS_TEST_MAIN("evaluate", judges_as_the_verifier_does, completes_with_the_best_tmpcs, reads_layouts,
             names_every_broken_rule, says_what_smaller_tmpcs_would_take, refuses_broken_files)
