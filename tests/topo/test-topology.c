/* Topologies: both forms, the shipped files, and every way to break them. */
#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/topo/topology.h"
#include "tests/harness/harness.h"

#define TOPO                                                                                       \
    "[accelerator]\n"                                                                              \
    "name = Test\n"                                                                                \
    "memory = 16 GiB\n"                                                                            \
    "peak_fp16 = 100 TFLOP/s\n"                                                                    \
    "[level node]\n"                                                                               \
    "size = 4\n"                                                                                   \
    "bandwidth = 100 GB/s\n"                                                                       \
    "latency = 2 us\n"                                                                             \
    "[level cluster]\n"                                                                            \
    "size = 16\n"                                                                                  \
    "bandwidth = 80 Gbit/s\n"                                                                      \
    "latency = 5 us\n"

static PsTopology *load(const char *text)
{
    g_autoptr(GError) error = NULL;
    PsTopology *topology = ps_topology_load(text, &error);
    ps_assert_no_error(error);
    ck_assert(ps_topology_check(topology, &error));
    ps_assert_no_error(error);
    return topology;
}

static void check_level(const PsTopology *topology, guint index, const char *name, guint size,
                        double bandwidth_bytes_per_s, double latency_s)
{
    const PsTopologyLevel *level = &topology->levels[index];
    ck_assert_str_eq(level->name, name);
    ck_assert_uint_eq(level->size, size);
    ck_assert_double_eq(level->bandwidth_bytes_per_s, bandwidth_bytes_per_s);
    ck_assert_double_eq_tol(level->latency_s, latency_s, 1e-18);
}

/* ---- forms ---------------------------------------------------------------------------------- */

START_TEST(reads_a_file)
{
    const char *path = ps_test_file("mine.topo", TOPO);
    g_autoptr(PsTopology) topology = load(path);
    g_autofree char *sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, TOPO, -1);
    ck_assert_str_eq(topology->name, "mine");
    ck_assert_str_eq(topology->path, path);
    ck_assert_str_eq(topology->sha256, sha256);
    ck_assert_str_eq(topology->accelerator.name, "Test");
    ck_assert_double_eq(topology->accelerator.memory_bytes, 16.0 * (1 << 30));
    ck_assert_double_eq(topology->accelerator.peak_flop_per_s[PS_PRECISION_FP16], 1e14);
    ck_assert_double_eq(topology->accelerator.peak_flop_per_s[PS_PRECISION_FP8], 0);
    ck_assert_uint_eq(topology->n_levels, 2);
    check_level(topology, 0, "node", 4, 100e9, 2e-6);
    check_level(topology, 1, "cluster", 16, 10e9, 5e-6);
    ck_assert_uint_eq(ps_topology_devices(topology), 16);
}
END_TEST

START_TEST(reads_one_line)
{
    g_autoptr(PsTopology) flat = load("flat:64 25GB/s 80GiB");
    ck_assert_uint_eq(flat->n_levels, 1);
    check_level(flat, 0, "flat", 64, 25e9, 0);
    ck_assert_double_eq(flat->accelerator.memory_bytes, 80.0 * (1 << 30));

    g_autoptr(PsTopology) nested = load("  node:8 300GB/s 2us\tcluster:64 200Gbit/s 80GiB ");
    ck_assert_uint_eq(nested->n_levels, 2);
    check_level(nested, 0, "node", 8, 300e9, 2e-6);
    check_level(nested, 1, "cluster", 64, 25e9, 0);

    g_autoptr(PsTopology) slow = load("flat:2 1B/s 3s 1B");
    check_level(slow, 0, "flat", 2, 1, 3);
}
END_TEST

START_TEST(spans)
{
    g_autoptr(PsTopology) topology = load("node:8 300GB/s rack:32 50GB/s all:128 25GB/s 1GiB");
    const struct {
        guint devices;
        const char *level;
    } cases[] = {{1, "node"}, {8, "node"}, {9, "rack"}, {32, "rack"}, {33, "all"}, {128, "all"}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        const PsTopologyLevel *level = ps_topology_span_level(topology, cases[i].devices, &error);
        ps_assert_no_error(error);
        ck_assert_str_eq(level->name, cases[i].level);
    }
    g_autoptr(GError) error = NULL;
    ck_assert_ptr_null(ps_topology_span_level(topology, 129, &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "topology node:8 300GB/s rack:32 50GB/s all:128 25GB/s 1GiB has 128 devices "
                    "(expected at least 129)");
}
END_TEST

/* What a level is built of is the same in both forms and in the text. */
START_TEST(kinds_in_both_forms)
{
    const char *path = ps_test_file("kinds.topo", "[accelerator]\nname = x\nmemory = 1 GiB\n"
                                                  "[level node]\nsize = 4\nbandwidth = 9 GB/s\n"
                                                  "latency = 0\nkind = switch\nshared = no\n"
                                                  "[level leaves]\nsize = 32\nbandwidth = 1 GB/s\n"
                                                  "latency = 0\nkind = fat-tree\nleaf = 8\n"
                                                  "oversubscription = 3:2\nshared = yes\n"
                                                  "[level grid]\nsize = 192\nbandwidth = 1 GB/s\n"
                                                  "latency = 1 s\nkind = torus\n"
                                                  "dimensions = 3x2\n");
    const char *line = "node:4 9000000000B/s leaves:32 1000000000B/s shared fat-tree=8,3:2 "
                       "grid:192 1000000000B/s 1s torus=3x2 1073741824B";
    g_autoptr(PsTopology) by_file = load(path);
    g_autoptr(PsTopology) by_line = load(line);
    const PsTopology *both[] = {by_file, by_line};
    for (guint i = 0; i < G_N_ELEMENTS(both); i++) {
        const PsTopologyLevel *levels = both[i]->levels;
        g_autofree char *text = ps_topology_text(both[i]);
        ck_assert_str_eq(text, line);
        ck_assert_int_eq(levels[0].kind, PS_LEVEL_SWITCH);
        ck_assert_double_eq(levels[0].shared_bytes_per_s, 0);
        ck_assert_int_eq(levels[1].kind, PS_LEVEL_FAT_TREE);
        ck_assert_double_eq(levels[1].shared_bytes_per_s, 1e9);
        ck_assert_double_eq(levels[1].bandwidth_bytes_per_s, 1e9 / 4);
        ck_assert_uint_eq(levels[1].leaf_devices, 8);
        ck_assert_double_eq(levels[1].oversubscription, 1.5);
        ck_assert_int_eq(levels[2].kind, PS_LEVEL_TORUS);
        ck_assert_uint_eq(levels[2].n_dimensions, 2);
        ck_assert_uint_eq(levels[2].dimensions[0], 3);
        ck_assert_uint_eq(levels[2].dimensions[1], 2);
    }
}
END_TEST

START_TEST(reads_a_library)
{
    g_autoptr(PsTopology) topology =
        load(ps_test_file("library.topo", TOPO
                          "[collectives]\nalgorithms = ring, tree\n"
                          "start = 2: 4 us, 8: 10 us\n"
                          "[protocol slow]\nlatency = 3 us\nbandwidth = 5 GB/s\ngrain = 1 kB\n"));
    const PsLibrary *library = &topology->library;
    ck_assert_str_eq(library->algorithms[0], "ring");
    ck_assert_str_eq(library->algorithms[1], "tree");
    ck_assert_ptr_null(library->algorithms[2]);
    ck_assert_uint_eq(library->n_starts, 2);
    ck_assert_uint_eq(library->starts[1].n_ranks, 8);
    ck_assert_double_eq_tol(library->starts[1].start_s, 10e-6, 1e-18);
    ck_assert_uint_eq(library->n_protocols, 1);
    ck_assert_str_eq(library->protocols[0].name, "slow");
    ck_assert_double_eq_tol(library->protocols[0].latency_s, 3e-6, 1e-18);
    ck_assert_double_eq(library->protocols[0].bandwidth_bytes_per_s, 5e9);
    ck_assert_double_eq(library->protocols[0].grain_bytes, 1e3);
}
END_TEST

START_TEST(reads_a_list_of_links)
{
    const char *path =
        ps_test_file("three.csv", "source,destination,bandwidth_bytes_per_s,latency_s\n"
                                  "0,hub,3e9,1e-6\nhub,2,1e9,2e-6\n2,hub,1e9,0\n"
                                  "0,2,4e9,0\n");
    g_autofree char *text = g_strconcat("links:", path, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(PsTopology) topology = ps_topology_load(text, &error);
    ps_assert_no_error(error);
    g_autofree char *again = ps_topology_text(topology);
    ck_assert_str_eq(again, text);
    const PsLinkList *list = topology->links;
    ck_assert_uint_eq(list->n_vertices, 3);
    ck_assert_str_eq(list->vertices[1], "hub");
    ck_assert_uint_eq(list->n_devices, 3);
    ck_assert_uint_eq(list->devices[0], 0);
    ck_assert_uint_eq(list->devices[1], PS_NO_VERTEX);
    ck_assert_uint_eq(list->devices[2], 2);
    ck_assert_uint_eq(list->n_links, 4);
    ck_assert_uint_eq(ps_topology_devices(topology), 3);
    ck_assert_uint_eq(topology->n_levels, 1);
    ck_assert_double_eq(topology->levels[0].bandwidth_bytes_per_s, 1e9); /* device 2's */
    ck_assert_double_eq(topology->levels[0].latency_s, 2e-6);
    ck_assert_double_eq(topology->accelerator.memory_bytes, 0);
}
END_TEST

static guint draw_levels(GString *file, GString *line, GRand *rand, double *bandwidths,
                         double *latencies, guint *sizes)
{
    guint n = (guint)g_rand_int_range(rand, 1, 5), size = 1;
    for (guint i = 0; i < n; i++) {
        size *= (guint)g_rand_int_range(rand, i == 0 ? 1 : 2, 9);
        sizes[i] = size;
        bandwidths[i] = g_rand_double_range(rand, 1, 1e12);
        latencies[i] = g_rand_boolean(rand) ? g_rand_double(rand) : 0;
        g_string_append_printf(file, "[level L%u]\nsize = %u\nbandwidth = %.17g B/s\n", i, size,
                               bandwidths[i]);
        g_string_append_printf(file, "latency = %.17g s\n", latencies[i]);
        g_string_append_printf(line, "L%u:%u %.17gB/s ", i, size, bandwidths[i]);
        if (latencies[i] > 0) {
            g_string_append_printf(line, "%.17gs ", latencies[i]);
        }
    }
    return n;
}

/* Both forms of a random topology hold what was written, and the text of either is read back. */
START_TEST(random_topologies_in_both_forms)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("random_topologies_in_both_forms"));
    for (guint round = 0; round < 200; round++) {
        double bandwidths[4], latencies[4], memory = g_rand_double_range(rand, 1, 1e12);
        guint sizes[4];
        g_autoptr(GString) file = g_string_new("[accelerator]\nname = x\n");
        g_autoptr(GString) line = g_string_new(NULL);
        g_string_append_printf(file, "memory = %.17g B\n", memory);
        guint n = draw_levels(file, line, rand, bandwidths, latencies, sizes);
        g_string_append_printf(line, "%.17gB", memory);
        g_autoptr(PsTopology) by_file = load(ps_test_file("random.topo", file->str));
        g_autoptr(PsTopology) by_line = load(line->str);
        g_autofree char *text = ps_topology_text(by_file);
        g_autofree char *same_text = ps_topology_text(by_line);
        g_autoptr(PsTopology) again = load(text);
        ck_assert_str_eq(text, same_text);
        const PsTopology *all[] = {by_file, by_line, again};
        for (guint form = 0; form < G_N_ELEMENTS(all); form++) {
            ck_assert_uint_eq(all[form]->n_levels, n);
            ck_assert_double_eq(all[form]->accelerator.memory_bytes, memory);
            for (guint i = 0; i < n; i++) {
                ck_assert_uint_eq(all[form]->levels[i].size, sizes[i]);
                ck_assert_double_eq(all[form]->levels[i].bandwidth_bytes_per_s, bandwidths[i]);
                ck_assert_double_eq(all[form]->levels[i].latency_s, latencies[i]);
            }
        }
    }
}
END_TEST

/* ---- shipped files -------------------------------------------------------------------------- */

/* From the data sheets: NVLink of one direction, share of the network adapters, dense fp16. */
START_TEST(shipped_files_hold_the_data_sheets)
{
    g_setenv("PIPERSIM_TOPOLOGIES", "topologies", TRUE);
    const struct {
        const char *name;
        double memory_gib, inner_gb_per_s, outer_gbit_per_s, fp16_tflop_per_s;
    } cases[] = {
        {"flat", 80, 25, 200, 312},
        {"dgx-v100", 32, 6 * 25, 4 * 100.0 / 8, 125},
        {"dgx-a100", 80, 600 / 2, 8 * 200.0 / 8, 312},
        {"dgx-h100", 80, 900 / 2, 8 * 400.0 / 8, 1979 / 2.0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsTopology) topology = load(cases[i].name);
        const PsTopologyLevel *outer = &topology->levels[topology->n_levels - 1];
        ck_assert_str_eq(topology->name, cases[i].name);
        ck_assert_double_eq(topology->accelerator.memory_bytes,
                            cases[i].memory_gib * 1024 * 1024 * 1024);
        ck_assert_double_eq(topology->levels[0].bandwidth_bytes_per_s,
                            cases[i].inner_gb_per_s * 1e9);
        ck_assert_double_eq(outer->bandwidth_bytes_per_s, cases[i].outer_gbit_per_s * 1e9 / 8);
        ck_assert_double_eq(topology->accelerator.peak_flop_per_s[PS_PRECISION_FP16],
                            cases[i].fp16_tflop_per_s * 1e12);
        ck_assert_uint_ge(ps_topology_devices(topology), 8 * 1024);
        ck_assert(topology->n_levels == 1 || topology->levels[0].size == 8);
    }
}
END_TEST

START_TEST(every_shipped_file_is_sound)
{
    g_setenv("PIPERSIM_TOPOLOGIES", "topologies", TRUE);
    g_auto(GStrv) names = ps_topology_names();
    ck_assert_uint_ge(g_strv_length(names), 4);
    for (guint i = 0; names[i] != NULL; i++) {
        ps_topology_free(load(names[i]));
        ck_assert(i == 0 || strcmp(names[i - 1], names[i]) < 0);
    }
}
END_TEST

START_TEST(own_folder_comes_first)
{
    const char *path = ps_test_file("dgx-a100.topo", TOPO);
    g_autofree char *folder = g_path_get_dirname(path);
    g_setenv("PIPERSIM_TOPOLOGIES", folder, TRUE);
    g_autoptr(PsTopology) topology = load("dgx-a100");
    ck_assert_str_eq(topology->accelerator.name, "Test");
}
END_TEST

START_TEST(unknown_names_list_the_known_ones)
{
    const char *path = ps_test_file("alpha.topo", TOPO);
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *other = g_build_filename(folder, "beta.topo", NULL);
    ck_assert(g_file_set_contents(other, TOPO, -1, NULL));
    g_setenv("PIPERSIM_TOPOLOGIES", folder, TRUE);
    g_autoptr(GError) error = NULL;
    ck_assert_ptr_null(ps_topology_load("alpa", &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "unknown topology \"alpa\", did you mean alpha? (expected alpha, beta, the "
                    "path of a .topo file, or one line such as \"flat:64 25GB/s 80GiB\")");
    ck_assert_ptr_null(ps_topology_load("", &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "unknown topology \"\" (expected alpha, beta, the path of a .topo file, or one "
                    "line such as \"flat:64 25GB/s 80GiB\")");
    ck_assert_ptr_null(ps_topology_load("./no-such.topo", &error));
    ck_assert_int_eq(error->code, PS_ERROR_IO);
}
END_TEST

/* ---- the checker ---------------------------------------------------------------------------- */

START_TEST(the_checker_sees_every_fault)
{
    char strange[] = "a b";
    char node[] = "node";
    char name[] = "x";
    const PsTopologyLevel good[] = {{node, 4, 1e9, 0}, {name, 16, 1e9, 0}};
    const struct {
        PsTopologyLevel level; /* in place of the second */
        const char *message;
    } cases[] = {
        {{NULL, 16, 1e9, 0}, "level 1: a level has no name (expected one)"},
        {{strange, 16, 1e9, 0},
         "level 1: a level's name holds a strange character (expected "
         "letters, digits, -, _ and .)"},
        {{node, 16, 1e9, 0}, "level 1: two levels are named node (expected distinct names)"},
        {{name, 4, 1e9, 0},
         "level 1: size: 4 devices around groups of 4 (expected a larger multiple of 4)"},
        {{name, 6, 1e9, 0},
         "level 1: size: 6 devices around groups of 4 (expected a larger multiple of 4)"},
        {{name, 0, 1e9, 0}, "level 1: size: 0 devices (expected 1 to 16777216)"},
        {{name, 16, 0, 0}, "level 1: bandwidth: out of range (expected 1 B/s to 1e18 B/s)"},
        {{name, 16, NAN, 0}, "level 1: bandwidth: out of range (expected 1 B/s to 1e18 B/s)"},
        {{name, 16, 1e9, -1}, "level 1: latency: out of range (expected 0 s to 1000 s)"},
        {{name, 16, 1e9, INFINITY}, "level 1: latency: out of range (expected 0 s to 1000 s)"},
    };
    PsTopologyLevel levels[2];
    PsTopology topology = {.accelerator = {name, 1e9, {0}}, .n_levels = 2, .levels = levels};
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        levels[0] = good[0];
        levels[1] = cases[i].level;
        ck_assert(!ps_topology_check(&topology, &error));
        ps_assert_error(error, PS_ERROR_INPUT, cases[i].message);
    }
    levels[1] = good[1];
    ck_assert(ps_topology_check(&topology, &error));
    topology.accelerator.peak_flop_per_s[PS_PRECISION_BF16] = -1;
    ck_assert(!ps_topology_check(&topology, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "accelerator: peak_bf16: out of range (expected up to 1e12 TFLOP/s)");
    topology.n_levels = 0;
    topology.accelerator.peak_flop_per_s[PS_PRECISION_BF16] = 0;
    ck_assert(!ps_topology_check(&topology, &error));
    ps_assert_error(error, PS_ERROR_INPUT, "no level (expected at least one)");
}
END_TEST

PS_TEST_MAIN("topology", reads_a_file, reads_one_line, spans, random_topologies_in_both_forms,
             kinds_in_both_forms, reads_a_library, reads_a_list_of_links,
             shipped_files_hold_the_data_sheets, every_shipped_file_is_sound,
             own_folder_comes_first, unknown_names_list_the_known_ones,
             the_checker_sees_every_fault)
