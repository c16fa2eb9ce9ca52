#include "planner/check/measure.h"

#include <string.h>

#include "sim/base/error.h"
#include "sim/base/units.h"

/* Row i of a run's CSV stands at this line: below the header, and no field holds a line break. */
#define LINE_OF(i) ((i) + 2)

/* Ops that every microbatch must have the same number of. */
typedef struct {
    gint64 n_ops, n_of_batches; /* the latter belong to no microbatch */
    gint64 sum;                 /* of their microbatches */
    double bytes;
    guint last_row;
} Group;

typedef struct {
    const PsRun *run;
    PsMeasure *measure;
    guint n_lanes;
    gint64 *stream_ends; /* [n_lanes][PS_N_STREAMS]: end of the last op */
    gint64 *window_ps;   /* [n_lanes][PS_N_STREAMS]: busy time within the window */
    gint64 *cause_ps;    /* [n_stages][PS_N_CAUSES]: the same by stage and cause */
    gint64 n_microbatches;
    guint n_chunks; /* of each stage */
    /* Ends of forwards and backwards, [n_stages][n_chunks][n_microbatches], -1 before they ran; and
     * whether the chunk has any, since ops that take no time leave no row. */
    gint64 *ends[2];
    gboolean *any[2];
    gint64 *share_ends;  /* [n_microbatches]: of shares of an amortised resync; -1: none */
    gboolean *in_pieces; /* [n_stages]: passes may be cut by collectives of layers */
    gboolean jitter;     /* so computations may have taken no time */
    Group
        *groups; /* [n_stages][PS_N_OPS][n_stages + 1]: by stage, kind, and stage of the peer + 1 */
} Reader;

enum { FORWARD, BACKWARD };

static void fail(const Reader *reader, const char *file, guint row, GError **error,
                 const char *format, ...) G_GNUC_PRINTF(5, 6);
static void fail(const Reader *reader, const char *file, guint row, GError **error,
                 const char *format, ...)
{
    const char *folder = reader->run->folder; /* NULL of a run that was not written */
    g_autofree char *path = folder != NULL ? g_build_filename(folder, file, NULL) : g_strdup(file);
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    ps_error_at(error, path, LINE_OF(row), "%s", message);
}

static guint chunk_of(const Reader *reader, const PsTraceOp *op)
{
    return op->stage * reader->n_chunks + op->chunk;
}

static gint64 overlap(gint64 start, gint64 end, gint64 from, gint64 to)
{
    return MAX(0, MIN(end, to) - MAX(start, from));
}

static gboolean add_to_stream(Reader *reader, const PsTraceOp *op, guint row, GError **error)
{
    const PsRunSummary *summary = reader->run->summary;
    guint stream = op->lane * PS_N_STREAMS + op->stream;
    if (op->start_ps < reader->stream_ends[stream]) {
        fail(reader, "trace.csv", row, error,
             "lane %u starts this before the one before it on its %s stream has ended (expected "
             "one op at a time, in order)",
             op->lane, ps_stream_names[op->stream]);
        return FALSE;
    }
    reader->stream_ends[stream] = op->end_ps;
    gint64 inside =
        overlap(op->start_ps, op->end_ps, summary->window_start_ps, summary->window_end_ps);
    reader->window_ps[stream] += inside;
    reader->cause_ps[op->stage * PS_N_CAUSES + ps_op_causes[op->kind]] += inside;
    reader->measure->makespan_ps = MAX(reader->measure->makespan_ps, op->end_ps);
    return TRUE;
}

static guint stage_of_lane(const PsRunSummary *summary, gint64 lane)
{
    guint stage = summary->n_stages - 1;
    while (summary->stages[stage].first_lane > lane) {
        stage--;
    }
    return stage;
}

static void add_to_group(Reader *reader, const PsTraceOp *op, guint row)
{
    const PsRunSummary *summary = reader->run->summary;
    guint peer = op->peer < 0 ? 0 : 1 + stage_of_lane(summary, op->peer);
    Group *group =
        &reader->groups[(op->stage * PS_N_OPS + op->kind) * (summary->n_stages + 1) + peer];
    group->n_ops++;
    group->n_of_batches += op->microbatch < 0;
    group->sum += op->microbatch;
    group->bytes += op->bytes;
    group->last_row = row;
}

/* Whether some ops of the kind may have taken no time. */
static gboolean may_vanish(const Reader *reader, PsOpKind kind, double bytes)
{
    gboolean computes = ps_op_causes[kind] == PS_CAUSE_COMPUTE && kind != PS_OP_TENSOR;
    return computes ? reader->jitter : bytes == 0;
}

/* A row that was dropped, or given to another microbatch, shows in the count or in the sum. */
static gboolean groups_are_whole(const Reader *reader, GError **error)
{
    guint n_stages = reader->measure->n_stages;
    gint64 n = reader->n_microbatches;
    for (guint i = 0; i < n_stages * PS_N_OPS * (n_stages + 1); i++) {
        const Group *group = &reader->groups[i];
        gint64 each = group->n_ops / n;
        gboolean whole = group->n_ops == each * n && group->sum == each * (n * (n - 1) / 2);
        guint stage = i / (n_stages + 1) / PS_N_OPS, kind = i / (n_stages + 1) % PS_N_OPS;
        /* Some schedules run the weight gradient apart for some microbatches only. */
        if (group->n_ops == group->n_of_batches || whole || kind == PS_OP_WEIGHT ||
            may_vanish(reader, kind, group->bytes)) {
            continue;
        }
        fail(reader, "trace.csv", group->last_row, error,
             "the last %s of stage %u with this peer: not every microbatch has the same number of "
             "them",
             ps_op_names[kind], stage);
        return FALSE;
    }
    return TRUE;
}

/* Each microbatch runs forward once, then backward once, on every chunk of replica n mod d of every
 * stage. */
static gboolean add_to_microbatch(Reader *reader, const PsTraceOp *op, guint row, GError **error)
{
    gboolean share = op->kind == PS_OP_RESYNC && op->microbatch >= 0;
    if (op->kind != PS_OP_FORWARD && op->kind != PS_OP_BACKWARD && !share) {
        return TRUE;
    }
    guint d = reader->run->summary->stages[op->stage].data_parallel;
    if (op->microbatch < 0 || op->microbatch >= reader->n_microbatches ||
        op->microbatch % d != op->replica) {
        fail(reader, "trace.csv", row, error,
             "replica %u of stage %u runs microbatch %" G_GINT64_FORMAT
             " (expected one of %" G_GINT64_FORMAT ", on replica n mod %u)",
             op->replica, op->stage, op->microbatch, reader->n_microbatches, d);
        return FALSE;
    }
    if (share) {
        gint64 *share_end = &reader->share_ends[op->microbatch];
        *share_end = MAX(*share_end, op->end_ps);
        reader->measure->stages[op->stage].shared += ps_in_window(reader->run->summary, op->end_ps);
        return TRUE;
    }
    guint chunk = chunk_of(reader, op);
    gsize at = chunk * (gsize)reader->n_microbatches + (gsize)op->microbatch;
    gint64 *end = &reader->ends[op->kind == PS_OP_FORWARD ? FORWARD : BACKWARD][at];
    /* Collectives of layers cut a pass into pieces, one after another. */
    gboolean next_piece = reader->in_pieces[op->stage] && op->start_ps >= *end;
    if (*end >= 0 && !next_piece) {
        fail(reader, "trace.csv", row, error,
             "a second %s of microbatch %" G_GINT64_FORMAT " on stage %u", ps_op_names[op->kind],
             op->microbatch, op->stage);
        return FALSE;
    }
    gint64 forward_end = reader->ends[FORWARD][at];
    gboolean forward_missing =
        forward_end < 0 && reader->any[FORWARD][chunk] && !may_vanish(reader, PS_OP_FORWARD, 0);
    if (op->kind == PS_OP_BACKWARD && (forward_missing || op->start_ps < forward_end)) {
        fail(reader, "trace.csv", row, error,
             "backward of microbatch %" G_GINT64_FORMAT " on stage %u starts before its forward "
             "has ended",
             op->microbatch, op->stage);
        return FALSE;
    }
    *end = op->end_ps;
    return TRUE;
}

static void note_kinds(Reader *reader)
{
    for (guint i = 0; i < reader->run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(reader->run->ops, PsTraceOp, i);
        reader->any[FORWARD][chunk_of(reader, op)] |= op->kind == PS_OP_FORWARD;
        reader->any[BACKWARD][chunk_of(reader, op)] |= op->kind == PS_OP_BACKWARD;
        reader->in_pieces[op->stage] |= op->kind == PS_OP_TENSOR;
    }
}

static gboolean read_ops(Reader *reader, GError **error)
{
    note_kinds(reader);
    for (guint i = 0; i < reader->run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(reader->run->ops, PsTraceOp, i);
        if (!add_to_stream(reader, op, i, error) || !add_to_microbatch(reader, op, i, error)) {
            return FALSE;
        }
        add_to_group(reader, op, i);
    }
    return TRUE;
}

/* The end of the microbatch's last op on a chunk, -1 where it has no row; FALSE with error where
 * one is missing. */
static gboolean chunk_end(Reader *reader, guint chunk, gint64 microbatch, gint64 *end_ps,
                          GError **error)
{
    static const PsOpKind kinds[] = {[FORWARD] = PS_OP_FORWARD, [BACKWARD] = PS_OP_BACKWARD};
    *end_ps = -1;
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
        gint64 end = reader->ends[i][chunk * (gsize)reader->n_microbatches + (gsize)microbatch];
        gboolean missing = end < 0 && reader->any[i][chunk];
        if (missing && !may_vanish(reader, kinds[i], 0)) {
            fail(reader, "trace.csv", reader->run->ops->len, error,
                 "the file ends without the %s of microbatch %" G_GINT64_FORMAT " on stage %u",
                 ps_op_names[kinds[i]], microbatch, chunk / reader->n_chunks);
            return FALSE;
        }
        reader->measure->n_vanished += missing;
        *end_ps = MAX(*end_ps, end);
    }
    return TRUE;
}

/* What a replica had done. */
typedef struct {
    gint64 before, after; /* microbatches, up to the beginning and to the end of the window */
    gint64 last_ps;       /* when it was through with the last one */
} Done;

static void note_leads(PsMeasuredStage *measured, const Done *done, guint n_replicas)
{
    Done least = done[0], most = done[0];
    for (guint i = 1; i < n_replicas; i++) {
        least.before = MIN(least.before, done[i].before);
        least.after = MIN(least.after, done[i].after);
        most.before = MAX(most.before, done[i].before);
        most.after = MAX(most.after, done[i].after);
    }
    measured->lead_before = most.before - least.before;
    measured->lead_after = most.after - least.after;
}

/* When the stage was through with each microbatch; ends_ps[] become as late as that. */
static gboolean read_stage(Reader *reader, guint stage, gint64 *ends_ps, GError **error)
{
    const PsRunSummary *summary = reader->run->summary;
    PsMeasuredStage *measured = &reader->measure->stages[stage];
    guint d = summary->stages[stage].data_parallel;
    g_autofree Done *done = g_new0(Done, d);
    for (gint64 n = 0; n < reader->n_microbatches; n++) {
        gint64 stage_ps = -1;
        for (guint i = 0; i < reader->n_chunks; i++) {
            gint64 end_ps;
            if (!chunk_end(reader, stage * reader->n_chunks + i, n, &end_ps, error)) {
                return FALSE;
            }
            stage_ps = MAX(stage_ps, end_ps);
        }
        Done *own = &done[n % d];
        own->last_ps = MAX(own->last_ps, stage_ps); /* what has no row goes with the one before */
        own->before += own->last_ps <= summary->window_start_ps;
        own->after += own->last_ps <= summary->window_end_ps;
        measured->passed += ps_in_window(summary, own->last_ps);
        ends_ps[n] = MAX(ends_ps[n], stage_ps);
    }
    note_leads(measured, done, d);
    return TRUE;
}

static gboolean read_completions(Reader *reader, GError **error)
{
    g_autofree gint64 *ends_ps = g_new(gint64, MAX(reader->n_microbatches, 1));
    memcpy(ends_ps, reader->share_ends, (gsize)reader->n_microbatches * sizeof *ends_ps);
    for (guint i = 0; i < reader->measure->n_stages; i++) {
        if (!read_stage(reader, i, ends_ps, error)) {
            return FALSE;
        }
    }
    reader->measure->pace = ps_pace_measure(reader->run->summary, ends_ps, reader->n_microbatches);
    return TRUE;
}

/* What a lane holds, by category, and since when. */
typedef struct {
    gint64 since_ps;
    double bytes[PS_N_MEMORY];
} Held;

static void note_peak(Reader *reader, guint stage, const Held *held)
{
    double total = 0;
    for (guint category = 0; category < PS_N_MEMORY; category++) {
        total += held->bytes[category];
    }
    double *peak = &reader->measure->stages[stage].peak_memory_bytes;
    *peak = MAX(*peak, total);
}

/* A lane's rows of one instant say together what it holds from then on. */
static gboolean read_memory(Reader *reader, GError **error)
{
    g_autofree Held *lanes = g_new0(Held, reader->n_lanes);
    for (guint i = 0; i < reader->run->memory->len; i++) {
        const PsTraceMemory *change = &g_array_index(reader->run->memory, PsTraceMemory, i);
        Held *held = &lanes[change->lane];
        if (change->bytes < 0 || change->time_ps < held->since_ps) {
            fail(reader, "memory.csv", i, error,
                 "lane %u holds %.0f bytes after an earlier row (expected at least 0, in order of "
                 "time)",
                 change->lane, change->bytes);
            return FALSE;
        }
        if (change->time_ps > held->since_ps) {
            note_peak(reader, change->stage, held);
            held->since_ps = change->time_ps;
        }
        held->bytes[change->category] = change->bytes;
    }
    for (guint stage = 0; stage < reader->measure->n_stages; stage++) {
        const PsRunStage *place = &reader->run->summary->stages[stage];
        for (guint replica = 0; replica < place->data_parallel; replica++) {
            note_peak(reader, stage, &lanes[place->first_lane + replica]);
        }
    }
    return TRUE;
}

/* A server prepares one sample at a time, and each sample is prepared once. */
static gboolean read_loads(const Reader *reader, GError **error)
{
    const GArray *loads = reader->run->loads;
    guint n_servers = 0;
    for (guint i = 0; loads != NULL && i < loads->len; i++) {
        n_servers = MAX(n_servers, g_array_index(loads, PsTraceLoad, i).server + 1);
    }
    g_autofree gint64 *ends_ps = g_new0(gint64, n_servers);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; loads != NULL && i < loads->len; i++) {
        PsTraceLoad *load = &g_array_index(loads, PsTraceLoad, i);
        if (load->start_ps < ends_ps[load->server]) {
            fail(reader, "loader.csv", i, error,
                 "server %u starts this before the one before it has ended (expected one sample at "
                 "a time, in order)",
                 load->server);
            return FALSE;
        }
        ends_ps[load->server] = load->end_ps;
        if (!g_hash_table_add(seen, &load->sample)) {
            fail(reader, "loader.csv", i, error, "sample %" G_GINT64_FORMAT " a second time",
                 load->sample);
            return FALSE;
        }
    }
    return TRUE;
}

static void sum_up(const Reader *reader)
{
    const PsRunSummary *summary = reader->run->summary;
    for (guint stage = 0; stage < summary->n_stages; stage++) {
        PsMeasuredStage *measured = &reader->measure->stages[stage];
        const gint64 *causes = reader->cause_ps + stage * PS_N_CAUSES;
        measured->compute_s = ps_ps_to_seconds(causes[PS_CAUSE_COMPUTE]);
        measured->edge_s = ps_ps_to_seconds(causes[PS_CAUSE_EDGE]);
        measured->resync_s = ps_ps_to_seconds(causes[PS_CAUSE_RESYNC]);
        gint64 busy_ps = 0;
        for (guint replica = 0; replica < summary->stages[stage].data_parallel; replica++) {
            guint lane = summary->stages[stage].first_lane + replica;
            gint64 lane_ps = reader->window_ps[lane * PS_N_STREAMS + PS_STREAM_COMPUTE];
            busy_ps += lane_ps;
            measured->busiest_ps = MAX(measured->busiest_ps, lane_ps);
        }
        measured->busy_s = ps_ps_to_seconds(busy_ps);
    }
}

#define MOST_CHUNKS 1024

/* Chunks of a stage; 0 with error where there are too many. */
static guint count_chunks(const PsRun *run, GError **error)
{
    guint n_chunks = 1;
    for (guint i = 0; i < run->ops->len; i++) {
        guint chunk = g_array_index(run->ops, PsTraceOp, i).chunk;
        if (chunk >= MOST_CHUNKS) {
            const Reader reader = {.run = run};
            fail(&reader, "trace.csv", i, error, "chunk %u (expected less than %u)", chunk,
                 MOST_CHUNKS);
            return 0;
        }
        n_chunks = MAX(n_chunks, chunk + 1);
    }
    return n_chunks;
}

PsMeasure *ps_measure(const PsRun *run, GError **error)
{
    const PsRunSummary *summary = run->summary;
    g_autoptr(PsMeasure) measure = g_new0(PsMeasure, 1);
    measure->n_stages = summary->n_stages;
    measure->stages = g_new0(PsMeasuredStage, summary->n_stages);
    const PsRunStage *last = &summary->stages[summary->n_stages - 1];
    guint n_lanes = last->first_lane + last->data_parallel;
    guint n_chunks = count_chunks(run, error);
    if (n_chunks == 0) {
        return NULL;
    }
    gsize n_cells = summary->n_stages * n_chunks * (gsize)summary->microbatches_simulated;
    g_autofree gint64 *stream_ends = g_new0(gint64, n_lanes * PS_N_STREAMS);
    g_autofree gint64 *window_ps = g_new0(gint64, n_lanes * PS_N_STREAMS);
    g_autofree gint64 *cause_ps = g_new0(gint64, summary->n_stages * PS_N_CAUSES);
    g_autofree gint64 *ends = g_new(gint64, 2 * n_cells);
    gsize n_microbatches = (gsize)summary->microbatches_simulated;
    g_autofree gint64 *share_ends = g_new(gint64, MAX(n_microbatches, 1));
    memset(share_ends, -1, n_microbatches * sizeof *share_ends);
    g_autofree gboolean *in_pieces = g_new0(gboolean, summary->n_stages);
    g_autofree gboolean *any = g_new0(gboolean, 2 * summary->n_stages * n_chunks);
    memset(ends, -1, 2 * n_cells * sizeof *ends);
    Reader reader = {.run = run,
                     .measure = measure,
                     .n_lanes = n_lanes,
                     .stream_ends = stream_ends,
                     .window_ps = window_ps,
                     .cause_ps = cause_ps,
                     .n_microbatches = summary->microbatches_simulated,
                     .n_chunks = n_chunks,
                     .share_ends = share_ends,
                     .in_pieces = in_pieces,
                     .jitter = g_hash_table_contains(summary->settings, "jitter"),
                     .ends = {ends, ends + n_cells},
                     .any = {any, any + summary->n_stages * n_chunks}};
    g_autofree Group *groups =
        g_new0(Group, summary->n_stages * PS_N_OPS * (summary->n_stages + 1));
    reader.groups = groups;
    if (!read_ops(&reader, error) || !read_completions(&reader, error) ||
        !groups_are_whole(&reader, error) || !read_memory(&reader, error) ||
        !read_loads(&reader, error)) {
        return NULL;
    }
    sum_up(&reader);
    return g_steal_pointer(&measure);
}

void ps_measure_free(PsMeasure *measure)
{
    if (measure == NULL) {
        return;
    }
    g_free(measure->stages);
    g_free(measure);
}
