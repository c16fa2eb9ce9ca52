#include "sim/net/flow-file.h"

#include "sim/base/csv.h"
#include "sim/base/units.h"

/* Beyond these a number is a slip. */
#define MOST_START_S 4e6
#define MOST_BYTES 1e18

enum { START, SOURCE, DESTINATION, BYTES };
static const char *const columns[] = {"start_s", "source", "destination", "bytes", NULL};

typedef struct {
    GArray *rows;
    guint n_devices;
} Reader;

static gboolean read_number(const PsCsvRow *row, guint field, double most, double *value,
                            GError **error)
{
    if (!ps_csv_get_double(row, field, columns[field], value, error)) {
        return FALSE;
    }
    if (*value < 0 || *value > most) {
        ps_csv_error(row, columns[field], error, "%s is out of range (expected 0 to %.0e)",
                     row->fields[field], most);
        return FALSE;
    }
    return TRUE;
}

static gboolean read_rank(const PsCsvRow *row, guint field, guint n_devices, guint *rank,
                          GError **error)
{
    gint64 value;
    if (!ps_csv_get_int(row, field, columns[field], 0, n_devices - 1, &value, error)) {
        return FALSE;
    }
    *rank = (guint)value;
    return TRUE;
}

static gboolean read_row(const PsCsvRow *row, gpointer user_data, GError **error)
{
    Reader *reader = user_data;
    PsFlowRow flow = {.line = row->line};
    double start_s;
    if (!read_number(row, START, MOST_START_S, &start_s, error) ||
        !read_rank(row, SOURCE, reader->n_devices, &flow.source, error) ||
        !read_rank(row, DESTINATION, reader->n_devices, &flow.destination, error) ||
        !read_number(row, BYTES, MOST_BYTES, &flow.bytes, error)) {
        return FALSE;
    }
    if (flow.source == flow.destination) {
        ps_csv_error(row, columns[DESTINATION], error,
                     "a flow from device %u to itself (expected another device)", flow.source);
        return FALSE;
    }
    flow.start_ps = ps_seconds_to_ps(start_s);
    g_array_append_val(reader->rows, flow);
    return TRUE;
}

GArray *ps_flow_file_read(const char *path, guint n_devices, GError **error)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(PsFlowRow));
    Reader reader = {rows, n_devices};
    if (!ps_csv_read(path, columns, read_row, &reader, error)) {
        return NULL;
    }
    return g_steal_pointer(&rows);
}
