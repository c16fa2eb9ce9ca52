#include "sim/trace/run.h"

#include <string.h>

#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/trace/run-files.h"
#include "sim/trace/summary.h"

/* What rows are read into and checked against. */
typedef struct {
    const PsRunSummary *summary;
    guint n_lanes;
    guint *stage_of;    /* [n_lanes] */
    guint *first_ranks; /* [n_stages] */
    gint64 latest_ps;   /* no time may be later */
    GArray *records;
} Reading;

static gboolean get_count(const PsCsvRow *row, guint field, const char *const *columns, gint64 min,
                          gint64 max, gint64 *value, GError **error)
{
    return ps_csv_get_int(row, field, columns[field], min, max, value, error);
}

static gboolean get_name(const PsCsvRow *row, guint field, const char *const *columns,
                         const char *const *names, guint *value, GError **error)
{
    for (guint i = 0; names[i] != NULL; i++) {
        if (g_str_equal(row->fields[field], names[i])) {
            *value = i;
            return TRUE;
        }
    }
    g_autofree char *suggestion = ps_suggest_text(row->fields[field], names);
    ps_csv_error(row, columns[field], error, "unknown name \"%s\"%s", row->fields[field],
                 suggestion);
    return FALSE;
}

static gboolean get_bytes(const PsCsvRow *row, guint field, const char *const *columns,
                          double *value, GError **error)
{
    if (!ps_csv_get_double(row, field, columns[field], value, error)) {
        return FALSE;
    }
    if (*value < 0) {
        ps_csv_error(row, columns[field], error, "%s is negative (expected 0 or more)",
                     row->fields[field]);
        return FALSE;
    }
    return TRUE;
}

/* The field must hold what the lane implies. */
static gboolean expect(const PsCsvRow *row, guint field, const char *const *columns, gint64 lane,
                       gint64 expected, GError **error)
{
    gint64 value;
    if (!get_count(row, field, columns, 0, G_MAXINT64, &value, error)) {
        return FALSE;
    }
    if (value != expected) {
        ps_csv_error(row, columns[field], error,
                     "%" G_GINT64_FORMAT " (expected %" G_GINT64_FORMAT
                     " for lane %" G_GINT64_FORMAT ")",
                     value, expected, lane);
        return FALSE;
    }
    return TRUE;
}

static gboolean check_op(const PsCsvRow *row, const Reading *reading, const PsTraceOp *op,
                         GError **error)
{
    if (op->start_ps > op->end_ps) {
        ps_csv_error(row, "end_s", error, "%s is before start_s %s", row->fields[PS_TRACE_END],
                     row->fields[PS_TRACE_START]);
        return FALSE;
    }
    if (op->end_ps > reading->latest_ps) {
        ps_csv_error(row, "end_s", error, "%s is after the run's end (makespan_s in %s)",
                     row->fields[PS_TRACE_END], PS_RUN_SUMMARY);
        return FALSE;
    }
    gboolean transfer = op->kind == PS_OP_SEND || op->kind == PS_OP_RECEIVE;
    if (transfer != (op->peer >= 0)) {
        ps_csv_error(row, "peer", error,
                     transfer ? "-1 (a transfer has a lane at its other end)"
                              : "%s (expected -1: not a transfer)",
                     row->fields[PS_TRACE_PEER]);
        return FALSE;
    }
    return TRUE;
}

static gboolean read_op(const PsCsvRow *row, gpointer user_data, GError **error)
{
    Reading *reading = user_data;
    const char *const *columns = ps_trace_columns;
    gint64 lane, microbatch, chunk, peer;
    guint stream, kind;
    PsTraceOp op = {0};
    if (!get_count(row, PS_TRACE_LANE, columns, 0, reading->n_lanes - 1, &lane, error)) {
        return FALSE;
    }
    op.lane = (guint)lane;
    op.stage = reading->stage_of[lane];
    const PsRunStage *stage = &reading->summary->stages[op.stage];
    op.replica = op.lane - stage->first_lane;
    op.rank = reading->first_ranks[op.stage] + op.replica * stage->tensor_parallel;
    if (!expect(row, PS_TRACE_STAGE, columns, lane, op.stage, error) ||
        !expect(row, PS_TRACE_REPLICA, columns, lane, op.replica, error) ||
        !expect(row, PS_TRACE_RANK, columns, lane, op.rank, error) ||
        !get_name(row, PS_TRACE_STREAM, columns, ps_stream_names, &stream, error) ||
        !get_name(row, PS_TRACE_KIND, columns, ps_op_names, &kind, error) ||
        !get_count(row, PS_TRACE_MICROBATCH, columns, -1, G_MAXINT64, &microbatch, error) ||
        !get_count(row, PS_TRACE_CHUNK, columns, 0, G_MAXUINT32, &chunk, error) ||
        !ps_csv_get_time(row, PS_TRACE_START, columns[PS_TRACE_START], &op.start_ps, error) ||
        !ps_csv_get_time(row, PS_TRACE_END, columns[PS_TRACE_END], &op.end_ps, error) ||
        !get_bytes(row, PS_TRACE_BYTES, columns, &op.bytes, error) ||
        !get_count(row, PS_TRACE_PEER, columns, -1, reading->n_lanes - 1, &peer, error)) {
        return FALSE;
    }
    op.stream = stream;
    op.kind = kind;
    op.microbatch = microbatch;
    op.chunk = (guint)chunk;
    op.peer = peer;
    g_array_append_val(reading->records, op);
    return check_op(row, reading, &op, error);
}

static gboolean read_memory(const PsCsvRow *row, gpointer user_data, GError **error)
{
    Reading *reading = user_data;
    const char *const *columns = ps_memory_columns;
    gint64 lane;
    guint category;
    PsTraceMemory change = {0};
    if (!ps_csv_get_time(row, PS_MEMORY_FILE_TIME, columns[PS_MEMORY_FILE_TIME], &change.time_ps,
                         error) ||
        !get_count(row, PS_MEMORY_FILE_LANE, columns, 0, reading->n_lanes - 1, &lane, error)) {
        return FALSE;
    }
    change.lane = (guint)lane;
    change.stage = reading->stage_of[lane];
    if (!expect(row, PS_MEMORY_FILE_STAGE, columns, lane, change.stage, error) ||
        !get_name(row, PS_MEMORY_FILE_CATEGORY, columns, ps_memory_names, &category, error) ||
        !get_bytes(row, PS_MEMORY_FILE_BYTES, columns, &change.bytes, error)) {
        return FALSE;
    }
    if (change.time_ps > reading->latest_ps) {
        ps_csv_error(row, "time_s", error, "%s is after the run's end (makespan_s in %s)",
                     row->fields[PS_MEMORY_FILE_TIME], PS_RUN_SUMMARY);
        return FALSE;
    }
    change.category = category;
    g_array_append_val(reading->records, change);
    return TRUE;
}

/* Hashing takes half as long as reading, so it is done beside it. Returns NULL on failure. */
static gpointer hash_file(gpointer path)
{
    gsize length;
    g_autofree char *text = ps_read_file(path, &length, NULL);
    return text != NULL ? ps_sha256(text, length) : NULL;
}

static gboolean check_sha256(const char *path, const char *found, const char *expected,
                             GError **error)
{
    if (expected == NULL || g_strcmp0(found, expected) == 0) {
        return TRUE;
    }
    ps_error_at(error, path, 0,
                "changed since the run: its SHA-256 is not the one in %s (expected %s, found %s)",
                PS_RUN_SUMMARY, expected, found != NULL ? found : "none");
    return FALSE;
}

/* Returns the records of one file. */
static GArray *read_records(const Reading *frame, const char *folder, const char *name,
                            const char *const *columns, PsCsvRowFunc row_func, gsize size,
                            const char *sha256, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GArray) records = g_array_new(FALSE, FALSE, (guint)size);
    Reading reading = *frame;
    reading.records = records;
    GThread *hashing = g_thread_new("sha256", hash_file, path);
    gboolean read = ps_csv_read(path, columns, row_func, &reading, error);
    g_autofree char *found = g_thread_join(hashing);
    if (!read || !check_sha256(path, found, sha256, error)) {
        return NULL;
    }
    return g_steal_pointer(&records);
}

static gboolean read_parts(PsRun *run, PsRunParts parts, const Reading *frame, GError **error)
{
    const PsRunSummary *summary = run->summary;
    if (parts & PS_RUN_OPS) {
        run->ops = read_records(frame, run->folder, PS_RUN_TRACE, ps_trace_columns, read_op,
                                sizeof(PsTraceOp), summary->trace_sha256, error);
        if (run->ops == NULL) {
            return FALSE;
        }
        if (run->ops->len != summary->n_ops) {
            g_autofree char *path = g_build_filename(run->folder, PS_RUN_TRACE, NULL);
            ps_error_at(error, path, 0, "%u rows (expected %" G_GINT64_FORMAT ": trace_rows in %s)",
                        run->ops->len, summary->n_ops, PS_RUN_SUMMARY);
            return FALSE;
        }
    }
    if (parts & PS_RUN_MEMORY) {
        run->memory =
            read_records(frame, run->folder, PS_RUN_MEMORY_FILE, ps_memory_columns, read_memory,
                         sizeof(PsTraceMemory), summary->memory_sha256, error);
    }
    return (parts & PS_RUN_MEMORY) == 0 || run->memory != NULL;
}

PsRun *ps_run_load(const char *folder, PsRunParts parts, GError **error)
{
    g_autofree char *path = g_build_filename(folder, PS_RUN_SUMMARY, NULL);
    g_autoptr(PsRun) run = g_new0(PsRun, 1);
    run->folder = g_strdup(folder);
    run->summary = ps_run_summary_read(path, error);
    if (run->summary == NULL) {
        return NULL;
    }
    const PsRunSummary *summary = run->summary;
    guint n_lanes = ps_run_summary_n_lanes(summary), rank = 0;
    g_autofree guint *stage_of = g_new(guint, n_lanes);
    g_autofree guint *first_ranks = g_new(guint, summary->n_stages);
    for (guint i = 0; i < summary->n_stages; i++) {
        const PsRunStage *stage = &summary->stages[i];
        first_ranks[i] = rank;
        rank += stage->data_parallel * stage->tensor_parallel;
        for (guint k = 0; k < stage->data_parallel; k++) {
            stage_of[stage->first_lane + k] = i;
        }
    }
    /* The makespan went through a double of seconds; from 4096 s on that is coarser than 1 ps. */
    gint64 latest_ps = summary->makespan_ps + (summary->makespan_ps >> 52) + 1;
    Reading frame = {summary, n_lanes, stage_of, first_ranks, latest_ps, NULL};
    if (!read_parts(run, parts, &frame, error)) {
        return NULL;
    }
    return g_steal_pointer(&run);
}
