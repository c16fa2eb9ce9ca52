#include "sim/model/profile.h"

static void clear_set(PsTmpcSet *set)
{
    for (guint i = 0; i < set->n_tmpcs; i++) {
        g_free(set->tmpcs[i].id);
        g_free(set->tmpcs[i].sync_forward_bytes);
        g_free(set->tmpcs[i].sync_backward_bytes);
        g_free(set->tmpcs[i].collectives);
    }
    g_free(set->tmpcs);
}

static void clear_layer(PsLayer *layer)
{
    for (guint i = 0; i < layer->n_sets; i++) {
        clear_set(&layer->sets[i]);
    }
    g_free(layer->sets);
    g_free(layer->name);
    g_free(layer->incoming);
    g_free(layer->outgoing);
}

void ps_profile_free(PsProfile *profile)
{
    if (profile == NULL) {
        return;
    }
    for (guint i = 0; i < profile->n_layers; i++) {
        clear_layer(&profile->layers[i]);
    }
    g_free(profile->layers);
    g_free(profile->edges);
    g_free(profile->path);
    g_free(profile->sha256);
    g_free(profile);
}

const PsTmpcSet *ps_layer_set(const PsLayer *layer, guint degree)
{
    for (guint i = 0; i < layer->n_sets; i++) {
        if (layer->sets[i].degree == degree) {
            return &layer->sets[i];
        }
    }
    return NULL;
}

guint ps_profile_find_layer(const PsProfile *profile, gint64 id)
{
    for (guint i = 0; i < profile->n_layers; i++) {
        if (profile->layers[i].id == id) {
            return i;
        }
    }
    return G_MAXUINT;
}
