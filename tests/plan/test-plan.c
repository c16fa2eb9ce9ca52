/* Plans: the closed form against published figures and a second road, and what is legal. */
#include <math.h>
#include <string.h>

#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/plan/plan.h"
#include "tests/harness/harness.h"
#include "tests/oracle/random-profile.h"

/* ---- published plans ------------------------------------------------------------------------ */

/* The row of piper-reference-tps.csv with these settings and degrees, whatever it forbids. */
typedef struct {
    const char *devices, *memory_gib;
    char *d_sequence, *t_sequence;
    double tps_s; /* NAN until found */
} Reference;

static const char *const reference_columns[] = {
    "profile",      "transformer_layers", "devices",
    "microbatches", "memory_GiB",         "bandwidth_bytes_per_s",
    "forbid",       "downsets",           "downset_pairs",
    "tps_s",        "n_stages",           "d_sequence",
    "t_sequence",   "reference_seconds",  NULL};

static gboolean match_reference(const PsCsvRow *row, gpointer user_data, GError **error)
{
    Reference *reference = user_data;
    (void)error;
    const struct {
        guint field;
        const char *text;
    } wanted[] = {{0, "bert32-a100"},         {2, reference->devices}, {3, "1920"},
                  {4, reference->memory_gib}, {5, "26843545600"},      {11, reference->d_sequence},
                  {12, reference->t_sequence}};
    for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
        if (!g_str_equal(row->fields[wanted[i].field], wanted[i].text)) {
            return TRUE;
        }
    }
    reference->tps_s = g_ascii_strtod(row->fields[9], NULL);
    return TRUE;
}

static PsPlan *load_plan(const char *path, const PsProfile *profile)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsPlanFile) file = ps_plan_file_load(path, &error);
    ps_assert_no_error(error);
    PsPlan *plan = ps_plan_file_resolve(file, profile, &error);
    ps_assert_no_error(error);
    return plan;
}

static PsProfile *load_profile(const char *path)
{
    g_autoptr(GError) error = NULL;
    PsProfile *profile = ps_profile_load(path, NULL, &error);
    ps_assert_no_error(error);
    return profile;
}

static char *degrees_text(const PsPlan *plan, gboolean tensor)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < plan->n_stages; i++) {
        const PsStage *stage = &plan->stages[i];
        g_string_append_printf(text, "%s%u", i > 0 ? " " : "",
                               tensor ? stage->tensor_parallel : stage->data_parallel);
    }
    return g_string_free(text, FALSE);
}

static void check_published(const char *profile_path, const char *table, const char *plan_path,
                            const char *devices, const char *memory_gib)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsProfile) profile = load_profile(profile_path);
    g_autoptr(PsPlan) plan = load_plan(plan_path, profile);
    plan->setting = (PsSetting){
        .devices = (guint)g_ascii_strtoull(devices, NULL, 10),
        .memory_bytes = g_ascii_strtod(memory_gib, NULL) * 1024 * 1024 * 1024,
        .bandwidth_bytes_per_s = 25.0 * 1024 * 1024 * 1024,
        .microbatches = 1920,
    };
    g_autofree char *d_sequence = degrees_text(plan, FALSE);
    g_autofree char *t_sequence = degrees_text(plan, TRUE);
    Reference reference = {devices, memory_gib, d_sequence, t_sequence, NAN};
    ck_assert(ps_csv_read(table, reference_columns, match_reference, &reference, &error));
    ps_assert_no_error(error);
    ck_assert_msg(!isnan(reference.tps_s), "no row for %s", plan_path);
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    ck_assert_double_eq_tol(estimate->tps_s, reference.tps_s, 1e-9 * reference.tps_s);
    ck_assert(ps_plan_verify(plan, profile, TRUE, &error));
    ps_assert_no_error(error);
}

START_TEST(published_plans_have_their_published_tps)
{
    const char *profile_path = ps_test_data("profiles/bert32-a100.json");
    const char *table = ps_test_data("measured/piper-reference-tps.csv");
    static const char *const settings[][2] = {{"32", "2"}, {"32", "8"},  {"64", "80"},
                                              {"64", "8"}, {"128", "8"}, {"512", "8"}};
    for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
        g_autofree char *name = g_strdup_printf("plans/piper-bert32-a100-%s-devices-%sGiB.json",
                                                settings[i][0], settings[i][1]);
        const char *plan_path = ps_test_data(name);
        if (profile_path != NULL && table != NULL && plan_path != NULL) {
            check_published(profile_path, table, plan_path, settings[i][0], settings[i][1]);
        }
    }
}
END_TEST

/* ---- random plans --------------------------------------------------------------------------- */

static PsProfile *draw_profile(GRand *rand)
{
    PsRandomProfile wanted = {
        .n_layers = (guint)g_rand_int_range(rand, 1, 9),
        .edge_probability = g_rand_double(rand),
        .chain = g_rand_boolean(rand),
        .most_tmpcs = (guint)g_rand_int_range(rand, 1, 4),
        .tensor_parallel = g_rand_boolean(rand),
        .devices = (guint)g_rand_int_range(rand, 1, 40),
        .microbatches = 24,
        .memory_bytes = g_rand_double_range(rand, 1e9, 2e10),
        .bandwidth_bytes_per_s = g_rand_double_range(rand, 1e9, 1e11),
    };
    return ps_random_profile(rand, &wanted);
}

/* A degree that all layers of [first, first + n) can run on. */
static guint draw_degree(const PsProfile *profile, guint first, guint n, GRand *rand)
{
    guint degree = 1U << g_rand_int_range(rand, 0, 3);
    for (guint i = first; i < first + n; i++) {
        if (ps_layer_set(&profile->layers[i], degree) == NULL) {
            return 1;
        }
    }
    return degree;
}

/* Cuts the layers, in their order, into stages; most plans are legal, some break a sum. */
static PsPlan *draw_plan(const PsProfile *profile, GRand *rand)
{
    static const guint degrees[] = {1, 1, 1, 2, 2, 3, 4, 6, 8};
    PsSetting setting = {profile->devices, profile->memory_bytes, profile->bandwidth_bytes_per_s,
                         profile->microbatches};
    guint n_stages = (guint)g_rand_int_range(rand, 1, (gint32)profile->n_layers + 1);
    PsPlan *plan = ps_plan_new(n_stages, &setting);
    guint first = 0;
    for (guint s = 0; s < n_stages; s++) {
        guint left = profile->n_layers - first - (n_stages - s - 1);
        guint n = s + 1 == n_stages ? left : (guint)g_rand_int_range(rand, 1, (gint32)left + 1);
        PsStage *stage = &plan->stages[s];
        stage->data_parallel = degrees[g_rand_int_range(rand, 0, G_N_ELEMENTS(degrees))];
        stage->tensor_parallel = draw_degree(profile, first, n, rand);
        stage->n_layers = n;
        stage->layers = g_new(guint, n);
        stage->tmpcs = g_new(guint, n);
        for (guint i = 0; i < n; i++) {
            stage->layers[i] = first + i;
            stage->tmpcs[i] = (guint)g_rand_int_range(
                rand, 0,
                (gint32)ps_layer_set(&profile->layers[first + i], stage->tensor_parallel)->n_tmpcs);
        }
        first += n;
    }
    return plan;
}

static gboolean holds(const PsStage *stage, guint layer)
{
    for (guint i = 0; i < stage->n_layers; i++) {
        if (stage->layers[i] == layer) {
            return TRUE;
        }
    }
    return FALSE;
}

static const PsTmpc *chosen(const PsProfile *profile, const PsStage *stage, guint layer)
{
    for (guint i = 0; i < stage->n_layers; i++) {
        if (stage->layers[i] == layer) {
            const PsTmpcSet *set = ps_layer_set(&profile->layers[layer], stage->tensor_parallel);
            return &set->tmpcs[stage->tmpcs[i]];
        }
    }
    ck_abort_msg("layer %u is not in the stage", layer);
}

/* The place of an edge among those of a layer: where its sync bytes are. */
static guint place_of(const guint *edges, guint edge)
{
    guint place = 0;
    while (edges[place] != edge) {
        place++;
    }
    return place;
}

/* Bandwidth of the innermost level with a group that has all devices from first to last, or else of
 * the last one; B where the setting is flat. */
static double bandwidth(const PsPlan *plan, guint first, guint last)
{
    const PsLevels *levels = &plan->setting.levels;
    guint i = 0;
    while (i + 1 < levels->n && first / levels->level[i].size != last / levels->level[i].size) {
        i++;
    }
    return levels->n > 0 ? levels->level[i].bandwidth_bytes_per_s
                         : plan->setting.bandwidth_bytes_per_s;
}

static guint last_device(const PsStage *stage)
{
    return stage->first_device + stage->data_parallel * stage->tensor_parallel - 1;
}

/* Piper, section 3, edge by edge over the whole graph instead of layer by layer; an edge pays the
 * level that joins the stage and its neighbour on that side. */
static double edge_seconds(const PsPlan *plan, const PsProfile *profile, guint s)
{
    const PsStage *stage = &plan->stages[s];
    const PsStage *before = s > 0 ? stage - 1 : stage;
    const PsStage *after = s + 1 < plan->n_stages ? stage + 1 : stage;
    double in = bandwidth(plan, before->first_device, last_device(stage)), seconds = 0;
    double out = bandwidth(plan, stage->first_device, last_device(after));
    for (guint e = 0; e < profile->n_edges; e++) {
        const PsEdge *edge = &profile->edges[e];
        const PsLayer *u = &profile->layers[edge->source], *v = &profile->layers[edge->target];
        if (!holds(stage, edge->source) && holds(stage, edge->target)) {
            const PsTmpc *tmpc = chosen(profile, stage, edge->target);
            seconds +=
                (2 * edge->bytes + 2 * tmpc->sync_forward_bytes[place_of(v->incoming, e)]) / in;
        }
        if (holds(stage, edge->source) && !holds(stage, edge->target)) {
            const PsTmpc *tmpc = chosen(profile, stage, edge->source);
            seconds +=
                (2 * edge->bytes + 2 * tmpc->sync_backward_bytes[place_of(u->outgoing, e)]) / out;
        }
    }
    return seconds / stage->data_parallel;
}

static PsStageEstimate second_road(const PsPlan *plan, const PsProfile *profile, guint s)
{
    const PsStage *stage = &plan->stages[s];
    double d = stage->data_parallel, sum = 0;
    for (guint i = s; i < plan->n_stages; i++) {
        sum += plan->stages[i].data_parallel;
    }
    PsStageEstimate expected = {.in_flight = (guint)ceil(sum / d),
                                .edge_s = edge_seconds(plan, profile, s)};
    for (guint layer = 0; layer < profile->n_layers; layer++) {
        if (holds(stage, layer)) {
            const PsTmpc *tmpc = chosen(profile, stage, layer);
            expected.compute_s += tmpc->time_s / d;
            expected.resync_s += 4 * (d - 1) / d * tmpc->weight_bytes / plan->setting.microbatches /
                                 bandwidth(plan, stage->first_device, last_device(stage));
            expected.memory_bytes +=
                tmpc->memory_fixed_bytes + expected.in_flight * tmpc->memory_per_microbatch_bytes;
        }
    }
    expected.tps_s = expected.compute_s + expected.edge_s + expected.resync_s;
    return expected;
}

static void check_close(double value, double expected)
{
    ck_assert_double_le(fabs(value - expected), 1e-12 * expected);
}

static void check_against_second_road(const PsPlan *plan, const PsProfile *profile)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    double slowest = 0;
    guint devices = 0, degrees = 0;
    for (guint s = 0; s < plan->n_stages; s++) {
        const PsStageEstimate *stage = &estimate->stages[s];
        PsStageEstimate expected = second_road(plan, profile, s);
        ck_assert_uint_eq(stage->in_flight, expected.in_flight);
        check_close(stage->compute_s, expected.compute_s);
        check_close(stage->edge_s, expected.edge_s);
        check_close(stage->resync_s, expected.resync_s);
        check_close(stage->tps_s, expected.tps_s);
        check_close(stage->memory_bytes, expected.memory_bytes);
        slowest = fmax(slowest, expected.tps_s);
        devices += plan->stages[s].data_parallel * plan->stages[s].tensor_parallel;
        degrees += plan->stages[s].data_parallel;
        ck_assert(s >= estimate->bottleneck || stage->tps_s < estimate->tps_s);
    }
    check_close(estimate->tps_s, slowest);
    ck_assert_double_eq(estimate->stages[estimate->bottleneck].tps_s, estimate->tps_s);
    ck_assert_uint_eq(estimate->devices_used, devices);
    ck_assert_uint_eq(estimate->sum_data_parallel, degrees);
}

/* In order; each tensor-parallel group in one group of the first level that is large enough; and no
 * more devices than there are up to the border behind, of the groups that lie inside the one that
 * holds the whole pipeline. */
static gboolean places_are_legal(const PsPlan *plan)
{
    const PsLevels *levels = &plan->setting.levels;
    guint end = 0, joined = 0, border = 1;
    for (guint s = 0; s < plan->n_stages; s++) {
        const PsStage *stage = &plan->stages[s];
        guint i = 0, t = stage->tensor_parallel;
        while (i + 1 < levels->n && levels->level[i].size < t) {
            i++;
        }
        for (guint r = 0; i + 1 < levels->n && r < stage->data_parallel; r++) {
            guint first = stage->first_device + r * t, size = levels->level[i].size;
            if (first / size != (first + t - 1) / size) {
                return FALSE;
            }
        }
        if (stage->first_device < end) {
            return FALSE;
        }
        end = last_device(stage) + 1;
    }
    guint first = plan->stages[0].first_device;
    while (first / levels->level[joined].size != (end - 1) / levels->level[joined].size &&
           joined + 1 < levels->n) {
        border = levels->level[joined++].size;
    }
    while (end % border != 0) {
        end++;
    }
    return end - first <= plan->setting.devices;
}

static void check_legality(const PsPlan *plan, const PsProfile *profile)
{
    const PsSetting *setting = &plan->setting;
    guint devices = 0, degrees = 0;
    gboolean fits = TRUE;
    for (guint s = 0; s < plan->n_stages; s++) {
        devices += plan->stages[s].data_parallel * plan->stages[s].tensor_parallel;
        degrees += plan->stages[s].data_parallel;
        fits &= second_road(plan, profile, s).memory_bytes <= setting->memory_bytes;
    }
    gboolean sums = devices <= setting->devices && degrees <= setting->microbatches;
    sums = sums && (setting->levels.n == 0 || places_are_legal(plan));
    ck_assert_int_eq(ps_plan_verify(plan, profile, FALSE, NULL), sums);
    ck_assert_int_eq(ps_plan_verify(plan, profile, TRUE, NULL), sums && fits);
}

/* Levels of 48 devices, and the stages on them with idle devices here and there. */
static void draw_places(PsPlan *plan, GRand *rand)
{
    static const PsLevels structures[] = {
        {2, {{4}, {48}}}, {2, {{3}, {48}}}, {2, {{8}, {48}}}, {3, {{2}, {8}, {48}}}};
    PsLevels *levels = &plan->setting.levels;
    *levels = structures[g_rand_int_range(rand, 0, G_N_ELEMENTS(structures))];
    for (guint i = 0; i < levels->n; i++) {
        levels->level[i].bandwidth_bytes_per_s = g_rand_double_range(rand, 1e9, 2e9) / (i + 1.0);
    }
    plan->setting.devices = (guint)g_rand_int_range(rand, 9, 49);
    guint device = (guint)g_rand_int_range(rand, 0, 3);
    for (guint s = 0; s < plan->n_stages; s++) {
        plan->stages[s].first_device = device;
        device = last_device(&plan->stages[s]) + 1 + (guint)g_rand_int_range(rand, -1, 3);
    }
}

START_TEST(estimates_follow_the_paper)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("estimates_follow_the_paper"));
    guint legal = 0; /* with levels */
    for (guint round = 0; round < 500; round++) {
        g_autoptr(PsProfile) profile = draw_profile(rand);
        g_autoptr(PsPlan) plan = draw_plan(profile, rand);
        check_against_second_road(plan, profile);
        check_legality(plan, profile);
        draw_places(plan, rand);
        check_against_second_road(plan, profile);
        check_legality(plan, profile);
        legal += ps_plan_verify(plan, profile, FALSE, NULL);
    }
    ck_assert_uint_gt(legal, 50);
    ck_assert_uint_lt(legal, 400);
}
END_TEST

/* ---- degrees and ranges --------------------------------------------------------------------- */

START_TEST(nested_degrees)
{
    const struct {
        guint n, d[6];
        gboolean nested;
    } cases[] = {
        {1, {7}, TRUE},
        {3, {4, 4, 4}, TRUE},
        {4, {8, 4, 4, 1}, TRUE},
        {3, {1, 3, 12}, TRUE},
        {3, {3, 2, 1}, FALSE},
        {4, {8, 6, 4, 1}, FALSE},
        {3, {4, 2, 4}, FALSE},
        {3, {1, 2, 1}, FALSE},
        {2, {2, 3}, FALSE},
        {5, {2, 2, 1, 1, 1}, TRUE},
        {6, {1, 1, 2, 2, 1, 1}, FALSE},
    };
    PsSetting setting = {0};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsPlan) plan = ps_plan_new(cases[i].n, &setting);
        for (guint s = 0; s < cases[i].n; s++) {
            plan->stages[s].data_parallel = cases[i].d[s];
        }
        ck_assert_msg(ps_plan_is_nested(plan) == cases[i].nested, "case %u", i);
    }
}
END_TEST

START_TEST(ranges_of_layers)
{
    PsTmpc plain = {.id = NULL}, recomputing = {.id = NULL, .recomputes = TRUE};
    PsTmpc tmpcs[] = {plain, recomputing};
    PsTmpcSet set = {1, 2, tmpcs};
    gint64 ids[] = {12, 0, 1, 5, 4, 3, 20, 22};
    PsLayer layers[G_N_ELEMENTS(ids)] = {{0}};
    for (guint i = 0; i < G_N_ELEMENTS(ids); i++) {
        layers[i].id = ids[i];
        layers[i].n_sets = 1;
        layers[i].sets = &set;
    }
    PsProfile profile = {.n_layers = G_N_ELEMENTS(ids), .layers = layers};
    guint all[] = {0, 1, 2, 3, 4, 5, 6, 7}, none[8] = {0}, some[] = {0, 0, 0, 1, 1, 0, 0, 1};
    PsStage stage = {8, all, none, 1, 1};
    g_autofree char *every = ps_plan_layer_ranges(&profile, &stage);
    g_autofree char *nothing = ps_plan_recompute_ranges(&profile, &stage);
    stage.tmpcs = some;
    g_autofree char *few = ps_plan_recompute_ranges(&profile, &stage);
    ck_assert_str_eq(every, "0-1, 3-5, 12, 20, 22");
    ck_assert_str_eq(nothing, "");
    ck_assert_str_eq(few, "4-5, 22");
}
END_TEST

/* ---- files ---------------------------------------------------------------------------------- */

static const char *write_plan(const PsPlan *plan, const PsProfile *profile)
{
    const char *path = ps_test_file("plan.json", "");
    g_autoptr(GError) error = NULL;
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, profile);
    g_autoptr(PsOutput) output = ps_output_open(path, &error);
    ps_assert_no_error(error);
    PsJsonWriter *writer = ps_json_writer_new(output);
    ps_json_begin_object(writer, NULL);
    ps_plan_write_members(plan, profile, profile->path, estimate, writer);
    ps_json_end_object(writer);
    ps_json_writer_free(writer);
    ck_assert(ps_output_commit(output, &error));
    return path;
}

static void check_same(const PsPlan *plan, const PsPlan *other)
{
    ck_assert_uint_eq(plan->n_stages, other->n_stages);
    ck_assert_int_eq(plan->optimal, other->optimal);
    ck_assert_uint_eq(plan->setting.devices, other->setting.devices);
    ck_assert_uint_eq(plan->setting.microbatches, other->setting.microbatches);
    ck_assert_double_eq(plan->setting.memory_bytes, other->setting.memory_bytes);
    ck_assert_double_eq(plan->setting.bandwidth_bytes_per_s, other->setting.bandwidth_bytes_per_s);
    for (guint s = 0; s < plan->n_stages; s++) {
        const PsStage *x = &plan->stages[s], *y = &other->stages[s];
        ck_assert_uint_eq(x->data_parallel, y->data_parallel);
        ck_assert_uint_eq(x->tensor_parallel, y->tensor_parallel);
        ck_assert_uint_eq(x->n_layers, y->n_layers);
        ck_assert_mem_eq(x->layers, y->layers, sizeof(guint) * x->n_layers);
        ck_assert_mem_eq(x->tmpcs, y->tmpcs, sizeof(guint) * x->n_layers);
    }
}

START_TEST(what_is_written_is_read_back)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("what_is_written_is_read_back"));
    for (guint round = 0; round < 100; round++) {
        g_autoptr(PsProfile) profile = draw_profile(rand);
        g_autoptr(PsPlan) plan = draw_plan(profile, rand);
        plan->optimal = g_rand_boolean(rand);
        plan->setting.bandwidth_bytes_per_s = g_rand_double_range(rand, 1, 1e12);
        const char *path = write_plan(plan, profile);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlanFile) file = ps_plan_file_load(path, &error);
        ps_assert_no_error(error);
        const PsPlanOrigin *origin = ps_plan_file_origin(file);
        ck_assert_str_eq(origin->path, profile->path);
        ck_assert_str_eq(origin->sha256, profile->sha256);
        ck_assert_double_eq(origin->time_unit_s, 1);
        g_autoptr(PsPlan) again = ps_plan_file_resolve(file, profile, &error);
        ps_assert_no_error(error);
        check_same(plan, again);
    }
}
END_TEST

PS_TEST_MAIN("plan", published_plans_have_their_published_tps, estimates_follow_the_paper,
             nested_degrees, ranges_of_layers, what_is_written_is_read_back)
