/* Piper's JSON profiles, with our optional keys for the time unit and the parts of a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/json.h"
#include "sim/base/log.h"
#include "sim/base/units.h"
#include "sim/model/importer.h"
#include "sim/model/piper-collectives.h"
#include "sim/model/split.h"

/* Beyond these a number is a slip; within them no sum or quotient overflows. */
#define MAX_BYTES 1e18
#define MAX_TIME_S 1e6
#define MAX_ID (G_GINT64_CONSTANT(1) << 53)
#define MAX_DEVICES (1 << 24)
#define MAX_MICROBATCHES (1 << 30)

/* A layer that takes longer for one microbatch was hardly measured in seconds. */
#define SUSPICIOUS_TIME_S 1.0

typedef struct {
    PsJsonReader *reader;
    PsProfile *profile;
    GHashTable *layer_of; /* id -> index into profile->layers */
} Loader;

static gboolean find_layer(const Loader *loader, gint64 id, guint *index)
{
    gpointer found = NULL;
    gboolean there = g_hash_table_lookup_extended(loader->layer_of, &id, NULL, &found);
    *index = GPOINTER_TO_UINT(found);
    return there;
}

/* A name for people; it goes into one-line messages and tables. Caller frees. */
static char *read_name(PsJsonReader *reader, const char *key)
{
    const char *name = ps_json_string(reader, key);
    for (const char *c = name; *c != '\0'; c++) {
        if (g_ascii_iscntrl(*c)) {
            ps_json_fail(reader, key, "holds a control character (expected text of one line)");
        }
    }
    return g_strdup(name);
}

/* ---- top level ------------------------------------------------------------------------------ */

static void read_time_unit(Loader *loader, double asked_s)
{
    PsJsonReader *reader = loader->reader;
    PsProfile *profile = loader->profile;
    profile->time_unit_s = isnan(asked_s) ? 1 : asked_s;
    if (!ps_json_has(reader, "timeUnit")) {
        return;
    }
    const char *name = ps_json_string(reader, "timeUnit");
    double unit_s = ps_time_unit_parse(name);
    if (isnan(unit_s)) {
        ps_json_fail(reader, "timeUnit", "is \"%s\" (expected s or ms)", name);
    } else if (!isnan(asked_s) && unit_s != asked_s) {
        ps_json_fail(reader, "timeUnit", "is \"%s\" (expected the unit that was asked for)", name);
    } else {
        profile->time_unit_s = unit_s;
    }
}

static void read_setting(Loader *loader)
{
    PsJsonReader *reader = loader->reader;
    PsProfile *profile = loader->profile;
    gboolean other_name = ps_json_has(reader, "maxBatchSize");
    if (other_name && ps_json_has(reader, "mbsInBatch")) {
        ps_json_fail(reader, "maxBatchSize",
                     "says the same as mbsInBatch (expected one of the two)");
    }
    profile->devices = (guint)ps_json_int(reader, "maxDevices", 1, MAX_DEVICES);
    profile->memory_bytes = ps_json_double(reader, "maxMemoryPerDevice", 1, MAX_BYTES);
    profile->bandwidth_bytes_per_s = ps_json_double(reader, "bandwidth", 1, MAX_BYTES);
    profile->microbatches =
        (guint)ps_json_int(reader, other_name ? "maxBatchSize" : "mbsInBatch", 1, MAX_MICROBATCHES);
}

/* ---- the graph ------------------------------------------------------------------------------ */

static void read_node(Loader *loader, guint place)
{
    static const char *const keys[] = {"id", "name", "TMPCs", NULL};
    PsJsonReader *reader = loader->reader;
    PsLayer *layer = &loader->profile->layers[place];
    ps_json_expect_keys(reader, keys);
    layer->id = ps_json_int(reader, "id", 0, MAX_ID);
    layer->name = read_name(reader, "name");
    guint other;
    if (find_layer(loader, layer->id, &other)) {
        ps_json_fail(reader, "id",
                     "%" G_GINT64_FORMAT " is the id of nodes[%u] as well "
                     "(expected distinct ids)",
                     layer->id, other);
    }
    g_hash_table_insert(loader->layer_of, &layer->id, GUINT_TO_POINTER(place));
}

static void read_nodes(Loader *loader)
{
    PsJsonReader *reader = loader->reader;
    ps_json_enter(reader, "nodes");
    ps_json_expect_array(reader);
    guint n = ps_json_size(reader);
    if (n == 0) {
        ps_json_fail(reader, NULL, "is empty (expected at least one node)");
    }
    loader->profile->n_layers = n;
    loader->profile->layers = g_new0(PsLayer, n);
    for (guint i = 0; i < n && !ps_json_failed(reader); i++) {
        ps_json_enter_index(reader, i);
        read_node(loader, i);
        ps_json_leave(reader);
    }
    ps_json_leave(reader);
}

static guint read_end(Loader *loader, const char *key)
{
    gint64 id = ps_json_int(loader->reader, key, 0, MAX_ID);
    guint index;
    if (!find_layer(loader, id, &index)) {
        ps_json_fail(loader->reader, key, "%" G_GINT64_FORMAT " is no node (expected a node's id)",
                     id);
    }
    return index;
}

static void read_edge(Loader *loader, PsEdge *edge)
{
    static const char *const keys[] = {"sourceId", "destId", "communicationCost", NULL};
    PsJsonReader *reader = loader->reader;
    ps_json_expect_keys(reader, keys);
    edge->source = read_end(loader, "sourceId");
    edge->target = read_end(loader, "destId");
    edge->bytes = ps_json_double(reader, "communicationCost", 0, MAX_BYTES);
    if (edge->source == edge->target) {
        ps_json_fail(reader, NULL,
                     "runs from node %" G_GINT64_FORMAT " to itself (expected two "
                     "nodes)",
                     loader->profile->layers[edge->source].id);
    }
}

static void read_edges(Loader *loader)
{
    PsJsonReader *reader = loader->reader;
    PsProfile *profile = loader->profile;
    ps_json_enter(reader, "edges");
    ps_json_expect_array(reader);
    guint n = ps_json_size(reader);
    profile->n_edges = n;
    profile->edges = g_new0(PsEdge, n);
    g_autofree gint64 *ends = g_new(gint64, n);
    g_autoptr(GHashTable) edge_of = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < n && !ps_json_failed(reader); i++) {
        PsEdge *edge = &profile->edges[i];
        ps_json_enter_index(reader, i);
        read_edge(loader, edge);
        ends[i] = (gint64)edge->source << 32 | edge->target;
        gpointer other;
        if (g_hash_table_lookup_extended(edge_of, &ends[i], NULL, &other)) {
            ps_json_fail(reader, NULL,
                         "joins the same nodes as edges[%u] (expected one edge from "
                         "node to node)",
                         GPOINTER_TO_UINT(other));
        }
        g_hash_table_insert(edge_of, &ends[i], GUINT_TO_POINTER(i));
        ps_json_leave(reader);
    }
    ps_json_leave(reader);
}

static void link_layers(Loader *loader)
{
    PsProfile *profile = loader->profile;
    g_hash_table_remove_all(loader->layer_of); /* its keys lie in the layers, which move now */
    g_autofree char *cycle = ps_profile_link(profile);
    if (cycle != NULL) {
        ps_json_fail(loader->reader, "edges", "edges form a cycle: %s (expected none)", cycle);
        return;
    }
    for (guint i = 0; i < profile->n_layers; i++) {
        g_hash_table_insert(loader->layer_of, &profile->layers[i].id, GUINT_TO_POINTER(i));
    }
}

/* ---- TMPCs ---------------------------------------------------------------------------------- */

/* Neighbour ids of a layer along n of its edges. */
typedef struct {
    const PsProfile *profile;
    const guint *edges;
    guint n;
    gboolean incoming;
} Neighbours;

static gint64 neighbour_id(const Neighbours *neighbours, guint index)
{
    const PsEdge *edge = &neighbours->profile->edges[neighbours->edges[index]];
    return neighbours->profile->layers[neighbours->incoming ? edge->source : edge->target].id;
}

/* The map is larger than the list of neighbours: says which key is none of them. */
static void refuse_stranger(PsJsonReader *reader, const Neighbours *neighbours)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < neighbours->n; i++) {
        g_hash_table_add(known, g_strdup_printf("%" G_GINT64_FORMAT, neighbour_id(neighbours, i)));
    }
    for (guint i = 0; i < ps_json_size(reader); i++) {
        const char *key = ps_json_key(reader, i);
        if (!g_hash_table_contains(known, key)) {
            ps_json_fail(reader, key, "is no edge of this node (expected the ids of its %s only)",
                         neighbours->incoming ? "predecessors" : "successors");
        }
    }
}

static double *read_sync(PsJsonReader *reader, const char *key, const Neighbours *neighbours)
{
    double *bytes = g_new0(double, neighbours->n);
    ps_json_enter(reader, key);
    ps_json_expect_object(reader);
    for (guint i = 0; i < neighbours->n && !ps_json_failed(reader); i++) {
        char id[G_ASCII_DTOSTR_BUF_SIZE];
        g_snprintf(id, sizeof id, "%" G_GINT64_FORMAT, neighbour_id(neighbours, i));
        bytes[i] = ps_json_double(reader, id, 0, MAX_BYTES);
    }
    if (!ps_json_failed(reader) && ps_json_size(reader) > neighbours->n) {
        refuse_stranger(reader, neighbours);
    }
    ps_json_leave(reader);
    return bytes;
}

static double read_optional_time(Loader *loader, const char *key)
{
    double unit_s = loader->profile->time_unit_s;
    return ps_json_has(loader->reader, key)
               ? unit_s * ps_json_double(loader->reader, key, 0, MAX_TIME_S / unit_s)
               : NAN;
}

static gboolean id_says_recompute(const char *id)
{
    g_autofree char *lower = g_ascii_strdown(id, -1);
    return strstr(lower, "recomp") != NULL;
}

static void read_times(Loader *loader, PsTmpc *tmpc)
{
    double unit_s = loader->profile->time_unit_s;
    tmpc->time_s = unit_s * ps_json_double(loader->reader, "timePerSample", 0, MAX_TIME_S / unit_s);
    tmpc->forward_s = read_optional_time(loader, "timeForward");
    tmpc->backward_s = read_optional_time(loader, "timeBackward");
    tmpc->recompute_s = read_optional_time(loader, "timeRecompute");
    tmpc->weight_gradient_s = read_optional_time(loader, "timeWeightGradient");
    tmpc->recomputes = tmpc->recompute_s > 0 || id_says_recompute(tmpc->id);
}

static void read_tmpc(Loader *loader, const PsLayer *layer, guint degree, PsTmpc *tmpc)
{
    static const char *const keys[] = {"id",
                                       "timePerSample",
                                       "parameterSize",
                                       "memoryUsageA",
                                       "memoryUsageB",
                                       "syncTimeFw",
                                       "syncTimeBw",
                                       "timeForward",
                                       "timeBackward",
                                       "timeRecompute",
                                       "timeWeightGradient",
                                       "collectives",
                                       NULL};
    PsJsonReader *reader = loader->reader;
    const PsProfile *profile = loader->profile;
    ps_json_expect_keys(reader, keys);
    tmpc->id = read_name(reader, "id");
    if (*tmpc->id == '\0') {
        ps_json_fail(reader, "id", "is empty (expected a name)");
    }
    read_times(loader, tmpc);
    if (ps_json_has(reader, "collectives")) {
        ps_piper_read_collectives(reader, profile->time_unit_s, degree, tmpc);
    }
    tmpc->weight_bytes = ps_json_double(reader, "parameterSize", 0, MAX_BYTES);
    tmpc->memory_per_microbatch_bytes = ps_json_double(reader, "memoryUsageA", 0, MAX_BYTES);
    tmpc->memory_fixed_bytes = ps_json_double(reader, "memoryUsageB", 0, MAX_BYTES);
    Neighbours sources = {profile, layer->incoming, layer->n_incoming, TRUE};
    Neighbours targets = {profile, layer->outgoing, layer->n_outgoing, FALSE};
    tmpc->sync_forward_bytes = read_sync(reader, "syncTimeFw", &sources);
    tmpc->sync_backward_bytes = read_sync(reader, "syncTimeBw", &targets);
}

static void refuse_doubled_id(PsJsonReader *reader, const PsTmpcSet *set, guint index)
{
    for (guint i = 0; i < index; i++) {
        if (g_str_equal(set->tmpcs[i].id, set->tmpcs[index].id)) {
            ps_json_fail(reader, "id",
                         "\"%s\" is the id of an earlier TMPC as well (expected "
                         "distinct ids)",
                         set->tmpcs[index].id);
        }
    }
}

/* The array of one degree. */
static void read_set(Loader *loader, const PsLayer *layer, PsTmpcSet *set)
{
    PsJsonReader *reader = loader->reader;
    ps_json_expect_array(reader);
    set->n_tmpcs = ps_json_size(reader);
    set->tmpcs = g_new0(PsTmpc, set->n_tmpcs);
    if (set->n_tmpcs == 0) {
        ps_json_fail(reader, NULL, "is empty (expected at least one TMPC)");
    }
    for (guint i = 0; i < set->n_tmpcs && !ps_json_failed(reader); i++) {
        ps_json_enter_index(reader, i);
        read_tmpc(loader, layer, set->degree, &set->tmpcs[i]);
        refuse_doubled_id(reader, set, i);
        ps_json_leave(reader);
    }
    if (ps_json_failed(reader)) {
        return;
    }
    guint faulty = 0;
    g_autofree char *fault = ps_split_times(set, &faulty);
    for (guint i = 0; fault == NULL && i < set->n_tmpcs; i++) {
        fault = ps_piper_collectives_fault(&set->tmpcs[i]);
        faulty = i;
    }
    if (fault != NULL) {
        ps_json_enter_index(reader, faulty);
        ps_json_fail(reader, NULL, "%s", fault);
        ps_json_leave(reader);
    }
}

/* "8", and nothing that merely means it ("08", "8.0"), so that no degree comes twice. */
static guint read_degree(PsJsonReader *reader, const char *key)
{
    guint64 degree = 0;
    if (!ps_count_parse(key, 1, MAX_DEVICES, &degree, NULL) || *key == '0') {
        ps_json_fail(reader, key, "is no tensor-parallel degree (expected \"1\", \"2\", ...)");
    }
    return (guint)degree;
}

static int compare_sets(const void *a, const void *b)
{
    const PsTmpcSet *x = a, *y = b;
    return (x->degree > y->degree) - (x->degree < y->degree);
}

static void read_sets(Loader *loader, PsLayer *layer)
{
    PsJsonReader *reader = loader->reader;
    ps_json_enter(reader, "TMPCs");
    ps_json_expect_object(reader);
    layer->n_sets = ps_json_size(reader);
    layer->sets = g_new0(PsTmpcSet, layer->n_sets);
    for (guint i = 0; i < layer->n_sets && !ps_json_failed(reader); i++) {
        const char *key = ps_json_key(reader, i);
        layer->sets[i].degree = read_degree(reader, key);
        ps_json_enter(reader, key);
        read_set(loader, layer, &layer->sets[i]);
        ps_json_leave(reader);
    }
    if (!ps_json_failed(reader)) {
        if (layer->n_sets > 0) {
            qsort(layer->sets, layer->n_sets, sizeof *layer->sets, compare_sets);
        }
        if (layer->n_sets == 0 || layer->sets[0].degree != 1) {
            ps_json_fail(reader, NULL, "has no TMPC for one device (expected a key \"1\")");
        }
    }
    ps_json_leave(reader);
}

static void read_all_sets(Loader *loader)
{
    PsJsonReader *reader = loader->reader;
    ps_json_enter(reader, "nodes");
    for (guint i = 0; i < loader->profile->n_layers && !ps_json_failed(reader); i++) {
        ps_json_enter_index(reader, i);
        guint index;
        gboolean found = find_layer(loader, ps_json_int(reader, "id", 0, MAX_ID), &index);
        g_assert(found);
        read_sets(loader, &loader->profile->layers[index]);
        ps_json_leave(reader);
    }
    ps_json_leave(reader);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void warn_of_milliseconds(const PsProfile *profile)
{
    const PsLayer *slowest = NULL;
    double time_s = SUSPICIOUS_TIME_S;
    for (guint i = 0; i < profile->n_layers; i++) {
        const PsTmpcSet *set = &profile->layers[i].sets[0];
        for (guint j = 0; j < set->n_tmpcs; j++) {
            if (set->tmpcs[j].time_s > time_s) {
                slowest = &profile->layers[i];
                time_s = set->tmpcs[j].time_s;
            }
        }
    }
    if (slowest != NULL) {
        g_autofree char *number = ps_double_format(time_s);
        ps_warning("%s: layer %" G_GINT64_FORMAT " (%s) takes %s s for one microbatch: the file "
                   "looks like milliseconds; say --time-unit ms, or --time-unit s if it is not",
                   profile->path, slowest->id, slowest->name, number);
    }
}

/* Rates are one over the time; a model that takes none has no plan that is better than another. */
static void expect_some_time(Loader *loader)
{
    const PsProfile *profile = loader->profile;
    for (guint i = 0; i < profile->n_layers && !ps_json_failed(loader->reader); i++) {
        const PsTmpcSet *set = &profile->layers[i].sets[0];
        for (guint j = 0; j < set->n_tmpcs; j++) {
            if (set->tmpcs[j].time_s > 0) {
                return;
            }
        }
    }
    ps_json_fail(loader->reader, "nodes",
                 "no layer takes any time (expected a timePerSample above 0)");
}

static void read_document(Loader *loader, double time_unit_s)
{
    static const char *const keys[] = {"maxDevices",
                                       "maxMemoryPerDevice",
                                       "bandwidth",
                                       "mbsInBatch",
                                       "maxBatchSize",
                                       "timeUnit",
                                       "nodes",
                                       "edges",
                                       NULL};
    ps_json_expect_keys(loader->reader, keys);
    read_setting(loader);
    read_time_unit(loader, time_unit_s);
    read_nodes(loader);
    read_edges(loader);
    if (!ps_json_failed(loader->reader)) {
        link_layers(loader);
    }
    read_all_sets(loader);
    expect_some_time(loader);
}

static PsProfile *read_piper_json(const char *path, const char *text, gsize length,
                                  double time_unit_s, GError **error)
{
    g_autoptr(PsJsonReader) reader = ps_json_parse(path, text, length, error);
    if (reader == NULL) {
        return NULL;
    }
    g_autoptr(PsProfile) profile = g_new0(PsProfile, 1);
    g_autoptr(GHashTable) layer_of = g_hash_table_new(g_int64_hash, g_int64_equal);
    profile->path = g_strdup(path);
    Loader loader = {reader, profile, layer_of};
    gboolean unit_said = !isnan(time_unit_s) || ps_json_has(reader, "timeUnit");
    read_document(&loader, time_unit_s);
    if (!ps_json_finish(reader, error)) {
        return NULL;
    }
    if (!unit_said) {
        warn_of_milliseconds(profile);
    }
    return g_steal_pointer(&profile);
}

static gboolean sniff(const char *text, gsize length)
{
    gsize start = 0;
    while (start < length && g_ascii_isspace(text[start])) {
        start++;
    }
    return start < length && text[start] == '{';
}

const PsImporter ps_importer_piper_json = {"Piper's JSON", sniff, read_piper_json};
