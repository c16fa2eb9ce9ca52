#include "planner/search/fronts.h"

struct PsFronts {
    const PsCosts *costs;
    guint n_downsets, n_shapes;
    gboolean has_levels; /* more than one */
    gboolean break_ties;
    GArray **fronts;    /* [n_downsets][n_shapes] of PsEntry: s ascending, devices descending */
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
    gsize n = (gsize)n_downsets * fronts->n_shapes;
    fronts->fronts = g_new(GArray *, n);
    for (gsize i = 0; i < n; i++) {
        fronts->fronts[i] = g_array_new(FALSE, FALSE, sizeof(PsEntry));
    }
    return fronts;
}

void ps_fronts_free(PsFronts *fronts)
{
    if (fronts == NULL) {
        return;
    }
    for (gsize i = 0; i < (gsize)fronts->n_downsets * fronts->n_shapes; i++) {
        g_array_unref(fronts->fronts[i]);
    }
    g_free(fronts->fronts);
    g_free(fronts->wider);
    g_free(fronts->first_wider);
    g_free(fronts);
}

void ps_fronts_clear(PsFronts *fronts, gboolean break_ties)
{
    fronts->break_ties = break_ties;
    for (gsize i = 0; i < (gsize)fronts->n_downsets * fronts->n_shapes; i++) {
        g_array_set_size(fronts->fronts[i], 0);
    }
}

guint ps_fronts_n_shapes(const PsFronts *fronts)
{
    return fronts->n_shapes;
}

static GArray *front_at(const PsFronts *fronts, guint downset, guint shape)
{
    return fronts->fronts[(gsize)downset * fronts->n_shapes + shape];
}

const PsEntry *ps_front(const PsFronts *fronts, guint downset, guint shape, guint *n_entries)
{
    const GArray *front = front_at(fronts, downset, shape);
    *n_entries = front->len;
    return (const PsEntry *)(void *)front->data;
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
    GArray *front = front_at(fronts, downset, shape);
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
    for (guint i = 0; i < front->len; i++) {
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
    for (guint shape = 0; shape < fronts->n_shapes; shape++) {
        if (front_at(fronts, downset, shape)->len > 0) {
            return TRUE;
        }
    }
    return FALSE;
}

void ps_fronts_least(const PsFronts *fronts, guint downset, guint *window, guint *devices)
{
    *window = *devices = G_MAXUINT;
    for (guint shape = 0; shape < fronts->n_shapes; shape++) {
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
    for (guint shape = 0; shape < fronts->n_shapes; shape++) {
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
