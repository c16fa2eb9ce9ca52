#include "sim/trace/run-rows.h"

#include <math.h>

#include "sim/base/suggest.h"
#include "sim/base/units.h"
#include "sim/trace/run-files.h"

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

static gboolean get_time(const PsCsvRow *row, guint field, const char *const *columns,
                         const PsRunReading *reading, gint64 *time_ps, GError **error)
{
    if (!ps_csv_get_time(row, field, columns[field], time_ps, error)) {
        return FALSE;
    }
    if (*time_ps > reading->latest_ps) {
        ps_csv_error(row, columns[field], error, "%s is after the run's end (makespan_s in %s)",
                     row->fields[field], PS_RUN_SUMMARY);
        return FALSE;
    }
    return TRUE;
}

/* A start, and an end in the field after it. */
static gboolean get_interval(const PsCsvRow *row, guint field, const char *const *columns,
                             const PsRunReading *reading, gint64 *start_ps, gint64 *end_ps,
                             GError **error)
{
    if (!ps_csv_get_time(row, field, columns[field], start_ps, error) ||
        !get_time(row, field + 1, columns, reading, end_ps, error)) {
        return FALSE;
    }
    if (*start_ps > *end_ps) {
        ps_csv_error(row, columns[field + 1], error, "%s is before %s %s", row->fields[field + 1],
                     columns[field], row->fields[field]);
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

static gboolean check_peer(const PsCsvRow *row, const PsTraceOp *op, GError **error)
{
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

gboolean ps_run_row_op(const PsCsvRow *row, gpointer user_data, GError **error)
{
    PsRunReading *reading = user_data;
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
        !get_interval(row, PS_TRACE_START, columns, reading, &op.start_ps, &op.end_ps, error) ||
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
    return check_peer(row, &op, error);
}

gboolean ps_run_row_memory(const PsCsvRow *row, gpointer user_data, GError **error)
{
    PsRunReading *reading = user_data;
    const char *const *columns = ps_memory_columns;
    gint64 lane;
    guint category;
    PsTraceMemory change = {0};
    if (!get_time(row, PS_MEMORY_FILE_TIME, columns, reading, &change.time_ps, error) ||
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
    change.category = category;
    g_array_append_val(reading->records, change);
    return TRUE;
}

/* Bounds what readers keep for each server. */
#define MOST_SERVERS (1 << 20)

gboolean ps_run_row_load(const PsCsvRow *row, gpointer user_data, GError **error)
{
    PsRunReading *reading = user_data;
    const char *const *columns = ps_loader_columns;
    gint64 server;
    PsTraceLoad load = {0};
    if (!get_count(row, PS_LOADER_SERVER, columns, 0, MOST_SERVERS - 1, &server, error) ||
        !get_count(row, PS_LOADER_SAMPLE, columns, 0, G_MAXINT64, &load.sample, error) ||
        !get_interval(row, PS_LOADER_START, columns, reading, &load.start_ps, &load.end_ps,
                      error)) {
        return FALSE;
    }
    load.server = (guint)server;
    g_array_append_val(reading->records, load);
    return TRUE;
}

/* Figures from other programs may have been rounded. */
#define SAME 1e-6

static gboolean check_link(const PsCsvRow *row, const PsRunReading *reading, const PsRunLink *link,
                           double utilisation, GError **error)
{
    guint n = reading->records->len;
    if (link->capacity_bytes_per_s == 0) {
        ps_csv_error(row, ps_links_columns[PS_LINKS_CAPACITY], error, "0 (expected more)");
        return FALSE;
    }
    if (n > 0 && link->link <= g_array_index(reading->records, PsRunLink, n - 1).link) {
        ps_csv_error(row, ps_links_columns[PS_LINKS_LINK], error,
                     "%u after %u (expected ascending numbers)", link->link,
                     g_array_index(reading->records, PsRunLink, n - 1).link);
        return FALSE;
    }
    double expected = ps_run_link_utilisation(link, reading->summary->makespan_ps);
    if (!(fabs(utilisation - expected) <= SAME * expected)) {
        g_autofree char *text = ps_double_format(expected);
        ps_csv_error(row, ps_links_columns[PS_LINKS_UTILISATION], error,
                     "%s (expected %s: moved_bytes per capacity and makespan)",
                     row->fields[PS_LINKS_UTILISATION], text);
        return FALSE;
    }
    return TRUE;
}

gboolean ps_run_row_link(const PsCsvRow *row, gpointer user_data, GError **error)
{
    PsRunReading *reading = user_data;
    const char *const *columns = ps_links_columns;
    gint64 number, peak_flows;
    double utilisation;
    PsRunLink link = {0};
    if (!get_count(row, PS_LINKS_LINK, columns, 0, G_MAXUINT32, &number, error) ||
        !get_bytes(row, PS_LINKS_CAPACITY, columns, &link.capacity_bytes_per_s, error) ||
        !get_time(row, PS_LINKS_BUSY, columns, reading, &link.busy_ps, error) ||
        !get_bytes(row, PS_LINKS_MOVED, columns, &link.moved_bytes, error) ||
        !get_bytes(row, PS_LINKS_UTILISATION, columns, &utilisation, error) ||
        !get_count(row, PS_LINKS_PEAK_FLOWS, columns, 1, G_MAXUINT32, &peak_flows, error)) {
        return FALSE;
    }
    link.link = (guint)number;
    link.peak_flows = (guint)peak_flows;
    if (!check_link(row, reading, &link, utilisation, error)) {
        return FALSE;
    }
    link.name = g_strdup(row->fields[PS_LINKS_NAME]);
    g_array_append_val(reading->records, link);
    return TRUE;
}
