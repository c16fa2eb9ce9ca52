#include "sim/base/units.h"
#include "sim/replay/program-parts.h"
#include "sim/replay/state.h"

/* ---- measuring ------------------------------------------------------------------------------ */

/* Adds sign times what running ops have lasted so far. */
static void meter_running(PsReplay *replay, gint sign)
{
    gint64 now_ps = ps_simulator_now(replay->simulator);
    for (guint stream = 0; stream < replay->workload->n_lanes * PS_N_STREAMS; stream++) {
        PsActivity number;
        gint64 start_ps;
        if (ps_streams_running(replay->streams, stream, &number, &start_ps)) {
            PsStreamKind kind = stream % PS_N_STREAMS;
            guint lane = stream / PS_N_STREAMS;
            ps_meter_add(replay->meter, lane, kind, ps_activity_kind(replay, number, lane, kind),
                         sign * (now_ps - start_ps));
        }
    }
}

static void begin_window(PsReplay *replay)
{
    meter_running(replay, 1);
    ps_meter_begin_window(replay->meter);
    meter_running(replay, -1);
    replay->result->window_start_ps = ps_simulator_now(replay->simulator);
}

void ps_observe_end_window(PsReplay *replay, gint64 microbatches)
{
    PsReplayResult *result = replay->result;
    result->window_end_ps = ps_simulator_now(replay->simulator);
    result->window_microbatches = microbatches * replay->workload->copies;
    gint64 window_ps = result->window_end_ps - result->window_start_ps;
    result->tps_s = ps_ps_to_seconds(window_ps) / (double)result->window_microbatches;
    meter_running(replay, 1);
    ps_meter_measure(replay->meter, window_ps, result->window_microbatches, result->stages);
    meter_running(replay, -1);
}

gint64 ps_observe_count_done(const PsReplay *replay)
{
    gint64 least = G_MAXINT64;
    for (guint i = 0; i < replay->workload->n_stages; i++) {
        const PsWorkStage *work = &replay->workload->stages[i];
        gint64 n_done = 0;
        for (guint k = 0; k < work->data_parallel; k++) {
            n_done += replay->lanes[work->first_lane + k].n_done;
        }
        least = MIN(least, n_done);
    }
    return least / replay->settings->chunks;
}

/* Microbatches of which all before them are done as well. */
static gint64 count_in_order(const PsReplay *replay)
{
    gint64 least = G_MAXINT64;
    for (guint i = 0; i < replay->workload->n_lanes; i++) {
        const PsLane *lane = &replay->lanes[i];
        least =
            MIN(least, ps_lane_microbatch(replay, lane, lane->n_done / replay->settings->chunks));
    }
    return least;
}

void ps_observe_end_whole_run(PsReplay *replay, gint64 microbatches)
{
    replay->result->window_start_ps = 0;
    ps_meter_forget_window(replay->meter);
    ps_observe_end_window(replay, microbatches);
}

/* ---- steady state --------------------------------------------------------------------------- */

/* Rows of the block vector: steps, then transfers, then resyncs. */
typedef enum { FORWARD_ROW, BACKWARD_ROW, WEIGHT_ROW, ROWS_PER_CHUNK } StepRow;

static guint n_step_rows(const PsReplay *replay)
{
    return replay->workload->n_stages * replay->program->n_chunks * ROWS_PER_CHUNK;
}

guint ps_link_row(const PsReplay *replay, const PsLink *link)
{
    return n_step_rows(replay) + (guint)(link - replay->program->links);
}

/* Each stage has as many as the one with most collectives, and one for amortised resync. */
guint ps_observe_joint_rows(const PsReplay *replay)
{
    guint n = 1;
    for (guint i = 0; i < replay->program->n_stages; i++) {
        n = MAX(n, replay->program->stages[i].n_joints);
    }
    return n;
}

guint ps_joint_row(const PsReplay *replay, guint stage, guint joint)
{
    return n_step_rows(replay) + replay->program->n_links + stage * replay->joint_rows + joint;
}

guint ps_loader_row(const PsReplay *replay)
{
    return ps_joint_row(replay, replay->workload->n_stages, 0);
}

/* Where no period is found the run ends after so many blocks, or op starts, but not before the
 * checkpoint has moved twice. */
#define MAX_BLOCKS 8192
#define MIN_BLOCKS 8
/* With jitter there is none: the window is the second half of so many batches, or longer blocks. */
#define RANDOM_BATCHES 64
#define MAX_STARTS 4000000
#define MAX_STARTS_ON_NETWORK 400000

void ps_observe_record(PsReplay *replay, guint row, gint64 index)
{
    if (replay->steady == NULL || replay->closing) {
        return;
    }
    gint64 now_ps = ps_simulator_now(replay->simulator);
    if (replay->n_recorded++ == replay->most_recorded) {
        /* Replicas that need not wait for each other drift apart where one is slow: no block would
         * ever be complete. */
        ps_observe_end_whole_run(replay, MAX(count_in_order(replay), 1));
        replay->closing = TRUE;
        ps_simulator_schedule(replay->simulator, now_ps, PS_PRIORITY_CLOSE, replay->close_handler,
                              0);
        return;
    }
    PsSteadyVerdict verdict = ps_steady_record(replay->steady, row, index, now_ps);
    if (verdict == PS_STEADY_GO_ON) {
        return;
    }
    if (verdict == PS_STEADY_CHECKPOINT) {
        begin_window(replay);
        return;
    }
    gint64 n_blocks = ps_steady_n_blocks(replay->steady);
    gint64 n_repeated = n_blocks - 1 - ps_steady_checkpoint_block(replay->steady);
    ps_observe_end_window(replay, n_repeated * replay->block);
    replay->result->steady = verdict == PS_STEADY_FOUND;
    replay->result->steady_after_microbatches =
        replay->result->steady ? n_blocks * replay->block * replay->workload->copies : 0;
    replay->closing = TRUE;
    ps_simulator_schedule(replay->simulator, now_ps, PS_PRIORITY_CLOSE, replay->close_handler, 0);
}

void ps_observe_step(PsReplay *replay, const PsLane *lane)
{
    static const StepRow rows[PS_N_STEPS] = {
        [PS_STEP_FORWARD] = FORWARD_ROW,
        [PS_STEP_BACKWARD] = BACKWARD_ROW,
        [PS_STEP_INPUT] = BACKWARD_ROW,
        [PS_STEP_WEIGHT] = WEIGHT_ROW,
    };
    guint chunk = lane->stage * replay->program->n_chunks + lane->step.chunk;
    gint64 microbatch = ps_lane_microbatch(replay, lane, lane->step.index);
    ps_observe_record(replay, chunk * ROWS_PER_CHUNK + rows[lane->step.kind], microbatch);
    if (replay->in_parts && lane->step.kind == PS_STEP_BACKWARD) {
        ps_observe_record(replay, chunk * ROWS_PER_CHUNK + WEIGHT_ROW, microbatch);
    }
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* Microbatches per block: see the argument in steady.h. */
gint64 ps_observe_block(const PsReplay *replay)
{
    const PsWorkload *workload = replay->workload;
    const PsSchedule *schedule = replay->settings->schedule;
    gboolean updates = FALSE, batches = FALSE;
    gint64 unit = 1, reach = 1, versions = 1;
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *work = &workload->stages[i];
        updates = updates || replay->program->stages[i].updates;
        /* A lane that holds more than a batch can be kept back by weight_versions. */
        guint batch = workload->microbatches / work->data_parallel;
        batches = batches || (schedule->weight_versions > 0 && work->in_flight > batch);
        versions = MAX(versions, ps_schedule_versions(schedule, batch, work->in_flight));
        unit = (gint64)ps_lcm((guint64)unit, work->data_parallel);
        reach = MAX(reach, (gint64)work->in_flight * work->data_parallel);
    }
    for (guint i = 0; i < workload->n_borders; i++) {
        const PsWorkStage *source = &workload->stages[workload->borders[i].source];
        const PsWorkStage *target = &workload->stages[workload->borders[i].target];
        reach = MAX(reach, (gint64)source->in_flight * source->data_parallel +
                               (gint64)ps_lcm(source->data_parallel, target->data_parallel));
    }
    const PsLoaderSettings *loader = replay->settings->loader;
    gint64 samples = loader != NULL ? (gint64)loader->prefetch + loader->n_servers : 0;
    reach = MAX(reach, samples);
    /* What is on a network shares it with what began a block before. */
    gint64 blocks = replay->fabric != NULL ? 2 : 1;
    if (ps_schedule_flushes(schedule)) {
        reach = MAX(samples, workload->microbatches); /* nothing is in flight after a batch */
        unit = workload->microbatches;
    } else if (batches || updates) {
        unit = workload->microbatches;
        reach = MAX(reach, unit * versions);
    }
    return blocks * ((reach + unit - 1) / unit * unit);
}

/* How often a stage does one of its collectives in a block. */
static gint64 joints_per_block(const PsReplay *replay, guint stage, guint joint)
{
    const PsStageProgram *program = &replay->program->stages[stage];
    const PsStepProgram *backward = &program->steps[PS_STEP_BACKWARD];
    const PsTask *last = &backward->tasks[backward->n_tasks - 1];
    gint64 per_lane = replay->block / replay->workload->stages[stage].data_parallel;
    if (joint == 0 && last->kind == PS_OP_RESYNC && last->detached && last->duration_ps > 0) {
        return replay->block; /* amortised */
    }
    if (joint >= program->n_joints) {
        return 0;
    }
    if (joint == program->scatter || joint == program->gather) {
        return per_lane * replay->program->n_chunks * (joint == program->gather ? 2 : 1);
    }
    return replay->block / replay->workload->microbatches;
}

PsSteady *ps_observe_new_steady(PsReplay *replay)
{
    guint n_stages = replay->workload->n_stages, n_links = replay->program->n_links;
    guint n_rows = ps_loader_row(replay) + 1;
    g_autofree gint64 *per_block = g_new0(gint64, n_rows);
    for (guint i = 0; i < n_step_rows(replay); i++) {
        gboolean used = i % ROWS_PER_CHUNK != WEIGHT_ROW || replay->in_parts;
        per_block[i] = used ? replay->block : 0;
    }
    for (guint i = 0; i < n_links; i++) {
        const PsLink *link = &replay->program->links[i];
        gboolean serial = replay->settings->communication == PS_COMMUNICATION_SERIAL;
        per_block[ps_link_row(replay, link)] =
            serial || ps_link_is_instant(link) ? 0 : replay->block;
    }
    for (guint i = 0; i < n_stages * replay->joint_rows; i++) {
        guint stage = i / replay->joint_rows, joint = i % replay->joint_rows;
        per_block[ps_joint_row(replay, stage, joint)] = joints_per_block(replay, stage, joint);
    }
    per_block[ps_loader_row(replay)] = replay->loader != NULL ? replay->block : 0;
    /* Of all copies, which have their collectives in common: so that as many blocks are tried. */
    gint64 n_starts = 0;
    gboolean shared = replay->settings->resync == PS_RESYNC_BATCH;
    for (guint i = 0; i < n_rows; i++) {
        gboolean joint = i >= ps_joint_row(replay, 0, 0);
        n_starts += per_block[i] * (joint && shared ? 1 : replay->workload->copies);
    }
    gint64 per_batch = MAX(replay->workload->microbatches / replay->block, 1);
    gint64 max_blocks = ps_disturbance_is_random(replay->settings->disturbance)
                            ? RANDOM_BATCHES * per_batch
                            : MAX_BLOCKS;
    gint64 most = replay->fabric != NULL ? MAX_STARTS_ON_NETWORK : MAX_STARTS;
    while (max_blocks > MIN_BLOCKS && max_blocks * n_starts > most) {
        max_blocks /= 2;
    }
    replay->most_recorded = 2 * max_blocks * n_starts;
    return ps_steady_new(per_block, n_rows, max_blocks);
}
