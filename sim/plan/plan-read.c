/* Plan files: our schema and Piper's result form. */
#include <math.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/plan/plan-file.h"

#define SCHEMA "pipersim-plan/1"
#define MAX_ID (G_GINT64_CONSTANT(1) << 53)
#define MAX_DEGREE (1 << 24)
#define MAX_MICROBATCHES (1 << 30)

/* The names of a stage's members in the two forms. */
typedef struct {
    const char *const *keys;
    const char *data_parallel, *tensor_parallel, *choices;
} Form;

static const char *const our_keys[] = {"nodes",        "data_parallel", "tensor_parallel", "tmpc",
                                       "first_device", "in_flight",     "compute_s",       "edge_s",
                                       "resync_s",     "tps_s",         "memory_bytes",    NULL};
static const char *const piper_keys[] = {"nodes", "dataParallelDegree", "tensorParallelDegree",
                                         "TMPCids", NULL};
static const Form our_form = {our_keys, "data_parallel", "tensor_parallel", "tmpc"};
static const Form piper_form = {piper_keys, "dataParallelDegree", "tensorParallelDegree",
                                "TMPCids"};

static double optional_double(PsJsonReader *reader, const char *key)
{
    return ps_json_has(reader, key) ? ps_json_double(reader, key, 0, G_MAXDOUBLE) : NAN;
}

static gint64 optional_int(PsJsonReader *reader, const char *key)
{
    return ps_json_has(reader, key) ? ps_json_int(reader, key, 0, G_MAXUINT) : PS_NOT_RECORDED;
}

/* ---- stages --------------------------------------------------------------------------------- */

static void read_nodes(PsJsonReader *reader, PsPlanFileStage *stage)
{
    ps_json_enter(reader, "nodes");
    ps_json_expect_array(reader);
    guint n = ps_json_size(reader);
    stage->n_nodes = n;
    stage->nodes = g_new0(gint64, n);
    if (n == 0) {
        ps_json_fail(reader, NULL, "is empty (expected at least one layer)");
    }
    for (guint i = 0; i < n && !ps_json_failed(reader); i++) {
        ps_json_enter_index(reader, i);
        stage->nodes[i] = ps_json_int(reader, NULL, 0, MAX_ID);
        ps_json_leave(reader);
    }
    ps_json_leave(reader);
}

/* "17", and nothing that merely means it. */
static gint64 read_id_key(PsJsonReader *reader, const char *key)
{
    guint64 id = 0;
    if (!ps_count_parse(key, 0, MAX_ID, &id, NULL) || (*key == '0' && key[1] != '\0')) {
        ps_json_fail(reader, key, "is no layer (expected a layer's id)");
    }
    return (gint64)id;
}

/* A member "17": "vanilla", or an element [17, "vanilla"]. */
static void read_choice(PsJsonReader *reader, PsPlanFileStage *stage, guint index)
{
    if (ps_json_is_object(reader)) {
        const char *key = ps_json_key(reader, index);
        stage->choice_nodes[index] = read_id_key(reader, key);
        stage->choice_names[index] = g_strdup(ps_json_string(reader, key));
        return;
    }
    ps_json_enter_index(reader, index);
    ps_json_expect_array(reader);
    if (ps_json_size(reader) != 2) {
        ps_json_fail(reader, NULL, "is no pair (expected [layer id, \"TMPC id\"])");
    }
    ps_json_enter_index(reader, 0);
    stage->choice_nodes[index] = ps_json_int(reader, NULL, 0, MAX_ID);
    ps_json_leave(reader);
    ps_json_enter_index(reader, 1);
    stage->choice_names[index] = g_strdup(ps_json_string(reader, NULL));
    ps_json_leave(reader);
    ps_json_leave(reader);
}

static void read_choices(PsJsonReader *reader, const char *key, PsPlanFileStage *stage)
{
    ps_json_enter(reader, key);
    if (!ps_json_is_array(reader)) {
        ps_json_expect_object(reader);
    }
    guint n = ps_json_size(reader);
    stage->n_choices = n;
    stage->choice_nodes = g_new0(gint64, n);
    stage->choice_names = g_new0(char *, n);
    for (guint i = 0; i < n && !ps_json_failed(reader); i++) {
        read_choice(reader, stage, i);
    }
    ps_json_leave(reader);
}

static void read_stage(PsJsonReader *reader, const Form *form, PsPlanFileStage *stage)
{
    ps_json_expect_keys(reader, form->keys);
    read_nodes(reader, stage);
    stage->data_parallel = (guint)ps_json_int(reader, form->data_parallel, 1, MAX_DEGREE);
    stage->tensor_parallel = (guint)ps_json_int(reader, form->tensor_parallel, 1, MAX_DEGREE);
    if (ps_json_has(reader, form->choices)) {
        read_choices(reader, form->choices, stage);
    }
    stage->first_device = PS_NOT_RECORDED;
    if (ps_json_has(reader, "first_device")) {
        stage->first_device = ps_json_int(reader, "first_device", 0, MAX_DEGREE);
    }
    stage->in_flight = optional_int(reader, "in_flight");
    stage->compute_s = optional_double(reader, "compute_s");
    stage->edge_s = optional_double(reader, "edge_s");
    stage->resync_s = optional_double(reader, "resync_s");
    stage->tps_s = optional_double(reader, "tps_s");
    stage->memory_bytes = optional_double(reader, "memory_bytes");
}

static void read_stages(PsJsonReader *reader, const Form *form, PsPlanFile *file)
{
    file->choices_key = form->choices;
    ps_json_enter(reader, "stages");
    ps_json_expect_array(reader);
    guint n = ps_json_size(reader);
    file->n_stages = n;
    file->stages = g_new0(PsPlanFileStage, n);
    if (n == 0) {
        ps_json_fail(reader, NULL, "is empty (expected at least one stage)");
    }
    for (guint i = 0; i < n && !ps_json_failed(reader); i++) {
        ps_json_enter_index(reader, i);
        read_stage(reader, form, &file->stages[i]);
        ps_json_leave(reader);
    }
    ps_json_leave(reader);
}

/* ---- the other members of our schema -------------------------------------------------------- */

/* Enters an optional member; FALSE where it is not there. */
static gboolean enter_optional(PsJsonReader *reader, const char *key, const char *const *keys)
{
    if (!ps_json_has(reader, key)) {
        return FALSE;
    }
    ps_json_enter(reader, key);
    ps_json_expect_keys(reader, keys);
    return TRUE;
}

static void read_estimate(PsJsonReader *reader, PsPlanFile *file)
{
    static const char *const keys[] = {
        "tps_s", "batch_s",   "devices_used",     "sum_d", "nested", "optimal", "gap",
        "among", "batch_gap", "bottleneck_stage", NULL};
    file->tps_s = file->batch_s = file->batch_gap = NAN;
    file->devices_used = file->sum_data_parallel = PS_NOT_RECORDED;
    file->bottleneck = file->nested = PS_NOT_RECORDED;
    if (enter_optional(reader, "estimate", keys)) {
        file->tps_s = optional_double(reader, "tps_s");
        file->batch_s = optional_double(reader, "batch_s");
        file->batch_gap = optional_double(reader, "batch_gap");
        file->devices_used = optional_int(reader, "devices_used");
        file->sum_data_parallel = optional_int(reader, "sum_d");
        file->bottleneck = optional_int(reader, "bottleneck_stage");
        file->optimal = ps_json_has(reader, "optimal") && ps_json_boolean(reader, "optimal");
        if (ps_json_has(reader, "gap")) {
            file->gap = ps_json_double(reader, "gap", 0, G_MAXDOUBLE);
        }
        if (ps_json_has(reader, "among")) {
            file->among = g_strdup(ps_json_string(reader, "among"));
        }
        if (ps_json_has(reader, "nested")) {
            file->nested = ps_json_boolean(reader, "nested");
        }
        ps_json_leave(reader);
    }
}

static void read_origin(PsJsonReader *reader, PsPlanOrigin *origin)
{
    static const char *const keys[] = {"path", "sha256", "time_unit_s", NULL};
    origin->time_unit_s = NAN;
    if (enter_optional(reader, "profile", keys)) {
        origin->path = g_strdup(ps_json_string(reader, "path"));
        if (ps_json_has(reader, "sha256")) {
            origin->sha256 = g_strdup(ps_json_string(reader, "sha256"));
        }
        origin->time_unit_s = optional_double(reader, "time_unit_s");
        ps_json_leave(reader);
    }
}

PsInFlight ps_in_flight_read(PsJsonReader *reader, const char *key)
{
    if (!ps_json_has(reader, key)) {
        return PS_IN_FLIGHT_PIPER;
    }
    const char *name = ps_json_string(reader, key);
    for (guint i = 0; i < PS_N_IN_FLIGHT; i++) {
        if (g_str_equal(name, ps_in_flight_names[i])) {
            return i;
        }
    }
    ps_json_fail(reader, key, "is \"%s\" (expected piper or sufficient)", name);
    return PS_IN_FLIGHT_PIPER;
}

static void read_placement(PsJsonReader *reader)
{
    const char *only = ps_placement_names[PS_PLACE_TENSOR_DATA_PIPELINE];
    const char *text = ps_json_string(reader, "placement");
    if (!ps_json_has(reader, "levels")) {
        ps_json_fail(reader, "placement",
                     "means nothing without levels (expected both or neither)");
    } else if (!g_str_equal(text, only)) {
        ps_json_fail(reader, "placement", "is \"%s\" (expected %s: plans know no other)", text,
                     only);
    }
}

void ps_setting_read_levels(PsJsonReader *reader, PsSetting *setting)
{
    if (ps_json_has(reader, "placement")) {
        read_placement(reader);
    }
    if (!ps_json_has(reader, "levels")) {
        return;
    }
    setting->levels = ps_levels_read(reader, "levels");
    if (ps_json_failed(reader)) {
        return;
    }
    const PsLevel *last = &setting->levels.level[setting->levels.n - 1];
    if (setting->devices <= last[-1].size || setting->devices > last->size) {
        ps_json_fail(reader, "devices", "is %u, which the levels do not fit (expected %u to %u)",
                     setting->devices, last[-1].size + 1, last->size);
    }
    if (setting->bandwidth_bytes_per_s != last->bandwidth_bytes_per_s) {
        ps_json_fail(reader, "bandwidth_bytes_per_s",
                     "is not that of the last level (expected %.17g)", last->bandwidth_bytes_per_s);
    }
}

static void read_settings(PsJsonReader *reader, PsPlanFile *file)
{
    static const char *const keys[] = {"devices",
                                       "memory_bytes",
                                       "bandwidth_bytes_per_s",
                                       "microbatches",
                                       "in_flight",
                                       "placement",
                                       "levels",
                                       NULL};
    file->has_setting = enter_optional(reader, "settings", keys);
    if (file->has_setting) {
        PsSetting *setting = &file->setting;
        setting->devices = (guint)ps_json_int(reader, "devices", 1, MAX_DEGREE);
        setting->memory_bytes = ps_json_double(reader, "memory_bytes", 1, 1e18);
        setting->bandwidth_bytes_per_s = ps_json_double(reader, "bandwidth_bytes_per_s", 1, 1e18);
        setting->microbatches = (guint)ps_json_int(reader, "microbatches", 1, MAX_MICROBATCHES);
        setting->in_flight = ps_in_flight_read(reader, "in_flight");
        ps_setting_read_levels(reader, setting);
        ps_json_leave(reader);
    }
}

static void read_document(PsJsonReader *reader, PsPlanFile *file)
{
    static const char *const ours[] = {"schema", "estimate", "stages", "profile", "settings", NULL};
    static const char *const pipers[] = {"stages", NULL};
    gboolean our = ps_json_has(reader, "schema");
    if (our && !g_str_equal(ps_json_string(reader, "schema"), SCHEMA)) {
        ps_json_fail(reader, "schema", "is \"%s\" (expected \"" SCHEMA "\")",
                     ps_json_string(reader, "schema"));
    }
    ps_json_expect_keys(reader, our ? ours : pipers);
    read_stages(reader, our ? &our_form : &piper_form, file);
    read_estimate(reader, file);
    read_origin(reader, &file->origin);
    read_settings(reader, file);
}

/* ---- the file ------------------------------------------------------------------------------- */

PsPlanFile *ps_plan_file_load(const char *path, GError **error)
{
    gsize length = 0;
    g_autofree char *text = ps_read_file(path, &length, error);
    return text != NULL ? ps_plan_file_parse(path, text, length, error) : NULL;
}

PsPlanFile *ps_plan_file_parse(const char *path, const char *text, gsize length, GError **error)
{
    g_autoptr(PsJsonReader) reader = ps_json_parse(path, text, length, error);
    if (reader == NULL) {
        return NULL;
    }
    g_autoptr(PsPlanFile) file = g_new0(PsPlanFile, 1);
    file->path = g_strdup(path);
    file->sha256 = ps_sha256(text, length);
    read_document(reader, file);
    return ps_json_finish(reader, error) ? g_steal_pointer(&file) : NULL;
}

static void clear_stage(PsPlanFileStage *stage)
{
    g_free(stage->nodes);
    g_free(stage->choice_nodes);
    for (guint i = 0; i < stage->n_choices; i++) {
        g_free(stage->choice_names[i]);
    }
    g_free(stage->choice_names);
}

void ps_plan_file_free(PsPlanFile *file)
{
    if (file == NULL) {
        return;
    }
    for (guint i = 0; i < file->n_stages; i++) {
        clear_stage(&file->stages[i]);
    }
    g_free(file->stages);
    g_free(file->origin.path);
    g_free(file->origin.sha256);
    g_free(file->among);
    g_free(file->path);
    g_free(file->sha256);
    g_free(file);
}

const PsPlanOrigin *ps_plan_file_origin(const PsPlanFile *file)
{
    return &file->origin;
}

const char *ps_plan_file_sha256(const PsPlanFile *file)
{
    return file->sha256;
}
