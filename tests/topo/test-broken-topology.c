/* Every way to break a topology has its own sentence. */
#include <string.h>

#include "sim/base/error.h"
#include "sim/topo/topology.h"
#include "tests/harness/harness.h"

#define SOUND                                                                                      \
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

/* What to replace in the sound file, and what is said about it after the path. */
static const struct {
    const char *from, *to, *message;
} cases[] = {
    {SOUND, "", ": the file is empty (expected a [group])"},
    {"[accelerator]\n", "", ":1: key before any group (expected [group] first)"},
    {"name = Test\n", "", ":1: name: missing in [accelerator]"},
    {"name = Test", "name =", ":2: name: empty (expected the accelerator's name)"},
    {"memory = 16 GiB\n", "", ":1: memory: missing in [accelerator]"},
    {"memory = 16 GiB", "memory = 16",
     ":3: memory: \"16\": the unit is missing (expected a size with a unit, like 80 GiB)"},
    {"memory = 16 GiB", "memory = 16 GB/s",
     ":3: memory: \"16 GB/s\": unknown unit \"GB/s\" (expected a size with a unit, like 80 GiB)"},
    {"memory = 16 GiB", "memory = 0", ":3: memory: out of range (expected 1 B to 1e18 B)"},
    {"memory = 16 GiB", "memory = -16 GiB",
     ":3: memory: \"-16 GiB\": the number is negative (expected 0 or more: a size with a unit, "
     "like 80 "
     "GiB)"},
    {"memory = 16 GiB", "memory = 16 GiB\nmemory = 32 GiB",
     ":4: memory appears twice (expected once; first on line 3)"},
    {"memory = 16 GiB", "memory = 16 GiB\nmemry = 32 GiB",
     ":4: unknown key memry (did you mean memory?)"},
    {"peak_fp16 = 100 TFLOP/s", "peak_fp17 = 100 TFLOP/s",
     ":4: unknown key peak_fp17 (did you mean peak_fp16?)"},
    {"peak_fp16 = 100 TFLOP/s", "peak_fp16 = 100 TB/s",
     ":4: peak_fp16: \"100 TB/s\": unknown unit \"TB/s\" (expected a rate with a unit, like 312 "
     "TFLOP/s)"},
    {"[level node]", "[leve node]",
     ":5: unknown group [leve node] (expected accelerator or level cluster)"},
    {"[level node]", "[level cluster]",
     ":9: [level cluster] appears twice (expected once; first on line 5)"},
    {"[level node]", "[level a/b]",
     ":5: group level a/b: a level's name holds a strange character (expected letters, digits, -, "
     "_ and .)"},
    {"[level node]", "[level  cluster]",
     ":9: group level cluster: two levels are named cluster (expected distinct names)"},
    {"size = 4\n", "", ":5: size: missing in [level node]"},
    {"size = 4\n", "size = 0\n",
     ":6: size: \"0\": out of range (expected a whole number from 1 to 16777216)"},
    {"size = 4\n", "size = 4.5\n",
     ":6: size: \"4.5\": not a whole number (expected a whole number from 1 to 16777216)"},
    {"size = 4\n", "size = 16\n",
     ":10: size: 16 devices around groups of 16 (expected a larger multiple of 16)"},
    {"size = 4\n", "size = 3\n",
     ":10: size: 16 devices around groups of 3 (expected a larger multiple of 3)"},
    {"bandwidth = 100 GB/s\n", "", ":5: bandwidth: missing in [level node]"},
    {"bandwidth = 100 GB/s", "bandwidth = 100 GB",
     ":7: bandwidth: \"100 GB\": \"/s\" is missing after \"GB\" (expected a rate with a unit, like "
     "25 GB/s or 200 Gbit/s)"},
    {"bandwidth = 100 GB/s", "bandwidth = 0",
     ":7: bandwidth: out of range (expected 1 B/s to 1e18 B/s)"},
    {"latency = 2 us", "latency = 2000 h", ":8: latency: out of range (expected 0 s to 1000 s)"},
    {"latency = 2 us\n", "", ":5: latency: missing in [level node]"},
    {"latency = 2 us", "latency = 2 us\nshares = yes",
     ":9: unknown key shares (did you mean shared?)"},
    {"latency = 2 us", "latency = 2 us\nshared = yes",
     ":9: shared: at the innermost level (expected a level inside whose devices share)"},
    {"latency = 5 us", "latency = 5 us\nshared = true",
     ":13: shared: unknown word \"true\" (expected no or yes)"},
    {"latency = 2 us",
     "latency = 2 us\nkind = ring\n[level rack]\nsize = 8\nbandwidth = 1 "
     "GB/s\nlatency = 0\nshared = yes",
     ":14: shared: node, a ring, has no switch to share an adapter (expected no)"},
    {"latency = 2 us", "latency = 2 us\nkind = rail",
     ":9: kind: rail at the innermost level (expected a level inside it)"},
    {"latency = 5 us", "latency = 5 us\nkind = rail\nshared = yes",
     ":13: kind: rail with a shared adapter (expected one for each device)"},
    {"latency = 2 us", "latency = 2 us\nkind = rings",
     ":9: kind: unknown word \"rings\" (did you mean ring?)"},
    {"latency = 2 us", "latency = 2 us\nkind = torus", ":5: dimensions: missing in [level node]"},
    {"latency = 2 us", "latency = 2 us\nkind = torus\ndimensions = 3x2",
     ":10: dimensions: 3x2 (expected sizes whose product is 4)"},
    {"latency = 2 us", "latency = 2 us\nkind = torus\ndimensions = 2x2x0",
     ":10: dimensions: \"2x2x0\": not a grid (expected up to 6 sizes such as 4x4x2)"},
    {"latency = 2 us", "latency = 2 us\ndimensions = 2x2",
     ":9: unknown key dimensions (expected size, bandwidth, latency, shared or kind)"},
    {"latency = 5 us", "latency = 5 us\nkind = fat-tree\nleaf = 6\noversubscription = 2:1",
     ":14: leaf: 6 devices under a leaf (expected a multiple of 4 that divides 16)"},
    {"latency = 5 us", "latency = 5 us\nkind = fat-tree\nleaf = 8\noversubscription = 2",
     ":15: oversubscription: \"2\": not a ratio (expected one such as 3:1)"},
    {"latency = 5 us", "latency = 5 us\nkind = fat-tree\nleaf = 8\noversubscription = 1:2",
     ":15: oversubscription: out of range (expected 1:1 to 1000:1)"},
    {"[level node]", "[level links]",
     ":5: group level links: a level is named links (expected another name: links:FILE is a "
     "list)"},
    {"latency = 5 us\n", "latency = 5 us\n[collectives]\nstart = 2: 4 us, 2: 5 us\n",
     ":14: start: \"2: 5 us\" (expected RANKS: TIME pairs such as \"2: 40 us, 8: 60 us\", ranks "
     "ascending)"},
    {"latency = 5 us\n", "latency = 5 us\n[collectives]\nstart = 4 us\n",
     ":14: start: \"4 us\" (expected RANKS: TIME pairs such as \"2: 40 us, 8: 60 us\", ranks "
     "ascending)"},
    {"latency = 5 us\n", "latency = 5 us\n[protocol a]\nlatency = 0\nbandwidth = 1 GB/s\n",
     ":13: grain: missing in [protocol a]"},
    {"latency = 5 us\n", "latency = 5 us\n[protocol a]\nlatency = 0\nbandwidth = 0\ngrain = 1 kB\n",
     ":15: bandwidth: out of range (expected 1 B/s to 1e18 B/s)"},
    {"latency = 2 us", "latency 2 us",
     ":8: \"latency 2 us\" cannot be read (expected [group], key = value or # comment)"},
};

START_TEST(refuses_broken_files)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *found = strstr(SOUND, cases[i].from);
        ck_assert_msg(found != NULL, "case %u replaces what is not there", i);
        g_autoptr(GString) text = g_string_new_len(SOUND, found - SOUND);
        g_string_append(text, cases[i].to);
        g_string_append(text, found + strlen(cases[i].from));
        const char *path = ps_test_file("broken.topo", text->str);
        g_autofree char *expected = g_strconcat(path, cases[i].message, NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsTopology) topology = ps_topology_load(path, &error);
        ck_assert_msg(topology == NULL, "accepted: case %u, %s", i, cases[i].to);
        ps_assert_error(error, PS_ERROR_INPUT, expected);
    }
}
END_TEST

static const struct {
    const char *line, *message;
} lines[] = {
    {"flat: 25GB/s 80GiB",
     "size \"\": not a whole number (expected a whole number from 1 to 16777216)"},
    {":4 25GB/s 80GiB", "a level has no name (expected one)"},
    {"flat:0 25GB/s 80GiB",
     "size \"0\": out of range (expected a whole number from 1 to 16777216)"},
    {"flat:4", "the bandwidth is missing (expected NAME:SIZE BANDWIDTH [LATENCY] for each level "
               "from the inside out, then MEMORY)"},
    {"flat:4 25GB/s", "the memory is missing (expected NAME:SIZE BANDWIDTH [LATENCY] for each "
                      "level from the inside out, then MEMORY)"},
    {"flat:4 25GB/s 2us",
     "memory \"2us\": unknown unit \"us\" (expected a size with a unit, like 80 GiB)"},
    {"flat:4 25GB 80GiB", "bandwidth \"25GB\": \"/s\" is missing after \"GB\" (expected a rate "
                          "with a unit, like 25 GB/s or 200 Gbit/s)"},
    {"flat:4 25 GB/s 80 GiB", "bandwidth \"25\": the unit is missing (expected a rate with a unit, "
                              "like 25 GB/s or 200 Gbit/s)"},
    {"flat:4 25GB/s 80GiB 2us",
     "latency \"80GiB\": unknown unit \"GiB\" (expected a time with a unit, like 3 us)"},
    {"flat:4 25GB/s 2us 80GiB 5", "\"5\" follows the memory (expected the end)"},
    {"flat:4 0 80GiB", "bandwidth: out of range (expected 1 B/s to 1e18 B/s)"},
    {"flat:4 25GB/s 0", "memory: out of range (expected 1 B to 1e18 B)"},
    {"a:4 25GB/s b:6 25GB/s 80GiB",
     "size: 6 devices around groups of 4 (expected a larger multiple of 4)"},
    {"a:4 25GB/s a:8 25GB/s 80GiB", "two levels are named a (expected distinct names)"},
    {"a:4 25GB/s shard 80GiB", "unknown word \"shard\" (did you mean shared?)"},
    {"a:4 25GB/s shared 80GiB",
     "shared: at the innermost level (expected a level inside whose devices share)"},
    {"a:4 25GB/s ring torus=2x2 80GiB", "\"torus=2x2\" after \"ring\" (expected one kind)"},
    {"a:4 25GB/s ring ring 80GiB", "\"ring\" after \"ring\" (expected one kind)"},
    {"a:4 25GB/s switch ring 80GiB", "\"ring\" after \"switch\" (expected one kind)"},
    {"a:4 25GB/s b:8 5GB/s shared shared 80GiB", "\"shared\" comes twice (expected once)"},
    {"a:4 25GB/s torus 80GiB", "torus with 0 values (expected 1 after =: DIMENSIONS)"},
    {"a:4 25GB/s ring=4 80GiB", "ring with 1 value (expected 0)"},
    {"a:4 25GB/s torus=3x3 80GiB", "dimensions: 3x3 (expected sizes whose product is 4)"},
    {"a:4 25GB/s fat-tree=2 80GiB",
     "fat-tree with 1 value (expected 2 after =: LEAF,OVERSUBSCRIPTION)"},
    {"a:4 25GB/s fat-tree=2,x 80GiB",
     "oversubscription \"x\": not a ratio (expected one such as 3:1)"},
};

START_TEST(refuses_broken_lines)
{
    for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *expected =
            g_strdup_printf("topology \"%s\": %s", lines[i].line, lines[i].message);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsTopology) topology = ps_topology_load(lines[i].line, &error);
        ck_assert_msg(topology == NULL, "accepted: %s", lines[i].line);
        ps_assert_error(error, PS_ERROR_USAGE, expected);
    }
}
END_TEST

#define HEADER "source,destination,bandwidth_bytes_per_s,latency_s\n"

static const struct {
    const char *text, *message;
} lists[] = {
    {"", ": the file is empty (expected a header row)"},
    {HEADER, ": no device (expected vertices that are whole numbers)"},
    {HEADER "a,b,1e9,0\n", ": no device (expected vertices that are whole numbers)"},
    {HEADER "0,1,1e9,0\n0,,1e9,0\n",
     ":3: column destination: empty (expected a rank or the name of a switch)"},
    {HEADER "0,01,1e9,0\n",
     ":2: column destination: \"01\" is no rank (expected 0 to 16777215 without leading zeros)"},
    {HEADER "99999999,1,1e9,0\n", ":2: column source: \"99999999\" is no rank (expected 0 to "
                                  "16777215 without leading zeros)"},
    {HEADER "0,-1,1e9,0\n",
     ":2: column destination: \"-1\" is no rank (expected 0 to 16777215 without leading zeros)"},
    {HEADER "0,1,1e9,0\n+1,0,1e9,0\n",
     ":3: column source: \"+1\" is no rank (expected 0 to 16777215 without leading zeros)"},
    {HEADER "0, 1 ,1e9,0\n",
     ":2: column destination: \" 1 \" is no rank (expected 0 to 16777215 without leading zeros)"},
    {HEADER "99999999999999999999,1,1e9,0\n",
     ":2: column source: \"99999999999999999999\" is no rank (expected 0 to 16777215 without "
     "leading zeros)"},
    {HEADER "0,0,1e9,0\n",
     ":2: column destination: a link from 0 to itself (expected another vertex)"},
    {HEADER "0,1,1e9,0\n1,0,1e9,0\n0,1,2e9,0\n",
     ":4: column destination: a second link from 0 to 1 (expected one with the sum of their "
     "bandwidths; first on line 2)"},
    {HEADER "0,1,0,0\n",
     ":2: column bandwidth_bytes_per_s: out of range (expected 1 B/s to 1e18 B/s)"},
    {HEADER "0,1,25 GB/s,0\n", ":2: column bandwidth_bytes_per_s: \"25 GB/s\" is not a number "
                               "(expected a finite decimal)"},
    {HEADER "0,1,1e9,-1\n", ":2: column latency_s: out of range (expected 0 s to 1000 s)"},
    {"source,destination,bandwidth_bytes_per_s\n0,1,1e9\n",
     ":1: column \"latency_s\" is missing (expected "
     "source,destination,bandwidth_bytes_per_s,latency_s)"},
};

START_TEST(refuses_broken_lists)
{
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        const char *path = ps_test_file("links.csv", lists[i].text);
        g_autofree char *text = g_strconcat("links:", path, NULL);
        g_autofree char *expected = g_strconcat(path, lists[i].message, NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsTopology) topology = ps_topology_load(text, &error);
        ck_assert_msg(topology == NULL, "accepted: list %u", i);
        ps_assert_error(error, PS_ERROR_INPUT, expected);
    }
}
END_TEST

PS_TEST_MAIN("broken-topology", refuses_broken_files, refuses_broken_lines, refuses_broken_lists)
