#include "planner/draft.h"

#include <math.h>
#include <string.h>

#include "planner/baselines/repeats.h"
#include "sim/base/suggest.h"

#define LAYOUT_SCHEMA "pipersim-layout/1"
#define MAX_ID (G_GINT64_CONSTANT(1) << 53)
#define MAX_DEGREE (1 << 24)

/* ---- layers --------------------------------------------------------------------------------- */

static void new_stages(PsPlanFile *file, guint n)
{
    file->n_stages = n;
    file->stages = g_new0(PsPlanFileStage, n);
    for (guint s = 0; s < n; s++) {
        PsPlanFileStage *stage = &file->stages[s];
        stage->first_device = stage->in_flight = PS_NOT_RECORDED;
        stage->compute_s = stage->edge_s = stage->resync_s = stage->tps_s = NAN;
        stage->memory_bytes = NAN;
    }
}

/* Enters a list that must not be empty; returns its size. */
static guint enter_list(PsJsonReader *reader, const char *key, const char *of_what)
{
    ps_json_enter(reader, key);
    ps_json_expect_array(reader);
    guint n = ps_json_size(reader);
    if (n == 0) {
        ps_json_fail(reader, NULL, "is empty (expected at least one %s)", of_what);
    }
    return n;
}

static void read_ids(PsJsonReader *reader, PsPlanFile *file)
{
    new_stages(file, enter_list(reader, "stages", "stage"));
    for (guint s = 0; s < file->n_stages && !ps_json_failed(reader); s++) {
        PsPlanFileStage *stage = &file->stages[s];
        ps_json_enter_index(reader, s);
        ps_json_expect_array(reader);
        stage->n_nodes = ps_json_size(reader);
        stage->nodes = g_new0(gint64, stage->n_nodes);
        if (stage->n_nodes == 0) {
            ps_json_fail(reader, NULL, "is empty (expected at least one layer)");
        }
        for (guint i = 0; i < stage->n_nodes; i++) {
            ps_json_enter_index(reader, i);
            stage->nodes[i] = ps_json_int(reader, NULL, 0, MAX_ID);
            ps_json_leave(reader);
        }
        ps_json_leave(reader);
    }
    ps_json_leave(reader);
}

static void take_layers(PsPlanFileStage *stage, const PsProfile *profile, guint first, guint end)
{
    stage->n_nodes = end - first;
    stage->nodes = g_new(gint64, stage->n_nodes);
    for (guint i = first; i < end; i++) {
        stage->nodes[i - first] = profile->layers[i].id;
    }
}

static void cut_by_counts(PsJsonReader *reader, const guint *counts, guint sum,
                          const PsProfile *profile, PsPlanFile *file)
{
    PsInnerLayers inner = ps_inner_layers(profile);
    gboolean all = sum == profile->n_layers;
    if (!all && sum != inner.n) {
        ps_json_fail(reader, "layers_per_stage",
                     "sums to %u (expected %u, the repeated layers, or %u, all layers)", sum,
                     inner.n, profile->n_layers);
        return;
    }
    guint first = 0, end = all ? 0 : inner.first;
    for (guint s = 0; s < file->n_stages; s++) {
        end = s + 1 < file->n_stages ? end + counts[s] : profile->n_layers;
        if (first == end) {
            ps_json_fail(reader, "layers_per_stage",
                         "leaves stage %u without a layer (expected at "
                         "least one)",
                         s);
            return;
        }
        take_layers(&file->stages[s], profile, first, end);
        first = end;
    }
}

static void read_counts(PsJsonReader *reader, const PsProfile *profile, PsPlanFile *file)
{
    guint n = enter_list(reader, "layers_per_stage", "stage");
    g_autofree guint *counts = g_new0(guint, n);
    guint sum = 0;
    for (guint s = 0; s < n && !ps_json_failed(reader); s++) {
        ps_json_enter_index(reader, s);
        counts[s] = (guint)ps_json_int(reader, NULL, 0, profile->n_layers);
        sum = MIN(sum + counts[s], profile->n_layers + 1);
        ps_json_leave(reader);
    }
    ps_json_leave(reader);
    if (!ps_json_failed(reader)) {
        new_stages(file, n);
        cut_by_counts(reader, counts, sum, profile, file);
    }
}

/* ---- the rest of a layout ------------------------------------------------------------------- */

/* One number for all stages, or a list. Caller frees. */
static guint *read_degrees(PsJsonReader *reader, const char *key, guint n_stages)
{
    guint *degrees = g_new0(guint, n_stages);
    ps_json_enter(reader, key);
    gboolean list = ps_json_is_array(reader);
    if (list && ps_json_size(reader) != n_stages) {
        ps_json_fail(reader, NULL, "has %u elements (expected %u, one for each stage)",
                     ps_json_size(reader), n_stages);
    }
    for (guint s = 0; s < n_stages && !ps_json_failed(reader); s++) {
        if (list) {
            ps_json_enter_index(reader, s);
        }
        degrees[s] = (guint)ps_json_int(reader, NULL, 1, MAX_DEGREE);
        if (list) {
            ps_json_leave(reader);
        }
    }
    ps_json_leave(reader);
    return degrees;
}

static void read_recompute(PsJsonReader *reader, PsDraft *draft)
{
    static const struct {
        const char *name;
        PsRecompute rule;
    } rules[] = {
        {"none", PS_RECOMPUTE_NONE}, {"all", PS_RECOMPUTE_ALL}, {"best", PS_RECOMPUTE_PER_LAYER}};
    draft->says_recompute = ps_json_has(reader, "recompute");
    if (!draft->says_recompute) {
        return;
    }
    const char *text = ps_json_string(reader, "recompute");
    const char *names[G_N_ELEMENTS(rules) + 1] = {NULL};
    for (guint i = 0; i < G_N_ELEMENTS(rules); i++) {
        names[i] = rules[i].name;
        if (strcmp(text, names[i]) == 0) {
            draft->recompute = rules[i].rule;
            return;
        }
    }
    g_autofree char *hint = ps_suggest_text(text, names);
    ps_json_fail(reader, "recompute", "is \"%s\"%s", text, hint);
}

static void read_layout(PsJsonReader *reader, const PsProfile *profile, PsDraft *draft)
{
    static const char *const keys[] = {
        "schema",          "layers_per_stage", "stages", "data_parallel",
        "tensor_parallel", "recompute",        NULL};
    ps_json_expect_keys(reader, keys);
    gboolean counts = ps_json_has(reader, "layers_per_stage");
    if (counts == ps_json_has(reader, "stages")) {
        ps_json_fail(reader, NULL, "has %s layers_per_stage %s stages (expected one of them)",
                     counts ? "both" : "neither", counts ? "and" : "nor");
        return;
    }
    PsPlanFile *file = draft->file;
    if (counts) {
        read_counts(reader, profile, file);
    } else {
        read_ids(reader, file);
    }
    g_autofree guint *d = read_degrees(reader, "data_parallel", file->n_stages);
    g_autofree guint *t = read_degrees(reader, "tensor_parallel", file->n_stages);
    for (guint s = 0; s < file->n_stages; s++) {
        file->stages[s].data_parallel = d[s];
        file->stages[s].tensor_parallel = t[s];
    }
    read_recompute(reader, draft);
}

static PsPlanFile *new_file(const char *path, const char *text, gsize length)
{
    PsPlanFile *file = g_new0(PsPlanFile, 1);
    file->path = g_strdup(path);
    file->sha256 = ps_sha256(text, length);
    file->choices_key = "stages";
    file->origin.time_unit_s = NAN;
    file->tps_s = file->batch_s = file->batch_gap = NAN;
    file->devices_used = file->sum_data_parallel = PS_NOT_RECORDED;
    file->bottleneck = file->nested = PS_NOT_RECORDED;
    return file;
}

/* ---- the file ------------------------------------------------------------------------------- */

static gboolean is_layout(PsJsonReader *reader)
{
    return ps_json_is_object(reader) && ps_json_has(reader, "schema") &&
           strcmp(ps_json_string(reader, "schema"), LAYOUT_SCHEMA) == 0;
}

PsDraft *ps_draft_load(const char *path, const PsProfile *profile, GError **error)
{
    gsize length = 0;
    g_autofree char *text = ps_read_file(path, &length, error);
    g_autoptr(PsJsonReader) reader = text != NULL ? ps_json_parse(path, text, length, error) : NULL;
    if (reader == NULL) {
        return NULL;
    }
    g_autoptr(PsDraft) draft = g_new0(PsDraft, 1);
    if (is_layout(reader)) {
        draft->file = new_file(path, text, length);
        read_layout(reader, profile, draft);
        return ps_json_finish(reader, error) ? g_steal_pointer(&draft) : NULL;
    }
    draft->file = ps_plan_file_parse(path, text, length, error);
    return draft->file != NULL ? g_steal_pointer(&draft) : NULL;
}

void ps_draft_free(PsDraft *draft)
{
    if (draft != NULL) {
        ps_plan_file_free(draft->file);
        g_free(draft);
    }
}
