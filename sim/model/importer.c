#include "sim/model/importer.h"

#include <math.h>

#include "sim/base/error.h"
#include "sim/base/output.h"
#include "sim/model/graph.h"

#define PS_IMPORTER(name) extern const PsImporter ps_importer_##name;
#include "sim/model/importers.def"
#undef PS_IMPORTER

static const PsImporter *const importers[] = {
#define PS_IMPORTER(name) &ps_importer_##name,
#include "sim/model/importers.def"
#undef PS_IMPORTER
};

double ps_time_unit_parse(const char *name)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}};
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        if (g_str_equal(name, units[i].name)) {
            return units[i].seconds;
        }
    }
    return NAN;
}

static char *cycle_text(const PsProfile *profile, const GArray *cycle)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i <= cycle->len; i++) {
        guint layer = g_array_index(cycle, guint, i % cycle->len);
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i > 0 ? " -> " : "",
                               profile->layers[layer].id);
    }
    return g_string_free(text, FALSE);
}

/* order[k] is the place in the file of the layer that comes k-th. */
static void permute_layers(PsProfile *profile, const guint *order)
{
    guint n = profile->n_layers;
    PsLayer *layers = g_new(PsLayer, n);
    g_autofree guint *place_of = g_new(guint, n);
    for (guint k = 0; k < n; k++) {
        layers[k] = profile->layers[order[k]];
        place_of[order[k]] = k;
    }
    g_free(profile->layers);
    profile->layers = layers;
    for (guint e = 0; e < profile->n_edges; e++) {
        profile->edges[e].source = place_of[profile->edges[e].source];
        profile->edges[e].target = place_of[profile->edges[e].target];
    }
}

static void attach_edges(PsProfile *profile)
{
    for (guint e = 0; e < profile->n_edges; e++) {
        profile->layers[profile->edges[e].source].n_outgoing++;
        profile->layers[profile->edges[e].target].n_incoming++;
    }
    for (guint l = 0; l < profile->n_layers; l++) {
        PsLayer *layer = &profile->layers[l];
        layer->incoming = g_new(guint, layer->n_incoming);
        layer->outgoing = g_new(guint, layer->n_outgoing);
        layer->n_incoming = layer->n_outgoing = 0;
    }
    for (guint e = 0; e < profile->n_edges; e++) {
        PsLayer *source = &profile->layers[profile->edges[e].source];
        PsLayer *target = &profile->layers[profile->edges[e].target];
        source->outgoing[source->n_outgoing++] = e;
        target->incoming[target->n_incoming++] = e;
    }
}

char *ps_profile_link(PsProfile *profile)
{
    g_autofree guint *order = g_new(guint, profile->n_layers);
    g_autoptr(GArray) cycle =
        ps_graph_order(profile->n_layers, profile->edges, profile->n_edges, order);
    if (cycle != NULL) {
        return cycle_text(profile, cycle);
    }
    permute_layers(profile, order);
    attach_edges(profile);
    return NULL;
}

static const PsImporter *find_importer(const char *path, const char *text, gsize length,
                                       GError **error)
{
    for (gsize i = 0; i < G_N_ELEMENTS(importers); i++) {
        if (importers[i]->sniff(text, length)) {
            return importers[i];
        }
    }
    g_autoptr(GString) known = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(importers); i++) {
        g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", importers[i]->name);
    }
    ps_error_at(error, path, 0, "no known profile format (expected %s)", known->str);
    return NULL;
}

PsProfile *ps_profile_load(const char *path, const char *time_unit, GError **error)
{
    double time_unit_s = time_unit != NULL ? ps_time_unit_parse(time_unit) : NAN;
    if (time_unit != NULL && isnan(time_unit_s)) {
        ps_error(error, PS_ERROR_USAGE, "unknown time unit \"%s\" (expected s or ms)", time_unit);
        return NULL;
    }
    gsize length = 0;
    g_autofree char *text = ps_read_file(path, &length, error);
    const PsImporter *importer = text != NULL ? find_importer(path, text, length, error) : NULL;
    if (importer == NULL) {
        return NULL;
    }
    PsProfile *profile = importer->read(path, text, length, time_unit_s, error);
    if (profile != NULL) {
        profile->sha256 = ps_sha256(text, length);
    }
    return profile;
}
