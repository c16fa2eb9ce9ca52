#include "sim/replay/program.h"

#include <stdlib.h>

#include "sim/base/units.h"

/* ---- links ---------------------------------------------------------------------------------- */

static int compare_links(const void *a, const void *b)
{
    const PsLink *left = a, *right = b;
    if (left->sender != right->sender) {
        return left->sender < right->sender ? -1 : 1;
    }
    if (left->sender_chunk != right->sender_chunk) {
        return left->sender_chunk < right->sender_chunk ? -1 : 1;
    }
    if (left->distance != right->distance) {
        return left->distance < right->distance ? -1 : 1;
    }
    return (int)left->step - (int)right->step;
}

/* Both directions of what crosses from a place of the pipeline to a later one. */
static void add_links(PsProgram *program, const PsWorkBorder *border, guint source_chunk,
                      guint target_chunk)
{
    PsLink forward = {
        .sender = border->source,
        .receiver = border->target,
        .sender_chunk = source_chunk,
        .receiver_chunk = target_chunk,
        .distance = border->target > border->source ? border->target - border->source
                                                    : border->source - border->target,
        .step = PS_STEP_FORWARD,
        .send_s = border->source_s,
        .receive_s = border->target_s,
        .send_ps = ps_seconds_to_ps(border->source_s),
        .receive_ps = ps_seconds_to_ps(border->target_s),
        .latency_ps = ps_seconds_to_ps(border->latency_s),
        .send_bytes = border->source_bytes,
        .receive_bytes = border->target_bytes,
    };
    PsLink backward = {
        .sender = forward.receiver,
        .receiver = forward.sender,
        .sender_chunk = target_chunk,
        .receiver_chunk = source_chunk,
        .distance = forward.distance,
        .step = PS_STEP_BACKWARD,
        .send_s = forward.receive_s,
        .receive_s = forward.send_s,
        .send_ps = forward.receive_ps,
        .receive_ps = forward.send_ps,
        .latency_ps = forward.latency_ps,
        .send_bytes = forward.receive_bytes,
        .receive_bytes = forward.send_bytes,
    };
    program->links[program->n_links++] = forward;
    program->links[program->n_links++] = backward;
}

/* What crosses from a stage to any other under a schedule with chunks: the border between
 * neighbours, either way; the workload's wrap elsewhere; nothing within a stage. */
static PsWorkBorder border_between(const PsWorkload *workload, guint source, guint target)
{
    PsWorkBorder border = {.source = source, .target = target};
    if (source == target) {
        return border;
    }
    border = workload->wrap;
    for (guint i = 0; i < workload->n_borders; i++) {
        const PsWorkBorder *known = &workload->borders[i];
        if (known->source == source && known->target == target) {
            return *known;
        }
        if (known->source == target && known->target == source) {
            border = (PsWorkBorder){.source_s = known->target_s,
                                    .source_bytes = known->target_bytes,
                                    .target_s = known->source_s,
                                    .target_bytes = known->source_bytes,
                                    .latency_s = known->latency_s};
        }
    }
    border.source = source;
    border.target = target;
    return border;
}

static void link_places(PsProgram *program, const PsWorkload *workload,
                        const PsReplaySettings *settings)
{
    guint n_chunks = settings->chunks, n_places = workload->n_stages * n_chunks;
    g_autofree guint *at = g_new0(guint, n_places); /* place -> stage * n_chunks + chunk */
    for (guint i = 0; i < n_places; i++) {
        const PsLaneShape lane = {
            .stage = i / n_chunks, .n_stages = workload->n_stages, .chunks = n_chunks};
        at[ps_schedule_place(settings->schedule, &lane, i % n_chunks)] = i;
    }
    program->links = g_new(PsLink, 2 * n_places);
    for (guint i = 0; i + 1 < n_places; i++) {
        PsWorkBorder border = border_between(workload, at[i] / n_chunks, at[i + 1] / n_chunks);
        add_links(program, &border, at[i] % n_chunks, at[i + 1] % n_chunks);
    }
}

static void make_links(PsProgram *program, const PsWorkload *workload,
                       const PsReplaySettings *settings)
{
    if (ps_replay_settings_cuts(settings)) {
        link_places(program, workload, settings);
    } else {
        program->links = g_new(PsLink, 2 * workload->n_borders);
        for (guint i = 0; i < workload->n_borders; i++) {
            add_links(program, &workload->borders[i], 0, 0);
        }
    }
    if (program->n_links > 0) {
        qsort(program->links, program->n_links, sizeof(PsLink), compare_links);
    }
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Collects the tasks of one stage along one road of cumulated seconds. */
typedef struct {
    const PsProgram *program;
    const PsWorkload *workload;
    const PsReplaySettings *settings;
    guint stage, chunk;
    gboolean overlap;
    double road_s;
    gint64 road_ps;
    GArray *tasks; /* of the current step */
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

static guint add_receives(Builder *builder, PsStepKind step)
{
    guint n_inputs = 0;
    /* Nearest first: activations come from stages before, gradients from stages after. */
    for (guint i = 0; i < builder->program->n_links; i++) {
        guint k = step == PS_STEP_FORWARD ? builder->program->n_links - 1 - i : i;
        const PsLink *link = &builder->program->links[k];
        if (link->receiver == builder->stage && link->receiver_chunk == builder->chunk &&
            link->step == step) {
            n_inputs++;
            if (!builder->overlap) {
                add_task(
                    builder,
                    (PsTask){.kind = PS_OP_RECEIVE, .bytes = link->receive_bytes, .link = link},
                    link->receive_s);
            }
        }
    }
    return n_inputs;
}

static void add_sends(Builder *builder, PsStepKind step)
{
    for (guint i = 0; i < builder->program->n_links; i++) {
        const PsLink *link = &builder->program->links[i];
        if (link->sender == builder->stage && link->sender_chunk == builder->chunk &&
            link->step == step) {
            add_task(builder,
                     (PsTask){.kind = PS_OP_SEND,
                              .detached = builder->overlap,
                              .bytes = link->send_bytes,
                              .link = link},
                     builder->overlap ? 0 : link->send_s);
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
        add_task(builder,
                 (PsTask){.kind = PS_OP_RESYNC,
                          .detached = builder->overlap,
                          .bytes = work->resync_bytes * share},
                 work->resync_s * share);
    }
}

static void finish_step(Builder *builder, PsStepKind kind, guint n_inputs)
{
    guint n_tasks = builder->tasks->len;
    PsTask *tasks = (PsTask *)(gpointer)g_array_free(builder->tasks, FALSE);
    builder->tasks = g_array_new(FALSE, FALSE, sizeof(PsTask));
    builder->program->stages[builder->stage].steps[builder->chunk * PS_N_STEPS + kind] =
        (PsStepProgram){tasks, n_tasks, n_inputs};
}

/* Backward, or the input gradient alone. */
static void add_backward(Builder *builder, PsStepKind kind, double duration_s)
{
    const PsWorkStage *work = &builder->workload->stages[builder->stage];
    guint n_inputs = add_receives(builder, PS_STEP_BACKWARD);
    gboolean recomputes = work->recompute_s > 0, whole = kind == PS_STEP_BACKWARD;
    if (recomputes) {
        add_task(builder, (PsTask){.kind = PS_OP_RECOMPUTE, .takes_workspace = TRUE},
                 work->recompute_s / builder->settings->chunks);
    }
    add_task(builder,
             (PsTask){.kind = PS_OP_BACKWARD, .takes_workspace = !recomputes, .releases = whole},
             duration_s);
    add_sends(builder, PS_STEP_BACKWARD);
    if (whole) {
        add_resync(builder);
    }
    finish_step(builder, kind, n_inputs);
}

static void build_chunk(Builder *builder)
{
    const PsWorkStage *work = &builder->workload->stages[builder->stage];
    double chunks = builder->settings->chunks;
    guint n_inputs = add_receives(builder, PS_STEP_FORWARD);
    add_task(builder, (PsTask){.kind = PS_OP_FORWARD}, work->forward_s / chunks);
    add_sends(builder, PS_STEP_FORWARD);
    finish_step(builder, PS_STEP_FORWARD, n_inputs);

    double fork_s = builder->road_s; /* backward in two parts or whole: two roads from here */
    gint64 fork_ps = builder->road_ps;
    double input_s = (work->backward_s - work->weight_gradient_s) / chunks;
    add_backward(builder, PS_STEP_INPUT, input_s);
    add_task(builder, (PsTask){.kind = PS_OP_WEIGHT, .releases = TRUE},
             work->weight_gradient_s / chunks);
    add_resync(builder);
    finish_step(builder, PS_STEP_WEIGHT, 0);
    builder->road_s = fork_s;
    builder->road_ps = fork_ps;
    add_backward(builder, PS_STEP_BACKWARD, work->backward_s / chunks);
}

PsProgram *ps_program_new(const PsWorkload *workload, const PsReplaySettings *settings)
{
    PsProgram *program = g_new0(PsProgram, 1);
    make_links(program, workload, settings);
    program->n_stages = workload->n_stages;
    program->n_chunks = settings->chunks;
    program->stages = g_new0(PsStageProgram, workload->n_stages);
    for (guint i = 0; i < workload->n_stages; i++) {
        Builder builder = {
            .program = program,
            .workload = workload,
            .settings = settings,
            .stage = i,
            .overlap = settings->communication == PS_COMMUNICATION_OVERLAP,
            .tasks = g_array_new(FALSE, FALSE, sizeof(PsTask)),
        };
        program->stages[i].steps = g_new0(PsStepProgram, settings->chunks * PS_N_STEPS);
        for (; builder.chunk < settings->chunks; builder.chunk++) {
            build_chunk(&builder);
        }
        g_array_unref(builder.tasks);
        if (settings->resync == PS_RESYNC_BATCH) {
            program->stages[i].batch_resync_ps = ps_seconds_to_ps(workload->stages[i].resync_s);
        }
    }
    return program;
}

void ps_program_free(PsProgram *program)
{
    if (program != NULL) {
        for (guint i = 0; i < program->n_stages; i++) {
            for (guint step = 0; step < program->n_chunks * PS_N_STEPS; step++) {
                g_free(program->stages[i].steps[step].tasks);
            }
            g_free(program->stages[i].steps);
        }
        g_free(program->stages);
        g_free(program->links);
        g_free(program);
    }
}
