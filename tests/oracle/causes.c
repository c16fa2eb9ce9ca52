#include "tests/oracle/causes.h"

#include <check.h>
#include <stdlib.h>

static int compare_starts(const void *a, const void *b)
{
    const PsTraceOp *left = *(const PsTraceOp *const *)a, *right = *(const PsTraceOp *const *)b;
    if (left->start_ps != right->start_ps) {
        return left->start_ps < right->start_ps ? -1 : 1;
    }
    return (left->end_ps > right->end_ps) - (left->end_ps < right->end_ps);
}

/* The rows of each stream (lane * PS_N_STREAMS + stream) by start. */
static GPtrArray **sort_streams(const PsWorkload *workload, const GArray *ops)
{
    guint n = workload->n_lanes * PS_N_STREAMS;
    GPtrArray **streams = g_new0(GPtrArray *, n + 1);
    for (guint i = 0; i < n; i++) {
        streams[i] = g_ptr_array_new();
    }
    for (guint i = 0; i < ops->len; i++) {
        PsTraceOp *op = &g_array_index(ops, PsTraceOp, i);
        g_ptr_array_add(streams[op->lane * PS_N_STREAMS + op->stream], op);
    }
    for (guint i = 0; i < n; i++) {
        if (streams[i]->len > 0) {
            qsort(streams[i]->pdata, streams[i]->len, sizeof(gpointer), compare_starts);
        }
    }
    return streams;
}

static void free_streams(GPtrArray **streams)
{
    for (guint i = 0; streams[i] != NULL; i++) {
        g_ptr_array_unref(streams[i]);
    }
    g_free(streams);
}

void ps_check_streams(const PsWorkload *workload, const GArray *ops)
{
    GPtrArray **streams = sort_streams(workload, ops);
    for (guint i = 0; streams[i] != NULL; i++) {
        for (guint k = 1; k < streams[i]->len; k++) {
            const PsTraceOp *before = streams[i]->pdata[k - 1], *op = streams[i]->pdata[k];
            ck_assert_msg(before->end_ps <= op->start_ps,
                          "lane %u, stream %u: an op that starts at %" G_GINT64_FORMAT
                          " overlaps one that ends at %" G_GINT64_FORMAT,
                          op->lane, op->stream, op->start_ps, before->end_ps);
        }
    }
    free_streams(streams);
}

typedef struct {
    const PsWorkload *workload;
    guint versions;
    gboolean amortised;
    GHashTable *ends; /* see key() -> end_ps */
    GPtrArray **streams;
} Causes;

/* Names what ends: an op kind of a microbatch on a stage, towards a stage for transfers. */
static gint64 *key(PsOpKind kind, guint stage, guint towards, gint64 n)
{
    gint64 *text = g_new(gint64, 1);
    *text = ((n * PS_N_OPS + kind) * 64 + stage) * 64 + towards;
    return text;
}

static guint stage_of_lane(const PsWorkload *workload, guint lane)
{
    guint stage = 0;
    while (lane >= workload->stages[stage].first_lane + workload->stages[stage].data_parallel) {
        stage++;
    }
    return stage;
}

static void note_end(Causes *causes, gint64 *name, gint64 end_ps)
{
    gint64 *old = g_hash_table_lookup(causes->ends, name);
    gint64 *latest = g_new(gint64, 1);
    *latest = old != NULL ? MAX(*old, end_ps) : end_ps;
    g_hash_table_insert(causes->ends, name, latest);
}

static gint64 end_of(const Causes *causes, PsOpKind kind, guint stage, guint towards, gint64 n)
{
    g_autofree gint64 *name = key(kind, stage, towards, n);
    gint64 *end_ps = g_hash_table_lookup(causes->ends, name);
    ck_assert_msg(end_ps != NULL, "kind %u of %" G_GINT64_FORMAT " on stage %u never ends", kind, n,
                  stage);
    return *end_ps;
}

static void note_ends(Causes *causes, const GArray *ops)
{
    for (guint i = 0; i < ops->len; i++) {
        const PsTraceOp *op = &g_array_index(ops, PsTraceOp, i);
        if (op->kind == PS_OP_SEND || op->kind == PS_OP_RECEIVE) {
            guint peer = stage_of_lane(causes->workload, (guint)op->peer);
            gboolean sends = op->kind == PS_OP_SEND;
            note_end(
                causes,
                key(PS_OP_SEND, sends ? op->stage : peer, sends ? peer : op->stage, op->microbatch),
                op->end_ps);
        } else if (op->kind == PS_OP_FORWARD || op->kind == PS_OP_BACKWARD) {
            note_end(causes, key(op->kind, op->stage, 0, op->microbatch), op->end_ps);
        }
    }
    /* Batches of a collective: counted per lane. */
    for (guint lane = 0; lane < causes->workload->n_lanes && !causes->amortised; lane++) {
        const GPtrArray *rows = causes->streams[lane * PS_N_STREAMS + PS_STREAM_COLLECTIVE];
        for (guint batch = 0; batch < rows->len; batch++) {
            const PsTraceOp *op = rows->pdata[batch];
            note_end(causes, key(PS_OP_RESYNC, op->stage, 0, batch), op->end_ps);
        }
    }
}

/* When the inputs of a step have come. */
static gint64 inputs_ps(const Causes *causes, PsOpKind kind, guint stage, gint64 n)
{
    gint64 latest_ps = 0;
    for (guint i = 0; i < causes->workload->n_borders; i++) {
        const PsWorkBorder *border = &causes->workload->borders[i];
        guint here = kind == PS_OP_FORWARD ? border->target : border->source;
        guint there = kind == PS_OP_FORWARD ? border->source : border->target;
        if (here == stage) {
            gboolean empty = border->source_s == 0 && border->target_s == 0;
            gint64 end_ps = empty ? end_of(causes, kind, there, 0, n)
                                  : end_of(causes, PS_OP_SEND, there, stage, n);
            latest_ps = MAX(latest_ps, end_ps);
        }
    }
    return latest_ps;
}

static gint64 weights_ps(const Causes *causes, guint stage, gint64 n)
{
    gint64 batch = n / causes->workload->microbatches;
    gboolean waits = !causes->amortised && causes->workload->stages[stage].resync_s > 0 &&
                     batch >= causes->versions;
    return waits ? end_of(causes, PS_OP_RESYNC, stage, 0, batch - causes->versions) : 0;
}

static gint64 last_backward_ps(const Causes *causes, guint stage, gint64 batch)
{
    gint64 latest_ps = 0;
    gint64 end = (batch + 1) * causes->workload->microbatches;
    for (guint i = 1; i <= causes->workload->stages[stage].data_parallel; i++) {
        latest_ps = MAX(latest_ps, end_of(causes, PS_OP_BACKWARD, stage, 0, end - i));
    }
    return latest_ps;
}

static const PsTraceOp *other_half(const Causes *causes, const PsTraceOp *send, gint64 *before_ps)
{
    const GPtrArray *rows = causes->streams[send->peer * PS_N_STREAMS + PS_STREAM_RECEIVE];
    for (guint i = 0; i < rows->len; i++) {
        const PsTraceOp *op = rows->pdata[i];
        if (op->peer == send->lane && op->microbatch == send->microbatch) {
            *before_ps = i > 0 ? ((const PsTraceOp *)rows->pdata[i - 1])->end_ps : 0;
            return op;
        }
    }
    ck_abort_msg("nobody receives what lane %u sends", send->lane);
    return NULL;
}

static gint64 ready_ps(const Causes *causes, const PsTraceOp *transfer)
{
    guint peer = stage_of_lane(causes->workload, (guint)transfer->peer);
    guint sender = transfer->kind == PS_OP_SEND ? transfer->stage : peer;
    guint receiver = transfer->kind == PS_OP_SEND ? peer : transfer->stage;
    return end_of(causes, sender < receiver ? PS_OP_FORWARD : PS_OP_BACKWARD, sender, 0,
                  transfer->microbatch);
}

static gint64 expected_start_ps(const Causes *causes, const PsTraceOp *op, const PsTraceOp *before,
                                guint place)
{
    gint64 start_ps = before != NULL ? before->end_ps : 0;
    gint64 received_ps;
    switch (op->kind) {
    case PS_OP_FORWARD:
        start_ps = MAX(start_ps, weights_ps(causes, op->stage, op->microbatch));
        return MAX(start_ps, inputs_ps(causes, op->kind, op->stage, op->microbatch));
    case PS_OP_BACKWARD:
        if (before->kind == PS_OP_RECOMPUTE) {
            return start_ps;
        }
        return MAX(start_ps, inputs_ps(causes, op->kind, op->stage, op->microbatch));
    case PS_OP_RECOMPUTE:
        return MAX(start_ps, inputs_ps(causes, PS_OP_BACKWARD, op->stage, op->microbatch));
    case PS_OP_SEND:
        ck_assert_int_eq(other_half(causes, op, &received_ps)->start_ps, op->start_ps);
        return MAX(MAX(start_ps, received_ps), ready_ps(causes, op));
    case PS_OP_RESYNC:
        if (causes->amortised) {
            return MAX(start_ps, end_of(causes, PS_OP_BACKWARD, op->stage, 0, op->microbatch));
        }
        return MAX(start_ps, last_backward_ps(causes, op->stage, place));
    default:
        return op->start_ps; /* a receive: judged with its send */
    }
}

void ps_check_causes(const PsWorkload *workload, const GArray *ops, guint versions,
                     gboolean amortised)
{
    Causes causes = {workload, versions, amortised,
                     g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free),
                     sort_streams(workload, ops)};
    note_ends(&causes, ops);
    for (guint i = 0; causes.streams[i] != NULL; i++) {
        const GPtrArray *rows = causes.streams[i];
        for (guint k = 0; k < rows->len; k++) {
            const PsTraceOp *op = rows->pdata[k], *before = k > 0 ? rows->pdata[k - 1] : NULL;
            gint64 expected_ps = expected_start_ps(&causes, op, before, k);
            ck_assert_msg(op->start_ps == expected_ps,
                          "lane %u, kind %u, microbatch %" G_GINT64_FORMAT
                          ": starts at %" G_GINT64_FORMAT " (expected %" G_GINT64_FORMAT ")",
                          op->lane, op->kind, op->microbatch, op->start_ps, expected_ps);
            /* In order of readiness. */
            if (before != NULL && (op->kind == PS_OP_SEND || op->kind == PS_OP_RECEIVE)) {
                ck_assert_int_le(ready_ps(&causes, before), ready_ps(&causes, op));
            }
        }
    }
    free_streams(causes.streams);
    g_hash_table_unref(causes.ends);
}
