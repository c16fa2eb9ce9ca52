/* Every way to break a plan has its own sentence. */
#include <string.h>

#include "sim/base/error.h"
#include "sim/plan/plan.h"
#include "tests/harness/harness.h"
#include "tests/model/broken-profile.h"

/* Of the sound profile: layers 3 and 5 on two replicas, layer 7 alone. By hand, with N = 8 and B =
 * 1e9: compute (0.25 + 0.5) / 2; edge 2 (200 + 42) / (2 B); resync 4 (2-1) (10 + 11) / (2 N B); y =
 * ceil(3 / 2); memory 20 y + 30 + 21 y + 31. Then 0.125; 2 (200 + 45) / B; 23 + 33. A batch: 7
 * times the largest load, 0.75 + 4.84e-7 and 0.125 + 4.9e-7 to pass, 8 times 5.25e-9. */
#define SOUND_PLAN                                                                                 \
    "{\"schema\": \"pipersim-plan/1\",\n"                                                          \
    " \"estimate\": {\"tps_s\": 0.37500024725, \"devices_used\": 3, \"sum_d\": 3,\n"               \
    "                \"batch_s\": 3.50000274675, \"batch_gap\": 0.5,\n"                            \
    "                \"optimal\": false, \"nested\": true, \"bottleneck_stage\": 0},\n"            \
    " \"stages\": [\n"                                                                             \
    "  {\"nodes\": [3, 5], \"data_parallel\": 2, \"tensor_parallel\": 1,\n"                        \
    "   \"tmpc\": {\"3\": \"plain\", \"5\": \"light\"}, \"in_flight\": 2,\n"                       \
    "   \"compute_s\": 0.375, \"edge_s\": 2.42e-7, \"resync_s\": 5.25e-9,\n"                       \
    "   \"tps_s\": 0.37500024725, \"memory_bytes\": 143},\n"                                       \
    "  {\"nodes\": [7], \"data_parallel\": 1, \"tensor_parallel\": 1,\n"                           \
    "   \"tmpc\": {\"7\": \"plain\"}, \"in_flight\": 1,\n"                                         \
    "   \"compute_s\": 0.125, \"edge_s\": 4.9e-7, \"resync_s\": 0,\n"                              \
    "   \"tps_s\": 0.12500049, \"memory_bytes\": 56}],\n"                                          \
    " \"profile\": {\"path\": \"sound.json\", \"time_unit_s\": 1},\n"                              \
    " \"settings\": {\"devices\": 4, \"memory_bytes\": 1000, \"bandwidth_bytes_per_s\": 1e9,\n"    \
    "                \"microbatches\": 8}}\n"

/* The first stage on devices 0 and 1 of a group, the second on 2, in another one. By hand: the
 * border pays 1e9 as above, the resync ten times that: 5.25e-10. */
#define PLACED_PLAN                                                                                \
    "{\"schema\": \"pipersim-plan/1\",\n"                                                          \
    " \"stages\": [\n"                                                                             \
    "  {\"nodes\": [3, 5], \"data_parallel\": 2, \"tensor_parallel\": 1, \"first_device\": 0,\n"   \
    "   \"tmpc\": {\"3\": \"plain\", \"5\": \"light\"}, \"edge_s\": 2.42e-7, \"resync_s\": "       \
    "5.25e-10},\n"                                                                                 \
    "  {\"nodes\": [7], \"data_parallel\": 1, \"tensor_parallel\": 1, \"first_device\": 2,\n"      \
    "   \"tmpc\": {\"7\": \"plain\"}, \"edge_s\": 4.9e-7}],\n"                                     \
    " \"settings\": {\"devices\": 4, \"memory_bytes\": 1000, \"bandwidth_bytes_per_s\": 1e9,\n"    \
    "                \"microbatches\": 8, \"placement\": \"tensor,data,pipeline\", \"levels\": "   \
    "[\n"                                                                                          \
    "                 {\"size\": 2, \"bandwidth_bytes_per_s\": 1e10},\n"                           \
    "                 {\"size\": 4, \"bandwidth_bytes_per_s\": 1e9}]}}\n"

#define PIPER_PLAN                                                                                 \
    "{\"stages\": [\n"                                                                             \
    "  {\"nodes\": [5, 3], \"dataParallelDegree\": 2, \"tensorParallelDegree\": 1,\n"              \
    "   \"TMPCids\": [[5, \"light\"], [3, \"plain\"]]},\n"                                         \
    "  {\"nodes\": [7], \"dataParallelDegree\": 1, \"tensorParallelDegree\": 1,\n"                 \
    "   \"TMPCids\": {\"7\": \"plain\"}}]}\n"

typedef struct {
    const char *plan;      /* the sound text */
    const char *from, *to; /* what to replace in it (its first occurrence) */
    const char *message;   /* after the path */
} Case;

static const Case cases[] = {
    /* the form */
    {SOUND_PLAN, SOUND_PLAN, "", ":1: the text ends too early (expected a value)"},
    {SOUND_PLAN, SOUND_PLAN, "[]", ": $: is an array (expected an object)"},
    {SOUND_PLAN, "pipersim-plan/1", "pipersim-plan/2",
     ": $.schema: is \"pipersim-plan/2\" (expected \"pipersim-plan/1\")"},
    {SOUND_PLAN, "\"schema\": \"pipersim-plan/1\",", "",
     ": $.estimate: unknown key (expected stages)"},
    {SOUND_PLAN, "\"settings\"", "\"setings\"",
     ": $.setings: unknown key (did you mean settings?)"},
    {SOUND_PLAN, "\"sum_d\"", "\"sum\"",
     ": $.estimate.sum: unknown key (expected tps_s, batch_s, devices_used, sum_d, nested, "
     "optimal, "
     "gap, among, batch_gap or bottleneck_stage)"},
    {SOUND_PLAN, "\"edge_s\"", "\"edges_s\"",
     ": $.stages[0].edges_s: unknown key (did you mean edge_s?)"},
    {SOUND_PLAN, "\"path\": \"sound.json\", ", "",
     ": $.profile.path: is missing (expected a string)"},
    {SOUND_PLAN, "\"microbatches\": 8", "\"microbatches\": 0",
     ": $.settings.microbatches: is 0 (expected a whole number from 1 to 1073741824)"},
    {SOUND_PLAN, "\"bandwidth_bytes_per_s\": 1e9,", "",
     ": $.settings.bandwidth_bytes_per_s: is missing (expected a number from 1 to 1e+18)"},
    {SOUND_PLAN, "\"data_parallel\": 2", "\"data_parallel\": 0",
     ": $.stages[0].data_parallel: is 0 (expected a whole number from 1 to 16777216)"},
    {SOUND_PLAN, "\"data_parallel\": 2", "\"data_parallel\": 1.5",
     ": $.stages[0].data_parallel: is 1.5 (expected a whole number from 1 to 16777216)"},
    {SOUND_PLAN, "\"tensor_parallel\": 1", "\"tensor_parallel\": -1",
     ": $.stages[0].tensor_parallel: is -1 (expected a whole number from 1 to 16777216)"},
    {SOUND_PLAN, "\"optimal\": false", "\"optimal\": 0",
     ": $.estimate.optimal: is 0 (expected true or false)"},
    {PIPER_PLAN, PIPER_PLAN, "{}", ": $.stages: is missing (expected a value)"},
    {PIPER_PLAN, PIPER_PLAN, "{\"stages\": []}",
     ": $.stages: is empty (expected at least one stage)"},
    {PIPER_PLAN, "\"dataParallelDegree\"", "\"data_parallel\"",
     ": $.stages[0].data_parallel: unknown key (expected nodes, dataParallelDegree, "
     "tensorParallelDegree or TMPCids)"},
    {PIPER_PLAN, "\"TMPCids\": {\"7\": \"plain\"}", "\"TMPCids\": 7",
     ": $.stages[1].TMPCids: is 7 (expected an object)"},
    {PIPER_PLAN, "[5, \"light\"]", "[5]",
     ": $.stages[0].TMPCids[0]: is no pair (expected [layer id, \"TMPC id\"])"},
    {PIPER_PLAN, "[5, \"light\"]", "[\"light\", 5]",
     ": $.stages[0].TMPCids[0][0]: is a string (expected a whole number of at least 0)"},
    /* layers and TMPCs */
    {SOUND_PLAN, "[3, 5]", "[]", ": $.stages[0].nodes: is empty (expected at least one layer)"},
    {SOUND_PLAN, "[3, 5]", "[3, 4]",
     ": $.stages[0].tmpc: layer 5 is not in the stage (expected its layers only)"},
    {SOUND_PLAN, "[3, 5]", "[3, 5, 5]",
     ": $.stages[0].nodes[2]: layer 5 is in stages[0] already (expected each layer once)"},
    {SOUND_PLAN, "[3, 5]", "[3, 5, 4]",
     ": $.stages[0].nodes[2]: 4 is no layer (expected a node of sound.json)"},
    {SOUND_PLAN, "\"tensor_parallel\": 1", "\"tensor_parallel\": 2",
     ": $.stages[0]: layer 3 has no TMPC for tensor-parallel degree 2 (expected 1)"},
    {SOUND_PLAN, "[7]", "[7, 5]",
     ": $.stages[1].nodes[1]: layer 5 is in stages[0] already (expected each layer once)"},
    {PIPER_PLAN, "{\"7\": \"plain\"}", "{\"7\": \"plain\", \"8\": \"plain\"}",
     ": $.stages[1].TMPCids: layer 8 is not in the stage (expected its layers only)"},
    {PIPER_PLAN, "{\"7\": \"plain\"}", "{\"07\": \"plain\"}",
     ": $.stages[1].TMPCids[\"07\"]: is no layer (expected a layer's id)"},
    {PIPER_PLAN, "{\"7\": \"plain\"}", "{\"7\": 1}",
     ": $.stages[1].TMPCids[\"7\"]: is 1 (expected a string)"},
    {PIPER_PLAN, "{\"7\": \"plain\"}", "{}",
     ": $.stages[1].TMPCids: layer 7 is missing (expected a TMPC for each layer)"},
    {PIPER_PLAN, "[5, \"light\"]", "[5, \"light\"], [5, \"light\"]",
     ": $.stages[0].TMPCids: layer 5 comes twice (expected one TMPC for each layer)"},
    {PIPER_PLAN, "[5, \"light\"]", "[5, \"lihgt\"]",
     ": $.stages[0].TMPCids: layer 5 has no TMPC \"lihgt\" for tensor-parallel degree 1 (did you "
     "mean light?)"},
    {PIPER_PLAN, "\"tensorParallelDegree\": 1", "\"tensorParallelDegree\": 2",
     ": $.stages[0].TMPCids: layer 5 has no TMPC \"light\" for tensor-parallel degree 2 (expected "
     "wide or recompute)"},
    {PIPER_PLAN,
     ",\n  {\"nodes\": [7], \"dataParallelDegree\": 1, \"tensorParallelDegree\": 1,\n"
     "   \"TMPCids\": {\"7\": \"plain\"}}",
     "", ": $.stages: layer 7 is in no stage (expected each layer once)"},
    /* recorded figures that do not follow */
    {SOUND_PLAN, "{\"tps_s\": 0.37500024725", "{\"tps_s\": 0.375000248",
     ": $.estimate.tps_s: is 0.375000248, which does not follow from the plan and its profile "
     "(expected 0.37500024725, or nothing)"},
    {SOUND_PLAN, "3.50000274675", "3.5",
     ": $.estimate.batch_s: is 3.5, which does not follow from the plan and its profile "
     "(expected 3.50000274675, or nothing)"},
    {SOUND_PLAN, "\"batch_gap\": 0.5", "\"batch_gap\": -0.5",
     ": $.estimate.batch_gap: is -0.5 (expected a number of at least 0)"},
    {SOUND_PLAN, "\"devices_used\": 3", "\"devices_used\": 4",
     ": $.estimate.devices_used: is 4, which does not follow from the plan and its profile "
     "(expected 3, or nothing)"},
    {SOUND_PLAN, "\"sum_d\": 3", "\"sum_d\": 2",
     ": $.estimate.sum_d: is 2, which does not follow from the plan and its profile (expected 3, "
     "or nothing)"},
    {SOUND_PLAN, "\"nested\": true", "\"nested\": false",
     ": $.estimate.nested: is false, which does not follow from the degrees (expected true, or "
     "nothing)"},
    {SOUND_PLAN, "\"bottleneck_stage\": 0", "\"bottleneck_stage\": 1",
     ": $.estimate.bottleneck_stage: is 1, which does not follow from the plan and its profile "
     "(expected 0, or nothing)"},
    {SOUND_PLAN, "\"in_flight\": 2", "\"in_flight\": 3",
     ": $.stages[0].in_flight: is 3, which does not follow from the plan and its profile (expected "
     "2, or nothing)"},
    {SOUND_PLAN, "\"compute_s\": 0.375", "\"compute_s\": 0.374",
     ": $.stages[0].compute_s: is 0.374, which does not follow from the plan and its profile "
     "(expected 0.375, or nothing)"},
    {SOUND_PLAN, "\"edge_s\": 2.42e-7", "\"edge_s\": 2.43e-7",
     ": $.stages[0].edge_s: is 2.43e-07, which does not follow from the plan and its profile "
     "(expected 2.42e-07, or nothing)"},
    {SOUND_PLAN, "\"resync_s\": 5.25e-9", "\"resync_s\": 0",
     ": $.stages[0].resync_s: is 0, which does not follow from the plan and its profile (expected "
     "5.25e-09, or nothing)"},
    {SOUND_PLAN, "\"memory_bytes\": 143", "\"memory_bytes\": 144",
     ": $.stages[0].memory_bytes: is 144, which does not follow from the plan and its profile "
     "(expected 143, or nothing)"},
    {SOUND_PLAN, "\"memory_bytes\": 143", "\"memory_bytes\": -1",
     ": $.stages[0].memory_bytes: is -1 (expected a number of at least 0)"},
    {SOUND_PLAN, "\"data_parallel\": 2", "\"data_parallel\": 4",
     ": $.stages[0].compute_s: is 0.375, which does not follow from the plan and its profile "
     "(expected 0.1875, or nothing)"},
    {SOUND_PLAN, "\"time_unit_s\": 1", "\"time_unit_s\": 0.001",
     ": $.profile.time_unit_s: the plan took the profile's time unit for 0.001 s, not 1 s "
     "(expected the same: see --time-unit)"},
    /* levels */
    {PLACED_PLAN, ",\n                 {\"size\": 4, \"bandwidth_bytes_per_s\": 1e9}", "",
     ": $.settings.levels: has 1 levels (expected 2 to 8)"},
    {PLACED_PLAN, "\"size\": 4", "\"size\": 5",
     ": $.settings.levels[1].size: is 5 (expected a multiple of the 2 of the level inside)"},
    {PLACED_PLAN, "\"size\": 4", "\"size\": 2",
     ": $.settings.levels[1].size: is 2 (expected a multiple of the 2 of the level inside)"},
    {PLACED_PLAN, "{\"size\": 2, ", "{\"name\": \"node\", \"size\": 2, ",
     ": $.settings.levels[0].name: unknown key (expected size or bandwidth_bytes_per_s)"},
    {PLACED_PLAN, "1e10", "1e8",
     ": $.settings.levels[1].bandwidth_bytes_per_s: is more than that of the level inside "
     "(expected at most 1e+08)"},
    {PLACED_PLAN, "\"bandwidth_bytes_per_s\": 1e9", "\"bandwidth_bytes_per_s\": 2e9",
     ": $.settings.bandwidth_bytes_per_s: is not that of the last level (expected 1000000000)"},
    {PLACED_PLAN, "\"devices\": 4", "\"devices\": 2",
     ": $.settings.devices: is 2, which the levels do not fit (expected 3 to 4)"},
    {PLACED_PLAN, "\"devices\": 4", "\"devices\": 5",
     ": $.settings.devices: is 5, which the levels do not fit (expected 3 to 4)"},
    {PLACED_PLAN, "tensor,data,pipeline", "data,tensor,pipeline",
     ": $.settings.placement: is \"data,tensor,pipeline\" (expected tensor,data,pipeline: plans "
     "know no other)"},
    {SOUND_PLAN, "\"microbatches\": 8",
     "\"microbatches\": 8, \"placement\": \"tensor,data,pipeline\"",
     ": $.settings.placement: means nothing without levels (expected both or neither)"},
    {SOUND_PLAN, "\"in_flight\": 1,", "\"in_flight\": 1, \"first_device\": 2,",
     ": $.stages[1].first_device: means nothing without levels (expected $.settings.levels, or no "
     "first_device)"},
    {PLACED_PLAN, ", \"first_device\": 2", "",
     ": $.stages[1]: does not say its first_device, unlike the stages before (expected all or none "
     "to say it)"},
    {PLACED_PLAN, ", \"first_device\": 0", "",
     ": $.stages[1]: says its first_device, unlike the stages before (expected all or none to say "
     "it)"},
    {PLACED_PLAN, "5.25e-10", "5.25e-9",
     ": $.stages[0].resync_s: is 5.25e-09, which does not follow from the plan and its profile "
     "(expected 5.25e-10, or nothing)"},
    {PLACED_PLAN, "\"first_device\": 0", "\"first_device\": 1",
     ": $.stages[0].resync_s: is 5.25e-10, which does not follow from the plan and its profile "
     "(expected 5.25e-09, or nothing)"},
};

static PsProfile *sound_profile(void)
{
    g_autoptr(GError) error = NULL;
    PsProfile *profile = ps_profile_load(ps_test_file("sound.json", SOUND_PROFILE), NULL, &error);
    ps_assert_no_error(error);
    g_free(profile->path);
    profile->path = g_strdup("sound.json"); /* for messages that name it */
    return profile;
}

static PsPlan *load(const char *path, const PsProfile *profile, GError **error)
{
    g_autoptr(PsPlanFile) file = ps_plan_file_load(path, error);
    return file != NULL ? ps_plan_file_resolve(file, profile, error) : NULL;
}

static const char *changed(const char *plan, const char *from, const char *to)
{
    const char *found = strstr(plan, from);
    ck_assert_msg(found != NULL, "\"%s\" is not there", from);
    g_autoptr(GString) text = g_string_new_len(plan, found - plan);
    g_string_append(text, to);
    g_string_append(text, found + strlen(from));
    return ps_test_file("plan.json", text->str);
}

START_TEST(refuses_broken_plans)
{
    g_autoptr(PsProfile) profile = sound_profile();
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path = changed(cases[i].plan, cases[i].from, cases[i].to);
        g_autofree char *expected = g_strconcat(path, cases[i].message, NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlan) plan = load(path, profile, &error);
        ck_assert_msg(plan == NULL, "accepted: case %u, %s", i, cases[i].to);
        ps_assert_error(error, PS_ERROR_INPUT, expected);
    }
}
END_TEST

START_TEST(refuses_another_profile)
{
    g_autoptr(PsProfile) profile = sound_profile();
    const char *path = changed(SOUND_PLAN, "\"sound.json\"", "\"sound.json\", \"sha256\": \"abc\"");
    g_autoptr(GError) error = NULL;
    ck_assert_ptr_null(load(path, profile, &error));
    g_autofree char *expected =
        g_strdup_printf("%s: $.profile.sha256: the plan was made for another profile than "
                        "sound.json, whose SHA-256 is %s (expected abc)",
                        path, profile->sha256);
    ps_assert_error(error, PS_ERROR_INPUT, expected);
}
END_TEST

/* The figures by hand of the sound plan are those of the program; Piper's form of it is the same
 * plan with the profile's own setting. */
START_TEST(accepts_the_sound_plans)
{
    g_autoptr(PsProfile) profile = sound_profile();
    const char *texts[] = {SOUND_PLAN, PIPER_PLAN, PLACED_PLAN};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlan) plan = load(ps_test_file("plan.json", texts[i]), profile, &error);
        ps_assert_no_error(error);
        ck_assert_uint_eq(plan->n_stages, 2);
        ck_assert_uint_eq(plan->stages[0].n_layers, 2);
        ck_assert_uint_eq(plan->stages[0].layers[0], 0);
        ck_assert_uint_eq(plan->stages[0].layers[1], 1);
        ck_assert_double_eq(plan->setting.memory_bytes, i == 1 ? 1e9 : 1000);
        ck_assert(ps_plan_verify(plan, profile, TRUE, &error));
    }
}
END_TEST

/* Derived figures, settings and profile may be left out. */
START_TEST(accepts_a_plan_without_figures)
{
    g_autoptr(PsProfile) profile = sound_profile();
    g_autoptr(GError) error = NULL;
    const char *path =
        ps_test_file("plan.json", "{\"schema\": \"pipersim-plan/1\", \"stages\": [{\"nodes\": [3, "
                                  "5, 7], \"data_parallel\": 1, \"tensor_parallel\": 1, \"tmpc\": "
                                  "{\"3\": \"plain\", \"5\": \"light\", \"7\": \"plain\"}}]}");
    g_autoptr(PsPlan) plan = load(path, profile, &error);
    ps_assert_no_error(error);
    ck_assert_uint_eq(plan->setting.devices, 4);
    ck_assert(!plan->optimal);
}
END_TEST

/* ---- what resolves and is still not legal --------------------------------------------------- */

static const struct {
    const char *from, *to, *message;
} illegal[] = {
    {"\"nodes\": [5, 3]", "\"nodes\": [5, 3]", NULL},
    {"\"dataParallelDegree\": 2", "\"dataParallelDegree\": 3",
     "stage 0 has data-parallel degree 3 (expected a divisor of the 8 microbatches)"},
    {"\"dataParallelDegree\": 2", "\"dataParallelDegree\": 4",
     "the stages take 5 devices (expected at most the 4 there are)"},
    {"{\"nodes\": [5, 3], \"dataParallelDegree\": 2, \"tensorParallelDegree\": 1,\n"
     "   \"TMPCids\": [[5, \"light\"], [3, \"plain\"]]},\n"
     "  {\"nodes\": [7], \"dataParallelDegree\": 1, \"tensorParallelDegree\": 1,\n"
     "   \"TMPCids\": {\"7\": \"plain\"}}",
     "{\"nodes\": [3, 7], \"dataParallelDegree\": 1, \"tensorParallelDegree\": 1,\n"
     "   \"TMPCids\": {\"3\": \"plain\", \"7\": \"plain\"}},\n"
     "  {\"nodes\": [5], \"dataParallelDegree\": 1, \"tensorParallelDegree\": 1,\n"
     "   \"TMPCids\": {\"5\": \"light\"}}",
     "edge 5 -> 7 runs from stage 1 back to stage 0 (expected stages in the order of the graph)"},
};

START_TEST(refuses_illegal_plans)
{
    g_autoptr(PsProfile) profile = sound_profile();
    for (guint i = 0; i < G_N_ELEMENTS(illegal); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlan) plan =
            load(changed(PIPER_PLAN, illegal[i].from, illegal[i].to), profile, &error);
        ps_assert_no_error(error);
        gboolean legal = ps_plan_verify(plan, profile, TRUE, &error);
        ck_assert_int_eq(legal, illegal[i].message == NULL);
        if (!legal) {
            ps_assert_error(error, PS_ERROR_INPUT, illegal[i].message);
        }
    }
}
END_TEST

/* Layer 5 on two devices. */
#define WIDE_PLAN                                                                                  \
    "{\"schema\": \"pipersim-plan/1\", \"stages\": [\n"                                            \
    "  {\"nodes\": [3], \"data_parallel\": 1, \"tensor_parallel\": 1, \"first_device\": 1,\n"      \
    "   \"tmpc\": {\"3\": \"plain\"}},\n"                                                          \
    "  {\"nodes\": [5], \"data_parallel\": 1, \"tensor_parallel\": 2, \"first_device\": 2,\n"      \
    "   \"tmpc\": {\"5\": \"wide\"}},\n"                                                           \
    "  {\"nodes\": [7], \"data_parallel\": 1, \"tensor_parallel\": 1, \"first_device\": 4,\n"      \
    "   \"tmpc\": {\"7\": \"plain\"}}],\n"                                                         \
    " \"settings\": {\"devices\": 5, \"memory_bytes\": 1000, \"bandwidth_bytes_per_s\": 1e9,\n"    \
    "                \"microbatches\": 8, \"levels\": [{\"size\": 2, \"bandwidth_bytes_per_s\": "  \
    "1e10}, {\"size\": 8, \"bandwidth_bytes_per_s\": 1e9}]}}\n"

START_TEST(refuses_illegal_places)
{
    static const struct {
        guint first_devices[3];
        const char *message; /* NULL: legal */
    } cases_of_places[] = {
        {{1, 2, 4}, NULL},
        {{3, 4, 6}, NULL},
        {{1, 2, 3},
         "stage 2 begins at device 3, before stage 1 ends (expected 4 or more: stages lie in "
         "pipeline order)"},
        {{0, 1, 3},
         "stage 1 from device 1 on: its tensor-parallel groups of 2 lie across borders of the "
         "groups of 2 devices (expected each within one)"},
        {{0, 2, 4},
         "from device 0 to the border of groups behind the last stage the stages take 6 devices, "
         "idle ones included (expected at most the 5 there are)"},
    };
    g_autoptr(PsProfile) profile = sound_profile();
    g_autoptr(GError) error = NULL;
    g_autoptr(PsPlan) plan = load(ps_test_file("plan.json", WIDE_PLAN), profile, &error);
    ps_assert_no_error(error);
    for (guint i = 0; i < G_N_ELEMENTS(cases_of_places); i++) {
        for (guint s = 0; s < 3; s++) {
            plan->stages[s].first_device = cases_of_places[i].first_devices[s];
        }
        gboolean legal = ps_plan_verify(plan, profile, TRUE, &error);
        ck_assert_int_eq(legal, cases_of_places[i].message == NULL);
        if (!legal) {
            ps_assert_error(error, PS_ERROR_INPUT, cases_of_places[i].message);
        }
    }
}
END_TEST

START_TEST(refuses_what_no_file_can_say)
{
    g_autoptr(PsProfile) profile = sound_profile();
    g_autoptr(GError) error = NULL;
    g_autoptr(PsPlan) plan = load(ps_test_file("plan.json", PIPER_PLAN), profile, &error);
    ps_assert_no_error(error);

    plan->setting.memory_bytes = 142;
    ck_assert(ps_plan_verify(plan, profile, FALSE, &error));
    ck_assert(!ps_plan_verify(plan, profile, TRUE, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "stage 0 (layers 3, 5) takes 143 B of memory on each device (expected at most "
                    "142 B)");
    plan->setting.microbatches = 2;
    ck_assert(!ps_plan_verify(plan, profile, FALSE, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "the data-parallel degrees sum to 3 (expected at most the 2 microbatches)");
    plan->stages[1].tmpcs[0] = 1;
    ck_assert(!ps_plan_verify(plan, profile, FALSE, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "stage 1: layer 7 has no such TMPC for tensor-parallel degree 1 (expected one "
                    "of the profile's)");
    plan->stages[1].layers[0] = 1;
    ck_assert(!ps_plan_verify(plan, profile, FALSE, &error));
    ps_assert_error(error, PS_ERROR_INPUT, "layer 5 is in stage 0 and in stage 1 (expected one)");
    plan->stages[1].n_layers = 0;
    ck_assert(!ps_plan_verify(plan, profile, FALSE, &error));
    ps_assert_error(error, PS_ERROR_INPUT, "stage 1 has no layer (expected at least one)");
    plan->n_stages = 1;
    ck_assert(!ps_plan_verify(plan, profile, FALSE, &error));
    ps_assert_error(error, PS_ERROR_INPUT, "layer 7 is in no stage (expected one)");
    plan->n_stages = 2;
}
END_TEST

PS_TEST_MAIN("broken-plan", refuses_broken_plans, refuses_another_profile, accepts_the_sound_plans,
             accepts_a_plan_without_figures, refuses_illegal_plans, refuses_illegal_places,
             refuses_what_no_file_can_say)
