#include "sim/plan/place.h"

#include <math.h>
#include <stdlib.h>

#define NOWHERE G_MAXUINT64

/* Distances are measured from the end of the pipeline, so the stages behind have the smaller ones,
 * and groups begin at the multiples of their size there as well. */

/* The first place from `start` on at which the tensor-parallel groups are held, or NOWHERE: either
 * there, or so that a group ends at the next border; from that border on everything repeats. */
static guint64 first_held(const PsLevels *levels, guint64 start, guint d, guint t)
{
    if (t == 1) {
        return start;
    }
    guint i = 0;
    while (i + 1 < levels->n && levels->level[i].size < t) {
        i++;
    }
    guint64 size = levels->level[i].size;
    for (guint tries = 0; tries < 2; tries++) {
        guint64 border = (start / size + 1) * size;
        guint64 flush = border - (border - start) / t * t;
        if (ps_levels_hold(levels, start, d, t)) {
            return start;
        }
        if (ps_levels_hold(levels, flush, d, t)) {
            return flush;
        }
        start = border;
    }
    return NOWHERE;
}

static gboolean worth_trying(const PsLevels *levels, const PsSpot *spot, const PsSpot *tried,
                             guint n_tried)
{
    for (guint i = 0; i < n_tried; i++) {
        if (tried[i].level <= spot->level &&
            ps_levels_span(levels, tried[i].devices - 1, spot->devices - 1) <= spot->level) {
            return FALSE;
        }
    }
    return TRUE;
}

/* A stage larger than the groups inside the last level pays that wherever it lies. */
static guint only_spot(const PsLevels *levels, const PsSpot *behind, guint d, guint t,
                       guint64 most_devices, PsSpot *spot)
{
    guint8 last = (guint8)(levels->n - 1);
    guint64 from = behind != NULL ? behind->devices : 0;
    guint64 start = first_held(levels, from, d, t);
    if (start == NOWHERE || start + (guint64)d * t > most_devices ||
        (behind != NULL && !(behind->enters >> last & 1))) {
        return 0;
    }
    *spot = (PsSpot){.devices = (guint)start + d * t, .level = last, .leave = last};
    return 1;
}

guint ps_spots(const PsLevels *levels, const PsSpot *behind, guint d, guint t, guint most_devices,
               PsSpot spots[PS_MOST_LEVELS])
{
    guint64 from = behind != NULL ? behind->devices : 0, n = (guint64)d * t;
    guint n_spots = 0;
    if (levels->n == 1 || n > levels->level[levels->n - 2].size) {
        return only_spot(levels, behind, d, t, most_devices, spots);
    }
    for (guint i = 0; i < levels->n; i++) {
        guint64 size = i > 0 ? levels->level[i - 1].size : 1;
        guint64 begin = i > 0 ? (from / size + 1) * size : from;
        guint64 start = begin + n <= most_devices ? first_held(levels, begin, d, t) : NOWHERE;
        if (start == NOWHERE || start + n > most_devices) {
            return n_spots;
        }
        PsSpot spot = {.devices = (guint)(start + n),
                       .level = (guint8)ps_levels_span(levels, start, start + n - 1)};
        spot.leave = spot.level;
        if (behind != NULL) {
            guint reach = ps_levels_span(levels, from - 1, start + n - 1);
            spot.leave = (guint8)MAX(reach, behind->level);
        }
        if ((behind == NULL || behind->enters >> spot.leave & 1) &&
            worth_trying(levels, &spot, spots, n_spots)) {
            spots[n_spots++] = spot;
        }
    }
    return n_spots;
}

gboolean ps_spot_covers(const PsLevels *levels, const PsSpot *a, const PsSpot *b, gboolean *apart)
{
    guint period = levels->n > 1 ? levels->level[levels->n - 2].size : 1;
    guint distance = (b->devices - a->devices) % period;
    *apart = distance != 0;
    return (a->enters & b->enters) == b->enters &&
           (distance == 0 || b->level + 1u == levels->n ||
            ps_levels_span(levels, a->devices - 1, (guint64)a->devices - 1 + distance) <= b->level);
}

/* ---- given stages --------------------------------------------------------------------------- */

/* One way to place the stages from one to the last. */
typedef struct {
    PsSpot spot;
    double squares;
    guint rest; /* index among the ways to place those behind */
} Way;

typedef struct {
    const PsLevels *levels;
    guint devices, n_stages;
    const PsStageDegrees *stages;
    double *loads; /* [n_stages][n_levels][n_levels][n_levels]: enter, leave, resync */
    GArray **ways; /* [n_stages] of Way */
} Placer;

static double *load_at(const Placer *placer, guint stage, guint enter, guint leave, guint resync)
{
    gsize n = placer->levels->n;
    return &placer->loads[((stage * n + enter) * n + leave) * n + resync];
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Fills the table of loads; returns them all, ascending. */
static GArray *ask_loads(Placer *placer, PsStageLoad load, gpointer user_data)
{
    guint n = placer->levels->n;
    GArray *all = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint stage = 0; stage < placer->n_stages; stage++) {
        for (guint resync = 0; resync < n; resync++) {
            for (guint enter = resync; enter < n; enter++) {
                for (guint leave = resync; leave < n; leave++) {
                    PsCrossing crossing = {(guint8)enter, (guint8)leave, (guint8)resync};
                    double one = load(stage, crossing, user_data);
                    *load_at(placer, stage, enter, leave, resync) = one;
                    g_array_append_val(all, one);
                }
            }
        }
    }
    g_array_sort(all, compare_doubles);
    return all;
}

static gboolean stands_in(const Placer *placer, const Way *a, const Way *b)
{
    gboolean apart;
    return a->spot.devices <= b->spot.devices &&
           ps_spot_covers(placer->levels, &a->spot, &b->spot, &apart) &&
           ((a->spot.devices < b->spot.devices && !apart) || a->squares <= b->squares);
}

static void add_way(const Placer *placer, GArray *ways, const Way *way)
{
    guint kept = 0;
    for (guint i = 0; i < ways->len; i++) {
        if (stands_in(placer, &g_array_index(ways, Way, i), way)) {
            return; /* so the new one stands in for none: nothing was moved */
        }
    }
    for (guint i = 0; i < ways->len; i++) {
        if (!stands_in(placer, way, &g_array_index(ways, Way, i))) {
            g_array_index(ways, Way, kept++) = g_array_index(ways, Way, i);
        }
    }
    g_array_set_size(ways, kept);
    g_array_append_val(ways, *way);
}

static void add_spots(const Placer *placer, guint stage, const Way *behind, guint rest, double cap)
{
    PsSpot spots[PS_MOST_LEVELS];
    const PsStageDegrees *degrees = &placer->stages[stage];
    guint n = ps_spots(placer->levels, behind != NULL ? &behind->spot : NULL,
                       degrees->data_parallel, degrees->tensor_parallel, placer->devices, spots);
    for (guint i = 0; i < n; i++) {
        for (guint enter = spots[i].level; enter < placer->levels->n; enter++) {
            double load = *load_at(placer, stage, enter, spots[i].leave, spots[i].level);
            if (load <= cap && isfinite(load)) {
                Way way = {spots[i], load * load + (behind != NULL ? behind->squares : 0), rest};
                way.spot.enters = (guint8)(1u << enter);
                add_way(placer, placer->ways[stage], &way);
            }
        }
    }
}

/* Whether the stages can be placed with every load within the cap. */
static gboolean place_within(const Placer *placer, double cap)
{
    for (guint stage = placer->n_stages; stage-- > 0;) {
        g_array_set_size(placer->ways[stage], 0);
        if (stage + 1 == placer->n_stages) {
            add_spots(placer, stage, NULL, 0, cap);
            continue;
        }
        const GArray *behind = placer->ways[stage + 1];
        for (guint i = 0; i < behind->len; i++) {
            add_spots(placer, stage, &g_array_index(behind, Way, i), i, cap);
        }
    }
    return placer->ways[0]->len > 0;
}

/* Bisection over all loads; FALSE where not even the largest will do. */
static gboolean place_best(const Placer *placer, const GArray *loads)
{
    guint low = 0, high = loads->len - 1; /* the least that will do is in between */
    if (!place_within(placer, g_array_index(loads, double, high))) {
        return FALSE;
    }
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (place_within(placer, g_array_index(loads, double, middle))) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return place_within(placer, g_array_index(loads, double, high));
}

static guint trace(const Placer *placer, guint *first_devices)
{
    const Way *way = &g_array_index(placer->ways[0], Way, 0);
    for (guint i = 1; i < placer->ways[0]->len; i++) {
        const Way *other = &g_array_index(placer->ways[0], Way, i);
        if (other->spot.devices < way->spot.devices ||
            (other->spot.devices == way->spot.devices && other->squares < way->squares)) {
            way = other;
        }
    }
    guint devices = way->spot.devices;
    guint64 end = ps_levels_border(placer->levels, devices);
    for (guint stage = 0; stage < placer->n_stages; stage++) {
        first_devices[stage] = (guint)(end - way->spot.devices);
        if (stage + 1 < placer->n_stages) {
            way = &g_array_index(placer->ways[stage + 1], Way, way->rest);
        }
    }
    return devices;
}

guint ps_place(const PsLevels *levels, guint devices, const PsStageDegrees *stages, guint n_stages,
               PsStageLoad load, gpointer user_data, guint *first_devices)
{
    Placer placer = {levels, devices, n_stages, stages};
    gsize n = levels->n;
    placer.loads = g_new(double, n_stages *n *n *n);
    placer.ways = g_new(GArray *, n_stages);
    for (guint i = 0; i < n_stages; i++) {
        placer.ways[i] = g_array_new(FALSE, FALSE, sizeof(Way));
    }
    g_autoptr(GArray) loads = ask_loads(&placer, load, user_data);
    guint taken = place_best(&placer, loads) ? trace(&placer, first_devices) : 0;
    for (guint i = 0; i < n_stages; i++) {
        g_array_unref(placer.ways[i]);
    }
    g_free(placer.ways);
    g_free(placer.loads);
    return taken;
}
