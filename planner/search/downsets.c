#include "planner/search/downsets.h"

#include <string.h>

/* Sets found so far, by content: open addressing over their indices. */
typedef struct {
    guint *slots; /* index + 1, 0 is empty */
    guint mask;
} Index;

typedef struct {
    const PsProfile *profile;
    const guint *group_of; /* [n_layers]: of a contracted graph; NULL: all downsets */
    const guint *order;    /* then also those along this order of the layers, from the sink ... */
    guint n_ordered;       /* ... of which so many have been met, */
    guint last_ordered;    /* this one last */
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

/* ---- contracted ----------------------------------------------------------------------------- */

/* How a downset stands to the groups. */
typedef struct {
    const guint64 *set;
    guint *n_missing; /* [n_layers]: layers of a group that are not in the set */
    guint *last;      /* [n_layers]: the last layer of them, in topological order */
    guint n_open;     /* groups that are in it in part */
    guint open;       /* one of them */
} Standing;

static void stand(const Builder *builder, Standing *standing)
{
    guint n = builder->profile->n_layers;
    g_autofree gboolean *begun = g_new0(gboolean, n);
    memset(standing->n_missing, 0, n * sizeof(guint));
    for (guint v = 0; v < n; v++) {
        guint group = builder->group_of[v];
        if (ps_set_has(standing->set, v)) {
            begun[group] = TRUE;
        } else {
            standing->n_missing[group]++;
            standing->last[group] = v;
        }
    }
    standing->n_open = 0;
    for (guint group = 0; group < n; group++) {
        if (begun[group] && standing->n_missing[group] > 0) {
            standing->n_open++;
            standing->open = group;
        }
    }
}

/* Whether all that a group's layers lead to is in the set or in the group. */
static gboolean is_ready(const Builder *builder, const guint64 *set, guint group)
{
    const PsProfile *profile = builder->profile;
    for (guint e = 0; e < profile->n_edges; e++) {
        const PsEdge *edge = &profile->edges[e];
        if (builder->group_of[edge->source] == group && builder->group_of[edge->target] != group &&
            !ps_set_has(set, edge->target)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* One group at a time, each from its last layer on. (The order of the layers may have begun one
 * that is not ready: then only the order goes on.) */
static gboolean may_take_in(const Builder *builder, const Standing *standing, guint layer)
{
    guint group = builder->group_of[layer];
    return layer == standing->last[group] &&
           (standing->n_open == 0 || (standing->n_open == 1 && group == standing->open)) &&
           is_ready(builder, standing->set, group);
}

/* ---- one by one ----------------------------------------------------------------------------- */

static guint add_cover(Builder *builder, guint current, guint layer, guint64 *scratch)
{
    memcpy(scratch, set_at(builder, current), builder->n_words * sizeof *scratch);
    scratch[layer / 64] |= (guint64)1 << (layer % 64);
    PsCover cover = {layer, find_or_add(builder, scratch)};
    g_array_append_val(builder->covers, cover);
    return cover.next;
}

/* Appends the covers of one downset, and with them the downsets that were not met before. Breadth
 * first, so sizes never fall along the list. */
static void expand(Builder *builder, guint current, guint64 *scratch, Standing *standing)
{
    const PsProfile *profile = builder->profile;
    guint along = G_MAXUINT, next_ordered = G_MAXUINT;
    g_array_append_val(builder->firsts, builder->covers->len);
    if (builder->group_of != NULL) {
        standing->set = set_at(builder, current);
        stand(builder, standing);
        if (current == builder->last_ordered && builder->n_ordered < profile->n_layers) {
            along = builder->order[builder->n_ordered++];
        }
    }
    for (guint layer = 0; layer < profile->n_layers; layer++) {
        const guint64 *set = set_at(builder, current);
        if (standing != NULL) {
            standing->set = set;
        }
        if (!can_join(profile, set, layer) ||
            (standing != NULL && layer != along && !may_take_in(builder, standing, layer))) {
            continue;
        }
        guint next = add_cover(builder, current, layer, scratch);
        next_ordered = layer == along ? next : next_ordered;
    }
    builder->last_ordered = along != G_MAXUINT ? next_ordered : builder->last_ordered;
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

static Builder begin(const PsProfile *profile)
{
    g_autofree guint64 *empty = g_new0(guint64, (profile->n_layers + 63) / 64);
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

static PsDownsets *enumerate(Builder *builder, guint limit, Standing *standing)
{
    g_autofree guint64 *scratch = g_new0(guint64, builder->n_words);
    guint expanded = 0;
    while (expanded < builder->n_sets && builder->n_sets <= limit) {
        expand(builder, expanded++, scratch, standing);
    }
    return finish(builder, limit);
}

PsDownsets *ps_downsets_new(const PsProfile *profile, guint limit)
{
    Builder builder = begin(profile);
    return enumerate(&builder, limit, NULL);
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

/* From the sink on. Caller frees. */
static guint *order_by_branches(const PsProfile *profile)
{
    guint *order = g_new(guint, profile->n_layers);
    g_autofree gboolean *seen = g_new0(gboolean, profile->n_layers);
    guint n_done = 0;
    for (guint v = 0; v < profile->n_layers; v++) {
        if (!seen[v]) {
            append_after_successors(profile, v, &n_done, order, seen);
        }
    }
    return order;
}

PsDownsets *ps_downsets_contracted(const PsProfile *profile, const guint *group_of, guint limit)
{
    g_autofree guint *order = order_by_branches(profile);
    g_autofree guint *n_missing = g_new(guint, profile->n_layers);
    g_autofree guint *last = g_new(guint, profile->n_layers);
    Standing standing = {.n_missing = n_missing, .last = last};
    Builder builder = begin(profile);
    builder.group_of = group_of;
    builder.order = order;
    return enumerate(&builder, limit, &standing);
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
