/* Explicit lists of links: CSV files. */
#include <string.h>

#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/base/output.h"
#include "sim/base/units.h"
#include "sim/topo/topo-read.h"

enum { SOURCE, DESTINATION, BANDWIDTH, LATENCY };
static const char *const columns[] = {"source", "destination", "bandwidth_bytes_per_s", "latency_s",
                                      NULL};

typedef struct {
    GPtrArray *vertices; /* char *, given to the list at the end */
    GHashTable *numbers; /* name -> vertex + 1 */
    GArray *devices;     /* guint */
    GArray *links;       /* PsTopologyLink */
    GHashTable *lines;   /* (source, destination) as gint64 -> line of the link */
} Reader;

static void reader_clear(Reader *reader)
{
    g_clear_pointer(&reader->vertices, g_ptr_array_unref);
    g_hash_table_unref(reader->numbers);
    g_clear_pointer(&reader->devices, g_array_unref);
    g_clear_pointer(&reader->links, g_array_unref);
    g_hash_table_unref(reader->lines);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Reader, reader_clear)

static gboolean add_device(Reader *reader, const PsCsvRow *row, guint field, guint vertex,
                           GError **error)
{
    const char *name = row->fields[field];
    guint64 rank;
    if (!ps_count_parse(name, 0, PS_TOPOLOGY_MAX_DEVICES - 1, &rank, NULL) ||
        (name[0] == '0' && name[1] != '\0')) {
        ps_csv_error(row, columns[field], error,
                     "\"%s\" is no rank (expected 0 to %u without leading zeros)", name,
                     (guint)PS_TOPOLOGY_MAX_DEVICES - 1);
        return FALSE;
    }
    const guint none = PS_NO_VERTEX;
    while (reader->devices->len <= rank) {
        g_array_append_val(reader->devices, none);
    }
    g_array_index(reader->devices, guint, rank) = vertex;
    return TRUE;
}

/* A name that somebody may have meant as a rank: digits with a sign or blanks. */
static gboolean looks_like_rank(const char *name)
{
    const char *digits = name + strspn(name, " \t+-");
    gsize n = strspn(digits, "0123456789");
    return n > 0 && digits[n + strspn(digits + n, " \t")] == '\0';
}

/* The vertex that a field names, new or old. */
static gboolean read_vertex(Reader *reader, const PsCsvRow *row, guint field, guint *vertex,
                            GError **error)
{
    const char *name = row->fields[field];
    guint known = GPOINTER_TO_UINT(g_hash_table_lookup(reader->numbers, name));
    if (known > 0) {
        *vertex = known - 1;
        return TRUE;
    }
    if (*name == '\0') {
        ps_csv_error(row, columns[field], error, "empty (expected a rank or the name of a switch)");
        return FALSE;
    }
    *vertex = reader->vertices->len;
    char *copy = g_strdup(name);
    g_ptr_array_add(reader->vertices, copy);
    g_hash_table_insert(reader->numbers, copy, GUINT_TO_POINTER(*vertex + 1));
    return !looks_like_rank(name) || add_device(reader, row, field, *vertex, error);
}

/* One link from a vertex to another, not to itself. */
static gboolean check_ends(Reader *reader, const PsCsvRow *row, const PsTopologyLink *link,
                           GError **error)
{
    if (link->source == link->destination) {
        ps_csv_error(row, columns[DESTINATION], error,
                     "a link from %s to itself (expected another vertex)", row->fields[SOURCE]);
        return FALSE;
    }
    gint64 ends = (gint64)link->source << 32 | link->destination;
    guint line = GPOINTER_TO_UINT(g_hash_table_lookup(reader->lines, &ends));
    if (line > 0) {
        ps_csv_error(row, columns[DESTINATION], error,
                     "a second link from %s to %s (expected one with the sum of their bandwidths; "
                     "first on line %u)",
                     row->fields[SOURCE], row->fields[DESTINATION], line);
        return FALSE;
    }
    g_hash_table_insert(reader->lines, g_memdup2(&ends, sizeof ends), GUINT_TO_POINTER(row->line));
    return TRUE;
}

static gboolean read_row(const PsCsvRow *row, gpointer user_data, GError **error)
{
    Reader *reader = user_data;
    PsTopologyLink link;
    if (!read_vertex(reader, row, SOURCE, &link.source, error) ||
        !read_vertex(reader, row, DESTINATION, &link.destination, error) ||
        !check_ends(reader, row, &link, error) ||
        !ps_csv_get_double(row, BANDWIDTH, columns[BANDWIDTH], &link.bandwidth_bytes_per_s,
                           error) ||
        !ps_csv_get_double(row, LATENCY, columns[LATENCY], &link.latency_s, error)) {
        return FALSE;
    }
    if (!ps_topology_bandwidth_fits(link.bandwidth_bytes_per_s)) {
        ps_csv_error(row, columns[BANDWIDTH], error, PS_BANDWIDTH_FAULT);
        return FALSE;
    }
    if (!ps_topology_latency_fits(link.latency_s)) {
        ps_csv_error(row, columns[LATENCY], error, PS_LATENCY_FAULT);
        return FALSE;
    }
    g_array_append_val(reader->links, link);
    return TRUE;
}

static PsLinkList *read_list(const char *path, GError **error)
{
    g_auto(Reader) reader = {
        .vertices = g_ptr_array_new_with_free_func(g_free),
        .numbers = g_hash_table_new(g_str_hash, g_str_equal),
        .devices = g_array_new(FALSE, FALSE, sizeof(guint)),
        .links = g_array_new(FALSE, FALSE, sizeof(PsTopologyLink)),
        .lines = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
    };
    if (!ps_csv_read(path, columns, read_row, &reader, error)) {
        return NULL;
    }
    if (reader.devices->len == 0) {
        ps_error_at(error, path, 0, "no device (expected vertices that are whole numbers)");
        return NULL;
    }
    PsLinkList *list = g_new0(PsLinkList, 1);
    list->n_vertices = reader.vertices->len;
    list->n_devices = reader.devices->len;
    list->n_links = reader.links->len;
    g_ptr_array_add(reader.vertices, NULL);
    g_ptr_array_set_free_func(reader.vertices, NULL);
    list->vertices = (char **)g_ptr_array_free(g_steal_pointer(&reader.vertices), FALSE);
    list->devices = (guint *)(gpointer)g_array_free(g_steal_pointer(&reader.devices), FALSE);
    list->links = (PsTopologyLink *)(gpointer)g_array_free(g_steal_pointer(&reader.links), FALSE);
    return list;
}

/* The least that a device can send, over all of its links together. */
static double least_bandwidth(const PsLinkList *list)
{
    g_autofree double *out_bytes_per_s = g_new0(double, list->n_vertices);
    for (guint i = 0; i < list->n_links; i++) {
        out_bytes_per_s[list->links[i].source] += list->links[i].bandwidth_bytes_per_s;
    }
    double least = G_MAXDOUBLE;
    for (guint i = 0; i < list->n_devices; i++) {
        if (list->devices[i] != PS_NO_VERTEX) {
            least = MIN(least, out_bytes_per_s[list->devices[i]]);
        }
    }
    return least;
}

PsTopology *ps_topology_read_links(const char *path, GError **error)
{
    gsize length = 0;
    g_autofree char *text = ps_read_file(path, &length, error);
    g_autoptr(PsLinkList) list = text != NULL ? read_list(path, error) : NULL;
    if (list == NULL) {
        return NULL;
    }
    g_autoptr(PsTopology) topology = g_new0(PsTopology, 1);
    topology->name = g_strconcat(PS_LINKS_PREFIX, path, NULL);
    topology->path = g_strdup(path);
    topology->sha256 = ps_sha256(text, length);
    topology->accelerator.name = g_strdup("accelerator");
    PsTopologyLevel *level = ps_topology_add_level(topology);
    level->name = g_strdup("network");
    level->size = list->n_devices;
    level->bandwidth_bytes_per_s = least_bandwidth(list);
    for (guint i = 0; i < list->n_links; i++) {
        level->latency_s = MAX(level->latency_s, list->links[i].latency_s);
    }
    topology->links = g_steal_pointer(&list);
    return g_steal_pointer(&topology);
}
