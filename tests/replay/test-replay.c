#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/replay/replay-plan.h"
#include "tests/harness/harness.h"
#include "tests/oracle/causes.h"
#include "tests/oracle/pipelines.h"
#include "tests/oracle/recording.h"

static const PsReplayChoices piper = {.assume = "piper"};
static const PsReplayChoices cold = {.start = "cold"};
static const PsReplayChoices cold_serial = {.start = "cold", .communication = "serial"};

/* ---- closed forms --------------------------------------------------------------------------- */

#define MS_PS G_GINT64_CONSTANT(1000000000)

/* Synchronous 1F1B, p equal stages, m microbatches. The last stage gets its first input after p-1
 * forwards, is busy for m (tF + tB) without a gap, and its last gradient takes p-1 backwards to the
 * first stage: (m + p - 1)(tF + tB), for m < p as well. Every stage works m (tF + tB) of it. Stage
 * i has all its min(m, p - i) warm-up microbatches in hand when the first gradient comes. */
START_TEST(equal_stages)
{
    for (guint p = 1; p <= 8; p++) {
        for (guint m = 1; m <= 20; m++) {
            g_autoptr(PsWorkload) workload = ps_chain_new(p, m, 0.003, 0.005);
            g_auto(PsRecording) run = ps_record(workload, &cold);
            ck_assert_int_eq(run.result->makespan_ps, (m + p - 1) * 8 * MS_PS);
            ck_assert_int_eq(run.result->window_microbatches, m);
            for (guint i = 0; i < p; i++) {
                const PsReplayStage *stage = &run.result->stages[i];
                ck_assert_double_eq(stage->peak_stash_microbatches, MIN(m, p - i));
                ck_assert_double_eq_tol(stage->bubble_share, (p - 1.0) / (m + p - 1.0), 1e-15);
            }
        }
    }
}
END_TEST

/* One flush after the other: stage 0 is the last to finish a batch and the first to begin the next,
 * so each takes what the first took. */
START_TEST(flush_repeats)
{
    for (guint p = 1; p <= 5; p++) {
        g_autoptr(PsWorkload) workload = ps_chain_new(p, 7, 0.003, 0.005);
        const PsReplayChoices choices = {.flush = "batch"};
        g_auto(PsRecording) run = ps_record(workload, &choices);
        ck_assert(run.result->steady);
        ck_assert_int_eq(run.result->window_microbatches, 7);
        ck_assert_int_eq(run.result->window_end_ps - run.result->window_start_ps,
                         (7 + p - 1) * 8 * MS_PS);
        ck_assert_int_eq(run.result->steady_after_microbatches, 14);
    }
}
END_TEST

/* Slow last stage (fL + bL >= f + b): it never waits after its first input, since each stage before
 * it can do a backward and a forward while it does one of each: (p-1)(f + b) + m (fL + bL). */
START_TEST(slow_last_stage)
{
    for (guint p = 2; p <= 6; p++) {
        for (guint m = 1; m <= 12; m++) {
            g_autoptr(PsWorkload) workload = ps_chain_new(p, m, 0.003, 0.005);
            workload->stages[p - 1].forward_s = 0.004;
            workload->stages[p - 1].backward_s = 0.011;
            g_auto(PsRecording) run = ps_record(workload, &cold);
            ck_assert_int_eq(run.result->makespan_ps, ((p - 1) * 8 + m * 15) * MS_PS);
        }
    }
}
END_TEST

/* Slow first stage, m >= p: while it does its other p-1 warm-up forwards the first microbatch goes
 * through all other stages and back if (p-1) f0 >= (p-1)(f + b), and while it does the p-1
 * backwards before the last one the last microbatch does, if b0 >= f + b. Then it never waits: m
 * (f0 + b0). */
START_TEST(slow_first_stage)
{
    for (guint p = 2; p <= 6; p++) {
        for (guint m = p; m <= 12; m++) {
            g_autoptr(PsWorkload) workload = ps_chain_new(p, m, 0.003, 0.005);
            workload->stages[0].forward_s = 0.009;
            workload->stages[0].backward_s = 0.010;
            g_auto(PsRecording) run = ps_record(workload, &cold);
            ck_assert_int_eq(run.result->makespan_ps, m * 19 * MS_PS);
            ck_assert_double_eq(run.result->stages[0].bubble_share, 0);
        }
    }
}
END_TEST

/* d alike pipelines side by side, each with m microbatches; stage 0 has the last backward, and its
 * resync r comes after it. Nothing can hide r in a flushed batch, so the period is the same. */
START_TEST(resync_after_batch)
{
    for (guint d = 2; d <= 4; d++) {
        g_autoptr(PsWorkload) workload = ps_chain_new(3, 6 * d, 0.003, 0.005);
        for (guint i = 0; i < 3; i++) {
            workload->stages[i].data_parallel = d;
            workload->stages[i].resync_s = 0.002;
        }
        ck_assert(ps_workload_finish(workload, NULL));
        static const char *const modes[] = {"serial", "overlap"};
        for (guint k = 0; k < 2; k++) {
            const PsReplayChoices once = {.start = "cold", .communication = (char *)modes[k]};
            const PsReplayChoices ever = {.start = "steady", .communication = (char *)modes[k]};
            g_auto(PsRecording) first = ps_record(workload, &once);
            g_auto(PsRecording) steady = ps_record(workload, &ever);
            ck_assert_int_eq(first.result->makespan_ps, ((6 + 3 - 1) * 8 + 2) * MS_PS);
            ck_assert_int_eq(steady.result->window_end_ps - steady.result->window_start_ps,
                             first.result->makespan_ps);
            ck_assert_double_eq_tol(steady.result->stages[0].resync_s_per_microbatch,
                                    0.002 / (6 * d), 1e-18);
        }
    }
}
END_TEST

/* Two stages, serial, each hop h at both ends: both stages have steps f + h and b + h, so they are
 * two equal stages. Recompute r lengthens every backward. */
START_TEST(serial_hops_and_recompute)
{
    for (guint m = 1; m <= 9; m++) {
        g_autoptr(PsWorkload) workload = ps_chain_new(2, m, 0.003, 0.005);
        workload->borders[0].source_s = workload->borders[0].target_s = 0.001;
        workload->stages[0].recompute_s = workload->stages[1].recompute_s = 0.003;
        g_auto(PsRecording) run = ps_record(workload, &cold_serial);
        ck_assert_int_eq(run.result->makespan_ps, (m + 1) * (3 + 5 + 3 + 2) * MS_PS);
    }
}
END_TEST

/* One microbatch, overlap: it goes through p stages and p-1 hops and back. */
START_TEST(overlap_one_microbatch)
{
    for (guint p = 1; p <= 6; p++) {
        g_autoptr(PsWorkload) workload = ps_chain_new(p, 1, 0.003, 0.005);
        for (guint i = 0; i + 1 < p; i++) {
            workload->borders[i].source_s = 0.001;
            workload->borders[i].target_s = 0.002; /* the slower end counts */
        }
        g_auto(PsRecording) run = ps_record(workload, &cold);
        ck_assert_int_eq(run.result->makespan_ps, (p * 8 + (p - 1) * 4) * MS_PS);
    }
}
END_TEST

/* One stage and resync: without a flush, overlapped, the collective hides behind the next batch. */
START_TEST(two_versions_hide_resync)
{
    g_autoptr(PsWorkload) workload = ps_chain_new(1, 8, 0.003, 0.005);
    workload->stages[0].data_parallel = 2;
    workload->stages[0].resync_s = 0.030; /* a batch takes 4 * 8 ms */
    ck_assert(ps_workload_finish(workload, NULL));
    const PsReplayChoices choices = {.flush = "none"};
    g_auto(PsRecording) run = ps_record(workload, &choices);
    ck_assert(run.result->steady);
    ck_assert_double_eq_tol(run.result->tps_s, 0.004, 1e-15);
    /* Longer than a batch, it becomes the bottleneck: one collective after the other. */
    workload->stages[0].resync_s = 0.050;
    g_auto(PsRecording) slow = ps_record(workload, &choices);
    ck_assert_double_eq_tol(slow.result->tps_s, 0.050 / 8, 1e-15);
}
END_TEST

/* ---- second roads --------------------------------------------------------------------------- */

static void compare_with_oracle(const PsWorkload *workload, const PsRecording *run,
                                gboolean amortised, guint versions)
{
    g_autofree PsOracleStage *stages = ps_oracle_stages(workload, amortised);
    guint n = (guint)run->result->microbatches_simulated;
    g_autoptr(PsOracleTimes) times = ps_oracle_relax(workload, stages, versions, n);
    ck_assert_int_eq(run->result->makespan_ps, times->makespan_ps);
    gsize n_seen = 0;
    for (guint i = 0; i < run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(run->ops, PsTraceOp, i);
        if (op->kind != PS_OP_FORWARD && op->kind != PS_OP_BACKWARD) {
            continue;
        }
        /* The op stands behind the receives (and the recompute) of its step. */
        gint64 before_ps =
            op->kind == PS_OP_BACKWARD ? llrint(workload->stages[op->stage].recompute_s * 1e12) : 0;
        for (guint k = 0; k < workload->n_borders; k++) {
            const PsWorkBorder *border = &workload->borders[k];
            if (op->kind == PS_OP_FORWARD && border->target == op->stage) {
                before_ps += llrint(border->target_s * 1e12);
            } else if (op->kind == PS_OP_BACKWARD && border->source == op->stage) {
                before_ps += llrint(border->source_s * 1e12);
            }
        }
        const gint64 *starts_ps =
            op->kind == PS_OP_FORWARD ? times->forward_start_ps : times->backward_start_ps;
        ck_assert_int_eq(op->start_ps, starts_ps[op->stage * n + op->microbatch] + before_ps);
        n_seen++;
    }
    ck_assert_uint_eq(n_seen, 2 * (gsize)n * workload->n_stages);
}

/* Whole traces against a longest-path relaxation, to the picosecond. */
START_TEST(agrees_with_relaxation)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("agrees_with_relaxation"));
    for (guint trial = 0; trial < 300; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, FALSE);
        gboolean amortised = trial % 2, flush = trial / 2 % 2;
        const PsReplayChoices choices = {
            .communication = "serial",
            .resync = amortised ? "amortised" : "batch",
            .flush = flush ? "batch" : "none",
            .start = trial % 3 ? "steady" : "cold",
        };
        g_auto(PsRecording) run = ps_record(workload, &choices);
        compare_with_oracle(workload, &run, amortised, flush ? 1 : 2);
        ps_check_streams(workload, run.ops);
    }
}
END_TEST

/* Overlapped traces: each op starts exactly when its last cause is over. */
START_TEST(starts_with_its_last_cause)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("starts_with_its_last_cause"));
    for (guint trial = 0; trial < 60; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, FALSE);
        gboolean amortised = trial % 2, flush = trial / 2 % 2;
        const PsReplayChoices choices = {
            .resync = amortised ? "amortised" : "batch",
            .flush = flush ? "batch" : "none",
            .start = "cold",
        };
        g_auto(PsRecording) run = ps_record(workload, &choices);
        ps_check_streams(workload, run.ops);
        ps_check_causes(workload, run.ops, flush ? 1 : 2, amortised);
        if (trial % 4 == 0) {
            const PsReplayChoices steady = {.resync = choices.resync, .flush = choices.flush};
            g_auto(PsRecording) longer = ps_record(workload, &steady);
            if (longer.ops->len < 30000) {
                ps_check_causes(workload, longer.ops, flush ? 1 : 2, amortised);
            }
        }
    }
}
END_TEST

/* The planner's closed form (design section 3): the largest (p + transfers + share of resync) / d.
 */
static double bound_s(const PsWorkload *workload)
{
    g_autofree PsOracleStage *stages = ps_oracle_stages(workload, TRUE);
    double bound_ps = 0;
    for (guint i = 0; i < workload->n_stages; i++) {
        bound_ps = fmax(bound_ps, (double)(stages[i].forward_ps + stages[i].backward_ps) /
                                      workload->stages[i].data_parallel);
    }
    return bound_ps * 1e-12;
}

START_TEST(nested_degrees_reach_the_estimate)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("nested_degrees"));
    for (guint trial = 0; trial < 400; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, TRUE);
        g_auto(PsRecording) run = ps_record(workload, &piper);
        ck_assert(run.result->steady);
        ck_assert_double_eq_tol(run.result->tps_s / bound_s(workload), 1, 1e-9);
    }
}
END_TEST

/* Any degrees: never faster than the bound, and exactly as fast as the slowest cycle of the event
 * graph allows. */
START_TEST(any_degrees_run_at_the_slowest_cycle)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("slowest_cycle"));
    guint n_slower = 0;
    for (guint trial = 0; trial < 60; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, FALSE);
        g_auto(PsRecording) run = ps_record(workload, &piper);
        g_autofree PsOracleStage *stages = ps_oracle_stages(workload, TRUE);
        ck_assert(run.result->steady);
        ck_assert_double_ge(run.result->tps_s, bound_s(workload) * (1 - 1e-9));
        n_slower += run.result->tps_s > bound_s(workload) * (1 + 1e-9);
        double cycle_s = ps_oracle_cycle_ps(workload, stages) * 1e-12;
        ck_assert_double_eq_tol(run.result->tps_s / cycle_s, 1, 1e-9);
    }
    ck_assert_uint_gt(n_slower, 5); /* else the trials would not show the difference */
}
END_TEST

/* ---- steady state --------------------------------------------------------------------------- */

/* What was called a period does repeat: a run that is simulated on, by a much larger batch from a
 * cold start, has the same rhythm. */
START_TEST(period_goes_on)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("period_goes_on"));
    for (guint trial = 0; trial < 100; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, FALSE);
        const PsReplayChoices steady = {.flush = "none",
                                        .resync = "amortised",
                                        .communication = trial % 2 ? "serial" : "overlap"};
        PsReplayChoices once = steady;
        once.start = "cold";
        for (guint i = 0; i < workload->n_stages; i++) {
            workload->stages[i].resync_s = 0; /* else its share would change with N */
        }
        g_auto(PsRecording) found = ps_record(workload, &steady);
        if (!found.result->steady) {
            continue;
        }
        gint64 period = found.result->window_microbatches;
        gint64 length_ps = found.result->window_end_ps - found.result->window_start_ps;
        gint64 from = found.result->steady_after_microbatches;
        gint64 needed = from + 3 * period;
        gint64 batches = (needed + workload->microbatches - 1) / workload->microbatches + 1;
        if (batches * workload->microbatches > 100000) {
            continue;
        }
        workload->microbatches *= (guint)batches;
        g_auto(PsRecording) longer = ps_record(workload, &once);
        g_autofree gint64 *starts_ps = g_new0(gint64, workload->microbatches);
        for (guint i = 0; i < longer.ops->len; i++) {
            const PsTraceOp *op = &g_array_index(longer.ops, PsTraceOp, i);
            if (op->kind == PS_OP_BACKWARD && op->stage == 0) {
                starts_ps[op->microbatch] = op->start_ps;
            }
        }
        for (gint64 n = from; n + period < needed; n++) {
            ck_assert_int_eq(starts_ps[n + period] - starts_ps[n], length_ps);
        }
    }
}
END_TEST

/* ---- memory --------------------------------------------------------------------------------- */

START_TEST(memory_is_balanced_and_bounded)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("memory"));
    for (guint trial = 0; trial < 100; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, FALSE);
        const PsReplayChoices choices = {.assume = trial % 2 ? "piper" : "real"};
        g_auto(PsRecording) run = ps_record(workload, &choices);
        g_autofree double *peaks = ps_recording_peaks(&run, workload);
        for (guint i = 0; i < run.memory->len; i++) {
            const PsTraceMemory *change = &g_array_index(run.memory, PsTraceMemory, i);
            const PsWorkStage *work = &workload->stages[change->stage];
            ck_assert(change->category != PS_MEMORY_STASH ||
                      change->bytes <= work->in_flight * work->stash_bytes);
        }
        for (guint i = 0; i < workload->n_stages; i++) {
            const PsReplayStage *stage = &run.result->stages[i];
            double sum = 0;
            for (guint k = 0; k < PS_N_MEMORY; k++) {
                sum += stage->peak_category_bytes[k];
            }
            ck_assert_double_eq_tol(stage->peak_memory_bytes, peaks[i], 1e-9 * peaks[i]);
            ck_assert_double_eq_tol(sum, peaks[i], 1e-9 * peaks[i]);
        }
    }
}
END_TEST

/* ---- honesty -------------------------------------------------------------------------------- */

static PsRecording run_for_honesty(const PsWorkload *workload, guint trial)
{
    const PsReplayChoices choices = {
        .resync = trial & 1 ? "amortised" : "batch",
        .communication = trial & 2 ? "serial" : "overlap",
        .flush = trial & 4 ? "none" : "batch",
    };
    return ps_record(workload, &choices);
}

/* Busy time per microbatch within the window, from the rows alone. */
START_TEST(busy_time_is_that_of_the_trace)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("busy_time"));
    for (guint trial = 0; trial < 80; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, FALSE);
        g_auto(PsRecording) run = run_for_honesty(workload, trial);
        const PsReplayResult *result = run.result;
        g_autofree gint64 *busy_ps = g_new0(gint64, workload->n_lanes);
        for (guint i = 0; i < run.ops->len; i++) {
            const PsTraceOp *op = &g_array_index(run.ops, PsTraceOp, i);
            gint64 start_ps = MAX(op->start_ps, result->window_start_ps);
            gint64 end_ps = MIN(op->end_ps, result->window_end_ps);
            if (op->stream == PS_STREAM_COMPUTE && end_ps > start_ps) {
                busy_ps[op->lane] += end_ps - start_ps;
            }
        }
        for (guint i = 0; i < workload->n_stages; i++) {
            gint64 most_ps = 0;
            for (guint k = 0; k < workload->stages[i].data_parallel; k++) {
                most_ps = MAX(most_ps, busy_ps[workload->stages[i].first_lane + k]);
            }
            ck_assert_double_eq_tol(result->stages[i].busy_s_per_microbatch * 1e12 *
                                        (double)result->window_microbatches / (double)most_ps,
                                    1, 1e-12);
        }
    }
}
END_TEST

/* Every transfer has two ends, and each microbatch moves what the borders say, both ways. */
START_TEST(transfers_are_complete)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("transfers"));
    for (guint trial = 0; trial < 80; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, FALSE);
        g_auto(PsRecording) run = run_for_honesty(workload, trial);
        double sent = 0, received = 0, expected_sent = 0, expected_received = 0;
        for (guint i = 0; i < run.ops->len; i++) {
            const PsTraceOp *op = &g_array_index(run.ops, PsTraceOp, i);
            sent += op->kind == PS_OP_SEND ? op->bytes : 0;
            received += op->kind == PS_OP_RECEIVE ? op->bytes : 0;
        }
        for (guint i = 0; i < workload->n_borders; i++) {
            double both = workload->borders[i].source_bytes + workload->borders[i].target_bytes;
            expected_sent += both * (double)run.result->microbatches_simulated;
            expected_received += both * (double)run.result->microbatches_simulated;
        }
        ck_assert_double_eq(sent, expected_sent);
        ck_assert_double_eq(received, expected_received);
    }
}
END_TEST

START_TEST(same_rows_every_time)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("same_rows"));
    for (guint trial = 0; trial < 8; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, FALSE);
        g_auto(PsRecording) first = run_for_honesty(workload, trial);
        g_auto(PsRecording) second = run_for_honesty(workload, trial);
        ck_assert_uint_eq(first.ops->len, second.ops->len);
        for (guint i = 0; i < first.ops->len; i++) {
            const PsTraceOp *a = &g_array_index(first.ops, PsTraceOp, i);
            const PsTraceOp *b = &g_array_index(second.ops, PsTraceOp, i);
            ck_assert(a->lane == b->lane && a->stream == b->stream && a->kind == b->kind &&
                      a->microbatch == b->microbatch && a->start_ps == b->start_ps &&
                      a->end_ps == b->end_ps && a->bytes == b->bytes && a->peer == b->peer);
        }
    }
}
END_TEST

/* A batch too small for its in-flight bound: weights hold lanes back, and nothing gets stuck. */
START_TEST(small_batches_do_not_lock)
{
    for (guint y = 1; y <= 9; y++) {
        for (guint m = 1; m <= 4; m++) {
            g_autoptr(PsWorkload) workload = ps_chain_new(3, 2 * m, 0.003, 0.005);
            for (guint i = 0; i < 3; i++) {
                workload->stages[i].data_parallel = 2;
                workload->stages[i].in_flight = y;
                workload->stages[i].resync_s = 0.001;
            }
            ck_assert(ps_workload_finish(workload, NULL));
            for (guint trial = 0; trial < 8; trial++) {
                g_auto(PsRecording) run = run_for_honesty(workload, trial);
                ck_assert(run.result->steady);
            }
        }
    }
}
END_TEST

/* ---- deadlock ------------------------------------------------------------------------------- */

/* Two forwards before any backward, whatever the bound: stage 0 wants a gradient of microbatch 0
 * after one forward, stage 1 two activations first. */
static gboolean next_greedy(const PsLanePosition *position, PsStepKind *kind)
{
    gint64 held = position->n_forward - position->n_backward;
    *kind = held < position->in_flight ? PS_STEP_FORWARD : PS_STEP_BACKWARD;
    return TRUE;
}

static gboolean next_backward(const PsLanePosition *position G_GNUC_UNUSED, PsStepKind *kind)
{
    *kind = PS_STEP_BACKWARD;
    return TRUE;
}

static void expect_deadlock(const PsWorkload *workload,
                            gboolean (*next)(const PsLanePosition *, PsStepKind *),
                            const char *message)
{
    const PsSchedule schedule = {
        .name = "test", .weight_versions = 2, .min_chunks = 1, .max_chunks = 1, .next = next};
    PsReplaySettings settings;
    GError *error = NULL;
    ps_replay_settings_init(&settings);
    settings.schedule = &schedule;
    ck_assert_ptr_null(ps_replay_run(workload, &settings, NULL, &error));
    ps_assert_error(error, PS_ERROR_STUCK, message);
}

START_TEST(deadlock_names_the_cycle)
{
    g_autoptr(PsWorkload) two = ps_chain_new(2, 4, 0.003, 0.005);
    two->stages[0].in_flight = 1;
    two->stages[1].in_flight = 2;
    expect_deadlock(two, next_greedy,
                    "deadlock: lane 0 (stage 0, replica 0) waits in backward of microbatch 0 -> "
                    "lane 1 (stage 1, replica 0) waits in forward of microbatch 1 -> lane 0");
    g_autoptr(PsWorkload) one = ps_chain_new(1, 4, 0.003, 0.005);
    expect_deadlock(one, next_backward,
                    "deadlock: lane 0 (stage 0, replica 0) waits in backward of microbatch 0 -> "
                    "lane 0");
}
END_TEST

/* ---- wrong workloads ------------------------------------------------------------------------ */

START_TEST(wrong_workloads)
{
    static const struct {
        guint degree, microbatches, in_flight, target;
        double forward_s, hop_s;
        const char *message;
    } wrong[] = {
        {0, 8, 1, 1, 1, 0, "stage 0: a degree or in-flight bound of 0 (expected at least 1)"},
        {1, 8, 0, 1, 1, 0, "stage 0: a degree or in-flight bound of 0 (expected at least 1)"},
        {3, 8, 1, 1, 1, 0,
         "stage 0: 8 microbatches per batch cannot be shared by 3 replicas (expected a multiple)"},
        {1, 0, 1, 1, 1, 0,
         "stage 0: 0 microbatches per batch cannot be shared by 1 replicas (expected a multiple)"},
        {1, 8, 1, 1, 86401, 0,
         "stage 0: an op takes 86401 s (expected from 0 to 86400 s; a slip of units?)"},
        {1, 8, 1, 1, -1, 0,
         "stage 0: an op takes -1 s (expected from 0 to 86400 s; a slip of units?)"},
        {1, 8, 1, 1, NAN, 0,
         "stage 0: an op takes nan s (expected from 0 to 86400 s; a slip of units?)"},
        {1, 8, 1, 1, 1, INFINITY,
         "stage 0: a transfer takes inf s (expected from 0 to 86400 s; a slip of units?)"},
        {1, 8, 1, 1, 0, 1,
         "a microbatch takes 0 s on all stages together (expected at least 1e-09 s)"},
        {1, 8, 1, 2, 1, 0, "stage 1: no border from a stage before it"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        GError *error = NULL;
        g_autoptr(PsWorkload) workload = ps_chain_new(3, 8, 1, 0);
        for (guint k = 0; k < 3; k++) {
            workload->stages[k].forward_s = wrong[i].forward_s;
        }
        workload->stages[0].data_parallel = wrong[i].degree;
        workload->stages[0].in_flight = wrong[i].in_flight;
        workload->microbatches = wrong[i].microbatches;
        workload->borders[0].target = wrong[i].target;
        workload->borders[0].source_s = wrong[i].hop_s;
        ck_assert(!ps_workload_finish(workload, &error));
        ps_assert_error(error, PS_ERROR_INPUT, wrong[i].message);
    }
}
END_TEST

START_TEST(runs_longer_than_the_clock)
{
    g_autoptr(PsWorkload) workload = ps_chain_new(2, 64, 86400, 86400);
    PsReplaySettings settings;
    GError *error = NULL;
    ps_replay_settings_init(&settings);
    ck_assert_ptr_null(ps_replay_run(workload, &settings, NULL, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "the run takes more than 53 days (expected less; a slip of units?)");
}
END_TEST

/* ---- plans ---------------------------------------------------------------------------------- */

static PsPlanInput *published_plan(const char *name)
{
    g_autofree char *relative = g_strdup_printf("plans/piper-bert32-a100-%s.json", name);
    const char *plan = ps_test_data(relative);
    const char *profile = ps_test_data("profiles/bert32-a100.json");
    if (plan == NULL || profile == NULL) {
        return NULL;
    }
    g_autoptr(GError) error = NULL;
    PsPlanInput *input = ps_plan_input_load(plan, profile, NULL, &error);
    ps_assert_no_error(error);
    input->plan->setting.bandwidth_bytes_per_s = 25.0 * (1 << 30);
    return input;
}

/* Figures of an independent replay; the others reach the planner's estimate, which the published
 * implementation computed. */
START_TEST(published_plans)
{
    static const struct {
        const char *name;
        double tps_s;
        gboolean reaches;
    } plans[] = {
        {"32-devices-8GiB", 0.0498534110689, FALSE},
        {"64-devices-8GiB", 0.0249490278092, FALSE},
        {"32-devices-2GiB", 0.0665495, TRUE},
        {"64-devices-80GiB", 0.01565017801861, TRUE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(plans); i++) {
        g_autoptr(PsPlanInput) input = published_plan(plans[i].name);
        if (input == NULL) {
            return;
        }
        PsReplaySettings settings;
        g_autoptr(GError) error = NULL;
        ck_assert(ps_replay_settings_choose(&settings, &piper, &error));
        g_autoptr(PsRun) run = ps_replay_plan(input, &settings, NULL, PS_RUN_OPS, &error);
        ps_assert_no_error(error);
        ck_assert_double_eq_tol(run->summary->tps_s / plans[i].tps_s, 1, 1e-9);
        ck_assert_int_eq(run->summary->steady, TRUE);
        ck_assert_int_eq(fabs(run->summary->tps_s / run->summary->estimate_tps_s - 1) < 1e-9,
                         plans[i].reaches);
        /* Busy times and peaks are the planner's, stage by stage. */
        for (guint k = 0; k < run->summary->n_stages; k++) {
            const PsRunStage *stage = &run->summary->stages[k];
            ck_assert_double_eq_tol(stage->busy_s_per_microbatch / stage->estimate.tps_s, 1, 1e-9);
            ck_assert_double_eq_tol(stage->peak_memory_bytes / stage->estimate.memory_bytes, 1,
                                    1e-9);
        }
    }
}
END_TEST

/* Plans of a real profile with nested degrees forced upon it. */
START_TEST(forced_degrees_on_a_real_profile)
{
    const char *path = ps_test_data("profiles/bert32-a100.json");
    if (path == NULL) {
        return;
    }
    static const guint degrees[][4] = {{8, 4, 2, 1}, {2, 2, 2, 2}, {1, 3, 6, 12}, {4, 4, 4, 1}};
    for (guint i = 0; i < G_N_ELEMENTS(degrees); i++) {
        g_autoptr(GError) error = NULL;
        PsProfile *profile = ps_profile_load(path, NULL, &error);
        ps_assert_no_error(error);
        const PsSetting setting = {64, 80e9, 25e9, 1920};
        PsPlan *plan = ps_plan_new(4, &setting);
        for (guint k = 0; k < 4; k++) {
            PsStage *stage = &plan->stages[k];
            guint first = profile->n_layers * k / 4, end = profile->n_layers * (k + 1) / 4;
            stage->data_parallel = degrees[i][k];
            stage->tensor_parallel = 1;
            stage->n_layers = end - first;
            stage->layers = g_new(guint, stage->n_layers);
            stage->tmpcs = g_new(guint, stage->n_layers);
            for (guint n = 0; n < stage->n_layers; n++) {
                stage->layers[n] = first + n;
                stage->tmpcs[n] = (first + n + i) % 2;
            }
        }
        g_autoptr(PsPlanInput) input = ps_plan_input_new(profile, plan);
        PsReplaySettings settings;
        ck_assert(ps_replay_settings_choose(&settings, &piper, &error));
        g_autoptr(PsRun) run = ps_replay_plan(input, &settings, NULL, 0, &error);
        ps_assert_no_error(error);
        ck_assert(run->summary->nested);
        ck_assert_double_eq_tol(run->summary->tps_s / run->summary->estimate_tps_s, 1, 1e-9);
    }
}
END_TEST

PS_TEST_MAIN("replay", equal_stages, flush_repeats, slow_last_stage, slow_first_stage,
             resync_after_batch, serial_hops_and_recompute, overlap_one_microbatch,
             two_versions_hide_resync, agrees_with_relaxation, starts_with_its_last_cause,
             nested_degrees_reach_the_estimate, any_degrees_run_at_the_slowest_cycle,
             period_goes_on, memory_is_balanced_and_bounded, busy_time_is_that_of_the_trace,
             transfers_are_complete, same_rows_every_time, small_batches_do_not_lock,
             deadlock_names_the_cycle, wrong_workloads, runs_longer_than_the_clock, published_plans,
             forced_degrees_on_a_real_profile)
