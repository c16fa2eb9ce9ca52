/* Every way to break a profile has its own sentence. */
#include <string.h>

#include "sim/base/error.h"
#include "sim/model/profile.h"
#include "tests/harness/harness.h"
#include "tests/model/broken-profile.h"

/* What to replace in the sound profile (its first occurrence), and what is said about it, after the
 * path. */
static const struct {
    const char *from, *to, *message;
} cases[] = {
    /* not this format at all */
    {SOUND_PROFILE, "", ": no known profile format (expected Piper's JSON)"},
    {SOUND_PROFILE, "[]", ": no known profile format (expected Piper's JSON)"},
    {"\"edges\": [\n", "\"edges\": [\n,", ":25: unexpected ',' (expected a value)"},
    {"}\n", "}}\n", ":22: unexpected '}' (expected ',' or ']')"},
    /* top level */
    {"\"maxDevices\": 4,", "",
     ": $.maxDevices: is missing (expected a whole number from 1 to 16777216)"},
    {"\"maxMemoryPerDevice\": 1e9,", "",
     ": $.maxMemoryPerDevice: is missing (expected a number from 1 to 1e+18)"},
    {"\"bandwidth\": 1e9,", "", ": $.bandwidth: is missing (expected a number from 1 to 1e+18)"},
    {", \"mbsInBatch\": 8", "",
     ": $.mbsInBatch: is missing (expected a whole number from 1 to 1073741824)"},
    {"\"mbsInBatch\": 8", "\"mbsInBatch\": 8, \"maxBatchSize\": 8",
     ": $.maxBatchSize: says the same as mbsInBatch (expected one of the two)"},
    {"\"maxDevices\": 4", "\"maxDevices\": 0",
     ": $.maxDevices: is 0 (expected a whole number from 1 to 16777216)"},
    {"\"maxDevices\": 4", "\"maxDevices\": 2.5",
     ": $.maxDevices: is 2.5 (expected a whole number from 1 to 16777216)"},
    {"\"maxDevices\": 4", "\"maxDevices\": \"4\"",
     ": $.maxDevices: is a string (expected a whole number from 1 to 16777216)"},
    {"\"maxMemoryPerDevice\": 1e9", "\"maxMemoryPerDevice\": -1",
     ": $.maxMemoryPerDevice: is -1 (expected a number from 1 to 1e+18)"},
    {"\"bandwidth\": 1e9", "\"bandwidth\": 0",
     ": $.bandwidth: is 0 (expected a number from 1 to 1e+18)"},
    {"\"bandwidth\": 1e9", "\"bandwidth\": 1e300",
     ": $.bandwidth: is 1e+300 (expected a number from 1 to 1e+18)"},
    {"\"mbsInBatch\": 8", "\"mbsInBatch\": 0",
     ": $.mbsInBatch: is 0 (expected a whole number from 1 to 1073741824)"},
    {"\"mbsInBatch\"", "\"mbsInBach\"", ": $.mbsInBach: unknown key (did you mean mbsInBatch?)"},
    {"\"maxDevices\": 4", "\"maxDevices\": 4, \"maxDevices\": 8",
     ":2: key \"maxDevices\" appears twice in an object (expected once)"},
    {"\"maxDevices\": 4", "\"maxDevices\": 4, \"timeUnit\": \"us\"",
     ": $.timeUnit: is \"us\" (expected s or ms)"},
    {"\"maxDevices\": 4", "\"maxDevices\": 4, \"timeUnit\": 1",
     ": $.timeUnit: is 1 (expected a string)"},
    /* nodes */
    {SOUND_PROFILE,
     "{\"maxDevices\": 4, \"maxMemoryPerDevice\": 1e9, \"bandwidth\": 1e9, \"mbsInBatch\": 8, "
     "\"nodes\": [], \"edges\": []}",
     ": $.nodes: is empty (expected at least one node)"},
    {SOUND_PROFILE,
     "{\"maxDevices\": 4, \"maxMemoryPerDevice\": 1e9, \"bandwidth\": 1e9, \"mbsInBatch\": 8, "
     "\"edges\": []}",
     ": $.nodes: is missing (expected a value)"},
    {"\"nodes\": [\n", "\"nodes\": [7,\n", ": $.nodes[0]: is 7 (expected an object)"},
    {"\"id\": 5,", "\"id\": 3,",
     ": $.nodes[1].id: 3 is the id of nodes[0] as well (expected distinct ids)"},
    {"\"id\": 5,", "\"id\": -5,", ": $.nodes[1].id: is -5 (expected a whole number of at least 0)"},
    {"\"id\": 5,", "\"id\": 5.5,",
     ": $.nodes[1].id: is 5.5 (expected a whole number of at least 0)"},
    {"\"id\": 5,", "\"id\": 36893488147419103232,",
     ":8: the integer is too large (expected at most 9007199254740992)"},
    {"\"id\": 5,", "", ": $.nodes[1].id: is missing (expected a whole number of at least 0)"},
    {"\"name\": \"second\",", "", ": $.nodes[1].name: is missing (expected a string)"},
    {"\"name\": \"second\"", "\"name\": \"two\\nlines\"",
     ": $.nodes[1].name: holds a control character (expected text of one line)"},
    {"\"name\": \"second\"", "\"nam\": \"second\"",
     ": $.nodes[1].nam: unknown key (did you mean name?)"},
    /* edges */
    {"\"sourceId\": 3", "\"sourceId\": 4",
     ": $.edges[0].sourceId: 4 is no node (expected a node's id)"},
    {"\"destId\": 7", "\"destId\": 70",
     ": $.edges[1].destId: 70 is no node (expected a node's id)"},
    {"\"sourceId\": 3, \"destId\": 5", "\"sourceId\": 5, \"destId\": 5",
     ": $.edges[0]: runs from node 5 to itself (expected two nodes)"},
    {"\"sourceId\": 3", "\"sourceId\": 7",
     ": $.edges: edges form a cycle: 5 -> 7 -> 5 (expected none)"},
    {"\"sourceId\": 5, \"destId\": 7", "\"sourceId\": 3, \"destId\": 5",
     ": $.edges[1]: joins the same nodes as edges[0] (expected one edge from node to node)"},
    {"\"communicationCost\": 100", "\"communicationCost\": -100",
     ": $.edges[0].communicationCost: is -100 (expected a number from 0 to 1e+18)"},
    {"\"communicationCost\": 100", "\"communicationCost\": null",
     ": $.edges[0].communicationCost: is null (expected a number from 0 to 1e+18)"},
    {"\"communicationCost\": 100", "\"communicationCost\": 1e400",
     ":25: the number is too large (expected a finite number)"},
    {", \"communicationCost\": 100", "",
     ": $.edges[0].communicationCost: is missing (expected a number from 0 to 1e+18)"},
    {"\"communicationCost\": 100", "\"communicationCost\": 100, \"weight\": 1",
     ": $.edges[0].weight: unknown key (expected sourceId, destId or communicationCost)"},
    /* TMPC lists */
    {"\"TMPCs\": {\"1\": [\n      {\"id\": \"light\"",
     "\"TMPCs\": {\"4\": [\n      {\"id\": \"light\"",
     ": $.nodes[1].TMPCs: has no TMPC for one device (expected a key \"1\")"},
    {"\"2\": [", "\"02\": [",
     ": $.nodes[1].TMPCs[\"02\"]: is no tensor-parallel degree (expected \"1\", \"2\", ...)"},
    {"\"2\": [", "\"0\": [",
     ": $.nodes[1].TMPCs[\"0\"]: is no tensor-parallel degree (expected \"1\", \"2\", ...)"},
    {"\"2\": [", "\"-1\": [",
     ": $.nodes[1].TMPCs.-1: is no tensor-parallel degree (expected \"1\", \"2\", ...)"},
    {"\"2\": [", "\"two\": [",
     ": $.nodes[1].TMPCs.two: is no tensor-parallel degree (expected \"1\", \"2\", ...)"},
    {"\"2\": [", "\"4\": [], \"2\": [",
     ": $.nodes[1].TMPCs[\"4\"]: is empty (expected at least one TMPC)"},
    {"\"2\": [", "\"4\": {}, \"2\": [",
     ": $.nodes[1].TMPCs[\"4\"]: is an object (expected an array)"},
    {"\"2\": [", "\"1\": [", ":18: key \"1\" appears twice in an object (expected once)"},
    {"\"id\": \"recompute\"", "\"id\": \"wide\"",
     ": $.nodes[1].TMPCs[\"2\"][1].id: \"wide\" is the id of an earlier TMPC as well (expected "
     "distinct ids)"},
    {"\"id\": \"wide\"", "\"id\": \"\"",
     ": $.nodes[1].TMPCs[\"2\"][0].id: is empty (expected a name)"},
    {"\"id\": \"wide\"", "\"id\": 2", ": $.nodes[1].TMPCs[\"2\"][0].id: is 2 (expected a string)"},
    /* a TMPC's numbers */
    {"\"timePerSample\": 0.375", "\"timePerSample\": -0.375",
     ": $.nodes[1].TMPCs[\"2\"][0].timePerSample: is -0.375 (expected a number from 0 to 1000000)"},
    {"\"timePerSample\": 0.375", "\"timePerSample\": 1e7",
     ": $.nodes[1].TMPCs[\"2\"][0].timePerSample: is 10000000 (expected a number from 0 to "
     "1000000)"},
    {"\"timePerSample\": 0.375", "\"timePerSample\": NaN",
     ":13: unexpected 'N' (expected a value)"},
    {"\"timePerSample\": 0.375,", "",
     ": $.nodes[1].TMPCs[\"2\"][0].timePerSample: is missing (expected a number from 0 to "
     "1000000)"},
    {"\"parameterSize\": 12", "\"parameterSize\": -12",
     ": $.nodes[1].TMPCs[\"2\"][0].parameterSize: is -12 (expected a number from 0 to 1e+18)"},
    {"\"memoryUsageA\": 22", "\"memoryUsageA\": true",
     ": $.nodes[1].TMPCs[\"2\"][0].memoryUsageA: is true (expected a number from 0 to 1e+18)"},
    {"\"memoryUsageB\": 32", "\"memoryUsageB\": \"32\"",
     ": $.nodes[1].TMPCs[\"2\"][0].memoryUsageB: is a string (expected a number from 0 to 1e+18)"},
    {"\"memoryUsageB\": 32", "\"memoryUsageC\": 32",
     ": $.nodes[1].TMPCs[\"2\"][0].memoryUsageC: unknown key (did you mean memoryUsageA?)"},
    {"\"memoryUsageB\": 32", "\"memoryUsageB\": 32, \"collectives\": [{\"pass\": \"foreward\"}]",
     ": $.nodes[1].TMPCs[\"2\"][0].collectives[0].pass: \"foreward\" is unknown (did you mean "
     "forward?)"},
    /* sync maps */
    {"\"syncTimeFw\": {\"3\": 43}", "\"syncTimeFw\": {}",
     ": $.nodes[1].TMPCs[\"2\"][0].syncTimeFw[\"3\"]: is missing (expected a number from 0 to "
     "1e+18)"},
    {"\"syncTimeFw\": {\"3\": 43}", "\"syncTimeFw\": []",
     ": $.nodes[1].TMPCs[\"2\"][0].syncTimeFw: is an array (expected an object)"},
    {"\"syncTimeFw\": {\"3\": 43}", "\"syncTimeFw\": {\"3\": 43, \"7\": 43}",
     ": $.nodes[1].TMPCs[\"2\"][0].syncTimeFw[\"7\"]: is no edge of this node (expected the ids of "
     "its predecessors only)"},
    {"\"syncTimeFw\": {\"3\": 43}", "\"syncTimeFw\": {\"03\": 43}",
     ": $.nodes[1].TMPCs[\"2\"][0].syncTimeFw[\"3\"]: is missing (expected a number from 0 to "
     "1e+18)"},
    {"\"syncTimeFw\": {\"3\": 43}", "\"syncTimeFw\": {\"3\": -1}",
     ": $.nodes[1].TMPCs[\"2\"][0].syncTimeFw[\"3\"]: is -1 (expected a number from 0 to 1e+18)"},
    {"\"syncTimeBw\": {\"7\": 44}", "\"syncTimeBw\": {\"7\": 44, \"5\": 1}",
     ": $.nodes[1].TMPCs[\"2\"][0].syncTimeBw[\"5\"]: is no edge of this node (expected the ids of "
     "its successors only)"},
    {"\"syncTimeBw\": {\"7\": 44}", "\"syncTimeBx\": {\"7\": 44}",
     ": $.nodes[1].TMPCs[\"2\"][0].syncTimeBx: unknown key (did you mean syncTimeBw?)"},
    /* given parts of the time */
    {"\"timePerSample\": 0.375", "\"timePerSample\": 0.375, \"timeForward\": 0.5",
     ": $.nodes[1].TMPCs[\"2\"][0]: timeForward, timeBackward and timeRecompute sum to 0.5 s "
     "(expected at most timePerSample, 0.375 s)"},
    {"\"timePerSample\": 0.375",
     "\"timePerSample\": 0.375, \"timeForward\": 0.125, \"timeBackward\": 0.125",
     ": $.nodes[1].TMPCs[\"2\"][0]: timeForward, timeBackward and timeRecompute sum to 0.25 s "
     "(expected timePerSample, 0.375 s)"},
    {"\"timePerSample\": 0.375",
     "\"timePerSample\": 0.375, \"timeForward\": 0.125, \"timeBackward\": 0.25, "
     "\"timeRecompute\": 0.001",
     ": $.nodes[1].TMPCs[\"2\"][0]: timeForward, timeBackward and timeRecompute sum to 0.376 s "
     "(expected at most timePerSample, 0.375 s)"},
    {"\"timePerSample\": 0.375", "\"timePerSample\": 0.375, \"timeWeightGradient\": 0.375",
     ": $.nodes[1].TMPCs[\"2\"][0]: timeWeightGradient is 0.375 s (expected at most the backward, "
     "0.3125 s)"},
    {"\"timePerSample\": 0.375", "\"timePerSample\": 0.375, \"timeBackward\": -1",
     ": $.nodes[1].TMPCs[\"2\"][0].timeBackward: is -1 (expected a number from 0 to 1000000)"},
};

static const char *broken_text(guint index)
{
    const char *found = strstr(SOUND_PROFILE, cases[index].from);
    ck_assert_msg(found != NULL, "case %u replaces what is not there", index);
    g_autoptr(GString) text = g_string_new_len(SOUND_PROFILE, found - SOUND_PROFILE);
    g_string_append(text, cases[index].to);
    g_string_append(text, found + strlen(cases[index].from));
    return ps_test_file("profile.json", text->str);
}

START_TEST(refuses_broken_profiles)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path = broken_text(i);
        g_autofree char *expected = g_strconcat(path, cases[i].message, NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsProfile) profile = ps_profile_load(path, NULL, &error);
        ck_assert_msg(profile == NULL, "accepted: case %u, %s", i, cases[i].to);
        ps_assert_error(error, PS_ERROR_INPUT, expected);
    }
}
END_TEST

START_TEST(accepts_the_sound_profile)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsProfile) profile =
        ps_profile_load(ps_test_file("sound.json", SOUND_PROFILE), NULL, &error);
    ps_assert_no_error(error);
    ck_assert_uint_eq(profile->n_layers, 3);
}
END_TEST

/* Cut off or changed anywhere, a file is refused or read, never more. */
START_TEST(survives_damaged_bytes)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("survives_damaged_bytes"));
    gsize length = strlen(SOUND_PROFILE);
    for (guint round = 0; round < 300; round++) {
        g_autofree char *text = g_strdup(SOUND_PROFILE);
        if (round % 2 == 0) {
            text[g_rand_int_range(rand, 0, (gint32)length)] = '\0';
        } else {
            for (guint i = 0; i < 3; i++) {
                text[g_rand_int_range(rand, 0, (gint32)length)] =
                    "0123456789-{}[]\",:. eE"[g_rand_int_range(rand, 0, 22)];
            }
        }
        g_autoptr(GError) error = NULL;
        g_autoptr(PsProfile) profile =
            ps_profile_load(ps_test_file("damaged.json", text), NULL, &error);
        ck_assert((profile == NULL) == (error != NULL));
    }
}
END_TEST

START_TEST(refuses_a_file_that_is_not_there)
{
    g_autoptr(GError) error = NULL;
    ck_assert_ptr_null(ps_profile_load("no/such/file.json", NULL, &error));
    ck_assert_int_eq(error->code, PS_ERROR_IO);
}
END_TEST

PS_TEST_MAIN("broken-profile", refuses_broken_profiles, accepts_the_sound_profile,
             survives_damaged_bytes, refuses_a_file_that_is_not_there)
