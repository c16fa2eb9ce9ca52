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
     ":3: memory: \"-16 GiB\": not a number with a unit (expected a size with a unit, like 80 "
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
    {"latency = 2 us", "latency = 2 us\nshared = yes",
     ":9: unknown key shared (expected size, bandwidth or latency)"},
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

PS_TEST_MAIN("broken-topology", refuses_broken_files, refuses_broken_lines)
