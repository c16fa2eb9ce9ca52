#include "tests/oracle/random-profile.h"

#include <string.h>

#include "tests/harness/harness.h"

typedef struct {
    GRand *random;
    const PsRandomProfile *wanted;
    gboolean *edges; /* [n][n]: from, to */
    GString *text;
} Maker;

static gboolean has_edge(const Maker *maker, guint from, guint to)
{
    return maker->edges[from * maker->wanted->n_layers + to];
}

static void put_sync(Maker *maker, const char *key, guint layer, gboolean incoming, const int *mb)
{
    const char *separator = "";
    g_string_append_printf(maker->text, "\"%s\": {", key);
    for (guint other = 0; other < maker->wanted->n_layers; other++) {
        if (incoming ? has_edge(maker, other, layer) : has_edge(maker, layer, other)) {
            g_string_append_printf(maker->text, "%s\"%u\": %de6", separator, other, mb[other]);
            separator = ", ";
        }
    }
    g_string_append(maker->text, "}");
}

static void put_tmpcs(Maker *maker, guint layer, guint degree)
{
    GRand *random = maker->random;
    guint n = (guint)g_rand_int_range(random, 1, (gint32)maker->wanted->most_tmpcs + 1);
    g_autofree int *mb = g_new0(int, maker->wanted->n_layers);
    int weight = 0;
    for (guint i = 0; i < n; i++) {
        if (i == 0 || !maker->wanted->same_weights) {
            weight = g_rand_int_range(random, 0, 200);
            for (guint j = 0; j < maker->wanted->n_layers; j++) {
                mb[j] = degree > 1 ? g_rand_int_range(random, 0, 20) : 0;
            }
        }
        g_string_append_printf(maker->text,
                               "%s{\"id\": \"way %u%s\", \"timePerSample\": %d.0e-3, "
                               "\"parameterSize\": %de6, \"memoryUsageA\": %de6, "
                               "\"memoryUsageB\": %de6, ",
                               i > 0 ? ", " : "", i, i % 2 == 1 ? " recomp" : "",
                               g_rand_int_range(random, 1, 40) / (int)degree + 1, weight,
                               g_rand_int_range(random, 1, 300), g_rand_int_range(random, 1, 600));
        put_sync(maker, "syncTimeFw", layer, TRUE, mb);
        g_string_append(maker->text, ", ");
        put_sync(maker, "syncTimeBw", layer, FALSE, mb);
        g_string_append(maker->text, "}");
    }
}

static void put_layer(Maker *maker, guint layer)
{
    g_string_append_printf(maker->text, "%s{\"id\": %u, \"name\": \"layer\", \"TMPCs\": {\"1\": [",
                           layer > 0 ? ", " : "", layer);
    put_tmpcs(maker, layer, 1);
    g_string_append(maker->text, "]");
    for (guint degree = 2; maker->wanted->tensor_parallel && degree <= 4;
         degree = maker->wanted->any_degree ? degree + 1 : 2 * degree) {
        if (g_rand_int_range(maker->random, 0, 4) > 0) {
            g_string_append_printf(maker->text, ", \"%u\": [", degree);
            put_tmpcs(maker, layer, degree);
            g_string_append(maker->text, "]");
        }
    }
    g_string_append(maker->text, "}}");
}

static void put_edges(Maker *maker)
{
    const char *separator = "";
    guint n = maker->wanted->n_layers;
    g_string_append(maker->text, "], \"edges\": [");
    for (guint from = 0; from < n; from++) {
        for (guint to = from + 1; to < n; to++) {
            if (has_edge(maker, from, to)) {
                g_string_append_printf(
                    maker->text,
                    "%s{\"sourceId\": %u, \"destId\": %u, \"communicationCost\": %de6}", separator,
                    from, to, g_rand_int_range(maker->random, 0, 50));
                separator = ", ";
            }
        }
    }
}

PsProfile *ps_random_profile(GRand *random, const PsRandomProfile *wanted)
{
    guint n = wanted->n_layers;
    g_autofree gboolean *edges = g_new0(gboolean, (gsize)n * n);
    Maker maker = {random, wanted, edges, g_string_new(NULL)};
    for (guint from = 0; from < n; from++) {
        for (guint to = from + 1; to < n; to++) {
            edges[from * n + to] = (wanted->chain && to == from + 1) ||
                                   g_rand_double(random) < wanted->edge_probability;
        }
    }
    g_string_append_printf(
        maker.text,
        "{\"maxDevices\": %u, \"maxMemoryPerDevice\": %.0f, \"bandwidth\": %.0f, "
        "\"mbsInBatch\": %u, \"nodes\": [",
        wanted->devices, wanted->memory_bytes, wanted->bandwidth_bytes_per_s, wanted->microbatches);
    for (guint layer = 0; layer < n; layer++) {
        put_layer(&maker, layer);
    }
    put_edges(&maker);
    g_string_append(maker.text, "]}\n");
    g_autofree char *path = g_build_filename(ps_test_folder(), "random.json", NULL);
    g_assert(g_file_set_contents(path, maker.text->str, -1, NULL));
    g_string_free(maker.text, TRUE);
    g_autoptr(GError) error = NULL;
    PsProfile *profile = ps_profile_load(path, "s", &error);
    ps_assert_no_error(error);
    return profile;
}

PsProfile *ps_random_small_profile(GRand *random)
{
    PsRandomProfile wanted = {
        .n_layers = (guint)g_rand_int_range(random, 1, 6),
        .edge_probability = g_rand_double(random),
        .chain = g_rand_boolean(random),
        .most_tmpcs = 3,
        .tensor_parallel = g_rand_boolean(random),
        .same_weights = g_rand_boolean(random),
        .devices = (guint)g_rand_int_range(random, 1, 6),
        .microbatches = (guint)g_rand_int_range(random, 1, 9),
        .memory_bytes = g_rand_int_range(random, 100, 5000) * 1e6,
        .bandwidth_bytes_per_s = g_rand_int_range(random, 1, 20) * 1e9,
    };
    return ps_random_profile(random, &wanted);
}

gboolean ps_tmpcs_send_alike(const PsProfile *profile)
{
    for (guint v = 0; v < profile->n_layers; v++) {
        const PsLayer *layer = &profile->layers[v];
        for (guint s = 0; s < layer->n_sets; s++) {
            const PsTmpc *first = &layer->sets[s].tmpcs[0];
            for (guint i = 1; i < layer->sets[s].n_tmpcs; i++) {
                const PsTmpc *tmpc = &layer->sets[s].tmpcs[i];
                if (tmpc->weight_bytes != first->weight_bytes ||
                    (layer->n_incoming > 0 &&
                     memcmp(tmpc->sync_forward_bytes, first->sync_forward_bytes,
                            layer->n_incoming * sizeof(double)) != 0) ||
                    (layer->n_outgoing > 0 &&
                     memcmp(tmpc->sync_backward_bytes, first->sync_backward_bytes,
                            layer->n_outgoing * sizeof(double)) != 0)) {
                    return FALSE;
                }
            }
        }
    }
    return TRUE;
}
