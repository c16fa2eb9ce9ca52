#include "sim/replay/program.h"

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/replay/program-parts.h"

/* ---- steps ---------------------------------------------------------------------------------- */

/* Collects the tasks of one stage along one road of cumulated seconds. */
typedef struct {
    const PsProgram *program;
    const PsParts *parts;
    const PsWorkload *workload;
    const PsReplaySettings *settings;
    guint stage, chunk;
    gboolean serial;
    GArray *known;  /* see ps_pass_segments */
    GError **error; /* of what the network lacks */
    double road_s;
    gint64 road_ps;
    GArray *tasks;     /* of the current step */
    GPtrArray *inputs; /* PsLink: likewise */
    guint n_sends;
} Builder;

static void add_task(Builder *builder, PsTask task, double duration_s)
{
    task.chunk = builder->chunk;
    if (task.detached) {
        task.duration_ps = ps_seconds_to_ps(duration_s);
    } else {
        builder->road_s += duration_s;
        gint64 end_ps = ps_seconds_to_ps(builder->road_s);
        task.duration_ps = end_ps - builder->road_ps;
        builder->road_ps = end_ps;
    }
    g_array_append_val(builder->tasks, task);
}

/* A task with nothing special about it. */
static PsTask plain(PsOpKind kind)
{
    return (PsTask){.kind = kind, .collective = PS_FLAT, .bucket = PS_NO_JOINT};
}

/* A computation. */
static void add_compute(Builder *builder, PsTask task, double duration_s)
{
    add_task(builder, task, duration_s + builder->settings->launch_overhead_s);
}

/* Computation and collectives in turn. What the task takes it takes first, what it gives back or
 * completes comes last. */
static gboolean add_segments(Builder *builder, PsPass pass, PsTask task, double duration_s)
{
    const PsStageProgram *stage = &builder->program->stages[builder->stage];
    g_autoptr(GArray) segments = g_array_new(FALSE, FALSE, sizeof(PsSegment));
    if (!ps_pass_segments(builder->parts, stage, builder->stage, builder->chunk, pass, duration_s,
                          builder->known, segments, builder->error)) {
        return FALSE;
    }
    for (guint i = 0; i < segments->len; i++) {
        const PsSegment *segment = &g_array_index(segments, PsSegment, i);
        PsTask part = plain(segment->kind == PS_SEGMENT_COMPUTE ? task.kind : PS_OP_TENSOR);
        part.takes_workspace = task.takes_workspace && i == 0;
        part.releases = task.releases && i + 1 == segments->len;
        if (segment->kind == PS_SEGMENT_COMPUTE) {
            add_compute(builder, part, segment->compute_s);
        } else if (segment->kind == PS_SEGMENT_COLLECTIVE) {
            part.collective = segment->number;
            part.bytes = segment->bytes;
            add_task(builder, part, 0);
        } else {
            part.bucket = segment->number;
            add_task(builder, part, 0);
        }
    }
    return TRUE;
}

static gboolean add_pass(Builder *builder, PsPass pass, PsTask task, double duration_s)
{
    if (ps_pass_has_collectives(builder->parts, builder->stage, builder->chunk, pass)) {
        return add_segments(builder, pass, task, duration_s);
    }
    add_compute(builder, task, duration_s);
    return TRUE;
}

static void add_receives(Builder *builder, PsStepKind step)
{
    /* Nearest first: activations come from stages before, gradients from stages after. */
    for (guint i = 0; i < builder->program->n_links; i++) {
        guint k = step == PS_STEP_FORWARD ? builder->program->n_links - 1 - i : i;
        const PsLink *link = &builder->program->links[k];
        if (link->receiver != builder->stage || link->receiver_chunk != builder->chunk ||
            link->step != step) {
            continue;
        }
        g_ptr_array_add(builder->inputs, (gpointer)link);
        if (builder->serial) {
            PsTask task = plain(PS_OP_RECEIVE);
            task.bytes = link->receive_bytes;
            task.link = link;
            add_task(builder, task, link->receive_s);
        }
    }
}

static void add_sends(Builder *builder, PsStepKind step)
{
    for (guint i = 0; i < builder->program->n_links; i++) {
        const PsLink *link = &builder->program->links[i];
        if (link->sender == builder->stage && link->sender_chunk == builder->chunk &&
            link->step == step) {
            builder->n_sends += !ps_link_is_instant(link);
            PsTask task = plain(PS_OP_SEND);
            task.detached = !builder->serial;
            task.bytes = link->send_bytes;
            task.link = link;
            add_task(builder, task, builder->serial ? link->send_s : 0);
        }
    }
}

/* The share of one microbatch where resync is amortised, after its gradients of the first chunk. */
static void add_resync(Builder *builder)
{
    const PsWorkStage *work = &builder->workload->stages[builder->stage];
    double share = (double)work->data_parallel / builder->workload->microbatches;
    if (builder->settings->resync == PS_RESYNC_AMORTISED && work->resync_s > 0 &&
        builder->chunk == 0) {
        PsTask task = plain(PS_OP_RESYNC);
        task.detached = !builder->serial;
        task.bytes = work->resync_bytes * share;
        add_task(builder, task, work->resync_s * share);
    }
}

static void finish_step(Builder *builder, PsStepKind kind)
{
    guint n_tasks = builder->tasks->len, n_inputs = builder->inputs->len;
    PsTask *tasks = (PsTask *)(gpointer)g_array_free(builder->tasks, FALSE);
    const PsLink **inputs = (const PsLink **)g_ptr_array_free(builder->inputs, FALSE);
    builder->program->stages[builder->stage].steps[builder->chunk * PS_N_STEPS + kind] =
        (PsStepProgram){tasks, n_tasks, inputs, n_inputs, n_inputs, builder->n_sends};
    builder->tasks = g_array_new(FALSE, FALSE, sizeof(PsTask));
    builder->inputs = g_ptr_array_new();
    builder->n_sends = 0;
}

/* Backward, or the input gradient alone. */
static gboolean add_backward(Builder *builder, PsStepKind kind, double duration_s)
{
    const PsWorkStage *work = &builder->workload->stages[builder->stage];
    gboolean recomputes = work->recompute_s > 0, whole = kind == PS_STEP_BACKWARD;
    PsTask recompute = plain(PS_OP_RECOMPUTE), backward = plain(PS_OP_BACKWARD);
    recompute.takes_workspace = TRUE;
    backward.takes_workspace = !recomputes;
    backward.releases = backward.gradients = whole;
    add_receives(builder, PS_STEP_BACKWARD);
    if ((recomputes && !add_pass(builder, PS_PASS_RECOMPUTE, recompute,
                                 work->recompute_s / builder->settings->chunks)) ||
        !add_pass(builder, PS_PASS_BACKWARD, backward, duration_s)) {
        return FALSE;
    }
    add_sends(builder, PS_STEP_BACKWARD);
    if (whole) {
        add_resync(builder);
    }
    finish_step(builder, kind);
    return TRUE;
}

static void add_weight_gradient(Builder *builder)
{
    const PsWorkStage *work = &builder->workload->stages[builder->stage];
    PsTask task = plain(PS_OP_WEIGHT);
    task.releases = task.gradients = TRUE;
    add_compute(builder, task, work->weight_gradient_s / builder->settings->chunks);
    add_resync(builder);
    finish_step(builder, PS_STEP_WEIGHT);
}

static gboolean build_chunk(Builder *builder)
{
    const PsWorkStage *work = &builder->workload->stages[builder->stage];
    double chunks = builder->settings->chunks;
    add_receives(builder, PS_STEP_FORWARD);
    if (!add_pass(builder, PS_PASS_FORWARD, plain(PS_OP_FORWARD), work->forward_s / chunks)) {
        return FALSE;
    }
    add_sends(builder, PS_STEP_FORWARD);
    finish_step(builder, PS_STEP_FORWARD);

    double fork_s = builder->road_s; /* backward in two parts or whole: two roads from here */
    gint64 fork_ps = builder->road_ps;
    double input_s = (work->backward_s - work->weight_gradient_s) / chunks;
    if (!add_backward(builder, PS_STEP_INPUT, input_s)) {
        return FALSE;
    }
    add_weight_gradient(builder);
    builder->road_s = fork_s;
    builder->road_ps = fork_ps;
    return add_backward(builder, PS_STEP_BACKWARD, work->backward_s / chunks);
}

static gboolean build_stage(PsProgram *program, const PsParts *parts, guint stage, GError **error)
{
    gboolean fine = TRUE;
    Builder builder = {
        .program = program,
        .parts = parts,
        .workload = parts->workload,
        .settings = parts->settings,
        .stage = stage,
        .serial = parts->settings->communication == PS_COMMUNICATION_SERIAL,
        .known = ps_pass_known_new(),
        .error = error,
        .tasks = g_array_new(FALSE, FALSE, sizeof(PsTask)),
        .inputs = g_ptr_array_new(),
    };
    program->stages[stage].steps = g_new0(PsStepProgram, program->n_chunks * PS_N_STEPS);
    for (; fine && builder.chunk < program->n_chunks; builder.chunk++) {
        fine = build_chunk(&builder);
    }
    g_array_unref(builder.known);
    g_array_unref(builder.tasks);
    g_ptr_array_unref(builder.inputs);
    return fine;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* The stage and chunk of the first place of the pipeline. */
static void find_first(PsProgram *program, const PsReplaySettings *settings)
{
    for (guint i = 0; i < program->n_stages * program->n_chunks; i++) {
        const PsLaneShape lane = {.stage = i / program->n_chunks,
                                  .n_stages = program->n_stages,
                                  .chunks = program->n_chunks};
        if (ps_schedule_place(settings->schedule, &lane, i % program->n_chunks) == 0) {
            program->first_stage = lane.stage;
            program->first_chunk = i % program->n_chunks;
        }
    }
}

/* Where the plan says that ranks are, or along another placement. Caller frees. */
static guint *place_ranks(const PsWorkload *workload, const PsReplaySettings *settings,
                          guint n_ranks)
{
    g_autofree PsStageDegrees *degrees = g_new(PsStageDegrees, workload->n_stages);
    guint *devices = g_new(guint, n_ranks);
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *work = &workload->stages[i];
        degrees[i] = (PsStageDegrees){work->data_parallel, work->tensor_parallel};
        for (guint k = 0; k < work->data_parallel * work->tensor_parallel; k++) {
            devices[work->first_rank + k] = work->first_device + k;
        }
    }
    if (settings->placement != PS_PLACE_TENSOR_DATA_PIPELINE) {
        g_free(devices);
        devices = ps_placement_devices(settings->placement, degrees, workload->n_stages);
    }
    return devices;
}

/* The device of each rank; NULL with error where the network (NULL: a flat one) has fewer. Caller
 * frees. */
static guint *find_devices(const PsWorkload *workload, const PsReplaySettings *settings,
                           const PsFabric *fabric, GError **error)
{
    const PsWorkStage *last = &workload->stages[workload->n_stages - 1];
    guint n_ranks = last->first_rank + last->data_parallel * last->tensor_parallel, n_needed = 0;
    g_autofree guint *devices = place_ranks(workload, settings, n_ranks);
    for (guint i = 0; i < n_ranks; i++) {
        n_needed = MAX(n_needed, devices[i] + 1);
    }
    guint n_devices = fabric != NULL ? ps_network_devices(ps_fabric_network(fabric)) : n_needed;
    if (n_needed > n_devices) {
        ps_error(error, PS_ERROR_INPUT,
                 "the pipeline needs %u devices (expected at most the topology's %u)", n_needed,
                 n_devices);
        return NULL;
    }
    return g_steal_pointer(&devices);
}

PsProgram *ps_program_new(const PsWorkload *workload, const PsReplaySettings *settings,
                          PsFabric *fabric, GError **error)
{
    guint *devices = find_devices(workload, settings, fabric, error);
    if (devices == NULL) {
        return NULL;
    }
    const PsParts parts = {workload, settings, fabric, devices};
    g_autoptr(PsProgram) program = g_new0(PsProgram, 1);
    program->devices = devices;
    program->n_stages = workload->n_stages;
    program->n_chunks = settings->chunks;
    program->stages = g_new0(PsStageProgram, workload->n_stages);
    if (!ps_program_make_links(program, &parts, error)) {
        return NULL;
    }
    for (guint i = 0; i < workload->n_stages; i++) {
        if (!ps_program_make_joints(&program->stages[i], &parts, i, error) ||
            !build_stage(program, &parts, i, error)) {
            return NULL;
        }
    }
    find_first(program, settings);
    if (settings->loader != NULL) {
        const PsStep first = {PS_STEP_FORWARD, program->first_chunk, 0};
        program->stages[program->first_stage]
            .steps[first.chunk * PS_N_STEPS + first.kind]
            .n_deliveries++;
    }
    return g_steal_pointer(&program);
}

static void free_steps(PsStepProgram *steps, guint n)
{
    for (guint i = 0; steps != NULL && i < n; i++) {
        g_free(steps[i].tasks);
        g_free(steps[i].inputs);
    }
    g_free(steps);
}

void ps_program_free(PsProgram *program)
{
    if (program != NULL) {
        for (guint i = 0; i < program->n_stages; i++) {
            free_steps(program->stages[i].steps, program->n_chunks * PS_N_STEPS);
            g_free(program->stages[i].joints);
        }
        g_free(program->stages);
        g_free(program->devices);
        g_free(program->links);
        g_free(program);
    }
}
