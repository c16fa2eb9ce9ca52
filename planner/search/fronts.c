#include "planner/search/fronts.h"

#include <string.h>

struct PsFronts {
    const PsCosts *costs;
    guint n_downsets, n_shapes;
    gboolean has_levels; /* more than one */
    gboolean break_ties;
    GArray **fronts;    /* [n_downsets][n_shapes] of PsEntry: s ascending, devices descending; NULL
                           until the first comes */
    guint n_words;      /* 64-bit words for the shapes */
    guint64 *occupied;  /* [n_downsets][n_words]: shapes that have entries; mostly few of many */
    guint *wider;       /* other shapes that cover shape i (degrees.h) are [first_wider[i] ..] */
    guint *first_wider; /* [n_shapes + 1] */
};

static void list_wider(PsFronts *fronts, PsDegrees degrees)
{
    GArray *wider = g_array_new(FALSE, FALSE, sizeof(guint));
    fronts->first_wider = g_new(guint, fronts->n_shapes + 1);
    for (guint shape = 0; shape < fronts->n_shapes; shape++) {
        fronts->first_wider[shape] = wider->len;
        for (guint other = 1; shape > 0 && other < fronts->n_shapes; other++) {
            if (other != shape &&
                ps_degrees_covers(degrees, other, shape, fronts->costs->divisors)) {
                g_array_append_val(wider, other);
            }
        }
    }
    fronts->first_wider[fronts->n_shapes] = wider->len;
    fronts->wider = (guint *)(gpointer)g_array_free(wider, FALSE);
}

PsFronts *ps_fronts_new(const PsCosts *costs, PsDegrees degrees, guint n_downsets)
{
    PsFronts *fronts = g_new0(PsFronts, 1);
    fronts->costs = costs;
    fronts->n_downsets = n_downsets;
    fronts->n_shapes = ps_degrees_n_shapes(degrees, costs->n_divisors);
    fronts->has_levels = costs->levels.n > 1;
    list_wider(fronts, degrees);
    fronts->fronts = g_new0(GArray *, (gsize)n_downsets * fronts->n_shapes);
    fronts->n_words = (fronts->n_shapes + 63) / 64;
    fronts->occupied = g_new0(guint64, (gsize)n_downsets * fronts->n_words);
    return fronts;
}

void ps_fronts_free(PsFronts *fronts)
{
    if (fronts == NULL) {
        return;
    }
    for (gsize i = 0; i < (gsize)fronts->n_downsets * fronts->n_shapes; i++) {
        if (fronts->fronts[i] != NULL) {
            g_array_unref(fronts->fronts[i]);
        }
    }
    g_free(fronts->fronts);
    g_free(fronts->occupied);
    g_free(fronts->wider);
    g_free(fronts->first_wider);
    g_free(fronts);
}

static GArray *front_at(const PsFronts *fronts, guint downset, guint shape)
{
    return fronts->fronts[(gsize)downset * fronts->n_shapes + shape];
}

guint ps_fronts_next(const PsFronts *fronts, guint downset, guint shape)
{
    const guint64 *occupied = fronts->occupied + (gsize)downset * fronts->n_words;
    for (guint w = shape / 64; w < fronts->n_words; w++) {
        guint64 bits = occupied[w] & (w == shape / 64 ? ~(guint64)0 << shape % 64 : ~(guint64)0);
        if (bits != 0) {
            return w * 64 + (guint)__builtin_ctzll(bits);
        }
    }
    return G_MAXUINT;
}

/* All shapes of a downset that have entries. */
#define FOR_EACH_SHAPE(shape, fronts, downset)                                                     \
    for (guint shape = ps_fronts_next(fronts, downset, 0); shape != G_MAXUINT;                     \
         shape = ps_fronts_next(fronts, downset, shape + 1))

void ps_fronts_clear(PsFronts *fronts, gboolean break_ties)
{
    fronts->break_ties = break_ties;
    for (guint i = 0; i < fronts->n_downsets; i++) {
        FOR_EACH_SHAPE(shape, fronts, i)
        {
            g_array_set_size(front_at(fronts, i, shape), 0);
        }
    }
    memset(fronts->occupied, 0,
           (gsize)fronts->n_downsets * fronts->n_words * sizeof *fronts->occupied);
}

guint ps_fronts_n_shapes(const PsFronts *fronts)
{
    return fronts->n_shapes;
}

const PsEntry *ps_front(const PsFronts *fronts, guint downset, guint shape, guint *n_entries)
{
    const GArray *front = front_at(fronts, downset, shape);
    *n_entries = front->len;
    return (const PsEntry *)(void *)front->data;
}

static GArray *open_front(PsFronts *fronts, guint downset, guint shape)
{
    GArray **front = &fronts->fronts[(gsize)downset * fronts->n_shapes + shape];
    if (*front == NULL) {
        *front = g_array_new(FALSE, FALSE, sizeof(PsEntry));
    }
    fronts->occupied[(gsize)downset * fronts->n_words + shape / 64] |= (guint64)1 << shape % 64;
    return *front;
}

/* Whether `a` can take the place of `b` under every continuation. *tie: both may then end with as
 * many devices and the same sum of d. */
static gboolean stands_in(const PsFronts *fronts, const PsEntry *a, const PsEntry *b, gboolean *tie)
{
    if (a->sum_data_parallel > b->sum_data_parallel || a->spot.devices > b->spot.devices ||
        a->window > b->window) {
        return FALSE;
    }
    gboolean apart = FALSE;
    if (fronts->has_levels && !ps_spot_covers(&fronts->costs->levels, &a->spot, &b->spot, &apart)) {
        return FALSE;
    }
    *tie = a->sum_data_parallel == b->sum_data_parallel &&
           (apart || a->spot.devices == b->spot.devices);
    return TRUE;
}

/* TRUE if a is at least as good as b for every continuation. */
static gboolean dominates(const PsFronts *fronts, const PsEntry *a, const PsEntry *b)
{
    gboolean tie;
    if (!stands_in(fronts, a, b, &tie)) {
        return FALSE;
    }
    if (!fronts->break_ties || !tie) {
        return TRUE;
    }
    return a->n_stages < b->n_stages || (a->n_stages == b->n_stages && a->squares <= b->squares);
}

void ps_fronts_add(PsFronts *fronts, guint downset, guint shape, const PsEntry *entry)
{
    GArray *front = open_front(fronts, downset, shape);
    PsEntry *entries = (PsEntry *)(void *)front->data;
    guint kept = 0, at = 0;
    for (guint i = 0; i < front->len; i++) {
        if (dominates(fronts, &entries[i], entry)) {
            return; /* then the new one dominated none before it: nothing was moved */
        }
        if (dominates(fronts, entry, &entries[i])) {
            continue;
        }
        entries[kept++] = entries[i];
        at += entries[kept - 1].sum_data_parallel < entry->sum_data_parallel;
    }
    g_array_set_size(front, kept);
    g_array_insert_vals(front, at, entry, 1);
}

static gboolean hopeless_in(const PsFronts *fronts, const GArray *front, const PsEntry *entry)
{
    for (guint i = 0; front != NULL && i < front->len; i++) {
        const PsEntry *other = &g_array_index(front, PsEntry, i);
        if (other->sum_data_parallel > entry->sum_data_parallel) {
            return FALSE;
        }
        gboolean tie;
        if (stands_in(fronts, other, entry, &tie) &&
            !(fronts->break_ties && tie && entry->n_stages <= other->n_stages)) {
            return TRUE;
        }
    }
    return FALSE;
}

gboolean ps_fronts_hopeless(const PsFronts *fronts, guint downset, guint shape,
                            const PsEntry *entry)
{
    if (hopeless_in(fronts, front_at(fronts, downset, shape), entry)) {
        return TRUE;
    }
    /* Those of other shapes tell no ties apart. */
    guint end = fronts->break_ties ? fronts->first_wider[shape] : fronts->first_wider[shape + 1];
    for (guint i = fronts->first_wider[shape]; i < end; i++) {
        if (hopeless_in(fronts, front_at(fronts, downset, fronts->wider[i]), entry)) {
            return TRUE;
        }
    }
    return FALSE;
}

gboolean ps_fronts_reach(const PsFronts *fronts, guint downset)
{
    return ps_fronts_next(fronts, downset, 0) != G_MAXUINT;
}

void ps_fronts_least(const PsFronts *fronts, guint downset, guint *window, guint *devices)
{
    *window = *devices = G_MAXUINT;
    FOR_EACH_SHAPE(shape, fronts, downset)
    {
        const GArray *front = front_at(fronts, downset, shape);
        for (guint i = 0; i < front->len; i++) {
            const PsEntry *entry = &g_array_index(front, PsEntry, i);
            *window = MIN(*window, entry->window);
            *devices = MIN(*devices, entry->spot.devices);
        }
    }
}

static gboolean is_better(const PsFronts *fronts, const PsEntry *a, const PsEntry *b)
{
    if (a->spot.devices != b->spot.devices) {
        return a->spot.devices < b->spot.devices;
    }
    if (a->sum_data_parallel != b->sum_data_parallel || !fronts->break_ties) {
        return a->sum_data_parallel < b->sum_data_parallel;
    }
    return a->n_stages < b->n_stages || (a->n_stages == b->n_stages && a->squares < b->squares);
}

const PsEntry *ps_fronts_best(const PsFronts *fronts, guint downset)
{
    const PsEntry *best = NULL;
    FOR_EACH_SHAPE(shape, fronts, downset)
    {
        const GArray *front = front_at(fronts, downset, shape);
        for (guint i = 0; i < front->len; i++) {
            const PsEntry *entry = &g_array_index(front, PsEntry, i);
            if (best == NULL || is_better(fronts, entry, best)) {
                best = entry;
            }
        }
    }
    return best;
}
