#include "sim/replay/fold.h"

static guint greatest_common_divisor(guint a, guint b)
{
    while (b != 0) {
        guint rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

guint ps_fold_copies(const PsWorkload *workload, const PsReplaySettings *settings)
{
    gboolean uneven = settings->network != PS_NETWORK_FLAT || settings->disturbance != NULL ||
                      settings->loader != NULL;
    guint copies = 0;
    if (settings->fold == PS_FOLD_OFF || uneven) {
        return 1;
    }
    for (guint i = 0; i < workload->n_stages; i++) {
        copies = greatest_common_divisor(workload->stages[i].data_parallel, copies);
    }
    return copies;
}

PsWorkload *ps_fold_workload(const PsWorkload *workload, guint copies)
{
    PsWorkload *folded =
        ps_workload_new(workload->n_stages, workload->n_borders, workload->microbatches / copies);
    for (guint i = 0; i < workload->n_stages; i++) {
        PsWorkStage *stage = &folded->stages[i];
        *stage = workload->stages[i];
        stage->data_parallel /= copies;
        stage->layers = g_memdup2(stage->layers, stage->n_layers * sizeof *stage->layers);
    }
    for (guint i = 0; i < workload->n_borders; i++) {
        folded->borders[i] = workload->borders[i];
    }
    folded->wrap = workload->wrap;
    folded->memory_bytes = workload->memory_bytes;
    folded->copies = copies;
    gboolean fine = ps_workload_finish(folded, NULL);
    g_assert(fine);
    return folded;
}

/* ---- records -------------------------------------------------------------------------------- */

typedef struct {
    const PsWorkload *whole, *folded;
    const PsTraceSink *sink;
    guint *stage_of; /* [folded->n_lanes] */
} Unfolder;

/* The lane of class 0; those of the other classes follow. */
static guint first_lane(const Unfolder *unfolder, guint lane)
{
    guint stage = unfolder->stage_of[lane];
    guint replica = lane - unfolder->folded->stages[stage].first_lane;
    return unfolder->whole->stages[stage].first_lane + replica * unfolder->folded->copies;
}

static void unfold_op(const PsTraceOp *op, gpointer user_data)
{
    const Unfolder *unfolder = user_data;
    const PsWorkStage *stage = &unfolder->whole->stages[op->stage];
    guint copies = unfolder->folded->copies, lane = first_lane(unfolder, op->lane);
    gint64 peer = op->peer >= 0 ? (gint64)first_lane(unfolder, (guint)op->peer) : -1;
    PsTraceOp copy = *op;
    for (guint class = 0; class < copies; class ++) {
        copy.lane = lane + class;
        copy.replica = copy.lane - stage->first_lane;
        copy.rank = stage->first_rank + copy.replica * stage->tensor_parallel;
        copy.microbatch = op->microbatch >= 0 ? op->microbatch * copies + class : -1;
        copy.peer = peer >= 0 ? peer + class : -1;
        unfolder->sink->op(&copy, unfolder->sink->user_data);
    }
}

static void unfold_memory(const PsTraceMemory *change, gpointer user_data)
{
    const Unfolder *unfolder = user_data;
    guint lane = first_lane(unfolder, change->lane);
    PsTraceMemory copy = *change;
    for (guint class = 0; class < unfolder->folded->copies; class ++) {
        copy.lane = lane + class;
        unfolder->sink->memory(&copy, unfolder->sink->user_data);
    }
}

static guint *index_lanes(const PsWorkload *workload)
{
    guint *stage_of = g_new(guint, workload->n_lanes);
    for (guint i = 0; i < workload->n_stages; i++) {
        for (guint k = 0; k < workload->stages[i].data_parallel; k++) {
            stage_of[workload->stages[i].first_lane + k] = i;
        }
    }
    return stage_of;
}

/* ---- runs ----------------------------------------------------------------------------------- */

PsReplayResult *ps_fold_run(const PsWorkload *workload, const PsReplaySettings *settings,
                            const PsTraceSink *sink, GError **error)
{
    guint copies = ps_fold_copies(workload, settings);
    if (copies == 1) {
        return ps_replay_run(workload, settings, sink, error);
    }
    g_autoptr(PsWorkload) folded = ps_fold_workload(workload, copies);
    g_autofree guint *stage_of = index_lanes(folded);
    Unfolder unfolder = {workload, folded, sink, stage_of};
    const PsTraceSink unfolding = {
        .op = sink != NULL && sink->op != NULL ? unfold_op : NULL,
        .memory = sink != NULL && sink->memory != NULL ? unfold_memory : NULL,
        .user_data = &unfolder,
    };
    g_autoptr(PsReplayResult) result =
        ps_replay_run(folded, settings, sink != NULL ? &unfolding : NULL, NULL);
    if (result != NULL && result->partial) {
        g_clear_pointer(&result->out_of_memory, g_free); /* it names a lane of one class alone */
    }
    if (result == NULL || result->out_of_memory != NULL) {
        /* For its words; the records are those that have been handed on. */
        return ps_replay_run(workload, settings, NULL, error);
    }
    return g_steal_pointer(&result);
}
