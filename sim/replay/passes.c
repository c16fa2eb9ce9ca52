#include "sim/base/error.h"
#include "sim/replay/program-parts.h"

/* The layers of a chunk: an equal share of the stage's, in order. */
typedef struct {
    const PsWorkLayer *layers;
    guint n;
} Layers;

static Layers layers_of(const PsWorkStage *work, guint chunk, guint chunks)
{
    guint from = (guint)((guint64)work->n_layers * chunk / chunks);
    guint to = (guint)((guint64)work->n_layers * (chunk + 1) / chunks);
    return (Layers){work->layers + from, to - from};
}

/* What a layer's collectives of the pass take of its time. */
static double collectives_s(const PsWorkLayer *layer, PsPass pass)
{
    double sum_s = 0;
    for (guint i = 0; i < layer->n_collectives; i++) {
        const PsTmpcCollective *collective = &layer->collectives[i];
        sum_s += collective->pass == pass ? collective->count * collective->time_s : 0;
    }
    return sum_s;
}

/* ---- preparing ------------------------------------------------------------------------------ */

/* Prepares a collective of each replica's ranks: numbers that follow each other. */
static gboolean prepare(const PsParts *parts, guint stage, const PsTmpcCollective *collective,
                        guint *number, GError **error)
{
    const PsWorkStage *work = &parts->workload->stages[stage];
    guint t = work->tensor_parallel;
    PsCollectiveCall call = {.n_ranks = t, .bytes = collective->bytes};
    if (!ps_collective_kind_parse(collective->kind, &call.kind, error)) {
        return FALSE;
    }
    for (guint k = 0; k < work->data_parallel; k++) {
        guint one;
        call.ranks = parts->devices + work->first_rank + k * t;
        if (!ps_fabric_add_collective(parts->fabric, &call, parts->settings->collectives, &one,
                                      error)) {
            g_prefix_error(error, "stage %u: ", stage);
            return FALSE;
        }
        *number = k == 0 ? one : *number;
    }
    return TRUE;
}

/* Those of one stage that are prepared already: layers are mostly alike. */
typedef struct {
    const char *kind;
    double bytes;
    guint number;
} Known;

static gboolean find_or_prepare(const PsParts *parts, guint stage, GArray *known,
                                const PsTmpcCollective *collective, guint *number, GError **error)
{
    for (guint i = 0; i < known->len; i++) {
        const Known *one = &g_array_index(known, Known, i);
        if (g_str_equal(one->kind, collective->kind) && one->bytes == collective->bytes) {
            *number = one->number;
            return TRUE;
        }
    }
    if (!prepare(parts, stage, collective, number, error)) {
        return FALSE;
    }
    const Known fresh = {collective->kind, collective->bytes, *number};
    g_array_append_val(known, fresh);
    return TRUE;
}

GArray *ps_pass_known_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(Known));
}

/* ---- segments ------------------------------------------------------------------------------- */

static void add_segment(GArray *segments, PsSegment segment)
{
    g_array_append_val(segments, segment);
}

/* Adds to the computation that came last, if nothing has come between. */
static void add_compute(GArray *segments, double compute_s)
{
    PsSegment *last =
        segments->len > 0 ? &g_array_index(segments, PsSegment, segments->len - 1) : NULL;
    if (last != NULL && last->kind == PS_SEGMENT_COMPUTE) {
        last->compute_s += compute_s;
    } else {
        add_segment(segments, (PsSegment){PS_SEGMENT_COMPUTE, .compute_s = compute_s});
    }
}

/* Buckets of the chunk that are complete at this share of its backward, and were not before. */
static void add_buckets(GArray *segments, const PsStageProgram *program, guint chunk, double from,
                        double to)
{
    for (guint i = 0; i < program->n_buckets; i++) {
        const PsJoint *bucket = &program->joints[i];
        if (bucket->chunk == chunk && bucket->ready > from && bucket->ready <= to &&
            bucket->ready < 1) {
            add_segment(segments, (PsSegment){PS_SEGMENT_BUCKET, .number = i});
        }
    }
}

static gboolean add_layer(const PsParts *parts, guint stage, GArray *known,
                          const PsWorkLayer *layer, PsPass pass, GArray *segments, GError **error)
{
    for (guint i = 0; i < layer->n_collectives; i++) {
        const PsTmpcCollective *collective = &layer->collectives[i];
        PsSegment segment = {PS_SEGMENT_COLLECTIVE, .bytes = collective->bytes};
        if (collective->pass != pass) {
            continue;
        }
        if (!find_or_prepare(parts, stage, known, collective, &segment.number, error)) {
            return FALSE;
        }
        for (guint k = 0; k < collective->count; k++) {
            add_segment(segments, segment);
        }
    }
    return TRUE;
}

gboolean ps_pass_has_collectives(const PsParts *parts, guint stage, guint chunk, PsPass pass)
{
    Layers layers = layers_of(&parts->workload->stages[stage], chunk, parts->settings->chunks);
    for (guint i = 0; parts->fabric != NULL && i < layers.n; i++) {
        for (guint k = 0; k < layers.layers[i].n_collectives; k++) {
            if (layers.layers[i].collectives[k].pass == pass) {
                return TRUE;
            }
        }
    }
    return FALSE;
}

gboolean ps_pass_segments(const PsParts *parts, const PsStageProgram *program, guint stage,
                          guint chunk, PsPass pass, double duration_s, GArray *known,
                          GArray *segments, GError **error)
{
    Layers layers = layers_of(&parts->workload->stages[stage], chunk, parts->settings->chunks);
    double compute_s = 0, waits_s = 0, done_s = 0;
    for (guint i = 0; i < layers.n; i++) {
        waits_s += collectives_s(&layers.layers[i], pass);
        compute_s += layers.layers[i].pass_s[pass] - collectives_s(&layers.layers[i], pass);
    }
    double left_s = MAX(duration_s - waits_s, 0), scale = compute_s > 0 ? left_s / compute_s : 0;
    if (compute_s <= 0) {
        add_compute(segments, left_s);
    }
    for (guint i = 0; i < layers.n; i++) {
        const PsWorkLayer *layer = &layers.layers[pass == PS_PASS_BACKWARD ? layers.n - 1 - i : i];
        double own_s = layer->pass_s[pass] - collectives_s(layer, pass);
        add_compute(segments, own_s * scale);
        if (!add_layer(parts, stage, known, layer, pass, segments, error)) {
            return FALSE;
        }
        if (pass == PS_PASS_BACKWARD && compute_s > 0) {
            add_buckets(segments, program, chunk, done_s / compute_s, (done_s + own_s) / compute_s);
        }
        done_s += own_s;
    }
    return TRUE;
}
