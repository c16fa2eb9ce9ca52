/* Runs made up in memory: 1F1B with transfers on streams of their own, every number by simple
 * rules. */
#pragma once

#include "sim/trace/run.h"

typedef struct {
    guint n_stages, data_parallel;
    gint64 microbatches; /* per lane */
    gint64 forward_ps, backward_ps, recompute_ps, transfer_ps, resync_ps;
} SampleShape;

typedef struct {
    const SampleShape *shape;
    PsRun *run;
    gint64 *done_ps; /* [(kind * n_stages + stage) * all microbatches + microbatch], -1: not yet */
    gint64 n_all;
    gint64 *free_ps, *n_forward, *n_backward; /* per lane */
} Sample;

static gint64 *sample_done(Sample *sample, guint kind, guint stage, gint64 microbatch)
{
    return &sample->done_ps[(kind * sample->shape->n_stages + stage) * sample->n_all + microbatch];
}

static void sample_op(Sample *sample, guint lane, PsStreamKind stream, PsOpKind kind,
                      gint64 microbatch, gint64 start_ps, gint64 length_ps)
{
    guint d = sample->shape->data_parallel;
    PsTraceOp op = {lane, lane / d,   lane % d, lane,     stream,
                    kind, microbatch, 0,        start_ps, start_ps + length_ps,
                    0,    -1};
    if (length_ps > 0) {
        g_array_append_val(sample->run->ops, op);
    }
}

/* Runs the lane's next step if its input is there. kind: 0 forward, 1 backward. */
static gboolean sample_step(Sample *sample, guint lane)
{
    const SampleShape *shape = sample->shape;
    guint stage = lane / shape->data_parallel, last = shape->n_stages - 1;
    gint64 n_forward = sample->n_forward[lane], n_backward = sample->n_backward[lane];
    if (n_backward == shape->microbatches) {
        return FALSE;
    }
    gint64 in_flight = shape->n_stages - stage;
    guint kind = n_forward == shape->microbatches || n_forward - n_backward == in_flight;
    gint64 microbatch =
        (kind == 0 ? n_forward : n_backward) * shape->data_parallel + lane % shape->data_parallel;
    gboolean at_end = stage == (kind == 0 ? 0 : last);
    guint from = kind == 0 ? stage - 1 : stage + 1;
    gint64 ready_ps = at_end ? 0 : *sample_done(sample, kind, from, microbatch);
    if (ready_ps < 0) {
        return FALSE;
    }
    if (!at_end) {
        ready_ps += shape->transfer_ps;
        sample_op(sample, lane, PS_STREAM_RECEIVE, PS_OP_RECEIVE, microbatch,
                  ready_ps - shape->transfer_ps, shape->transfer_ps);
        sample_op(sample, from * shape->data_parallel + lane % shape->data_parallel, PS_STREAM_SEND,
                  PS_OP_SEND, microbatch, ready_ps - shape->transfer_ps, shape->transfer_ps);
    }
    gint64 start_ps = MAX(ready_ps, sample->free_ps[lane]);
    if (kind == 1) {
        sample_op(sample, lane, PS_STREAM_COMPUTE, PS_OP_RECOMPUTE, microbatch, start_ps,
                  shape->recompute_ps);
        start_ps += shape->recompute_ps;
    }
    gint64 length_ps = kind == 0 ? shape->forward_ps : shape->backward_ps;
    sample_op(sample, lane, PS_STREAM_COMPUTE, kind == 0 ? PS_OP_FORWARD : PS_OP_BACKWARD,
              microbatch, start_ps, length_ps);
    sample->free_ps[lane] = start_ps + length_ps;
    *sample_done(sample, kind, stage, microbatch) = start_ps + length_ps;
    sample->n_forward[lane] += kind == 0;
    sample->n_backward[lane] += kind == 1;
    return TRUE;
}

static PsRunSummary *sample_summary(const SampleShape *shape)
{
    static const char *const settings[][2] = {
        {"schedule", "1f1b"}, {"resync", "batch"}, {"communication", "overlap"}};
    PsRunSummary *summary = ps_run_summary_new(shape->n_stages);
    for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
        ps_run_summary_add_setting(summary, settings[i][0], settings[i][1]);
    }
    summary->setting = (PsSetting){64, 80.0 * (1 << 30), 25e9, (guint)shape->microbatches};
    for (guint i = 0; i < shape->n_stages; i++) {
        PsRunStage *stage = &summary->stages[i];
        stage->data_parallel = shape->data_parallel;
        stage->tensor_parallel = 4;
        stage->first_lane = i * shape->data_parallel;
        stage->layers = g_strdup_printf("%u-%u", 3 * i, 3 * i + 2);
        stage->bubble_share = 0.05 + 0.9 * i / shape->n_stages;
        stage->peak_memory_bytes = (90.0 - 70.0 * i / shape->n_stages) * (1 << 30);
    }
    return summary;
}

/* Free with ps_run_free. */
static PsRun *sample_run(const SampleShape *shape)
{
    guint n_lanes = shape->n_stages * shape->data_parallel;
    PsRun *run = g_new0(PsRun, 1);
    run->folder = g_strdup("sample");
    run->ops = g_array_new(FALSE, FALSE, sizeof(PsTraceOp));
    run->summary = sample_summary(shape);
    Sample sample = {.shape = shape, .run = run};
    sample.n_all = shape->microbatches * shape->data_parallel;
    gsize n_done = 2 * shape->n_stages * (gsize)sample.n_all;
    g_autofree gint64 *done_ps = sample.done_ps = g_new(gint64, n_done);
    g_autofree gint64 *lanes = g_new0(gint64, 3 * n_lanes);
    sample.free_ps = lanes;
    sample.n_forward = lanes + n_lanes;
    sample.n_backward = lanes + 2 * n_lanes;
    for (gsize i = 0; i < n_done; i++) {
        done_ps[i] = -1;
    }
    for (gboolean moved = TRUE; moved;) {
        moved = FALSE;
        for (guint lane = 0; lane < n_lanes; lane++) {
            moved = sample_step(&sample, lane) || moved;
        }
    }
    gint64 end_ps = 0;
    for (guint lane = 0; lane < n_lanes; lane++) {
        end_ps = MAX(end_ps, sample.free_ps[lane]);
    }
    for (guint lane = 0; lane < n_lanes; lane++) {
        sample_op(&sample, lane, PS_STREAM_COLLECTIVE, PS_OP_RESYNC, -1, sample.free_ps[lane],
                  shape->resync_ps);
    }
    PsRunSummary *summary = run->summary;
    summary->makespan_ps = end_ps + shape->resync_ps;
    summary->window_start_ps = summary->makespan_ps / 4;
    summary->window_end_ps = summary->makespan_ps / 2;
    summary->tps_s = 1e-12 * (double)summary->makespan_ps / (double)sample.n_all;
    summary->estimate_tps_s = summary->tps_s * 0.9;
    summary->n_ops = run->ops->len;
    return run;
}
