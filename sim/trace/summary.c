#include "sim/trace/summary.h"

#include <string.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/trace/run-files.h"

/* Plain numbers of a stage or of the results, one row each, shared by writer and reader. */
typedef struct {
    const char *key;
    gsize offset;
    enum { NUMBER, COUNT, TIME, SIGNED } form; /* double; guint; gint64 ps as seconds; gint64 */
} Field;

static const Field estimate_fields[] = {
    {"in_flight", G_STRUCT_OFFSET(PsStageEstimate, in_flight), COUNT},
    {"compute_s", G_STRUCT_OFFSET(PsStageEstimate, compute_s), NUMBER},
    {"edge_s", G_STRUCT_OFFSET(PsStageEstimate, edge_s), NUMBER},
    {"resync_s", G_STRUCT_OFFSET(PsStageEstimate, resync_s), NUMBER},
    {"tps_s", G_STRUCT_OFFSET(PsStageEstimate, tps_s), NUMBER},
    {"memory_bytes", G_STRUCT_OFFSET(PsStageEstimate, memory_bytes), NUMBER},
    {NULL},
};

static const Field stage_fields[] = {
    {"busy_s_per_microbatch", G_STRUCT_OFFSET(PsRunStage, busy_s_per_microbatch), NUMBER},
    {"compute_s_per_microbatch", G_STRUCT_OFFSET(PsRunStage, compute_s_per_microbatch), NUMBER},
    {"edge_s_per_microbatch", G_STRUCT_OFFSET(PsRunStage, edge_s_per_microbatch), NUMBER},
    {"resync_s_per_microbatch", G_STRUCT_OFFSET(PsRunStage, resync_s_per_microbatch), NUMBER},
    {"bubble_share", G_STRUCT_OFFSET(PsRunStage, bubble_share), NUMBER},
    {"peak_memory_bytes", G_STRUCT_OFFSET(PsRunStage, peak_memory_bytes), NUMBER},
    {"peak_stash_microbatches", G_STRUCT_OFFSET(PsRunStage, peak_stash_microbatches), NUMBER},
    {NULL},
};

static const Field setting_fields[] = {
    {"devices", G_STRUCT_OFFSET(PsSetting, devices), COUNT},
    {"memory_bytes", G_STRUCT_OFFSET(PsSetting, memory_bytes), NUMBER},
    {"bandwidth_bytes_per_s", G_STRUCT_OFFSET(PsSetting, bandwidth_bytes_per_s), NUMBER},
    {"microbatches", G_STRUCT_OFFSET(PsSetting, microbatches), COUNT},
    {NULL},
};

static const Field result_fields[] = {
    {"tps_s", G_STRUCT_OFFSET(PsRunSummary, tps_s), NUMBER},
    {"makespan_s", G_STRUCT_OFFSET(PsRunSummary, makespan_ps), TIME},
    {"window_start_s", G_STRUCT_OFFSET(PsRunSummary, window_start_ps), TIME},
    {"window_end_s", G_STRUCT_OFFSET(PsRunSummary, window_end_ps), TIME},
    {"window_microbatches", G_STRUCT_OFFSET(PsRunSummary, window_microbatches), SIGNED},
    {"microbatches_simulated", G_STRUCT_OFFSET(PsRunSummary, microbatches_simulated), SIGNED},
    {"steady_after_microbatches", G_STRUCT_OFFSET(PsRunSummary, steady_after_microbatches), SIGNED},
    {"trace_rows", G_STRUCT_OFFSET(PsRunSummary, n_ops), SIGNED},
    {NULL},
};

/* SHA-256 of the folder's other files. */
typedef struct {
    const char *key;
    gsize offset;
} Digest;

static const Digest digests[] = {
    {"trace_sha256", G_STRUCT_OFFSET(PsRunSummary, trace_sha256)},
    {"memory_sha256", G_STRUCT_OFFSET(PsRunSummary, memory_sha256)},
    {"loader_sha256", G_STRUCT_OFFSET(PsRunSummary, loader_sha256)},
    {"links_sha256", G_STRUCT_OFFSET(PsRunSummary, links_sha256)},
    {NULL},
};

/* ---- writing --------------------------------------------------------------------------------- */

/* Exactly, as trace.csv has it: a double of seconds loses the last picosecond after 2^53 ps. */
static void put_time(PsJsonWriter *writer, const char *key, gint64 time_ps)
{
    char text[PS_SECONDS_TEXT];
    ps_picoseconds_format(time_ps, text);
    ps_json_put_number_text(writer, key, text);
}

static void put_fields(PsJsonWriter *writer, const Field *fields, gconstpointer record)
{
    for (const Field *field = fields; field->key != NULL; field++) {
        gconstpointer place = (const char *)record + field->offset;
        switch (field->form) {
        case NUMBER:
            ps_json_put_double(writer, field->key, *(const double *)place);
            break;
        case COUNT:
            ps_json_put_int(writer, field->key, *(const guint *)place);
            break;
        case TIME:
            put_time(writer, field->key, *(const gint64 *)place);
            break;
        case SIGNED:
            ps_json_put_int(writer, field->key, *(const gint64 *)place);
            break;
        }
    }
}

static void put_input(PsJsonWriter *writer, const char *key, const char *path, const char *sha256)
{
    ps_json_begin_object(writer, key);
    if (path != NULL) {
        ps_json_put_string(writer, "path", path);
    }
    if (sha256 != NULL) {
        ps_json_put_string(writer, "sha256", sha256);
    }
    ps_json_end_object(writer);
}

static void put_stage(PsJsonWriter *writer, const PsRunStage *stage)
{
    ps_json_begin_object(writer, NULL);
    ps_json_put_string(writer, "layers", stage->layers);
    ps_json_put_int(writer, "data_parallel", stage->data_parallel);
    ps_json_put_int(writer, "tensor_parallel", stage->tensor_parallel);
    ps_json_begin_object(writer, "estimate");
    put_fields(writer, estimate_fields, &stage->estimate);
    ps_json_end_object(writer);
    put_fields(writer, stage_fields, stage);
    ps_json_begin_object(writer, "peak_bytes");
    for (guint i = 0; i < PS_N_MEMORY; i++) {
        ps_json_put_double(writer, ps_memory_names[i], stage->peak_category_bytes[i]);
    }
    ps_json_end_object(writer);
    ps_json_end_object(writer);
}

static void put_stops(PsJsonWriter *writer, const GArray *stops)
{
    ps_json_begin_array(writer, "stopped");
    for (guint i = 0; i < stops->len; i++) {
        const PsRunStop *stop = &g_array_index(stops, PsRunStop, i);
        ps_json_begin_object(writer, NULL);
        ps_json_put_int(writer, "lane", stop->lane);
        put_time(writer, "at_s", stop->at_ps);
        ps_json_end_object(writer);
    }
    ps_json_end_array(writer);
}

void ps_run_summary_put(const PsRunSummary *summary, PsJsonWriter *writer)
{
    ps_json_put_string(writer, "schema", PS_RUN_SCHEMA);
    ps_json_put_string(writer, "version", summary->version);
    ps_json_begin_object(writer, "settings");
    for (guint i = 0; i < summary->n_settings_in_order; i++) {
        const char *name = summary->setting_names[i];
        ps_json_put_string(writer, name, g_hash_table_lookup(summary->settings, name));
    }
    ps_json_end_object(writer);
    ps_json_begin_object(writer, "inputs");
    put_input(writer, "plan", summary->plan_path, summary->plan_sha256);
    put_input(writer, "profile", summary->profile_path, summary->profile_sha256);
    if (summary->schedule_path != NULL) {
        put_input(writer, "schedule", summary->schedule_path, summary->schedule_sha256);
    }
    if (summary->synthetic != NULL) {
        ps_json_put_string(writer, "synthetic", summary->synthetic);
    }
    ps_json_put_double(writer, "time_unit_s", summary->time_unit_s);
    ps_json_end_object(writer);
    ps_json_begin_object(writer, "cluster");
    put_fields(writer, setting_fields, &summary->setting);
    ps_setting_write_levels(&summary->setting, writer);
    ps_json_end_object(writer);
    ps_json_put_double(writer, "estimate_tps_s", summary->estimate_tps_s);
    ps_json_put_boolean(writer, "nested", summary->nested);
    if (summary->partial) {
        ps_json_put_boolean(writer, "partial", TRUE);
    }
    if (summary->stops->len > 0) {
        put_stops(writer, summary->stops);
    }
    ps_json_begin_object(writer, "results");
    put_fields(writer, result_fields, summary);
    ps_json_put_boolean(writer, "steady", summary->steady);
    ps_json_end_object(writer);
    ps_json_begin_array(writer, "stages");
    for (guint i = 0; i < summary->n_stages; i++) {
        put_stage(writer, &summary->stages[i]);
    }
    ps_json_end_array(writer);
    for (const Digest *digest = digests; digest->key != NULL; digest++) {
        const char *sha256 = G_STRUCT_MEMBER(char *, summary, digest->offset);
        if (sha256 != NULL) {
            ps_json_put_string(writer, digest->key, sha256);
        }
    }
}

void ps_run_summary_write(const PsRunSummary *summary, PsOutput *output)
{
    PsJsonWriter *writer = ps_json_writer_new(output);
    ps_json_begin_object(writer, NULL);
    ps_run_summary_put(summary, writer);
    ps_json_end_object(writer);
    ps_json_writer_free(writer);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Refuses keys of the current object that are in neither list. */
static void expect_keys(PsJsonReader *reader, const Field *fields, const char *const *more)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    for (const Field *field = fields; field->key != NULL; field++) {
        g_ptr_array_add(keys, (gpointer)field->key);
    }
    for (guint i = 0; more[i] != NULL; i++) {
        g_ptr_array_add(keys, (gpointer)more[i]);
    }
    g_ptr_array_add(keys, NULL);
    ps_json_expect_keys(reader, (const char *const *)keys->pdata);
}

#define MAX_EXACT_INT (G_GINT64_CONSTANT(1) << 53)
#define MAX_TIME_S 9.0e6 /* what the clock holds */

/* Other programs, and older versions of this one, write doubles in any form. */
static gint64 get_time(PsJsonReader *reader, const char *key)
{
    double rounded_s = ps_json_double(reader, key, 0, MAX_TIME_S);
    gint64 time_ps;
    return ps_picoseconds_parse(ps_json_number_text(reader, key), &time_ps)
               ? time_ps
               : ps_seconds_to_ps(rounded_s);
}

static void get_fields(PsJsonReader *reader, const Field *fields, gpointer record)
{
    for (const Field *field = fields; field->key != NULL; field++) {
        gpointer place = (char *)record + field->offset;
        switch (field->form) {
        case NUMBER:
            *(double *)place = ps_json_double(reader, field->key, -G_MAXDOUBLE, G_MAXDOUBLE);
            break;
        case COUNT:
            *(guint *)place = (guint)ps_json_int(reader, field->key, 0, G_MAXUINT32);
            break;
        case TIME:
            *(gint64 *)place = get_time(reader, field->key);
            break;
        case SIGNED:
            *(gint64 *)place = ps_json_int(reader, field->key, 0, MAX_EXACT_INT);
            break;
        }
    }
}

static char *optional_string(PsJsonReader *reader, const char *key)
{
    return ps_json_has(reader, key) ? g_strdup(ps_json_string(reader, key)) : NULL;
}

static char *get_sha256(PsJsonReader *reader, const char *key)
{
    char *text = optional_string(reader, key);
    if (text != NULL && !ps_json_failed(reader) &&
        (strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64)) {
        ps_json_fail(reader, key, "not a SHA-256 (expected 64 hexadecimal digits)");
    }
    return text;
}

static void get_input(PsJsonReader *reader, const char *key, char **path, char **sha256)
{
    ps_json_enter(reader, key);
    ps_json_expect_keys(reader, (const char *const[]){"path", "sha256", NULL});
    *path = optional_string(reader, "path");
    *sha256 = get_sha256(reader, "sha256");
    ps_json_leave(reader);
}

static void get_settings(PsJsonReader *reader, PsRunSummary *summary)
{
    ps_json_enter(reader, "settings");
    ps_json_expect_object(reader);
    for (guint i = 0; i < ps_json_size(reader); i++) {
        const char *name = ps_json_key(reader, i);
        ps_run_summary_add_setting(summary, name, ps_json_string(reader, name));
    }
    ps_json_leave(reader);
}

static void get_peak(PsJsonReader *reader, double bytes[PS_N_MEMORY])
{
    ps_json_enter(reader, "peak_bytes");
    ps_json_expect_keys(reader, ps_memory_names);
    for (guint i = 0; i < PS_N_MEMORY; i++) {
        bytes[i] = ps_json_has(reader, ps_memory_names[i])
                       ? ps_json_double(reader, ps_memory_names[i], 0, G_MAXDOUBLE)
                       : 0;
    }
    ps_json_leave(reader);
}

#define MAX_DEGREE (1 << 24)

static void get_stage(PsJsonReader *reader, PsRunStage *stage)
{
    expect_keys(reader, stage_fields,
                (const char *const[]){"layers", "data_parallel", "tensor_parallel", "estimate",
                                      "peak_bytes", NULL});
    stage->layers = g_strdup(ps_json_string(reader, "layers"));
    stage->data_parallel = (guint)ps_json_int(reader, "data_parallel", 1, MAX_DEGREE);
    stage->tensor_parallel = (guint)ps_json_int(reader, "tensor_parallel", 1, MAX_DEGREE);
    ps_json_enter(reader, "estimate");
    expect_keys(reader, estimate_fields, (const char *const[]){NULL});
    get_fields(reader, estimate_fields, &stage->estimate);
    ps_json_leave(reader);
    get_fields(reader, stage_fields, stage);
    get_peak(reader, stage->peak_category_bytes);
}

static void get_results(PsJsonReader *reader, PsRunSummary *summary)
{
    ps_json_enter(reader, "results");
    expect_keys(reader, result_fields, (const char *const[]){"steady", NULL});
    get_fields(reader, result_fields, summary);
    summary->steady = ps_json_boolean(reader, "steady");
    if (summary->window_start_ps > summary->window_end_ps ||
        summary->window_end_ps > summary->makespan_ps) {
        ps_json_fail(reader, "window_end_s",
                     "the window is not within the run (expected start <= end <= makespan)");
    }
    ps_json_leave(reader);
}

static guint enter_stages(PsJsonReader *reader)
{
    ps_json_enter(reader, "stages");
    ps_json_expect_array(reader);
    guint n_stages = ps_json_size(reader);
    if (n_stages == 0) {
        ps_json_fail(reader, NULL, "no stages (expected at least one)");
    }
    return n_stages;
}

static void get_summary(PsJsonReader *reader, PsRunSummary *summary)
{
    summary->version = g_strdup(ps_json_string(reader, "version"));
    get_settings(reader, summary);
    ps_json_enter(reader, "inputs");
    ps_json_expect_keys(reader, (const char *const[]){"plan", "profile", "schedule", "synthetic",
                                                      "time_unit_s", NULL});
    if (ps_json_has(reader, "schedule")) {
        get_input(reader, "schedule", &summary->schedule_path, &summary->schedule_sha256);
    }
    summary->synthetic = optional_string(reader, "synthetic");
    get_input(reader, "plan", &summary->plan_path, &summary->plan_sha256);
    get_input(reader, "profile", &summary->profile_path, &summary->profile_sha256);
    summary->time_unit_s = ps_json_double(reader, "time_unit_s", 0, G_MAXDOUBLE);
    ps_json_leave(reader);
    ps_json_enter(reader, "cluster");
    expect_keys(reader, setting_fields, (const char *const[]){"placement", "levels", NULL});
    get_fields(reader, setting_fields, &summary->setting);
    ps_setting_read_levels(reader, &summary->setting);
    ps_json_leave(reader);
    summary->estimate_tps_s = ps_json_double(reader, "estimate_tps_s", 0, G_MAXDOUBLE);
    summary->nested = ps_json_boolean(reader, "nested");
    summary->partial = ps_json_has(reader, "partial") && ps_json_boolean(reader, "partial");
    get_results(reader, summary);
    for (const Digest *digest = digests; digest->key != NULL; digest++) {
        G_STRUCT_MEMBER(char *, summary, digest->offset) = get_sha256(reader, digest->key);
    }
}

static void get_stages(PsJsonReader *reader, PsRunSummary *summary)
{
    guint lane = 0;
    enter_stages(reader);
    for (guint i = 0; i < summary->n_stages; i++) {
        PsRunStage *stage = &summary->stages[i];
        ps_json_enter_index(reader, i);
        get_stage(reader, stage);
        ps_json_leave(reader);
        stage->first_lane = lane;
        lane += stage->data_parallel;
        if (lane > MAX_DEGREE) {
            ps_json_fail(reader, NULL, "more than %d lanes", MAX_DEGREE);
            break;
        }
    }
    ps_json_leave(reader);
}

static void get_stop(PsJsonReader *reader, PsRunSummary *summary)
{
    ps_json_expect_keys(reader, (const char *const[]){"lane", "at_s", NULL});
    PsRunStop stop = {
        .lane = (guint)ps_json_int(reader, "lane", 0, ps_run_summary_n_lanes(summary) - 1),
        .at_ps = get_time(reader, "at_s")};
    guint n = summary->stops->len;
    if (n > 0 && g_array_index(summary->stops, PsRunStop, n - 1).lane >= stop.lane) {
        ps_json_fail(reader, "lane", "%u is not after the one before it (expected lanes in order)",
                     stop.lane);
    }
    if (stop.at_ps > summary->makespan_ps) {
        ps_json_fail(reader, "at_s", "is after the end of the run (expected at most makespan_s)");
    }
    g_array_append_val(summary->stops, stop);
}

static void get_stops(PsJsonReader *reader, PsRunSummary *summary)
{
    if (!ps_json_has(reader, "stopped")) {
        return;
    }
    ps_json_enter(reader, "stopped");
    ps_json_expect_array(reader);
    for (guint i = 0; i < ps_json_size(reader); i++) {
        ps_json_enter_index(reader, i);
        get_stop(reader, summary);
        ps_json_leave(reader);
    }
    ps_json_leave(reader);
}

PsRunSummary *ps_run_summary_read(const char *path, GError **error)
{
    gsize length;
    g_autofree char *text = ps_read_file(path, &length, error);
    g_autoptr(PsJsonReader) reader = text != NULL ? ps_json_parse(path, text, length, error) : NULL;
    if (reader == NULL) {
        return NULL;
    }
    ps_json_expect_keys(reader,
                        (const char *const[]){"schema", "version", "settings", "inputs", "cluster",
                                              "estimate_tps_s", "nested", "partial", "stopped",
                                              "results", "stages", "trace_sha256", "memory_sha256",
                                              "loader_sha256", "links_sha256", NULL});
    const char *schema = ps_json_string(reader, "schema");
    if (!ps_json_failed(reader) && !g_str_equal(schema, PS_RUN_SCHEMA)) {
        ps_json_fail(reader, "schema", "\"%s\" (expected \"%s\")", schema, PS_RUN_SCHEMA);
    }
    guint n_stages = enter_stages(reader);
    ps_json_leave(reader);
    g_autoptr(PsRunSummary) summary = ps_run_summary_new(n_stages);
    get_summary(reader, summary);
    get_stages(reader, summary);
    get_stops(reader, summary);
    if (!ps_json_finish(reader, error)) {
        return NULL;
    }
    return g_steal_pointer(&summary);
}
