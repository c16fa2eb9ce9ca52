#include "sim/replay/disturbance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/fields.h"
#include "sim/base/rng.h"
#include "sim/base/suggest.h"

#define MOST_FACTOR 1e6
#define MOST_STOP_S 3.6e6 /* the clock has room for as much again */
#define LEAST_CV 1e-6
#define MOST_CV 10
#define HIGHEST_RANK 16777215
#define DEFAULT_SEED 1
#define LONGEST_PS (G_GINT64_CONSTANT(1) << 60)

const char *const ps_disturbance_names[PS_N_DISTURBANCES + 1] = {
    [PS_DISTURBANCE_JITTER] = "jitter",       [PS_DISTURBANCE_SLOW] = "slow",
    [PS_DISTURBANCE_SLOW_LINK] = "slow-link", [PS_DISTURBANCE_STOP] = "stop",
    [PS_DISTURBANCE_SEED] = "seed",
};

/* One of a list of slow devices, slow links or stops. */
typedef struct {
    guint rank;   /* where link is NULL */
    char *link;   /* name */
    double value; /* factor, or seconds */
} Entry;

struct PsDisturbance {
    gboolean random;
    PsNoise noise;
    double cv;
    guint64 seed;
    GArray *lists[PS_N_DISTURBANCES]; /* Entry: by rank, then the links; empty for no list */
    char *texts[PS_N_DISTURBANCES];
};

/* ---- reading -------------------------------------------------------------------------------- */

enum { RANK, VALUE, LINK, MOST_FIELDS };

#define RANK_FIELD(example)                                                                        \
    {                                                                                              \
        "rank", PS_FIELD_COUNT, example, 0, HIGHEST_RANK                                           \
    }
#define FACTOR_FIELD                                                                               \
    {                                                                                              \
        "factor", PS_FIELD_NUMBER, "1.5", 1, MOST_FACTOR                                           \
    }

static const struct {
    guint n_fields; /* 0: no list */
    PsField fields[MOST_FIELDS];
} lists[PS_N_DISTURBANCES] = {
    [PS_DISTURBANCE_SLOW] = {2, {RANK_FIELD("12"), FACTOR_FIELD}},
    [PS_DISTURBANCE_SLOW_LINK] = {3,
                                  {RANK_FIELD(NULL), FACTOR_FIELD, {"link", PS_FIELD_TEXT, NULL}}},
    [PS_DISTURBANCE_STOP] = {2,
                             {RANK_FIELD("12"),
                              {"at", PS_FIELD_QUANTITY, "1.2s", 0, MOST_STOP_S, PS_SECONDS}}},
};

static void entry_clear(gpointer data)
{
    g_free(((Entry *)data)->link);
}

/* By rank, then the links by name. */
static gint compare_entries(gconstpointer a, gconstpointer b)
{
    const Entry *x = a, *y = b;
    if (x->link != NULL && y->link != NULL) {
        return strcmp(x->link, y->link);
    }
    if (x->link != NULL || y->link != NULL) {
        return (x->link != NULL) - (y->link != NULL);
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static gboolean check_place(const PsFieldValue *values, GError **error)
{
    if (values[RANK].given != values[LINK].given) {
        return TRUE;
    }
    ps_error(error, PS_ERROR_USAGE, "%s (expected one of them)",
             values[RANK].given ? "rank and link" : "neither rank nor link");
    return FALSE;
}

static gboolean read_entry(PsDisturbance *disturbance, PsDisturbanceKind kind, const char *text,
                           GString *written, GError **error)
{
    PsFieldValue values[MOST_FIELDS] = {0};
    gboolean fine =
        ps_fields_parse(text, lists[kind].fields, lists[kind].n_fields, values, error) &&
        (kind != PS_DISTURBANCE_SLOW_LINK || check_place(values, error));
    if (fine) {
        Entry entry = {(guint)values[RANK].number, g_strdup(values[LINK].text),
                       values[VALUE].number};
        g_array_append_val(disturbance->lists[kind], entry);
        g_autofree char *words = ps_fields_text(lists[kind].fields, lists[kind].n_fields, values);
        g_string_append_printf(written, "%s%s", written->len > 0 ? "; " : "", words);
    }
    ps_fields_clear(values, MOST_FIELDS);
    return fine;
}

/* Sorts the entries; no two are of one device or link. */
static gboolean order_list(GArray *list, GError **error)
{
    g_array_sort(list, compare_entries);
    for (guint i = 1; i < list->len; i++) {
        const Entry *entry = &g_array_index(list, Entry, i);
        if (compare_entries(entry - 1, entry) == 0) {
            g_autofree char *what = entry->link != NULL ? g_strconcat("link ", entry->link, NULL)
                                                        : g_strdup_printf("rank %u", entry->rank);
            ps_error(error, PS_ERROR_USAGE, "%s is given twice (expected once)", what);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean read_list(PsDisturbance *disturbance, PsDisturbanceKind kind, const char *text,
                          GError **error)
{
    g_auto(GStrv) pieces = g_strsplit(*text != '\0' ? text : " ", ";", -1);
    GString *written = g_string_new(NULL);
    gboolean fine = TRUE;
    for (char **piece = pieces; fine && *piece != NULL; piece++) {
        fine = read_entry(disturbance, kind, *piece, written, error);
    }
    disturbance->texts[kind] = g_string_free(written, FALSE);
    return fine && order_list(disturbance->lists[kind], error);
}

static gboolean read_jitter(PsDisturbance *disturbance, const char *text, GError **error)
{
    g_autofree char *copy = g_strstrip(g_strdup(text));
    char *spread = copy + strcspn(copy, " \t");
    if (*spread == '\0') {
        ps_error(error, PS_ERROR_USAGE,
                 "\"%s\" (expected a distribution and a spread such as \"lognormal 5%%\")", text);
        return FALSE;
    }
    *spread++ = '\0';
    spread += strspn(spread, " \t");
    guint noise = 0;
    while (noise < PS_N_NOISES && !g_str_equal(copy, ps_noise_names[noise])) {
        noise++;
    }
    if (noise == PS_N_NOISES) {
        g_autofree char *suggestion = ps_suggest_text(copy, ps_noise_names);
        ps_error(error, PS_ERROR_USAGE, "unknown distribution \"%s\"%s", copy, suggestion);
        return FALSE;
    }
    if (!ps_quantity_parse(PS_RATIO, spread, &disturbance->cv, error)) {
        return FALSE;
    }
    if (disturbance->cv < LEAST_CV || disturbance->cv > MOST_CV) {
        ps_error(error, PS_ERROR_USAGE, "\"%s\": out of range (expected 0.0001%% to 1000%%)",
                 spread);
        return FALSE;
    }
    disturbance->random = TRUE;
    disturbance->noise = noise;
    disturbance->texts[PS_DISTURBANCE_JITTER] = g_strdup_printf("%s %s", copy, spread);
    return TRUE;
}

static gboolean read_seed(PsDisturbance *disturbance, const char *text, GError **error)
{
    if (!disturbance->random) {
        ps_error(error, PS_ERROR_USAGE, "nothing is random (expected --jitter as well)");
        return FALSE;
    }
    return ps_count_parse(text, 0, G_MAXUINT64, &disturbance->seed, error);
}

static gboolean read_text(PsDisturbance *disturbance, PsDisturbanceKind kind, const char *text,
                          GError **error)
{
    gboolean fine = kind == PS_DISTURBANCE_JITTER ? read_jitter(disturbance, text, error)
                    : kind == PS_DISTURBANCE_SEED ? read_seed(disturbance, text, error)
                                                  : read_list(disturbance, kind, text, error);
    if (!fine) {
        g_prefix_error(error, "--%s: ", ps_disturbance_names[kind]);
    }
    return fine;
}

PsDisturbance *ps_disturbance_new(const char *const texts[PS_N_DISTURBANCES], GError **error)
{
    g_autoptr(PsDisturbance) disturbance = g_new0(PsDisturbance, 1);
    disturbance->seed = DEFAULT_SEED;
    gboolean any = FALSE;
    for (guint kind = 0; kind < PS_N_DISTURBANCES; kind++) {
        disturbance->lists[kind] = g_array_new(FALSE, FALSE, sizeof(Entry));
        g_array_set_clear_func(disturbance->lists[kind], entry_clear);
    }
    for (guint kind = 0; kind < PS_N_DISTURBANCES; kind++) {
        if (texts[kind] != NULL && !read_text(disturbance, kind, texts[kind], error)) {
            return NULL;
        }
        any |= texts[kind] != NULL;
    }
    if (!any) {
        return NULL;
    }
    if (disturbance->random) {
        disturbance->texts[PS_DISTURBANCE_SEED] =
            g_strdup_printf("%" G_GUINT64_FORMAT, disturbance->seed);
    }
    return g_steal_pointer(&disturbance);
}

void ps_disturbance_free(PsDisturbance *disturbance)
{
    if (disturbance == NULL) {
        return;
    }
    for (guint kind = 0; kind < PS_N_DISTURBANCES; kind++) {
        g_array_unref(disturbance->lists[kind]);
        g_free(disturbance->texts[kind]);
    }
    g_free(disturbance);
}

/* ---- asking --------------------------------------------------------------------------------- */

gboolean ps_disturbance_is_random(const PsDisturbance *disturbance)
{
    return disturbance != NULL && disturbance->random;
}

const char *ps_disturbance_text(const PsDisturbance *disturbance, PsDisturbanceKind kind)
{
    return disturbance != NULL ? disturbance->texts[kind] : NULL;
}

/* Entries of devices, without those of links by name. */
static guint n_of_devices(const GArray *list)
{
    guint n = list->len;
    while (n > 0 && g_array_index(list, Entry, n - 1).link != NULL) {
        n--;
    }
    return n;
}

/* The entries of devices of a range: the first one, and how many. */
static guint entries_of(const GArray *list, guint first_rank, guint n_ranks, const Entry **entries)
{
    guint low = 0, high = n_of_devices(list), end = high;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(list, Entry, middle).rank < first_rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *entries = &g_array_index(list, Entry, low);
    guint n = 0;
    while (low + n < end && (*entries)[n].rank - first_rank < n_ranks) {
        n++;
    }
    return n;
}

/* The largest factor of a range of devices, 1 where none has one. */
static double factor_of(const PsDisturbance *disturbance, PsDisturbanceKind kind, guint first_rank,
                        guint n_ranks)
{
    const Entry *entries;
    guint n = entries_of(disturbance->lists[kind], first_rank, n_ranks, &entries);
    double factor = 1;
    for (guint i = 0; i < n; i++) {
        factor = MAX(factor, entries[i].value);
    }
    return factor;
}

gint64 ps_disturbance_stop_ps(const PsDisturbance *disturbance, guint first_rank, guint n_ranks)
{
    gint64 stop_ps = G_MAXINT64;
    const Entry *entries = NULL;
    guint n = disturbance != NULL ? entries_of(disturbance->lists[PS_DISTURBANCE_STOP], first_rank,
                                               n_ranks, &entries)
                                  : 0;
    for (guint i = 0; i < n; i++) {
        stop_ps = MIN(stop_ps, ps_seconds_to_ps(entries[i].value));
    }
    return stop_ps;
}

double ps_disturbance_slowness(const PsDisturbance *disturbance, guint first_rank, guint n_ranks)
{
    return disturbance != NULL ? factor_of(disturbance, PS_DISTURBANCE_SLOW, first_rank, n_ranks)
                               : 1;
}

double ps_disturbance_link_factor(const PsDisturbance *disturbance, guint first_rank, guint n_ranks)
{
    return disturbance != NULL
               ? factor_of(disturbance, PS_DISTURBANCE_SLOW_LINK, first_rank, n_ranks)
               : 1;
}

/* ---- links of a network --------------------------------------------------------------------- */

/* Puts the links of an entry into `links`. */
static gboolean find_links(const Entry *entry, const PsNetwork *network, GArray *links,
                           GError **error)
{
    g_array_set_size(links, 0);
    if (entry->link != NULL) {
        return ps_network_find_links(network, entry->link, links, error);
    }
    ps_network_device_links(network, entry->rank, links);
    if (links->len == 0) {
        ps_error(error, PS_ERROR_USAGE, "rank %u has no links (expected a device with links)",
                 entry->rank);
    }
    return links->len > 0;
}

void ps_disturbance_slow_capacities(const PsDisturbance *disturbance, const PsNetwork *network,
                                    double *capacities_bytes_per_s)
{
    const GArray *list = disturbance != NULL ? disturbance->lists[PS_DISTURBANCE_SLOW_LINK] : NULL;
    if (list == NULL || list->len == 0) {
        return;
    }
    g_autofree double *factors = g_new0(double, ps_network_links(network));
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint i = 0; i < list->len; i++) {
        const Entry *entry = &g_array_index(list, Entry, i);
        gboolean found = find_links(entry, network, links, NULL);
        g_assert(found);
        for (guint j = 0; j < links->len; j++) {
            double *factor = &factors[g_array_index(links, guint, j)];
            *factor = MAX(*factor, entry->value);
        }
    }
    for (guint link = 0; link < ps_network_links(network); link++) {
        capacities_bytes_per_s[link] /= MAX(factors[link], 1);
    }
}

static gboolean check_entry(const Entry *entry, PsDisturbanceKind kind, guint n_devices,
                            const PsNetwork *network, GArray *links, GError **error)
{
    if (entry->link == NULL && entry->rank >= n_devices) {
        ps_error(error, PS_ERROR_USAGE, "rank %u: out of range (expected a rank from 0 to %u)",
                 entry->rank, n_devices - 1);
        return FALSE;
    }
    if (kind != PS_DISTURBANCE_SLOW_LINK) {
        return TRUE;
    }
    if (network != NULL) {
        return find_links(entry, network, links, error);
    }
    if (entry->link != NULL) {
        ps_error(error, PS_ERROR_USAGE,
                 "link %s: a flat network has no links by name "
                 "(expected rank=RANK)",
                 entry->link);
    }
    return entry->link == NULL;
}

gboolean ps_disturbance_check(const PsDisturbance *disturbance, guint n_devices,
                              const PsNetwork *network, GError **error)
{
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint kind = 0; disturbance != NULL && kind < PS_N_DISTURBANCES; kind++) {
        const GArray *list = disturbance->lists[kind];
        for (guint i = 0; i < list->len; i++) {
            if (!check_entry(&g_array_index(list, Entry, i), kind, n_devices, network, links,
                             error)) {
                g_prefix_error(error, "--%s: ", ps_disturbance_names[kind]);
                return FALSE;
            }
        }
    }
    return TRUE;
}

static gboolean is_used(const Entry *entry, const guint *devices, guint n)
{
    gboolean used = entry->link != NULL;
    for (guint i = 0; !used && i < n; i++) {
        used = devices[i] == entry->rank;
    }
    return used;
}

gboolean ps_disturbance_check_used(const PsDisturbance *disturbance, const guint *devices, guint n,
                                   GError **error)
{
    for (guint kind = 0; disturbance != NULL && kind < PS_N_DISTURBANCES; kind++) {
        const GArray *list = disturbance->lists[kind];
        for (guint i = 0; i < list->len; i++) {
            const Entry *entry = &g_array_index(list, Entry, i);
            if (!is_used(entry, devices, n)) {
                ps_error(error, PS_ERROR_USAGE,
                         "--%s: rank %u: no stage is on this device (expected one that is in use)",
                         ps_disturbance_names[kind], entry->rank);
                return FALSE;
            }
        }
    }
    return TRUE;
}

/* ---- the draws of a run --------------------------------------------------------------------- */

struct PsDraws {
    const PsDisturbance *disturbance;
    guint n_lanes;
    PsRng **streams; /* by lane, made when first drawn from; NULL without noise */
};

PsDraws *ps_draws_new(const PsDisturbance *disturbance, guint n_lanes)
{
    PsDraws *draws = g_new0(PsDraws, 1);
    draws->disturbance = disturbance;
    draws->n_lanes = n_lanes;
    draws->streams = ps_disturbance_is_random(disturbance) ? g_new0(PsRng *, n_lanes) : NULL;
    return draws;
}

void ps_draws_free(PsDraws *draws)
{
    if (draws == NULL) {
        return;
    }
    for (guint i = 0; draws->streams != NULL && i < draws->n_lanes; i++) {
        ps_rng_free(draws->streams[i]);
    }
    g_free(draws->streams);
    g_free(draws);
}

static double draw(PsDraws *draws, guint lane)
{
    const PsDisturbance *disturbance = draws->disturbance;
    if (draws->streams[lane] == NULL) {
        draws->streams[lane] = ps_rng_new(disturbance->seed, "lane", lane);
    }
    return ps_rng_noise(draws->streams[lane], disturbance->noise, disturbance->cv);
}

gint64 ps_draws_duration_ps(PsDraws *draws, guint lane, double slowness, gint64 duration_ps)
{
    double factor = slowness;
    if (draws->streams != NULL) {
        factor *= draw(draws, lane);
    }
    double disturbed_ps = (double)duration_ps * factor;
    return factor == 1                         ? duration_ps
           : disturbed_ps < (double)LONGEST_PS ? llrint(disturbed_ps)
                                               : MAX(duration_ps, LONGEST_PS);
}
