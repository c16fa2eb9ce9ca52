#include "sim/replay/program.h"

#include <stdlib.h>

#include "sim/base/units.h"

static guint distance(const PsLink *link)
{
    return link->sender < link->receiver ? link->receiver - link->sender
                                         : link->sender - link->receiver;
}

static int compare_links(const void *a, const void *b)
{
    const PsLink *left = a, *right = b;
    if (left->sender != right->sender) {
        return left->sender < right->sender ? -1 : 1;
    }
    if (distance(left) != distance(right)) {
        return distance(left) < distance(right) ? -1 : 1;
    }
    return (int)left->step - (int)right->step;
}

static void make_links(PsProgram *program, const PsWorkload *workload)
{
    program->n_links = 2 * workload->n_borders;
    program->links = g_new(PsLink, program->n_links);
    for (guint i = 0; i < workload->n_borders; i++) {
        const PsWorkBorder *border = &workload->borders[i];
        gint64 source_ps = ps_seconds_to_ps(border->source_s);
        gint64 target_ps = ps_seconds_to_ps(border->target_s);
        program->links[2 * i] =
            (PsLink){border->source, border->target,       PS_STEP_FORWARD,     source_ps,
                     target_ps,      border->source_bytes, border->target_bytes};
        program->links[2 * i + 1] =
            (PsLink){border->target, border->source,       PS_STEP_BACKWARD,    target_ps,
                     source_ps,      border->target_bytes, border->source_bytes};
    }
    if (program->n_links > 0) {
        qsort(program->links, program->n_links, sizeof(PsLink), compare_links);
    }
}

/* Collects the tasks of one stage along one road of cumulated seconds. */
typedef struct {
    const PsProgram *program;
    const PsWorkload *workload;
    guint stage;
    gboolean overlap;
    double road_s;
    gint64 road_ps;
    GArray *tasks; /* of the current step */
} Builder;

static void add_task(Builder *builder, PsTask task, double duration_s)
{
    builder->road_s += duration_s;
    gint64 end_ps = ps_seconds_to_ps(builder->road_s);
    task.duration_ps = end_ps - builder->road_ps;
    builder->road_ps = end_ps;
    g_array_append_val(builder->tasks, task);
}

static double link_s(const Builder *builder, const PsLink *link, gboolean at_sender)
{
    guint source = MIN(link->sender, link->receiver), target = MAX(link->sender, link->receiver);
    const PsWorkBorder *border = builder->workload->borders;
    while (border->source != source || border->target != target) {
        border++;
    }
    return at_sender == (link->step == PS_STEP_FORWARD) ? border->source_s : border->target_s;
}

static guint add_receives(Builder *builder, PsStepKind step)
{
    guint n_inputs = 0;
    /* Nearest first: activations come from stages before, gradients from stages after. */
    for (guint i = 0; i < builder->program->n_links; i++) {
        guint k = step == PS_STEP_FORWARD ? builder->program->n_links - 1 - i : i;
        const PsLink *link = &builder->program->links[k];
        if (link->receiver == builder->stage && link->step == step) {
            n_inputs++;
            if (!builder->overlap) {
                add_task(
                    builder,
                    (PsTask){.kind = PS_OP_RECEIVE, .bytes = link->receive_bytes, .link = link},
                    link_s(builder, link, FALSE));
            }
        }
    }
    return n_inputs;
}

static void add_sends(Builder *builder, PsStepKind step)
{
    for (guint i = 0; i < builder->program->n_links; i++) {
        const PsLink *link = &builder->program->links[i];
        if (link->sender == builder->stage && link->step == step) {
            add_task(builder,
                     (PsTask){.kind = PS_OP_SEND,
                              .detached = builder->overlap,
                              .bytes = link->send_bytes,
                              .link = link},
                     builder->overlap ? 0 : link_s(builder, link, TRUE));
        }
    }
}

static PsStepProgram finish_step(Builder *builder, guint n_inputs)
{
    guint n_tasks = builder->tasks->len;
    PsTask *tasks = (PsTask *)(gpointer)g_array_free(builder->tasks, FALSE);
    builder->tasks = g_array_new(FALSE, FALSE, sizeof(PsTask));
    return (PsStepProgram){tasks, n_tasks, n_inputs};
}

static void build_stage(Builder *builder, const PsReplaySettings *settings, PsStageProgram *program)
{
    const PsWorkStage *work = &builder->workload->stages[builder->stage];
    guint n_inputs = add_receives(builder, PS_STEP_FORWARD);
    add_task(builder, (PsTask){.kind = PS_OP_FORWARD}, work->forward_s);
    add_sends(builder, PS_STEP_FORWARD);
    program->steps[PS_STEP_FORWARD] = finish_step(builder, n_inputs);

    n_inputs = add_receives(builder, PS_STEP_BACKWARD);
    gboolean recomputes = work->recompute_s > 0;
    if (recomputes) {
        add_task(builder, (PsTask){.kind = PS_OP_RECOMPUTE, .takes_workspace = TRUE},
                 work->recompute_s);
    }
    add_task(builder, (PsTask){.kind = PS_OP_BACKWARD, .takes_workspace = !recomputes},
             work->backward_s);
    add_sends(builder, PS_STEP_BACKWARD);
    double share = (double)work->data_parallel / builder->workload->microbatches;
    if (settings->resync == PS_RESYNC_AMORTISED && work->resync_s > 0) {
        add_task(builder,
                 (PsTask){.kind = PS_OP_RESYNC,
                          .detached = builder->overlap,
                          .bytes = work->resync_bytes * share},
                 work->resync_s * share);
    }
    program->steps[PS_STEP_BACKWARD] = finish_step(builder, n_inputs);
    if (settings->resync == PS_RESYNC_BATCH) {
        program->batch_resync_ps = ps_seconds_to_ps(work->resync_s);
    }
}

PsProgram *ps_program_new(const PsWorkload *workload, const PsReplaySettings *settings)
{
    PsProgram *program = g_new0(PsProgram, 1);
    make_links(program, workload);
    program->n_stages = workload->n_stages;
    program->stages = g_new0(PsStageProgram, workload->n_stages);
    for (guint i = 0; i < workload->n_stages; i++) {
        Builder builder = {
            .program = program,
            .workload = workload,
            .stage = i,
            .overlap = settings->communication == PS_COMMUNICATION_OVERLAP,
            .tasks = g_array_new(FALSE, FALSE, sizeof(PsTask)),
        };
        build_stage(&builder, settings, &program->stages[i]);
        g_array_unref(builder.tasks);
    }
    return program;
}

void ps_program_free(PsProgram *program)
{
    if (program != NULL) {
        for (guint i = 0; i < program->n_stages; i++) {
            for (guint step = 0; step < PS_N_STEPS; step++) {
                g_free(program->stages[i].steps[step].tasks);
            }
        }
        g_free(program->stages);
        g_free(program->links);
        g_free(program);
    }
}
