#include "planner/search/downsets.h"

#include <string.h>

/* Sets found so far, by content: open addressing over their indices. */
typedef struct {
    guint *slots; /* index + 1, 0 is empty */
    guint mask;
} Index;

typedef struct {
    const PsProfile *profile;
    guint n_words;
    GArray *sets;   /* guint64 */
    GArray *firsts; /* guint */
    GArray *covers; /* PsCover */
    guint n_sets;
    Index index;
} Builder;

static guint64 hash_set(const guint64 *set, guint n_words)
{
    guint64 hash = 0x9e3779b97f4a7c15u;
    for (guint i = 0; i < n_words; i++) {
        hash = (hash ^ set[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

static const guint64 *set_at(const Builder *builder, guint i)
{
    return &g_array_index(builder->sets, guint64, (gsize)i * builder->n_words);
}

static void index_grow(Builder *builder)
{
    guint size = (builder->index.mask + 1) * 2;
    g_free(builder->index.slots);
    builder->index.slots = g_new0(guint, size);
    builder->index.mask = size - 1;
    for (guint i = 0; i < builder->n_sets; i++) {
        guint slot = (guint)hash_set(set_at(builder, i), builder->n_words) & builder->index.mask;
        while (builder->index.slots[slot] != 0) {
            slot = (slot + 1) & builder->index.mask;
        }
        builder->index.slots[slot] = i + 1;
    }
}

/* Index of the set, added at the end if it is new. */
static guint find_or_add(Builder *builder, const guint64 *set)
{
    gsize bytes = builder->n_words * sizeof *set;
    guint slot = (guint)hash_set(set, builder->n_words) & builder->index.mask;
    for (; builder->index.slots[slot] != 0; slot = (slot + 1) & builder->index.mask) {
        guint found = builder->index.slots[slot] - 1;
        if (memcmp(set_at(builder, found), set, bytes) == 0) {
            return found;
        }
    }
    builder->index.slots[slot] = builder->n_sets + 1;
    g_array_append_vals(builder->sets, set, builder->n_words);
    guint added = builder->n_sets++;
    if (builder->n_sets > builder->index.mask / 2) {
        index_grow(builder);
    }
    return added;
}

static gboolean can_join(const PsProfile *profile, const guint64 *set, guint layer)
{
    const PsLayer *candidate = &profile->layers[layer];
    if (ps_set_has(set, layer)) {
        return FALSE;
    }
    for (guint i = 0; i < candidate->n_outgoing; i++) {
        if (!ps_set_has(set, profile->edges[candidate->outgoing[i]].target)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* Appends the covers of one downset, and with them the downsets that were not met before. Breadth
 * first, so sizes never fall along the list. */
static void expand(Builder *builder, guint current, guint64 *scratch)
{
    g_array_append_val(builder->firsts, builder->covers->len);
    for (guint layer = 0; layer < builder->profile->n_layers; layer++) {
        if (!can_join(builder->profile, set_at(builder, current), layer)) {
            continue;
        }
        memcpy(scratch, set_at(builder, current), builder->n_words * sizeof *scratch);
        scratch[layer / 64] |= (guint64)1 << (layer % 64);
        PsCover cover = {layer, find_or_add(builder, scratch)};
        g_array_append_val(builder->covers, cover);
    }
}

/* Moves the builder's lists over; with no more than `limit` sets, else frees them. */
static PsDownsets *finish(Builder *builder, guint limit)
{
    PsDownsets *downsets = g_new0(PsDownsets, 1);
    g_array_append_val(builder->firsts, builder->covers->len);
    g_free(builder->index.slots);
    downsets->n_downsets = builder->n_sets;
    downsets->n_words = builder->n_words;
    downsets->sets = (guint64 *)(void *)g_array_free(builder->sets, FALSE);
    downsets->first_cover = (guint *)(void *)g_array_free(builder->firsts, FALSE);
    downsets->covers = (PsCover *)(void *)g_array_free(builder->covers, FALSE);
    if (downsets->n_downsets > limit) {
        g_clear_pointer(&downsets, ps_downsets_free);
    }
    return downsets;
}

static Builder begin(const PsProfile *profile, guint64 *empty)
{
    Builder builder = {
        .profile = profile,
        .n_words = (profile->n_layers + 63) / 64,
        .sets = g_array_new(FALSE, FALSE, sizeof(guint64)),
        .firsts = g_array_new(FALSE, FALSE, sizeof(guint)),
        .covers = g_array_new(FALSE, FALSE, sizeof(PsCover)),
        .index = {g_new0(guint, 1024), 1023},
    };
    find_or_add(&builder, empty);
    return builder;
}

PsDownsets *ps_downsets_new(const PsProfile *profile, guint limit)
{
    g_autofree guint64 *scratch = g_new0(guint64, (profile->n_layers + 63) / 64);
    Builder builder = begin(profile, scratch);
    guint expanded = 0;
    while (expanded < builder.n_sets && builder.n_sets <= limit) {
        expand(&builder, expanded++, scratch);
    }
    return finish(&builder, limit);
}

/* Appends the layer behind everything that it leads to. Depth first, without recursion: a chain may
 * be long. */
static void append_after_successors(const PsProfile *profile, guint layer, guint *n_done,
                                    guint *order, gboolean *seen)
{
    g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autofree guint *next_edge = g_new0(guint, profile->n_layers);
    g_array_append_val(stack, layer);
    seen[layer] = TRUE;
    while (stack->len > 0) {
        guint v = g_array_index(stack, guint, stack->len - 1);
        const PsLayer *at = &profile->layers[v];
        if (next_edge[v] == at->n_outgoing) {
            order[(*n_done)++] = v;
            g_array_set_size(stack, stack->len - 1);
            continue;
        }
        guint target = profile->edges[at->outgoing[next_edge[v]++]].target;
        if (!seen[target]) {
            seen[target] = TRUE;
            g_array_append_val(stack, target);
        }
    }
}

PsDownsets *ps_downsets_chain(const PsProfile *profile)
{
    g_autofree guint *order = g_new(guint, profile->n_layers); /* from the sink */
    g_autofree gboolean *seen = g_new0(gboolean, profile->n_layers);
    guint n_done = 0;
    for (guint v = 0; v < profile->n_layers; v++) {
        if (!seen[v]) {
            append_after_successors(profile, v, &n_done, order, seen);
        }
    }
    g_autofree guint64 *set = g_new0(guint64, (profile->n_layers + 63) / 64);
    Builder builder = begin(profile, set);
    for (guint i = 0; i < profile->n_layers; i++) {
        g_array_append_val(builder.firsts, builder.covers->len);
        set[order[i] / 64] |= (guint64)1 << (order[i] % 64);
        PsCover cover = {order[i], find_or_add(&builder, set)};
        g_array_append_val(builder.covers, cover);
    }
    g_array_append_val(builder.firsts, builder.covers->len);
    return finish(&builder, G_MAXUINT);
}

void ps_downsets_free(PsDownsets *downsets)
{
    if (downsets == NULL) {
        return;
    }
    g_free(downsets->sets);
    g_free(downsets->first_cover);
    g_free(downsets->covers);
    g_free(downsets);
}
