/* Lanes that are alike, replayed once, against all of them replayed: the same records and the same
 * results, to the last digit. */
#include <math.h>
#include <signal.h>

#include "sim/base/error.h"
#include "sim/base/interrupt.h"
#include "sim/replay/fold.h"
#include "sim/trace/order.h"
#include "sim/trace/run-writer.h"
#include "tests/harness/harness.h"
#include "tests/oracle/pipelines.h"

/* ---- one run, either way --------------------------------------------------------------------- */

typedef struct {
    GArray *ops;    /* PsTraceOp */
    GArray *memory; /* PsTraceMemory */
    PsReplayResult *result;
    GError *error;
} Outcome;

static void outcome_clear(Outcome *outcome)
{
    g_array_unref(outcome->ops);
    g_array_unref(outcome->memory);
    ps_replay_result_free(outcome->result);
    g_clear_error(&outcome->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Outcome, outcome_clear)

static void keep_op(const PsTraceOp *op, gpointer outcome)
{
    g_array_append_vals(((Outcome *)outcome)->ops, op, 1);
}

static void keep_memory(const PsTraceMemory *change, gpointer outcome)
{
    g_array_append_vals(((Outcome *)outcome)->memory, change, 1);
}

static Outcome run(const PsWorkload *workload, const PsReplaySettings *settings, gboolean fold)
{
    Outcome outcome = {g_array_new(FALSE, FALSE, sizeof(PsTraceOp)),
                       g_array_new(FALSE, FALSE, sizeof(PsTraceMemory)), NULL, NULL};
    const PsTraceSink sink = {.op = keep_op, .memory = keep_memory, .user_data = &outcome};
    g_autoptr(PsTraceOrder) order = ps_trace_order_new(&sink);
    outcome.result = (fold ? ps_fold_run : ps_replay_run)(
        workload, settings, ps_trace_order_sink(order), &outcome.error);
    ps_trace_order_flush(order);
    return outcome;
}

/* ---- what must be the same ------------------------------------------------------------------- */

static void compare_ops(const GArray *a, const GArray *b)
{
    ck_assert_uint_eq(a->len, b->len);
    for (guint i = 0; i < a->len; i++) {
        const PsTraceOp *x = &g_array_index(a, PsTraceOp, i), *y = &g_array_index(b, PsTraceOp, i);
        ck_assert_msg(x->lane == y->lane && x->stage == y->stage && x->replica == y->replica &&
                          x->rank == y->rank && x->stream == y->stream && x->kind == y->kind &&
                          x->microbatch == y->microbatch && x->chunk == y->chunk &&
                          x->start_ps == y->start_ps && x->end_ps == y->end_ps &&
                          x->bytes == y->bytes && x->peer == y->peer,
                      "op %u: %s of lane %u ends at %" G_GINT64_FORMAT
                      ", not %s of lane %u at %" G_GINT64_FORMAT,
                      i, ps_op_names[x->kind], x->lane, x->end_ps, ps_op_names[y->kind], y->lane,
                      y->end_ps);
    }
}

static void compare_memory(const GArray *a, const GArray *b)
{
    ck_assert_uint_eq(a->len, b->len);
    for (guint i = 0; i < a->len; i++) {
        const PsTraceMemory *x = &g_array_index(a, PsTraceMemory, i);
        const PsTraceMemory *y = &g_array_index(b, PsTraceMemory, i);
        ck_assert(x->time_ps == y->time_ps && x->lane == y->lane && x->stage == y->stage &&
                  x->category == y->category && x->bytes == y->bytes);
    }
}

static void compare_stages(const PsReplayStage *a, const PsReplayStage *b)
{
    ck_assert_double_eq(a->busy_s_per_microbatch, b->busy_s_per_microbatch);
    ck_assert_double_eq(a->compute_s_per_microbatch, b->compute_s_per_microbatch);
    ck_assert_double_eq(a->edge_s_per_microbatch, b->edge_s_per_microbatch);
    ck_assert_double_eq(a->resync_s_per_microbatch, b->resync_s_per_microbatch);
    ck_assert_double_eq(a->bubble_share, b->bubble_share);
    ck_assert_double_eq(a->peak_memory_bytes, b->peak_memory_bytes);
    ck_assert_double_eq(a->peak_stash_microbatches, b->peak_stash_microbatches);
    for (guint i = 0; i < PS_N_MEMORY; i++) {
        ck_assert_double_eq(a->peak_category_bytes[i], b->peak_category_bytes[i]);
    }
}

static void compare_results(const PsReplayResult *a, const PsReplayResult *b)
{
    ck_assert_double_eq(a->tps_s, b->tps_s);
    ck_assert_int_eq(a->makespan_ps, b->makespan_ps);
    ck_assert_int_eq(a->window_start_ps, b->window_start_ps);
    ck_assert_int_eq(a->window_end_ps, b->window_end_ps);
    ck_assert_int_eq(a->window_microbatches, b->window_microbatches);
    ck_assert_int_eq(a->microbatches_simulated, b->microbatches_simulated);
    ck_assert_int_eq(a->steady_after_microbatches, b->steady_after_microbatches);
    ck_assert_int_eq(a->n_ops, b->n_ops);
    ck_assert_int_eq(a->steady, b->steady);
    ck_assert_pstr_eq(a->out_of_memory, b->out_of_memory);
    ck_assert_uint_eq(a->n_stages, b->n_stages);
    for (guint i = 0; i < a->n_stages; i++) {
        compare_stages(&a->stages[i], &b->stages[i]);
    }
}

static void compare(const Outcome *a, const Outcome *b)
{
    ck_assert_int_eq(a->error == NULL, b->error == NULL);
    if (a->error != NULL) {
        ck_assert_str_eq(a->error->message, b->error->message);
        ck_assert_int_eq(a->error->code, b->error->code);
        return; /* what has been handed on by then is of no use to anyone */
    }
    compare_ops(a->ops, b->ops);
    compare_memory(a->memory, b->memory);
    compare_results(a->result, b->result);
    ck_assert_int_eq(a->result->n_ops, a->ops->len);
}

/* ---- random pipelines and settings ----------------------------------------------------------- */

static double random_bytes(GRand *rand)
{
    return g_rand_int_range(rand, 1, 100000);
}

static void add_layers(GRand *rand, PsWorkStage *stage)
{
    stage->n_layers = (guint)g_rand_int_range(rand, 1, 5);
    stage->layers = g_new(PsWorkLayer, stage->n_layers);
    double weights_bytes = 0;
    for (guint i = 0; i < stage->n_layers; i++) {
        stage->layers[i] =
            (PsWorkLayer){.pass_s = {[PS_PASS_BACKWARD] = stage->backward_s / stage->n_layers},
                          .weights_bytes = random_bytes(rand)};
        weights_bytes += stage->layers[i].weights_bytes;
    }
    stage->gradient_bytes = weights_bytes;
}

/* Few different times, so that much happens at one instant. */
static double coarse_s(GRand *rand, double value_s)
{
    return value_s > 0 ? g_rand_int_range(rand, 1, 4) * 1e-4 : 0;
}

static void make_coarse(GRand *rand, PsWorkload *workload)
{
    for (guint i = 0; i < workload->n_stages; i++) {
        PsWorkStage *stage = &workload->stages[i];
        stage->forward_s = coarse_s(rand, stage->forward_s);
        stage->weight_gradient_s = coarse_s(rand, stage->weight_gradient_s);
        stage->backward_s = stage->weight_gradient_s + coarse_s(rand, stage->backward_s);
        stage->recompute_s = coarse_s(rand, stage->recompute_s);
        stage->resync_s = coarse_s(rand, stage->resync_s);
        stage->gradient_bytes = 0;
        for (guint k = 0; k < stage->n_layers; k++) {
            stage->layers[k].pass_s[PS_PASS_BACKWARD] = stage->backward_s / stage->n_layers;
            stage->layers[k].weights_bytes = 5000 * g_rand_int_range(rand, 1, 4);
            stage->gradient_bytes += stage->layers[k].weights_bytes;
        }
    }
    for (guint i = 0; i < workload->n_borders; i++) {
        PsWorkBorder *border = &workload->borders[i];
        border->source_s = coarse_s(rand, border->source_s);
        border->target_s = coarse_s(rand, border->target_s);
        border->latency_s = g_rand_boolean(rand) ? 0 : 1e-4;
    }
}

/* A random pipeline whose degrees have a common divisor as a rule. */
static PsWorkload *random_workload(GRand *rand, const PsSchedule *schedule)
{
    PsWorkload *workload = ps_random_workload(rand, g_rand_boolean(rand));
    guint factor = (guint)g_rand_int_range(rand, 1, 5), n_borders = 0;
    for (guint i = 0; i < workload->n_stages; i++) {
        PsWorkStage *stage = &workload->stages[i];
        guint d = schedule->uniform ? workload->stages[0].data_parallel : stage->data_parallel;
        stage->data_parallel = i == 0 ? d * factor : schedule->uniform ? d : d * factor;
        stage->weight_gradient_s = floor(stage->backward_s * 1e9 * g_rand_double(rand)) * 1e-9;
        if (stage->data_parallel > 1) {
            stage->resync_s = g_rand_int_range(rand, 1, 3000000) * 1e-9;
            stage->resync_bytes = random_bytes(rand);
            add_layers(rand, stage);
        }
        stage->gradients_bytes = random_bytes(rand);
        stage->optimizer_bytes = random_bytes(rand);
    }
    for (guint i = 0; i < workload->n_borders; i++) {
        if (!schedule->uniform || workload->borders[i].target == workload->borders[i].source + 1) {
            workload->borders[n_borders] = workload->borders[i];
            workload->borders[n_borders++].latency_s = g_rand_int_range(rand, 0, 20) * 1e-6;
        }
    }
    workload->n_borders = n_borders;
    workload->wrap.source_s = workload->wrap.target_s = g_rand_int_range(rand, 0, 100) * 1e-6;
    workload->microbatches *= factor;
    if (g_rand_boolean(rand)) {
        make_coarse(rand, workload);
    }
    gboolean fine = ps_workload_finish(workload, NULL);
    g_assert(fine);
    return workload;
}

#define PICK(rand, ...)                                                                            \
    ((char *)((const char *const[]){__VA_ARGS__})[g_rand_int_range(                                \
        rand, 0, G_N_ELEMENTS(((const char *const[]){__VA_ARGS__})))])

static void choose(GRand *rand, const PsSchedule *schedule, PsReplayChoices *choices)
{
    *choices = (PsReplayChoices){
        .schedule = (char *)schedule->name,
        .chunks = schedule->max_chunks > 2 ? PICK(rand, NULL, "2", "3") : NULL,
        .communication = PICK(rand, "serial", "blocking", "overlap", "overlap"),
        .messages = PICK(rand, NULL, NULL, "eager"),
        .streams = PICK(rand, NULL, NULL, "single"),
        .resync = PICK(rand, "amortised", "batch", "batch"),
        .collectives = PICK(rand, NULL, NULL, "auto", "ring"),
        .sharding = PICK(rand, NULL, NULL, "zero1", "zero2", "zero3"),
        .bucket = PICK(rand, NULL, NULL, "20 kB", "90 kB"),
        .launch_overhead = PICK(rand, NULL, NULL, "5 us"),
        .hop_overhead = PICK(rand, NULL, NULL, "3 us"),
        .optimizer = PICK(rand, NULL, NULL, "50 MB/s"),
        .start = PICK(rand, "cold", "cold", "steady"),
    };
    if (schedule->weight_versions == 0) { /* may fall behind for ever: see below */
        choices->start = (char *)"cold";
    }
}

/* Settings that go together. */
static void random_settings(GRand *rand, const PsSchedule *schedule, PsReplaySettings *settings)
{
    PsReplayChoices choices;
    do {
        choose(rand, schedule, &choices);
    } while (!ps_replay_settings_choose(settings, &choices, NULL));
}

typedef struct {
    guint n_folded, n_full, n_stuck, n_whole;
} Seen;

static void note(Seen *seen, const PsWorkload *workload, const PsReplaySettings *settings,
                 const Outcome *outcome)
{
    guint copies = ps_fold_copies(workload, settings);
    seen->n_folded += copies > 1;
    seen->n_whole += copies == 1;
    seen->n_stuck += copies > 1 && outcome->error != NULL;
    seen->n_full += copies > 1 && outcome->error == NULL && outcome->result->out_of_memory != NULL;
}

static void compare_both_ways(GRand *rand, PsWorkload *workload, const PsReplaySettings *settings,
                              Seen *seen)
{
    g_auto(Outcome) folded = run(workload, settings, TRUE), all = run(workload, settings, FALSE);
    compare(&folded, &all);
    note(seen, workload, settings, &all);
    if (all.result == NULL || g_rand_int_range(rand, 0, 4) > 0) {
        return;
    }
    /* Less than some stage has held. */
    guint stage = (guint)g_rand_int_range(rand, 0, (gint)workload->n_stages);
    workload->memory_bytes =
        all.result->stages[stage].peak_memory_bytes * g_rand_double_range(rand, 0.7, 1);
    g_auto(Outcome) tight_folded = run(workload, settings, TRUE);
    g_auto(Outcome) tight = run(workload, settings, FALSE);
    compare(&tight_folded, &tight);
    note(seen, workload, settings, &tight);
}

START_TEST(folded_runs_are_the_same)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("folded_runs_are_the_same"));
    Seen seen = {0};
    for (guint trial = 0; trial < 40; trial++) {
        for (guint i = 0; ps_schedules[i] != NULL; i++) {
            PsReplaySettings settings;
            random_settings(rand, ps_schedules[i], &settings);
            g_autoptr(PsWorkload) workload = random_workload(rand, ps_schedules[i]);
            compare_both_ways(rand, workload, &settings, &seen);
        }
    }
    ck_assert_msg(seen.n_folded > 200 && seen.n_whole > 20 && seen.n_full > 10 && seen.n_stuck > 5,
                  "too little seen: %u folded (%u of them out of memory, %u stuck), %u whole",
                  seen.n_folded, seen.n_full, seen.n_stuck, seen.n_whole);
}
END_TEST

/* An amortised resync that takes longer than a microbatch falls behind for ever, since nobody waits
 * for it, so there is no period, and the search for it ends after as many blocks either way. */
START_TEST(a_search_in_vain_ends_alike)
{
    static const guint degrees[] = {2, 3, 4, 7};
    const PsReplayChoices choices = {.schedule = (char *)"pipedream",
                                     .resync = (char *)"amortised"};
    for (guint i = 0; i < G_N_ELEMENTS(degrees); i++) {
        guint d = degrees[i], batch = 600;
        g_autoptr(PsWorkload) workload = ps_chain_new(1, batch * d, 0.003, 0.005);
        PsReplaySettings settings;
        ck_assert(ps_replay_settings_choose(&settings, &choices, NULL));
        workload->stages[0].data_parallel = d;
        workload->stages[0].resync_s = batch * 0.008 * 1.3;
        ck_assert(ps_workload_finish(workload, NULL));
        ck_assert_uint_eq(ps_fold_copies(workload, &settings), d);
        g_autoptr(PsReplayResult) folded = ps_fold_run(workload, &settings, NULL, NULL);
        g_autoptr(PsReplayResult) all = ps_replay_run(workload, &settings, NULL, NULL);
        ck_assert(!all->steady);
        compare_results(folded, all);
    }
}
END_TEST

/* What was under way when a run was interrupted is kept, but for words about one lane: the replay
 * of all lanes that they would need is not made. */
START_TEST(interrupted_runs_end_there)
{
    const PsReplayChoices choices = {.start = (char *)"cold"};
    g_autoptr(PsWorkload) workload = ps_chain_new(2, 300000, 0.003, 0.005);
    PsReplaySettings settings;
    ck_assert(ps_replay_settings_choose(&settings, &choices, NULL));
    workload->stages[0].data_parallel = workload->stages[1].data_parallel = 3;
    workload->memory_bytes = 0.5; /* less than is stashed of one microbatch */
    ck_assert(ps_workload_finish(workload, NULL));
    ps_interrupt_install();
    ps_interrupt_hold();
    raise(SIGTERM);
    g_auto(Outcome) outcome = run(workload, &settings, TRUE);
    ps_interrupt_release(TRUE);
    ps_assert_no_error(outcome.error);
    ck_assert(outcome.result->partial);
    ck_assert_ptr_null(outcome.result->out_of_memory);
    ck_assert_int_eq(outcome.result->n_ops, outcome.ops->len);
    ck_assert_int_lt(outcome.result->microbatches_simulated, 300000);
    ck_assert_int_eq(outcome.result->microbatches_simulated % 3, 0);
    for (guint i = 0; i < outcome.ops->len; i++) {
        ck_assert_int_le(g_array_index(outcome.ops, PsTraceOp, i).end_ps,
                         outcome.result->makespan_ps);
    }
}
END_TEST

/* ---- files ----------------------------------------------------------------------------------- */

static char *text_of(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text;
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

static void write_rows(const Outcome *outcome, PsRunSummary *summary, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsRunWriter) writer = ps_run_writer_new(folder, &error);
    ps_assert_no_error(error);
    const PsTraceSink *sink = ps_run_writer_sink(writer);
    for (guint i = 0; i < outcome->ops->len; i++) {
        sink->op(&g_array_index(outcome->ops, PsTraceOp, i), sink->user_data);
    }
    for (guint i = 0; i < outcome->memory->len; i++) {
        sink->memory(&g_array_index(outcome->memory, PsTraceMemory, i), sink->user_data);
    }
    ck_assert(ps_run_writer_finish(writer, summary, &error));
}

START_TEST(folders_have_the_same_bytes)
{
    static const char *const names[] = {"trace.csv", "memory.csv"};
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("folders_have_the_same_bytes"));
    g_autoptr(PsRunSummary) summary = ps_run_summary_new(1);
    const char *folder = ps_test_folder(), *other = ps_test_folder();
    summary->version = g_strdup("0");
    summary->stages[0].layers = g_strdup("");
    for (guint trial = 0; trial < 20; trial++) {
        PsReplaySettings settings;
        random_settings(rand, ps_schedules[0], &settings);
        g_autoptr(PsWorkload) workload = random_workload(rand, ps_schedules[0]);
        g_auto(Outcome) folded = run(workload, &settings, TRUE);
        g_auto(Outcome) all = run(workload, &settings, FALSE);
        write_rows(&folded, summary, folder);
        write_rows(&all, summary, other);
        for (guint i = 0; all.error == NULL && i < G_N_ELEMENTS(names); i++) {
            g_autofree char *text = text_of(folder, names[i]), *expected = text_of(other, names[i]);
            ck_assert_str_eq(text, expected);
        }
    }
}
END_TEST

/* ---- what is folded ------------------------------------------------------------------------- */

START_TEST(copies_are_the_common_divisor)
{
    static const struct {
        guint degrees[3], copies;
    } cases[] = {{{1, 1, 1}, 1},  {{2, 2, 2}, 2}, {{4, 6, 8}, 2},  {{6, 3, 12}, 3},
                 {{5, 10, 1}, 1}, {{8, 8, 4}, 4}, {{2, 3, 12}, 1}, {{24, 24, 24}, 24}};
    PsReplaySettings settings;
    ps_replay_settings_init(&settings);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsWorkload) workload = ps_chain_new(3, 120, 0.003, 0.005);
        for (guint k = 0; k < 3; k++) {
            workload->stages[k].data_parallel = cases[i].degrees[k];
        }
        ck_assert(ps_workload_finish(workload, NULL));
        guint copies = ps_fold_copies(workload, &settings);
        ck_assert_uint_eq(copies, cases[i].copies);
        g_autoptr(PsWorkload) folded = ps_fold_workload(workload, copies);
        ck_assert_uint_eq(folded->microbatches, 120 / copies);
        for (guint k = 0; k < 3; k++) {
            ck_assert_uint_eq(folded->stages[k].data_parallel, cases[i].degrees[k] / copies);
            ck_assert_uint_eq(ps_workload_replicas(folded, k), cases[i].degrees[k]);
        }
    }
}
END_TEST

/* Lanes that share something or are disturbed are not alike; and users may say no. */
START_TEST(some_runs_are_not_folded)
{
    g_autoptr(PsWorkload) workload = ps_chain_new(1, 6, 0.003, 0.005);
    workload->stages[0].data_parallel = 3;
    ck_assert(ps_workload_finish(workload, NULL));
    PsReplaySettings settings;
    ps_replay_settings_init(&settings);
    ck_assert_uint_eq(ps_fold_copies(workload, &settings), 3);
    settings.optimizer_bytes_per_s = 1e9;
    ck_assert(ps_replay_settings_set(&settings, "flush", "none", NULL));
    ck_assert_uint_eq(ps_fold_copies(workload, &settings), 3);
    ps_replay_settings_init(&settings);
    settings.fold = PS_FOLD_OFF;
    ck_assert_uint_eq(ps_fold_copies(workload, &settings), 1);
    ps_replay_settings_init(&settings);
    settings.network = PS_NETWORK_TOPOLOGY;
    ck_assert_uint_eq(ps_fold_copies(workload, &settings), 1);
    ps_replay_settings_init(&settings);
    const PsLoaderSettings loader = {.n_servers = 1, .rate_per_s = 100};
    settings.loader = &loader;
    ck_assert_uint_eq(ps_fold_copies(workload, &settings), 1);
    ps_replay_settings_init(&settings);
    const char *const slow[PS_N_DISTURBANCES] = {[PS_DISTURBANCE_SLOW] = "rank=0 factor=2"};
    g_autoptr(PsDisturbance) disturbance = ps_disturbance_new(slow, NULL);
    ck_assert_ptr_nonnull(disturbance);
    settings.disturbance = disturbance;
    ck_assert_uint_eq(ps_fold_copies(workload, &settings), 1);
}
END_TEST

PS_TEST_MAIN("fold", folded_runs_are_the_same, a_search_in_vain_ends_alike,
             interrupted_runs_end_there, folders_have_the_same_bytes, copies_are_the_common_divisor,
             some_runs_are_not_folded)
