/* Profiles: what is read is what the file says. */
#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/log.h"
#include "sim/model/profile.h"
#include "tests/harness/harness.h"
#include "tests/model/broken-profile.h"

static PsProfile *load(const char *path, const char *time_unit)
{
    g_autoptr(GError) error = NULL;
    PsProfile *profile = ps_profile_load(path, time_unit, &error);
    ps_assert_no_error(error);
    ck_assert_ptr_nonnull(profile);
    return profile;
}

static PsProfile *load_text(const char *text, const char *time_unit)
{
    return load(ps_test_file("profile.json", text), time_unit);
}

/* The sound profile with the first occurrence of from replaced. Caller frees. */
static char *changed(const char *from, const char *to)
{
    const char *found = strstr(SOUND_PROFILE, from);
    ck_assert_ptr_nonnull(found);
    g_autofree char *head = g_strndup(SOUND_PROFILE, (gsize)(found - SOUND_PROFILE));
    return g_strconcat(head, to, found + strlen(from), NULL);
}

/* ---- one file by hand ----------------------------------------------------------------------- */

START_TEST(reads_every_field)
{
    g_autoptr(PsProfile) profile = load_text(SOUND_PROFILE, NULL);
    ck_assert_uint_eq(profile->devices, 4);
    ck_assert_double_eq(profile->memory_bytes, 1e9);
    ck_assert_double_eq(profile->bandwidth_bytes_per_s, 1e9);
    ck_assert_uint_eq(profile->microbatches, 8);
    ck_assert_double_eq(profile->time_unit_s, 1);
    ck_assert_uint_eq(profile->n_layers, 3);
    ck_assert_uint_eq(profile->n_edges, 2);

    const PsLayer *layer = &profile->layers[1];
    ck_assert_int_eq(layer->id, 5);
    ck_assert_str_eq(layer->name, "second");
    ck_assert_uint_eq(layer->n_incoming, 1);
    ck_assert_uint_eq(layer->n_outgoing, 1);
    ck_assert_double_eq(profile->edges[layer->incoming[0]].bytes, 100);
    ck_assert_double_eq(profile->edges[layer->outgoing[0]].bytes, 200);
    ck_assert_uint_eq(profile->edges[layer->incoming[0]].source, 0);
    ck_assert_uint_eq(profile->edges[layer->outgoing[0]].target, 2);

    const PsTmpcSet *set = ps_layer_set(layer, 2);
    ck_assert_ptr_null(ps_layer_set(layer, 4));
    ck_assert_uint_eq(set->n_tmpcs, 2);
    const PsTmpc *plain = &set->tmpcs[0], *recomputing = &set->tmpcs[1];
    ck_assert_str_eq(plain->id, "wide");
    ck_assert(!plain->recomputes && recomputing->recomputes);
    ck_assert_double_eq(plain->time_s, 0.375);
    ck_assert_double_eq(plain->weight_bytes, 12);
    ck_assert_double_eq(plain->memory_per_microbatch_bytes, 22);
    ck_assert_double_eq(plain->memory_fixed_bytes, 32);
    ck_assert_double_eq(plain->sync_forward_bytes[0], 43);
    ck_assert_double_eq(plain->sync_backward_bytes[0], 44);
    /* 0.4375 - 0.375 is the forward of both. */
    ck_assert_double_eq(plain->forward_s, 0.0625);
    ck_assert_double_eq(recomputing->recompute_s, 0.0625);
    ck_assert_double_eq(recomputing->backward_s, 0.3125);
    ck_assert_double_eq(recomputing->workspace_bytes, 20);
    ck_assert_uint_eq(ps_profile_find_layer(profile, 7), 2);
    ck_assert_uint_eq(ps_profile_find_layer(profile, 4), G_MAXUINT);
}
END_TEST

START_TEST(reads_the_other_name_of_the_batch)
{
    g_autofree char *text = changed("mbsInBatch", "maxBatchSize");
    g_autoptr(PsProfile) profile = load_text(text, NULL);
    ck_assert_uint_eq(profile->microbatches, 8);
}
END_TEST

START_TEST(reads_given_parts)
{
    g_autofree char *text =
        changed("\"timePerSample\": 0.25", "\"timePerSample\": 0.25, \"timeForward\": 0.0625, "
                                           "\"timeBackward\": 0.125, \"timeRecompute\": 0.0625, "
                                           "\"timeWeightGradient\": 0.03125");
    g_autoptr(PsProfile) profile = load_text(text, "ms");
    const PsTmpc *tmpc = &profile->layers[0].sets[0].tmpcs[0];
    ck_assert(tmpc->recomputes);
    ck_assert_double_eq_tol(tmpc->forward_s, 62.5e-6, 1e-18);
    ck_assert_double_eq_tol(tmpc->backward_s, 125e-6, 1e-18);
    ck_assert_double_eq_tol(tmpc->recompute_s, 62.5e-6, 1e-18);
    ck_assert_double_eq_tol(tmpc->weight_gradient_s, 31.25e-6, 1e-18);
}
END_TEST

/* GLib is the second road for the digest. */
START_TEST(records_the_file)
{
    const char *path = ps_test_file("recorded.json", SOUND_PROFILE);
    g_autoptr(PsProfile) profile = load(path, NULL);
    g_autofree char *sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, SOUND_PROFILE, -1);
    ck_assert_str_eq(profile->path, path);
    ck_assert_str_eq(profile->sha256, sha256);
}
END_TEST

START_TEST(legal_oddities)
{
    g_autoptr(PsProfile) single = load_text(
        "{\"maxDevices\": 1, \"maxMemoryPerDevice\": 1, \"bandwidth\": 1, \"mbsInBatch\": 1,"
        " \"edges\": [], \"nodes\": ["
        "{\"id\": 9007199254740992, \"name\": \"\", \"TMPCs\": {\"1\": ["
        "{\"id\": \"a\", \"timePerSample\": 0, \"parameterSize\": 0, \"memoryUsageA\": 0,"
        " \"memoryUsageB\": 0, \"syncTimeFw\": {}, \"syncTimeBw\": {}},"
        "{\"id\": \"b\", \"timePerSample\": 0, \"parameterSize\": 0, \"memoryUsageA\": 0,"
        " \"memoryUsageB\": 0, \"syncTimeFw\": {}, \"syncTimeBw\": {}},"
        "{\"id\": \"c\", \"timePerSample\": 0.5, \"parameterSize\": 0, \"memoryUsageA\": 0,"
        " \"memoryUsageB\": 0, \"syncTimeFw\": {}, \"syncTimeBw\": {}}]}}]}",
        NULL);
    ck_assert_uint_eq(single->n_edges, 0);
    ck_assert_uint_eq(single->layers[0].sets[0].n_tmpcs, 3);
    ck_assert_int_eq(single->layers[0].id, G_GINT64_CONSTANT(9007199254740992));
}
END_TEST

/* ---- time units ----------------------------------------------------------------------------- */

static void count_warning(const char *domain, GLogLevelFlags level, const char *message,
                          gpointer user_data)
{
    (void)domain;
    (void)level;
    ck_assert_ptr_nonnull(strstr(message, "warning: "));
    ck_assert_ptr_nonnull(strstr(message, "looks like milliseconds"));
    ck_assert_ptr_nonnull(strstr(message, "--time-unit ms"));
    ++*(guint *)user_data;
}

static guint warnings_of(const char *path, const char *time_unit)
{
    guint warnings = 0;
    guint handler = g_log_set_handler(PS_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, count_warning, &warnings);
    ps_profile_free(load(path, time_unit));
    g_log_remove_handler(PS_LOG_DOMAIN, handler);
    return warnings;
}

START_TEST(time_units)
{
    g_autofree char *in_ms = changed("\"maxDevices\"", "\"timeUnit\": \"ms\", \"maxDevices\"");
    g_autofree char *in_s = changed("\"maxDevices\"", "\"timeUnit\": \"s\", \"maxDevices\"");
    const struct {
        const char *text, *asked;
        double unit_s;
    } cases[] = {{SOUND_PROFILE, NULL, 1},
                 {SOUND_PROFILE, "ms", 1e-3},
                 {in_ms, NULL, 1e-3},
                 {in_ms, "ms", 1e-3},
                 {in_s, "s", 1}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsProfile) profile = load_text(cases[i].text, cases[i].asked);
        ck_assert_double_eq(profile->time_unit_s, cases[i].unit_s);
        ck_assert_double_eq_tol(profile->layers[0].sets[0].tmpcs[0].time_s, 0.25 * cases[i].unit_s,
                                1e-18);
    }
    const char *path = ps_test_file("ms.json", in_ms);
    g_autoptr(GError) error = NULL;
    ck_assert_ptr_null(ps_profile_load(path, "s", &error));
    g_autofree char *expected =
        g_strconcat(path, ": $.timeUnit: is \"ms\" (expected the unit that was asked for)", NULL);
    ps_assert_error(error, PS_ERROR_INPUT, expected);
    ck_assert_ptr_null(ps_profile_load(path, "us", &error));
    ps_assert_error(error, PS_ERROR_USAGE, "unknown time unit \"us\" (expected s or ms)");
}
END_TEST

START_TEST(warns_of_milliseconds)
{
    g_autofree char *slow = changed("0.125", "1.001");
    g_autofree char *said = changed("\"maxDevices\"", "\"timeUnit\": \"s\", \"maxDevices\"");
    g_autofree char *just = changed("0.125", "1");
    const char *path = ps_test_file("slow.json", slow);
    ck_assert_uint_eq(warnings_of(path, NULL), 1);
    ck_assert_uint_eq(warnings_of(path, "s"), 0);
    ck_assert_uint_eq(warnings_of(path, "ms"), 0);
    ck_assert_uint_eq(warnings_of(ps_test_file("said.json", said), NULL), 0);
    ck_assert_uint_eq(warnings_of(ps_test_file("just.json", just), NULL), 0);
}
END_TEST

/* ---- published profiles --------------------------------------------------------------------- */

/* Layers, sum of the fastest times at t = 1 and whether it holds milliseconds, as stated with the
 * data. */
START_TEST(reads_published_profiles)
{
    const struct {
        const char *name;
        guint n_layers, warnings;
    } cases[] = {{"profiles/bert32-a100.json", 37, 0},
                 {"profiles/bert48-a100.json", 53, 0},
                 {"profiles/bert96-a100.json", 101, 0},
                 {"profiles/gnmt.json", 78, 1},
                 {"profiles/resnet50-v100.json", 177, 1}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path = ps_test_data(cases[i].name);
        if (path != NULL) {
            ck_assert_uint_eq(warnings_of(path, NULL), cases[i].warnings);
            g_autoptr(PsProfile) profile = load(path, "s");
            ck_assert_uint_eq(profile->n_layers, cases[i].n_layers);
        }
    }
}
END_TEST

START_TEST(bert_has_its_published_sums)
{
    const char *path = ps_test_data("profiles/bert32-a100.json");
    if (path == NULL) {
        return;
    }
    g_autoptr(PsProfile) profile = load(path, NULL);
    double time_s = 0, weight = 0;
    for (guint i = 0; i < profile->n_layers; i++) {
        const PsTmpc *tmpc = &profile->layers[i].sets[0].tmpcs[0];
        ck_assert_str_eq(tmpc->id, "vanilla");
        time_s += tmpc->time_s;
        weight += tmpc->weight_bytes;
    }
    ck_assert_double_eq_tol(time_s, 0.97286, 5e-6);
    ck_assert_double_eq_tol(weight, 5.88e9, 5e6);
}
END_TEST

/* ---- random profiles ------------------------------------------------------------------------ */

#define MAX_NODES 12

/* Everything by place in the file. */
typedef struct {
    guint n;
    gint64 ids[MAX_NODES];
    gboolean joined[MAX_NODES][MAX_NODES];
    double edge_bytes[MAX_NODES][MAX_NODES];
    double times[MAX_NODES], weights[MAX_NODES];
    double sync_forward[MAX_NODES][MAX_NODES], sync_backward[MAX_NODES][MAX_NODES];
} Drawn;

static void draw(Drawn *drawn, GRand *rand)
{
    guint rank[MAX_NODES]; /* edges run from lower to higher rank, whatever the place */
    drawn->n = (guint)g_rand_int_range(rand, 1, MAX_NODES + 1);
    for (guint i = 0; i < drawn->n; i++) {
        guint other = (guint)g_rand_int_range(rand, 0, (gint32)i + 1);
        rank[i] = rank[other];
        rank[other] = i;
        drawn->ids[i] = 7 * i + g_rand_int_range(rand, 0, 7);
        drawn->times[i] = g_rand_double(rand);
        drawn->weights[i] = g_rand_int(rand);
    }
    for (guint i = 0; i < drawn->n; i++) {
        for (guint j = 0; j < drawn->n; j++) {
            drawn->joined[i][j] = rank[i] < rank[j] && g_rand_int_range(rand, 0, 3) == 0;
            drawn->edge_bytes[i][j] = g_rand_double(rand) * 1e9;
            drawn->sync_forward[i][j] = g_rand_double(rand) * 1e9;
            drawn->sync_backward[i][j] = g_rand_double(rand) * 1e9;
        }
    }
}

static void append_sync(GString *text, const char *key, const Drawn *drawn, guint node,
                        gboolean forward)
{
    g_string_append_printf(text, ", \"%s\": {", key);
    const char *comma = "";
    for (guint i = 0; i < drawn->n; i++) {
        if (forward ? drawn->joined[i][node] : drawn->joined[node][i]) {
            g_string_append_printf(text, "%s\"%" G_GINT64_FORMAT "\": %.17g", comma, drawn->ids[i],
                                   forward ? drawn->sync_forward[node][i]
                                           : drawn->sync_backward[node][i]);
            comma = ", ";
        }
    }
    g_string_append_c(text, '}');
}

static char *text_of(const Drawn *drawn)
{
    GString *text = g_string_new("{\"maxDevices\": 8, \"maxMemoryPerDevice\": 1e9, "
                                 "\"bandwidth\": 1e9, \"mbsInBatch\": 8, \"nodes\": [");
    for (guint i = 0; i < drawn->n; i++) {
        g_string_append_printf(text,
                               "%s{\"id\": %" G_GINT64_FORMAT ", \"name\": \"\", \"TMPCs\": "
                               "{\"1\": [{\"id\": \"x\", \"timePerSample\": %.17g, "
                               "\"parameterSize\": %.17g, \"memoryUsageA\": 1, "
                               "\"memoryUsageB\": 2",
                               i > 0 ? ", " : "", drawn->ids[i], drawn->times[i],
                               drawn->weights[i]);
        append_sync(text, "syncTimeFw", drawn, i, TRUE);
        append_sync(text, "syncTimeBw", drawn, i, FALSE);
        g_string_append(text, "}]}}");
    }
    g_string_append(text, "], \"edges\": [");
    const char *comma = "";
    for (guint i = 0; i < drawn->n; i++) {
        for (guint j = 0; j < drawn->n; j++) {
            if (drawn->joined[i][j]) {
                g_string_append_printf(text,
                                       "%s{\"sourceId\": %" G_GINT64_FORMAT ", \"destId\": "
                                       "%" G_GINT64_FORMAT ", \"communicationCost\": %.17g}",
                                       comma, drawn->ids[i], drawn->ids[j],
                                       drawn->edge_bytes[i][j]);
                comma = ", ";
            }
        }
    }
    g_string_append(text, "]}");
    return g_string_free(text, FALSE);
}

/* By definition: again and again the first in the file whose predecessors are all out. */
static void place_in_order(const Drawn *drawn, guint *order)
{
    gboolean out[MAX_NODES] = {FALSE};
    for (guint k = 0; k < drawn->n; k++) {
        for (guint i = 0; i < drawn->n; i++) {
            gboolean ready = !out[i];
            for (guint j = 0; j < drawn->n; j++) {
                ready = ready && (!drawn->joined[j][i] || out[j]);
            }
            if (ready) {
                out[i] = TRUE;
                order[k] = i;
                break;
            }
        }
    }
}

static void check_layer(const Drawn *drawn, const guint *order, const PsProfile *profile, guint k)
{
    const PsLayer *layer = &profile->layers[k];
    const PsTmpc *tmpc = &layer->sets[0].tmpcs[0];
    guint node = order[k], n_in = 0, n_out = 0;
    ck_assert_int_eq(layer->id, drawn->ids[node]);
    ck_assert_double_eq(tmpc->time_s, drawn->times[node]);
    ck_assert_double_eq(tmpc->weight_bytes, drawn->weights[node]);
    /* The test writes edges by source, then by target: so they come in both lists. */
    for (guint i = 0; i < drawn->n; i++) {
        if (drawn->joined[i][node]) {
            const PsEdge *edge = &profile->edges[layer->incoming[n_in]];
            ck_assert_uint_eq(edge->target, k);
            ck_assert_uint_eq(order[edge->source], i);
            ck_assert_double_eq(edge->bytes, drawn->edge_bytes[i][node]);
            ck_assert_double_eq(tmpc->sync_forward_bytes[n_in++], drawn->sync_forward[node][i]);
        }
        if (drawn->joined[node][i]) {
            const PsEdge *edge = &profile->edges[layer->outgoing[n_out]];
            ck_assert_uint_eq(edge->source, k);
            ck_assert_uint_eq(order[edge->target], i);
            ck_assert_double_eq(tmpc->sync_backward_bytes[n_out++], drawn->sync_backward[node][i]);
        }
    }
    ck_assert_uint_eq(layer->n_incoming, n_in);
    ck_assert_uint_eq(layer->n_outgoing, n_out);
}

START_TEST(reads_random_graphs)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("reads_random_graphs"));
    for (guint round = 0; round < 300; round++) {
        Drawn drawn;
        guint order[MAX_NODES];
        draw(&drawn, rand);
        g_autofree char *text = text_of(&drawn);
        g_autoptr(PsProfile) profile = load_text(text, NULL);
        place_in_order(&drawn, order);
        ck_assert_uint_eq(profile->n_layers, drawn.n);
        for (guint k = 0; k < drawn.n; k++) {
            check_layer(&drawn, order, profile, k);
        }
    }
}
END_TEST

/* With an edge from the end of a path back to its beginning, the cycle named is one of the graph:
 * each step is an edge, and it begins with its first node in the file. */
static void check_cycle(const Drawn *drawn, const char *message)
{
    const char *text = strstr(message, "form a cycle: ");
    ck_assert_msg(text != NULL, "%s", message);
    g_auto(GStrv) words = g_strsplit(text + strlen("form a cycle: "), " -> ", -1);
    guint n = g_strv_length(words), first = G_MAXUINT, before = G_MAXUINT;
    ck_assert_uint_ge(n, 3);
    for (guint w = 0; w < n; w++) {
        guint place = 0;
        while (place < drawn->n && drawn->ids[place] != g_ascii_strtoll(words[w], NULL, 10)) {
            place++;
        }
        ck_assert_uint_lt(place, drawn->n);
        ck_assert(w == 0 || drawn->joined[before][place]);
        ck_assert(w == 0 || place >= first);
        first = w == 0 ? place : first;
        before = place;
    }
    ck_assert_uint_eq(before, first);
}

START_TEST(names_a_cycle_of_the_graph)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("names_a_cycle_of_the_graph"));
    guint cycles = 0;
    for (guint round = 0; round < 300; round++) {
        Drawn drawn;
        draw(&drawn, rand);
        guint from = (guint)g_rand_int_range(rand, 0, (gint32)drawn.n);
        guint to = (guint)g_rand_int_range(rand, 0, (gint32)drawn.n);
        drawn.joined[from][to] |= from != to;
        g_autofree char *text = text_of(&drawn);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsProfile) profile =
            ps_profile_load(ps_test_file("cycle.json", text), NULL, &error);
        if (profile == NULL) {
            check_cycle(&drawn, error->message);
            cycles++;
        }
    }
    ck_assert_uint_gt(cycles, 20);
}
END_TEST

PS_TEST_MAIN("profile", reads_every_field, reads_the_other_name_of_the_batch, reads_given_parts,
             records_the_file, legal_oddities, time_units, warns_of_milliseconds,
             reads_published_profiles, bert_has_its_published_sums, reads_random_graphs,
             names_a_cycle_of_the_graph)
