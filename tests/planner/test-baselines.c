#include <math.h>
#include <string.h>

#include "planner/baselines/baselines.h"
#include "planner/baselines/repeats.h"
#include "sim/cli/setting-options.h"
#include "tests/harness/harness.h"
#include "tests/oracle/random-levels.h"
#include "tests/oracle/random-profile.h"

static void rename_layer(PsProfile *profile, guint layer, const char *name)
{
    g_free(profile->layers[layer].name);
    profile->layers[layer].name = g_strdup(name);
}

/* ---- the repeated layers -------------------------------------------------------------------- */

static void check_inner(const char *names, guint first, guint n)
{
    g_auto(GStrv) list = g_strsplit(names, ",", -1);
    PsProfile profile = {.n_layers = g_strv_length(list)};
    profile.layers = g_new0(PsLayer, profile.n_layers);
    for (guint v = 0; v < profile.n_layers; v++) {
        profile.layers[v].name = list[v];
    }
    PsInnerLayers inner = ps_inner_layers(&profile);
    g_free(profile.layers);
    ck_assert_msg(inner.first == first && inner.n == n, "%s: %u from %u", names, inner.n,
                  inner.first);
}

START_TEST(finds_the_longest_run_of_one_name)
{
    check_inner("in,in,block,block,block,out", 2, 3);
    check_inner("in,block 1,block 2,block 10,out", 1, 3);
    check_inner("a,a,b,b", 0, 2);
    check_inner("node1,node22,node3", 0, 3);
    check_inner("a,b,c", 0, 3); /* nothing repeats: all */
    check_inner("a,ab,a", 0, 3);
    check_inner("only", 0, 1);
}
END_TEST

/* ---- equi-partition by brute force ---------------------------------------------------------- */

typedef struct {
    const PsProfile *profile;
    const PsSetting *setting;
    guint before, inner, after; /* layers */
    gboolean apart;
    guint n_stages;
    guint ends[16]; /* of the stages, in layers */
    guint d, t;
    gboolean recompute;
} Case;

static gboolean offers(const PsTmpcSet *set, gboolean recompute)
{
    for (guint i = 0; i < set->n_tmpcs; i++) {
        if (set->tmpcs[i].recomputes == recompute) {
            return TRUE;
        }
    }
    return FALSE;
}

static double border_bytes(const Case *at, guint first, guint end, guint v, const PsTmpc *tmpc)
{
    const PsLayer *layer = &at->profile->layers[v];
    double bytes = 0;
    for (guint i = 0; i < layer->n_incoming; i++) {
        const PsEdge *edge = &at->profile->edges[layer->incoming[i]];
        bytes += edge->source < first ? edge->bytes + tmpc->sync_forward_bytes[i] : 0;
    }
    for (guint i = 0; i < layer->n_outgoing; i++) {
        const PsEdge *edge = &at->profile->edges[layer->outgoing[i]];
        bytes += edge->target >= end ? edge->bytes + tmpc->sync_backward_bytes[i] : 0;
    }
    return bytes;
}

/* Least load of layers [v, end) over all TMPCs allowed that, with what is used, stay within the
 * memory; and the least memory of any. */
static double best_from(const Case *at, guint first, guint end, guint v, guint y, double used,
                        double *least_memory)
{
    if (v == end) {
        *least_memory = MIN(*least_memory, used);
        return used <= at->setting->memory_bytes ? 0 : INFINITY;
    }
    const PsTmpcSet *set = ps_layer_set(&at->profile->layers[v], at->t);
    double best = INFINITY, bandwidth = at->setting->bandwidth_bytes_per_s;
    for (guint i = 0; i < set->n_tmpcs; i++) {
        const PsTmpc *tmpc = &set->tmpcs[i];
        if (offers(set, at->recompute) && tmpc->recomputes != at->recompute) {
            continue;
        }
        double load =
            tmpc->time_s / at->d + 2 * border_bytes(at, first, end, v, tmpc) / at->d / bandwidth +
            4.0 * (at->d - 1) * tmpc->weight_bytes / at->d / at->setting->microbatches / bandwidth;
        double memory = used + tmpc->memory_per_microbatch_bytes * y + tmpc->memory_fixed_bytes;
        best = fmin(best, load + best_from(at, first, end, v + 1, y, memory, least_memory));
    }
    return best;
}

static gboolean runs(const Case *at)
{
    for (guint v = 0; v < at->profile->n_layers; v++) {
        if (ps_layer_set(&at->profile->layers[v], at->t) == NULL) {
            return FALSE;
        }
    }
    return TRUE;
}

typedef struct {
    double tps_s, least_memory_bytes;
} Found;

static void try_case(const Case *at, Found *found)
{
    double worst = 0, memory = 0;
    for (guint s = 0; s < at->n_stages; s++) {
        double stage_memory = INFINITY;
        guint first = s > 0 ? at->ends[s - 1] : 0;
        worst = fmax(worst,
                     best_from(at, first, at->ends[s], first, at->n_stages - s, 0, &stage_memory));
        memory = fmax(memory, stage_memory);
    }
    found->tps_s = fmin(found->tps_s, worst);
    found->least_memory_bytes = fmin(found->least_memory_bytes, memory);
}

static void try_degrees(Case *at, Found *found)
{
    guint k = at->setting->devices, n = at->setting->microbatches;
    for (at->t = 1; at->t <= k; at->t++) {
        for (at->d = 1; at->d <= n && runs(at); at->d++) {
            guint sum = at->n_stages * at->d;
            if (n % at->d == 0 && sum <= n && sum * at->t <= k) {
                for (at->recompute = FALSE; at->recompute <= TRUE; at->recompute++) {
                    try_case(at, found);
                }
            }
        }
    }
}

/* Inner layers dealt out one by one, from the last stage to the first and round again. */
static void cut(Case *at, guint p)
{
    guint sizes[16] = {0};
    for (guint i = 0; i < at->inner; i++) {
        sizes[p - 1 - i % p]++;
    }
    guint end = at->before;
    at->n_stages = 0;
    if (at->apart && at->before > 0) {
        at->ends[at->n_stages++] = end;
    }
    for (guint i = 0; i < p; i++) {
        end += sizes[i];
        at->ends[at->n_stages++] = end;
    }
    if (at->after > 0 && at->apart) {
        at->n_stages++;
    }
    at->ends[at->n_stages - 1] = at->profile->n_layers;
}

static PsProfile *model_with_ends(GRand *random, Case *at)
{
    at->before = (guint)g_rand_int_range(random, 0, 3);
    at->inner = (guint)g_rand_int_range(random, 2, 5);
    at->after = (guint)g_rand_int_range(random, 0, 2);
    PsRandomProfile wanted = {
        .n_layers = at->before + at->inner + at->after,
        .edge_probability = g_rand_double(random) / 2,
        .chain = TRUE,
        .most_tmpcs = 3,
        .tensor_parallel = g_rand_boolean(random),
        .same_weights = g_rand_boolean(random),
        .devices = (guint)g_rand_int_range(random, 1, 13),
        .microbatches = (guint)g_rand_int_range(random, 1, 13),
        .memory_bytes = g_rand_int_range(random, 300, 6000) * 1e6,
        .bandwidth_bytes_per_s = g_rand_int_range(random, 1, 20) * 1e9,
    };
    PsProfile *profile = ps_random_profile(random, &wanted);
    for (guint v = 0; v < wanted.n_layers; v++) {
        gboolean ends = v < at->before || v >= at->before + at->inner;
        g_autofree char *name = g_strdup_printf("%s%c", ends ? "end " : "", ends ? 'a' + v : 'x');
        rename_layer(profile, v, name);
    }
    return profile;
}

static void check_equi(const Case *at, const Found *expected, guint round, guint *plans)
{
    PsPlannerOptions options = {.restrictions = {.recompute = PS_RECOMPUTE_ALL_OR_NONE}};
    g_auto(PsBaselineResult) result =
        (at->apart ? ps_baseline_equi_apart : ps_baseline_equi)(at->profile, at->setting, &options);
    ck_assert_msg(result.reason == NULL, "round %u: %s", round, result.reason);
    ck_assert_msg((result.plan != NULL) == isfinite(expected->tps_s), "round %u", round);
    if (result.plan == NULL) {
        ck_assert_double_eq(result.least_memory_bytes, expected->least_memory_bytes);
        return;
    }
    ++*plans;
    g_autoptr(GError) error = NULL;
    ck_assert(ps_plan_verify(result.plan, at->profile, TRUE, &error));
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(result.plan, at->profile);
    ck_assert_msg(fabs(estimate->tps_s / expected->tps_s - 1) < 1e-9, "round %u: %.17g, not %.17g",
                  round, estimate->tps_s, expected->tps_s);
}

START_TEST(equi_agrees_with_brute_force)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("equi_agrees_with_brute_force"));
    guint plans = 0, rounds = 0;
    for (guint round = 0; round < 600; round++) {
        Case at = {0};
        g_autoptr(PsProfile) profile = model_with_ends(random, &at);
        PsSetting setting = ps_setting_of_profile(profile);
        at.profile = profile;
        at.setting = &setting;
        at.apart = g_rand_boolean(random);
        guint ends = at.apart ? (at.before > 0) + (at.after > 0) : 0;
        if (at.apart && (ends == 0 || MIN(setting.devices, setting.microbatches) < ends + 1)) {
            continue; /* does not apply */
        }
        Found found = {INFINITY, INFINITY};
        for (guint p = 1; p <= at.inner; p++) {
            cut(&at, p);
            try_degrees(&at, &found);
        }
        check_equi(&at, &found, round, &plans);
        rounds++;
    }
    ck_assert_uint_gt(plans, 200);
    ck_assert_uint_gt(rounds - plans, 50);
}
END_TEST

/* ---- all of them ---------------------------------------------------------------------------- */

static void check_restrictions(const PsPlan *plan, const PsProfile *profile,
                               const PsRestrictions *rules)
{
    for (guint s = 0; s < plan->n_stages; s++) {
        const PsStage *stage = &plan->stages[s];
        ck_assert(!rules->forbid_data_parallel || stage->data_parallel == 1);
        ck_assert(!rules->forbid_tensor_parallel || stage->tensor_parallel == 1);
        for (guint i = 0; i < stage->n_layers && rules->recompute == PS_RECOMPUTE_NONE; i++) {
            const PsTmpcSet *set =
                ps_layer_set(&profile->layers[stage->layers[i]], stage->tensor_parallel);
            ck_assert(!offers(set, FALSE) || !ps_stage_tmpc(stage, profile, i)->recomputes);
        }
    }
}

START_TEST(none_is_better_than_the_planner)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("none_is_better_than_the_planner"));
    guint plans = 0, failures = 0;
    for (guint round = 0; round < 150; round++) {
        Case at = {0};
        g_autoptr(PsProfile) profile = model_with_ends(random, &at);
        PsSetting setting = ps_setting_of_profile(profile);
        if (round % 2 == 1) {
            ps_random_levels(random, &setting);
        }
        PsPlannerOptions options = {.degrees = round % PS_N_DEGREES};
        g_autoptr(PsPlan) best = ps_planner_plan(profile, &setting, &options, NULL);
        double best_tps_s = INFINITY;
        if (best != NULL) {
            g_autoptr(PsEstimate) estimate = ps_plan_estimate(best, profile);
            best_tps_s = estimate->tps_s;
        }
        for (guint i = 0; i < ps_n_baselines; i++) {
            g_auto(PsBaselineResult) result =
                ps_baseline_run(&ps_baselines[i], profile, &setting, &options);
            /* Exactly one of the three. */
            ck_assert_int_eq((result.plan != NULL) + !isnan(result.least_memory_bytes) +
                                 (result.reason != NULL),
                             1);
            if (result.plan == NULL) {
                ck_assert(!(result.least_memory_bytes <= setting.memory_bytes));
                failures++;
                continue;
            }
            plans++;
            ck_assert(best != NULL && ps_plan_verify(result.plan, profile, TRUE, NULL));
            check_restrictions(result.plan, profile, &ps_baselines[i].restrictions);
            g_autoptr(PsEstimate) estimate = ps_plan_estimate(result.plan, profile);
            ck_assert_msg(estimate->tps_s >= best_tps_s * (1 - 1e-12), "round %u: %s: %g < %g",
                          round, ps_baselines[i].name, estimate->tps_s, best_tps_s);
        }
    }
    ck_assert_uint_gt(plans, 300);
    ck_assert_uint_gt(failures, 100);
}
END_TEST

static const PsBaseline *find_baseline(const char *name)
{
    for (guint i = 0; i < ps_n_baselines; i++) {
        if (strcmp(ps_baselines[i].name, name) == 0) {
            return &ps_baselines[i];
        }
    }
    ck_abort_msg("no baseline %s", name);
}

START_TEST(says_why_one_does_not_apply)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    PsRandomProfile wanted = {.n_layers = 4,
                              .chain = TRUE,
                              .most_tmpcs = 2,
                              .devices = 2,
                              .microbatches = 8,
                              .memory_bytes = 1e12,
                              .bandwidth_bytes_per_s = 1e9};
    g_autoptr(PsProfile) profile = ps_random_profile(random, &wanted);
    PsSetting setting = ps_setting_of_profile(profile);
    PsPlannerOptions options = {0};
    g_auto(PsBaselineResult) no_ends =
        ps_baseline_run(find_baseline("equi, apart"), profile, &setting, &options);
    ck_assert_str_eq(no_ends.reason, "no layers stand before or after the repeated ones");
    rename_layer(profile, 0, "in");
    rename_layer(profile, 3, "out");
    g_auto(PsBaselineResult) too_few =
        ps_baseline_run(find_baseline("equi, apart"), profile, &setting, &options);
    ck_assert_str_eq(too_few.reason, "takes 3 stages or more, so as many devices and microbatches");
    options.restrictions.recompute = PS_RECOMPUTE_ALL;
    g_auto(PsBaselineResult) contradiction =
        ps_baseline_run(find_baseline("no recompute"), profile, &setting, &options);
    ck_assert_str_eq(contradiction.reason, "contradicts --recompute all");
}
END_TEST

/* Piper's Figure 1 shows all of these above 1 at 64 devices of 8 GiB. */
START_TEST(trails_on_a_large_model)
{
    const char *path = ps_test_data("profiles/bert32-a100.json");
    if (path == NULL) {
        return;
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(PsProfile) profile = ps_profile_load(path, "s", &error);
    ps_assert_no_error(error);
    const PsSetting setting = {64, 8 * 0x1p30, 25 * 0x1p30, 1920};
    const PsPlannerOptions options = {0};
    static const char *const names[] = {
        "no data-parallel", "no recompute",         "PipeDream", "equi", "equi, apart",
        "equi, t = 1",      "recompute all or none"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_auto(PsBaselineResult) result =
            ps_baseline_run(find_baseline(names[i]), profile, &setting, &options);
        ck_assert_msg(result.plan != NULL, "%s", names[i]);
        g_autoptr(PsEstimate) estimate = ps_plan_estimate(result.plan, profile);
        ck_assert_msg(estimate->tps_s > 1.02 * 0.02020055029, "%s: %g", names[i], estimate->tps_s);
    }
}
END_TEST

PS_TEST_MAIN("baselines", finds_the_longest_run_of_one_name, equi_agrees_with_brute_force,
             none_is_better_than_the_planner, says_why_one_does_not_apply, trails_on_a_large_model)
