#include <math.h>

#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/replay/synthetic.h"
#include "tests/harness/harness.h"
#include "tests/oracle/causes.h"
#include "tests/oracle/pipelines.h"
#include "tests/oracle/recording.h"

/* ---- every schedule, from the rows of its trace ---------------------------------------------- */

/* When forwards and (input) gradients of each microbatch ended, by place of the pipeline. */
typedef struct {
    const PsRecording *run;
    const PsWorkload *workload;
    guint n_places;
    gint64 n_microbatches;
    gint64 *ends_ps[PS_N_OPS]; /* [place * n_microbatches + n]; -1: did not run */
} Ends;

static gint64 *end_at(const Ends *ends, PsOpKind kind, guint place, gint64 n)
{
    return &ends->ends_ps[kind][place * ends->n_microbatches + n];
}

static guint place_of(const Ends *ends, const PsTraceOp *op)
{
    const PsLaneShape lane = {.stage = op->stage,
                              .n_stages = ends->workload->n_stages,
                              .chunks = ends->run->settings.chunks};
    return ps_schedule_place(ends->run->settings.schedule, &lane, op->chunk);
}

static Ends note_ends(const PsWorkload *workload, const PsRecording *run)
{
    Ends ends = {run,
                 workload,
                 workload->n_stages * run->settings.chunks,
                 run->result->microbatches_simulated,
                 {NULL}};
    for (guint kind = 0; kind < PS_N_OPS; kind++) {
        ends.ends_ps[kind] = g_new(gint64, ends.n_places * ends.n_microbatches);
        for (gint64 i = 0; i < ends.n_places * ends.n_microbatches; i++) {
            ends.ends_ps[kind][i] = -1;
        }
    }
    for (guint i = 0; i < run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(run->ops, PsTraceOp, i);
        if (op->stream == PS_STREAM_COMPUTE && op->kind != PS_OP_SEND &&
            op->kind != PS_OP_RECEIVE && op->kind != PS_OP_RESYNC && op->kind != PS_OP_OPTIMIZER) {
            ck_assert_int_eq(op->replica,
                             op->microbatch % workload->stages[op->stage].data_parallel);
            gint64 *end_ps = end_at(&ends, op->kind, place_of(&ends, op), op->microbatch);
            ck_assert_int_eq(*end_ps, -1);
            *end_ps = op->end_ps;
        }
    }
    return ends;
}

/* Each microbatch ran forward and backward everywhere, in the order in which its data flows: in a
 * cut pipeline through all places, else over the borders. */
static void check_flow(const Ends *ends)
{
    gboolean cut = ps_replay_settings_cuts(&ends->run->settings);
    for (guint i = 0; i < ends->run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(ends->run->ops, PsTraceOp, i);
        guint place = place_of(ends, op);
        if (op->kind == PS_OP_WEIGHT || op->kind == PS_OP_BACKWARD) {
            PsOpKind before = op->kind == PS_OP_WEIGHT ? PS_OP_BACKWARD : PS_OP_FORWARD;
            ck_assert_int_le(*end_at(ends, before, place, op->microbatch), op->start_ps);
        }
        if (cut && op->kind == PS_OP_FORWARD && place > 0) {
            ck_assert_int_le(*end_at(ends, PS_OP_FORWARD, place - 1, op->microbatch), op->start_ps);
        } else if (cut && op->kind == PS_OP_BACKWARD && place + 1 < ends->n_places) {
            ck_assert_int_le(*end_at(ends, PS_OP_BACKWARD, place + 1, op->microbatch),
                             op->start_ps);
        }
        for (guint k = 0; !cut && k < ends->workload->n_borders; k++) {
            const PsWorkBorder *border = &ends->workload->borders[k];
            if (op->kind == PS_OP_FORWARD && border->target == op->stage) {
                ck_assert_int_le(*end_at(ends, PS_OP_FORWARD, border->source, op->microbatch),
                                 op->start_ps);
            } else if (op->kind == PS_OP_BACKWARD && border->source == op->stage) {
                ck_assert_int_le(*end_at(ends, PS_OP_BACKWARD, border->target, op->microbatch),
                                 op->start_ps);
            }
        }
    }
    for (gint64 i = 0; i < ends->n_places * ends->n_microbatches; i++) {
        ck_assert_int_ge(ends->ends_ps[PS_OP_FORWARD][i], 0);
        ck_assert_int_ge(ends->ends_ps[PS_OP_BACKWARD][i], 0);
    }
    for (guint kind = 0; kind < PS_N_OPS; kind++) {
        g_free(ends->ends_ps[kind]);
    }
}

/* What is taken is given back, and the peak is the largest sum of categories. */
static void check_memory(const PsWorkload *workload, const PsRecording *run)
{
    g_autofree double *peaks = ps_recording_peaks(run, workload);
    for (guint i = 0; i < workload->n_stages; i++) {
        ck_assert_double_eq_tol(run->result->stages[i].peak_memory_bytes, peaks[i],
                                1e-9 * peaks[i]);
    }
}

/* No lane can work faster than its compute. */
static void check_bound(const PsWorkload *workload, const PsRecording *run)
{
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *work = &workload->stages[i];
        double work_s = work->forward_s + work->backward_s + work->recompute_s;
        ck_assert_double_ge(run->result->tps_s * (1 + 1e-9), work_s / work->data_parallel);
        ck_assert_double_eq_tol(run->result->stages[i].compute_s_per_microbatch /
                                    (work_s / work->data_parallel),
                                1, 1e-6);
    }
}

/* A random pipeline that the schedule can run: chunks want one degree and a chain. */
static PsWorkload *workload_for(const PsSchedule *schedule, GRand *rand)
{
    PsWorkload *workload = ps_random_workload(rand, FALSE);
    guint n_borders = 0;
    for (guint i = 0; i < workload->n_stages; i++) {
        PsWorkStage *stage = &workload->stages[i];
        stage->weight_gradient_s = floor(stage->backward_s * 1e9 * g_rand_double(rand)) * 1e-9;
        if (schedule->uniform) {
            stage->data_parallel = workload->stages[0].data_parallel;
            stage->in_flight = workload->n_stages - i;
        }
    }
    for (guint i = 0; i < workload->n_borders; i++) {
        if (!schedule->uniform || workload->borders[i].target == workload->borders[i].source + 1) {
            workload->borders[n_borders++] = workload->borders[i];
        }
    }
    workload->n_borders = n_borders;
    workload->wrap.source_s = workload->wrap.target_s = g_rand_int_range(rand, 0, 100) * 1e-6;
    workload->wrap.latency_s = g_rand_int_range(rand, 0, 100) * 1e-6;
    /* Also fewer per lane than stages, and numbers that stages do not divide. */
    guint each = (guint)g_rand_int_range(rand, 1, 12);
    workload->microbatches =
        schedule->uniform ? workload->stages[0].data_parallel * each : 24 * (each / 4 + 1);
    g_autoptr(GError) error = NULL;
    gboolean fine = ps_workload_finish(workload, &error);
    ps_assert_no_error(error);
    ck_assert(fine);
    return workload;
}

static void check_schedule(const PsSchedule *schedule, GRand *rand, guint trial)
{
    static const char *const chunks[] = {NULL, "2", "3", "4"};
    g_autoptr(PsWorkload) workload = workload_for(schedule, rand);
    const PsReplayChoices choices = {
        .schedule = (char *)schedule->name,
        .chunks = schedule->max_chunks > 2 ? (char *)chunks[trial % 4] : NULL,
        .communication = trial & 1 ? "serial" : "overlap",
        .resync = trial & 2 ? "amortised" : "batch",
        .start = trial & 4 ? "cold" : "steady",
    };
    g_auto(PsRecording) run = ps_record(workload, &choices);
    ck_assert(trial & 4 || run.result->steady);
    ps_check_streams(workload, run.ops);
    Ends ends = note_ends(workload, &run);
    check_flow(&ends);
    check_memory(workload, &run);
    check_bound(workload, &run);
}

START_TEST(every_schedule_conforms)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("every_schedule_conforms"));
    for (guint i = 0; ps_schedules[i] != NULL; i++) {
        for (guint trial = 0; trial < 60; trial++) {
            check_schedule(ps_schedules[i], rand, trial);
        }
    }
}
END_TEST

/* ---- every way of communicating ------------------------------------------------------------- */

/* Adds what a network needs: gradients, and bytes that take as long at 1 GB/s as the times say. */
static void add_bytes(PsWorkload *workload, GRand *rand)
{
    for (guint i = 0; i < workload->n_stages; i++) {
        PsWorkStage *stage = &workload->stages[i];
        double d = stage->data_parallel;
        stage->gradient_bytes = d > 1 ? g_rand_int_range(rand, 1, 1000) * 1e3 : 0;
        stage->resync_bytes = 4 * (d - 1) / d * stage->gradient_bytes;
        stage->resync_s = stage->resync_bytes / 1e9;
        stage->n_layers = (guint)g_rand_int_range(rand, 1, 4);
        stage->layers = g_new(PsWorkLayer, stage->n_layers);
        for (guint k = 0; k < stage->n_layers; k++) {
            stage->layers[k] = (PsWorkLayer){{0, stage->backward_s / stage->n_layers, 0},
                                             stage->gradient_bytes / stage->n_layers};
        }
    }
    for (guint i = 0; i < workload->n_borders; i++) {
        PsWorkBorder *border = &workload->borders[i];
        border->source_bytes = border->source_s * 1e9;
        border->target_bytes = border->target_s * 1e9;
    }
}

static char *pick(GRand *rand, char *const *values)
{
    return values[g_rand_int_range(rand, 0, (gint32)g_strv_length((char **)values + 1) + 1)];
}

/* Random settings that go together; NULL stands first in each list. */
static PsReplayChoices random_mode(const PsSchedule *schedule, GRand *rand)
{
    static char *const communications[] = {NULL, "blocking", NULL};
    static char *const messages[] = {NULL, "eager", NULL};
    static char *const streams[] = {NULL, "single", NULL};
    static char *const shardings[] = {NULL, "zero1", "zero2", "zero3", NULL};
    static char *const buckets[] = {NULL, "200kB", NULL};
    static char *const placements[] = {NULL, "tensor,pipeline,data", "pipeline,data,tensor", NULL};
    static char *const jitters[] = {NULL, NULL};
    PsReplayChoices choices = {
        .schedule = (char *)schedule->name,
        .chunks = schedule->max_chunks > 2 ? "2" : NULL,
        .communication = pick(rand, communications),
        .messages = pick(rand, messages),
        .start = g_rand_boolean(rand) ? "cold" : NULL,
        .optimizer = g_rand_boolean(rand) ? "1GB/s" : NULL,
        .launch_overhead = g_rand_boolean(rand) ? "1us" : NULL,
        .hop_overhead = g_rand_boolean(rand) ? "2us" : NULL,
    };
    choices.disturbances[PS_DISTURBANCE_JITTER] = pick(rand, jitters);
    if (choices.communication == NULL) {
        choices.streams = pick(rand, streams);
        choices.bucket = pick(rand, buckets);
    }
    if (ps_schedule_flushes(schedule) && choices.bucket == NULL) {
        choices.sharding = pick(rand, shardings);
    }
    if (g_rand_boolean(rand)) {
        choices.placement = pick(rand, placements);
        choices.network = "topology";
    }
    return choices;
}

/* Whether nobody need wait for a receiver that waits for him, or for replicas that need others'
 * microbatches first to gather weights with. */
static gboolean cannot_lock(const PsSchedule *schedule, const PsReplayChoices *choices)
{
    gboolean gathers = g_strcmp0(choices->sharding, "zero3") == 0;
    return (choices->messages != NULL ||
            (choices->communication == NULL && choices->streams == NULL)) &&
           (schedule->uniform || !gathers);
}

START_TEST(every_mode_conforms)
{
    static const char *const topologies[] = {"flat:512 1GB/s 1GiB",
                                             "node:8 10GB/s 1us cluster:512 1GB/s 5us 1GiB",
                                             "node:4 4GB/s cluster:512 1GB/s 5us shared 1GiB",
                                             "ring:64 8GB/s 1us ring cluster:512 1GB/s 1GiB"};
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("every_mode_conforms"));
    guint n_done = 0, n_locked = 0;
    for (guint trial = 0; trial < 270; trial++) {
        guint n_schedules = 0;
        while (ps_schedules[n_schedules] != NULL) {
            n_schedules++;
        }
        const PsSchedule *schedule = ps_schedules[trial % n_schedules];
        g_autoptr(PsWorkload) workload = workload_for(schedule, rand);
        add_bytes(workload, rand);
        PsReplayChoices choices = random_mode(schedule, rand);
        g_autoptr(GError) error = NULL;
        gboolean opened = ps_replay_choices_open(
            &choices, choices.network != NULL ? topologies[g_rand_int_range(rand, 0, 4)] : NULL,
            &error);
        ps_assert_no_error(error);
        ck_assert(opened);
        g_auto(PsRecording) run;
        gboolean done = ps_try_record(workload, &choices, &run);
        ck_assert(done || !cannot_lock(schedule, &choices));
        n_done += done;
        n_locked += !done;
        if (done) {
            ps_check_streams(workload, run.ops);
            Ends ends = note_ends(workload, &run);
            check_flow(&ends);
            check_memory(workload, &run);
        }
        ps_topology_free(choices.topology);
        g_free(choices.topology_text);
        ps_disturbance_free(choices.disturbance);
    }
    ck_assert_uint_gt(n_done, 180);
    ck_assert_uint_gt(n_locked, 0);
}
END_TEST

/* ---- closed forms ---------------------------------------------------------------------------- */

#define US_PS G_GINT64_CONSTANT(1000000)

/* Times of a stage in whole microseconds, a multiple of 12, so that 2 to 4 chunks divide them. */
typedef struct {
    guint p, m, v;
    gint64 forward_us, backward_us, weight_us; /* backward: the input gradient */
} Pipeline;

static PsRecording run_pipeline(const Pipeline *pipe, const char *schedule)
{
    g_autoptr(PsWorkload) workload =
        ps_chain_new(pipe->p, pipe->m, (double)pipe->forward_us * 1e-6,
                     (double)(pipe->backward_us + pipe->weight_us) * 1e-6);
    for (guint i = 0; i < pipe->p; i++) {
        workload->stages[i].weight_gradient_s = (double)pipe->weight_us * 1e-6;
    }
    g_autofree char *chunks = g_strdup_printf("%u", pipe->v);
    const PsReplayChoices choices = {
        .schedule = (char *)schedule, .start = "cold", .chunks = pipe->v > 1 ? chunks : NULL};
    return ps_record(workload, &choices);
}

static Pipeline random_pipeline(GRand *rand, guint p, guint m, guint v)
{
    gint64 forward_us = 12 * g_rand_int_range(rand, 1, 100);
    gint64 backward_us = 12 * g_rand_int_range(rand, 1, 100);
    /* The zero-bubble forms hold where W is the shortest of the three. */
    gint64 least = MIN(forward_us, backward_us) / 12;
    return (Pipeline){p,          m,           v,
                      forward_us, backward_us, 12 * g_rand_int_range(rand, 0, (gint32)least + 1)};
}

static gint64 all_us(const Pipeline *pipe)
{
    return pipe->forward_us + pipe->backward_us + pipe->weight_us;
}

/* GPipe: the last stage begins after p-1 forwards and has m (F + B) without a gap, since all its
 * inputs follow each other at F; its first gradient takes p-1 backwards to stage 0, the others
 * follow at B: (m + p - 1)(F + B). Everything is stashed. */
START_TEST(gpipe)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("gpipe"));
    for (guint p = 1; p <= 8; p++) {
        for (guint m = 1; m <= 20; m++) {
            Pipeline pipe = random_pipeline(rand, p, m, 1);
            g_auto(PsRecording) run = run_pipeline(&pipe, "gpipe");
            ck_assert_int_eq(run.result->makespan_ps, (m + p - 1) * all_us(&pipe) * US_PS);
            for (guint i = 0; i < p; i++) {
                ck_assert_double_eq(run.result->stages[i].peak_stash_microbatches, m);
            }
        }
    }
}
END_TEST

/* Interleaved 1F1B with m a multiple of p: the bubble of 1F1B is that of (p-1) forwards and
 * backwards of one chunk (Narayanan et al., SC 2021, section 2.2.2): m (F + B) + (p-1)(F + B) / v.
 * Ahead of its first backward, stage i has 2 (p - i - 1) + (v-1) p + 1 chunks in hand. */
START_TEST(interleaved)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("interleaved"));
    for (guint p = 1; p <= 8; p++) {
        for (guint k = 2; k <= 4; k++) {
            for (guint v = 2; v <= 4; v++) {
                Pipeline pipe = random_pipeline(rand, p, k * p, v);
                g_auto(PsRecording) run = run_pipeline(&pipe, "interleaved");
                ck_assert_int_eq(run.result->makespan_ps,
                                 (pipe.m * v + p - 1) * (all_us(&pipe) / v) * US_PS);
                for (guint i = 0; i < p; i++) {
                    guint ahead = MIN(2 * (p - i - 1) + (v - 1) * p + 1, pipe.m * v);
                    ck_assert_double_eq(run.result->stages[i].peak_stash_microbatches,
                                        (double)ahead / v);
                }
            }
        }
    }
}
END_TEST

/* ZB-H1, m >= p: m (F + B + W) + (p-1)(F + B - W) (Qi et al., ICLR 2024, section 2.3), with p
 * microbatches stashed everywhere. */
START_TEST(zb_h1)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("zb_h1"));
    for (guint p = 1; p <= 8; p++) {
        for (guint m = p; m <= 3 * p; m++) {
            Pipeline pipe = random_pipeline(rand, p, m, 1);
            g_auto(PsRecording) run = run_pipeline(&pipe, "zb-h1");
            gint64 bubble_us = pipe.forward_us + pipe.backward_us - pipe.weight_us;
            ck_assert_int_eq(run.result->makespan_ps,
                             (m * all_us(&pipe) + (p - 1) * bubble_us) * US_PS);
            for (guint i = 0; i < p; i++) {
                ck_assert_double_eq(run.result->stages[i].peak_stash_microbatches, p);
            }
        }
    }
}
END_TEST

/* From the first op of a lane to its last, the longest of all lanes: what Qi et al. call the cost
 * of a schedule ("the largest execution time of all stages"). */
static gint64 longest_lane_ps(const PsRecording *run, guint n_lanes)
{
    g_autofree gint64 *first_ps = g_new(gint64, n_lanes), *last_ps = g_new0(gint64, n_lanes);
    gint64 longest_ps = 0;
    for (guint i = 0; i < n_lanes; i++) {
        first_ps[i] = G_MAXINT64;
    }
    for (guint i = 0; i < run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(run->ops, PsTraceOp, i);
        first_ps[op->lane] = MIN(first_ps[op->lane], op->start_ps);
        last_ps[op->lane] = MAX(last_ps[op->lane], op->end_ps);
        longest_ps = MAX(longest_ps, last_ps[op->lane] - first_ps[op->lane]);
    }
    return longest_ps;
}

/* ZB-H2, m >= 2 p - 1: on each lane m (F + B + W) + (p-1)(F + B - 2 W), or no bubble at all, with 2
 * p - 1 microbatches stashed everywhere (section 2.3). */
START_TEST(zb_h2)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("zb_h2"));
    for (guint p = 1; p <= 8; p++) {
        for (guint m = 2 * p - 1; m <= 3 * p; m++) {
            Pipeline pipe = random_pipeline(rand, p, m, 1);
            g_auto(PsRecording) run = run_pipeline(&pipe, "zb-h2");
            gint64 bubble_us = pipe.forward_us + pipe.backward_us - 2 * pipe.weight_us;
            ck_assert_int_eq(longest_lane_ps(&run, p),
                             (m * all_us(&pipe) + (p - 1) * MAX(bubble_us, 0)) * US_PS);
            for (guint i = 0; i < p; i++) {
                ck_assert_double_eq(run.result->stages[i].peak_stash_microbatches, 2 * p - 1);
            }
        }
    }
}
END_TEST

/* ZB-V with F = B = W and m >= 2 p - 1: no bubble between a lane's first op and its last; the last
 * lane begins p-1 forwards of a chunk late. Stashed: p microbatches, as in 1F1B (section 6). */
START_TEST(zb_v)
{
    for (guint p = 1; p <= 8; p++) {
        for (guint m = 2 * p - 1; m <= 3 * p; m++) {
            const Pipeline pipe = {p, m, 2, 12, 12, 12};
            g_auto(PsRecording) run = run_pipeline(&pipe, "zb-v");
            ck_assert_int_eq(longest_lane_ps(&run, p), m * 36 * US_PS);
            ck_assert_int_eq(run.result->makespan_ps, (m * 36 + (p - 1) * 6) * US_PS);
            for (guint i = 0; i < p; i++) {
                ck_assert_double_le(run.result->stages[i].peak_stash_microbatches, p);
            }
        }
    }
}
END_TEST

/* DualPipe-V with F = B = W and m >= 2 p: a bubble of at most (p-1)(F&B + B - 3 W), times of a
 * chunk, B with W and F&B = F + B where a pair does not overlap; 2 p + 1 chunks stashed (the table
 * in DeepSeek's code).
 */
START_TEST(dualpipe_v)
{
    for (guint p = 1; p <= 8; p++) {
        for (guint m = 2 * p; m <= 3 * p; m++) {
            const Pipeline pipe = {p, m, 2, 12, 12, 12};
            g_auto(PsRecording) run = run_pipeline(&pipe, "dualpipe-v");
            ck_assert_int_ge(longest_lane_ps(&run, p), m * 36 * US_PS);
            ck_assert_int_le(longest_lane_ps(&run, p), (m * 36 + (p - 1) * 2 * 6) * US_PS);
            for (guint i = 0; i < p; i++) {
                ck_assert_double_eq(run.result->stages[i].peak_stash_microbatches, p + 0.5);
            }
        }
    }
}
END_TEST

/* PipeDream never flushes: in steady state the slowest stage never waits, whatever resync takes,
 * and y - 1 versions of the weights lie beside those in use. */
START_TEST(pipedream)
{
    g_autoptr(PsWorkload) workload = ps_chain_new(4, 8, 0.003, 0.005);
    for (guint i = 0; i < 4; i++) {
        workload->stages[i].weights_bytes = 100;
        workload->stages[i].state_bytes = 7;
    }
    const PsReplayChoices choices = {.schedule = "pipedream"};
    g_auto(PsRecording) run = ps_record(workload, &choices);
    ck_assert(run.result->steady);
    ck_assert_double_eq_tol(run.result->tps_s, 0.008, 1e-15);
    for (guint i = 0; i < 4; i++) {
        const PsReplayStage *stage = &run.result->stages[i];
        ck_assert_double_eq(stage->peak_category_bytes[PS_MEMORY_WEIGHTS], 100);
        ck_assert_double_eq(stage->peak_category_bytes[PS_MEMORY_WEIGHT_VERSIONS], 100 * (3 - i));
        ck_assert_double_eq(stage->peak_memory_bytes, 100 * (4 - i) + 7 + (4 - i));
    }
}
END_TEST

/* Stages of d = 2, N = 8, 3 ms forward, 5 ms backward: a batch of a lane takes 32 ms. Stage 0 has
 * collectives. With y = 1 it keeps one version of the weights: when the collective begins the lane
 * does one more forward, then waits; after it the backward, and the rest of the batch: a cycle is C
 * + 5 + 3 * 8 ms. With y = 2, as the first of two stages, it keeps two: where C is longer than a
 * batch, the collectives follow each other without a gap, and the lane waits for them; where it is
 * shorter, nobody waits. */
START_TEST(pipedream_waits_for_collectives)
{
    static const struct {
        guint n_stages;
        double resync_s, batch_s;
    } cases[] = {{1, 0.050, 0.050 + 0.029}, {1, 0.002, 0.032}, {2, 0.050, 0.050},
                 {2, 0.033, 0.033},         {2, 0.031, 0.032}, {2, 0.010, 0.032}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsWorkload) workload = ps_chain_new(cases[i].n_stages, 8, 0.003, 0.005);
        for (guint stage = 0; stage < cases[i].n_stages; stage++) {
            workload->stages[stage].data_parallel = 2;
        }
        workload->stages[0].resync_s = cases[i].resync_s;
        ck_assert(ps_workload_finish(workload, NULL));
        const PsReplayChoices choices = {.schedule = "pipedream"};
        g_auto(PsRecording) run = ps_record(workload, &choices);
        ck_assert(run.result->steady);
        ck_assert_double_eq_tol(run.result->tps_s, cases[i].batch_s / 8, 1e-12);
        ck_assert_double_eq_tol(run.result->stages[0].compute_s_per_microbatch, 0.032 / 8, 1e-12);
        ck_assert_double_eq_tol(run.result->stages[0].bubble_share, 1 - 0.032 / cases[i].batch_s,
                                1e-9);
    }
}
END_TEST

/* Any pipeline, from the rows of its trace: when a backward starts, so many batches before its own
 * as there are versions are reduced. */
START_TEST(pipedream_stays_within_its_versions)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("pipedream_stays_within"));
    guint n_waited = 0;
    for (guint round = 0; round < 100; round++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, TRUE);
        for (guint i = 0; i < workload->n_stages; i++) {
            workload->stages[i].resync_s = 1e-3 * g_rand_int_range(rand, 0, 400);
        }
        ck_assert(ps_workload_finish(workload, NULL));
        const PsReplayChoices choices = {.schedule = "pipedream"};
        g_auto(PsRecording) run = ps_record(workload, &choices);
        ck_assert(run.result->steady);
        g_autoptr(GPtrArray) ends = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
        for (guint i = 0; i < workload->n_lanes; i++) {
            g_ptr_array_add(ends, g_array_new(FALSE, FALSE, sizeof(gint64)));
        }
        for (guint i = 0; i < run.ops->len; i++) { /* in the order in which they end */
            const PsTraceOp *op = &g_array_index(run.ops, PsTraceOp, i);
            const PsWorkStage *work = &workload->stages[op->stage];
            GArray *reduced = ends->pdata[op->lane];
            if (op->kind == PS_OP_RESYNC) {
                g_array_append_val(reduced, op->end_ps);
            } else if (op->kind == PS_OP_BACKWARD && work->data_parallel > 1 &&
                       work->resync_s > 0) {
                gint64 batch = workload->microbatches / work->data_parallel, versions = 1;
                while ((versions - 1) * batch < work->in_flight - 1) {
                    versions++;
                }
                gint64 needed = op->microbatch / work->data_parallel / batch - versions;
                if (needed >= 0) {
                    ck_assert_int_lt(needed, reduced->len);
                    gint64 end_ps = g_array_index(reduced, gint64, needed);
                    ck_assert_int_le(end_ps, op->start_ps);
                    n_waited += op->start_ps == end_ps;
                }
            }
        }
    }
    ck_assert_uint_gt(n_waited, 100);
}
END_TEST

/* The batches that y microbatches in a row can be of, counted one place after another. */
START_TEST(versions_are_of_the_batches_in_flight)
{
    const PsSchedule *schedule = ps_schedule_find("pipedream", NULL);
    for (guint batch = 1; batch < 8; batch++) {
        for (guint in_flight = 1; in_flight < 30; in_flight++) {
            guint most = 0;
            for (guint first = 0; first < batch; first++) {
                most = MAX(most, (first + in_flight - 1) / batch + 1);
            }
            ck_assert_uint_eq(ps_schedule_versions(schedule, batch, in_flight), most);
        }
    }
    ck_assert_uint_eq(ps_schedule_versions(ps_schedule_find("1f1b-2bw", NULL), 4, 30), 2);
}
END_TEST

/* ---- running out of memory ------------------------------------------------------------------ */

static char *overflow_of(const char *schedule, double memory_bytes)
{
    g_autoptr(PsWorkload) workload = ps_chain_new(2, 8, 0.003, 0.005);
    for (guint i = 0; i < 2; i++) {
        workload->stages[i].data_parallel = 2;
        workload->stages[i].weights_bytes = 1024;
        workload->stages[i].weight_versions_bytes = 1024;
        workload->stages[i].stash_bytes = 1024;
        workload->stages[i].workspace_bytes = 512;
        workload->stages[i].weight_gradient_s = 0.002;
    }
    ck_assert(ps_workload_finish(workload, NULL));
    workload->memory_bytes = memory_bytes;
    const PsReplayChoices choices = {.schedule = (char *)schedule, .start = "cold"};
    g_auto(PsRecording) run = ps_record(workload, &choices);
    /* The verdict and the peak agree. */
    double peak_bytes =
        fmax(run.result->stages[0].peak_memory_bytes, run.result->stages[1].peak_memory_bytes);
    ck_assert_int_eq(run.result->out_of_memory != NULL, peak_bytes > memory_bytes);
    return g_strdup(run.result->out_of_memory);
}

/* Two stages, y = 2 and 1. 1F1B on stage 0: F0 at 0, F2 at 3 ms (replica 0 has the even ones),
 * then, when stage 1 has done F0 and B0, from 3 to 11 ms, the first backward with its workspace. */
START_TEST(overflow_says_what_was_alive)
{
    static const struct {
        const char *schedule;
        double memory_bytes;
        const char *message;
    } cases[] = {
        {"1f1b", 1024 + 2 * 1024 + 512, NULL},
        {"1f1b", 1024 + 2 * 1024 + 511,
         "out of memory: lane 0 (stage 0, replica 0) at 11 ms in backward of microbatch 0: 3.5 KiB "
         "on each device (expected at most 3.499 KiB): weights 1 KiB, stash 2 KiB, workspace 512 "
         "B; microbatches alive: 0, 2; here, 1 in flight would fit"},
        {"1f1b", 1500,
         "out of memory: lane 0 (stage 0, replica 0) at 0 s in forward of microbatch 0: 2 KiB on "
         "each device (expected at most 1.465 KiB): weights 1 KiB, stash 1 KiB; microbatches "
         "alive: 0; here, not even one in flight would fit; "
         "2 KiB on each device would"},
        {"gpipe", 4000,
         "out of memory: lane 0 (stage 0, replica 0) at 6 ms in forward of microbatch 4: 4 KiB on "
         "each device (expected at most 3.906 KiB): weights 1 KiB, stash 3 KiB; microbatches "
         "alive: 0, 2, 4; here, 2 in flight would fit"},
        {"pipedream", 4000,
         "out of memory: lane 0 (stage 0, replica 0) at 3 ms in forward of microbatch 2: 4 KiB on "
         "each device (expected at most 3.906 KiB): weights 1 KiB, weight versions 1 KiB, stash 2 "
         "KiB; microbatches alive: 0, 2; here, 1 in flight would fit"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *message = overflow_of(cases[i].schedule, cases[i].memory_bytes);
        if (cases[i].message == NULL) {
            ck_assert_ptr_null(message);
        } else {
            ck_assert_str_eq(message, cases[i].message);
        }
    }
}
END_TEST

/* ---- published measurements ------------------------------------------------------------------ */

enum { SCHEDULE, LAYERS, STAGES, MICROBATCHES, FORWARD, BACKWARD, WEIGHT, HOP, RATE };
static const char *const table_columns[] = {
    "schedule", "layers",      "pp",    "num_microbatches", "tF_ms",  "tB_ms",   "tW_ms",
    "tComm_ms", "bubble_rate", "model", "micro_batch",      "hidden", "seq_len", NULL};

/* Qi et al. measure each stage's own time, from its first op to its last, and take the longest.
 * Stage 0 is the longest of 1F1B and ZB-H1, and there that is the makespan. */
static void compare_row(const PsCsvRow *row, const char *schedule)
{
    const char *const *fields = row->fields;
    /* The 1.5B and 14.6B models interleave (layers + 2) / p chunks. */
    guint p = (guint)g_ascii_strtoull(fields[STAGES], NULL, 10);
    guint v = ((guint)g_ascii_strtoull(fields[LAYERS], NULL, 10) + 2) / p;
    g_autofree char *chunks =
        g_str_equal(schedule, "interleaved") ? g_strdup_printf(" chunks=%u", v) : g_strdup("");
    g_autofree char *text =
        g_strdup_printf("stages=%s microbatches=%s forward=%sms backward=%sms weight=%sms "
                        "hop=%sms%s",
                        fields[STAGES], fields[MICROBATCHES], fields[FORWARD], fields[BACKWARD],
                        fields[WEIGHT], fields[HOP], chunks);
    g_autoptr(GError) error = NULL;
    const PsReplayChoices choices = {.schedule = (char *)schedule};
    PsReplaySettings settings;
    ck_assert(ps_replay_settings_choose(&settings, &choices, &error));
    g_autoptr(PsSynthetic) synthetic = ps_synthetic_parse(text, &settings, &error);
    ps_assert_no_error(error);
    g_autofree char *v_text = g_strdup_printf("%u", settings.chunks);
    const PsReplayChoices cold = {.schedule = (char *)schedule, .start = "cold", .chunks = v_text};
    g_auto(PsRecording) run = ps_record(synthetic->workload, &cold);
    double cost_s = ps_ps_to_seconds(longest_lane_ps(&run, p));
    if (g_str_equal(schedule, "interleaved")) {
        /* One hop per stage less than a replay takes: the published cost leaves it out. */
        cost_s = ps_ps_to_seconds(run.result->makespan_ps) -
                 p * g_ascii_strtod(fields[HOP], NULL) * 1e-3;
    } else if (!g_str_equal(schedule, "zb-h2")) {
        ck_assert_double_eq(cost_s, ps_ps_to_seconds(run.result->makespan_ps));
    }
    double work_s = synthetic->workload->microbatches * synthetic->work_s;
    g_autofree char *rate = g_strdup_printf("%.4f", (cost_s - work_s) / cost_s);
    ck_assert_str_eq(rate + 1, fields[RATE]); /* printed as ".2431" */
}

/* The rows ZB-1p are those of ZB-H1, digit for digit. ZB-2p is what a search finds for the row's
 * very times within the memory of ZB-H2, not an order that holds for all. */
static gboolean read_row(const PsCsvRow *row, gpointer n_rows, GError **error G_GNUC_UNUSED)
{
    static const struct {
        const char *published, *ours;
    } schedules[] = {{"1F1B", "1f1b"},
                     {"1F1B-I", "interleaved"},
                     {"ZB-H1", "zb-h1"},
                     {"ZB-H2", "zb-h2"},
                     {"ZB-1p", "zb-h1"}};
    for (guint i = 0; i < G_N_ELEMENTS(schedules); i++) {
        if (g_str_equal(row->fields[SCHEDULE], schedules[i].published)) {
            compare_row(row, schedules[i].ours);
            ++*(guint *)n_rows;
        }
    }
    return TRUE;
}

START_TEST(zero_bubble_table_5)
{
    const char *path = ps_test_data("measured/zero-bubble-table5.csv");
    guint n_rows = 0;
    g_autoptr(GError) error = NULL;
    if (path == NULL) {
        return;
    }
    gboolean fine = ps_csv_read(path, table_columns, read_row, &n_rows, &error);
    ps_assert_no_error(error);
    ck_assert(fine);
    ck_assert_uint_eq(n_rows, 30);
}
END_TEST

/* ---- lines ----------------------------------------------------------------------------------- */

START_TEST(wrong_lines)
{
    static const struct {
        const char *schedule, *text, *message;
    } wrong[] = {
        {"1f1b", "", "--synthetic: stages is missing (expected a field such as stages=8)"},
        {"1f1b", "stages=8 microbatches=4 forward=1ms",
         "--synthetic: backward is missing (expected a field such as backward=18ms)"},
        {"1f1b", "stages", "--synthetic: \"stages\" has no value (expected NAME=VALUE)"},
        {"1f1b", "stage=8", "--synthetic: unknown field \"stage\" (did you mean stages?)"},
        {"1f1b", "stages=2 stages=2", "--synthetic: stages is given twice (expected once)"},
        {"1f1b", "stages=0",
         "--synthetic: stages: \"0\": out of range (expected a whole number from 1 to 100000)"},
        {"1f1b", "forward=1",
         "--synthetic: forward: \"1\": the unit is missing (expected a time with a unit, like 3 "
         "us)"},
        {"1f1b", "stages=2 microbatches=4 forward=1ms backward=1ms chunks=1",
         "--synthetic: schedule 1f1b does not use chunks (expected none)"},
        {"zb-v", "stages=2 microbatches=4 forward=1ms backward=1ms chunks=3",
         "--synthetic: schedule zb-v cannot have 3 chunks per stage (expected 2)"},
        {"1f1b", "stages=2 microbatches=4 forward=0s backward=0s",
         "--synthetic: a microbatch takes 0 s on all stages together (expected at least 1e-09 s)"},
        {"1f1b", "stages=2 microbatches=4 forward=25h backward=0s",
         "--synthetic: stage 0: an op takes 90000 s (expected from 0 to 86400 s; a slip of "
         "units?)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        GError *error = NULL;
        const PsReplayChoices choices = {.schedule = (char *)wrong[i].schedule};
        PsReplaySettings settings;
        ck_assert(ps_replay_settings_choose(&settings, &choices, &error));
        ck_assert_ptr_null(ps_synthetic_parse(wrong[i].text, &settings, &error));
        ps_assert_error(error, PS_ERROR_USAGE, wrong[i].message);
    }
}
END_TEST

/* Pipelines that chunks do not fit. */
START_TEST(chunks_need_a_uniform_chain)
{
    GError *error = NULL;
    const PsReplayChoices choices = {.schedule = "interleaved"};
    PsReplaySettings settings;
    ck_assert(ps_replay_settings_choose(&settings, &choices, &error));
    g_autoptr(PsWorkload) skipping = ps_workload_new(3, 3, 8);
    for (guint i = 0; i < 3; i++) {
        skipping->stages[i] =
            (PsWorkStage){.data_parallel = 1, .tensor_parallel = 1, .in_flight = 1, .forward_s = 1};
        skipping->borders[i] = (PsWorkBorder){.source = i / 2, .target = i == 0 ? 1 : 2};
    }
    ck_assert(ps_workload_finish(skipping, NULL));
    ck_assert_ptr_null(ps_replay_run(skipping, &settings, NULL, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "schedule interleaved needs a chain of stages (an edge of the model skips from "
                    "stage 0 to stage 2)");
    skipping->stages[1].data_parallel = 2;
    ck_assert(ps_workload_finish(skipping, NULL));
    ck_assert_ptr_null(ps_replay_run(skipping, &settings, NULL, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "schedule interleaved needs one data-parallel degree for all stages (stage 1 "
                    "has 2, stage 0 has 1)");
}
END_TEST

PS_TEST_MAIN("schedules", every_schedule_conforms, every_mode_conforms, gpipe, interleaved, zb_h1,
             zb_h2, zb_v, dualpipe_v, pipedream, pipedream_waits_for_collectives,
             pipedream_stays_within_its_versions, versions_are_of_the_batches_in_flight,
             overflow_says_what_was_alive, zero_bubble_table_5, wrong_lines,
             chunks_need_a_uniform_chain)
