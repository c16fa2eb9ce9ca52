/* A plan file meets its profile. */
#include <math.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/base/units.h"
#include "sim/plan/plan-file.h"

/* Relative slack for recorded figures, which went through decimal text. */
#define TOLERANCE 1e-9

/* A layer of a stage and the TMPC chosen for it; sorted by layer. */
typedef struct {
    guint layer, tmpc;
} Choice;

typedef struct {
    const PsPlanFile *file;
    const PsProfile *profile;
    GHashTable *layer_of; /* id -> index */
    guint *stage_of;      /* [n_layers], counted from 1; 0 where the layer is not placed yet */
} Resolver;

static gboolean refuse(const Resolver *resolver, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
static gboolean refuse(const Resolver *resolver, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    ps_error_at(error, resolver->file->path, 0, "%s", message);
    return FALSE;
}

/* ---- layers and TMPCs ----------------------------------------------------------------------- */

static gboolean place_layer(Resolver *resolver, guint s, guint index, guint *layer, GError **error)
{
    gint64 id = resolver->file->stages[s].nodes[index];
    gpointer found;
    if (!g_hash_table_lookup_extended(resolver->layer_of, &id, NULL, &found)) {
        return refuse(resolver, error,
                      "$.stages[%u].nodes[%u]: %" G_GINT64_FORMAT
                      " is no layer (expected a node of "
                      "%s)",
                      s, index, id, resolver->profile->path);
    }
    *layer = GPOINTER_TO_UINT(found);
    if (resolver->stage_of[*layer] != 0) {
        return refuse(resolver, error,
                      "$.stages[%u].nodes[%u]: layer %" G_GINT64_FORMAT " is in stages[%u] already "
                      "(expected each layer once)",
                      s, index, id, resolver->stage_of[*layer] - 1);
    }
    resolver->stage_of[*layer] = s + 1;
    return TRUE;
}

static gboolean refuse_degree(Resolver *resolver, guint s, const PsLayer *layer, GError **error)
{
    g_autoptr(GString) degrees = g_string_new(NULL);
    for (guint i = 0; i < layer->n_sets; i++) {
        g_string_append_printf(degrees, "%s%u",
                               i == 0                  ? ""
                               : i + 1 < layer->n_sets ? ", "
                                                       : " or ",
                               layer->sets[i].degree);
    }
    return refuse(resolver, error,
                  "$.stages[%u]: layer %" G_GINT64_FORMAT " has no TMPC for tensor-parallel degree "
                  "%u (expected %s)",
                  s, layer->id, resolver->file->stages[s].tensor_parallel, degrees->str);
}

static gboolean find_tmpc(Resolver *resolver, guint s, const PsLayer *layer, const char *name,
                          guint *tmpc, GError **error)
{
    const PsTmpcSet *set = ps_layer_set(layer, resolver->file->stages[s].tensor_parallel);
    if (set == NULL) {
        return refuse_degree(resolver, s, layer, error);
    }
    g_autofree const char **names = g_new0(const char *, (gsize)set->n_tmpcs + 1);
    for (guint i = 0; i < set->n_tmpcs; i++) {
        names[i] = set->tmpcs[i].id;
        if (g_str_equal(names[i], name)) {
            *tmpc = i;
            return TRUE;
        }
    }
    g_autofree char *hint = ps_suggest_text(name, names);
    return refuse(resolver, error,
                  "$.stages[%u].%s: layer %" G_GINT64_FORMAT " has no TMPC \"%s\" for "
                  "tensor-parallel degree %u%s",
                  s, resolver->file->choices_key, layer->id, name, set->degree, hint);
}

/* The choices of a stage by layer id; NULL with error where one is doubled or for no layer of it.
 */
static GHashTable *index_choices(Resolver *resolver, guint s, GError **error)
{
    const PsPlanFileStage *stage = &resolver->file->stages[s];
    g_autoptr(GHashTable) nodes = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < stage->n_nodes; i++) {
        g_hash_table_add(nodes, &stage->nodes[i]);
    }
    g_autoptr(GHashTable) names = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < stage->n_choices; i++) {
        gint64 *id = &stage->choice_nodes[i];
        if (!g_hash_table_contains(nodes, id)) {
            refuse(resolver, error,
                   "$.stages[%u].%s: layer %" G_GINT64_FORMAT " is not in the stage (expected its "
                   "layers only)",
                   s, resolver->file->choices_key, *id);
            return NULL;
        }
        if (!g_hash_table_insert(names, id, stage->choice_names[i])) {
            refuse(resolver, error,
                   "$.stages[%u].%s: layer %" G_GINT64_FORMAT " comes twice (expected one TMPC for "
                   "each layer)",
                   s, resolver->file->choices_key, *id);
            return NULL;
        }
    }
    return g_steal_pointer(&names);
}

static int compare_choices(const void *a, const void *b)
{
    const Choice *x = a, *y = b;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

static gboolean choose(Resolver *resolver, guint s, GHashTable *names, Choice *choices,
                       GError **error)
{
    const PsPlanFileStage *stage = &resolver->file->stages[s];
    for (guint i = 0; i < stage->n_nodes; i++) {
        const char *name = g_hash_table_lookup(names, &stage->nodes[i]);
        if (!place_layer(resolver, s, i, &choices[i].layer, error)) {
            return FALSE;
        }
        if (name == NULL) {
            return refuse(resolver, error,
                          "$.stages[%u].%s: layer %" G_GINT64_FORMAT " is missing (expected a TMPC "
                          "for each layer)",
                          s, resolver->file->choices_key, stage->nodes[i]);
        }
        if (!find_tmpc(resolver, s, &resolver->profile->layers[choices[i].layer], name,
                       &choices[i].tmpc, error)) {
            return FALSE;
        }
    }
    qsort(choices, stage->n_nodes, sizeof *choices, compare_choices);
    return TRUE;
}

static gboolean resolve_stage(Resolver *resolver, guint s, PsStage *stage, GError **error)
{
    const PsPlanFileStage *written = &resolver->file->stages[s];
    g_autoptr(GHashTable) names = index_choices(resolver, s, error);
    g_autofree Choice *choices = g_new0(Choice, written->n_nodes);
    if (names == NULL || !choose(resolver, s, names, choices, error)) {
        return FALSE;
    }
    stage->data_parallel = written->data_parallel;
    stage->tensor_parallel = written->tensor_parallel;
    stage->n_layers = written->n_nodes;
    stage->layers = g_new(guint, stage->n_layers);
    stage->tmpcs = g_new(guint, stage->n_layers);
    for (guint i = 0; i < stage->n_layers; i++) {
        stage->layers[i] = choices[i].layer;
        stage->tmpcs[i] = choices[i].tmpc;
    }
    return TRUE;
}

static gboolean resolve_stages(Resolver *resolver, PsPlan *plan, GError **error)
{
    for (guint s = 0; s < plan->n_stages; s++) {
        if (!resolve_stage(resolver, s, &plan->stages[s], error)) {
            return FALSE;
        }
    }
    for (guint i = 0; i < resolver->profile->n_layers; i++) {
        if (resolver->stage_of[i] == 0) {
            return refuse(resolver, error,
                          "$.stages: layer %" G_GINT64_FORMAT
                          " is in no stage (expected each layer "
                          "once)",
                          resolver->profile->layers[i].id);
        }
    }
    return TRUE;
}

/* ---- what the file recorded ----------------------------------------------------------------- */

static gboolean check_origin(const Resolver *resolver, GError **error)
{
    const PsPlanOrigin *origin = &resolver->file->origin;
    const PsProfile *profile = resolver->profile;
    if (origin->sha256 != NULL && !g_str_equal(origin->sha256, profile->sha256)) {
        return refuse(resolver, error,
                      "$.profile.sha256: the plan was made for another profile than %s, whose "
                      "SHA-256 is %s (expected %s)",
                      profile->path, profile->sha256, origin->sha256);
    }
    if (!isnan(origin->time_unit_s) && origin->time_unit_s != profile->time_unit_s) {
        g_autofree char *recorded = ps_double_format(origin->time_unit_s);
        g_autofree char *actual = ps_double_format(profile->time_unit_s);
        return refuse(resolver, error,
                      "$.profile.time_unit_s: the plan took the profile's time unit for %s s, not "
                      "%s s (expected the same: see --time-unit)",
                      recorded, actual);
    }
    return TRUE;
}

static gboolean check_double(const Resolver *resolver, const char *place, const char *key,
                             double recorded, double actual, GError **error)
{
    if (isnan(recorded) || fabs(recorded - actual) <= TOLERANCE * fabs(actual)) {
        return TRUE;
    }
    g_autofree char *recorded_text = ps_double_format(recorded);
    g_autofree char *actual_text = ps_double_format(actual);
    return refuse(resolver, error,
                  "$.%s.%s: is %s, which does not follow from the plan and its profile (expected "
                  "%s, or nothing)",
                  place, key, recorded_text, actual_text);
}

static gboolean check_int(const Resolver *resolver, const char *place, const char *key,
                          gint64 recorded, gint64 actual, GError **error)
{
    return recorded == PS_NOT_RECORDED ||
           check_double(resolver, place, key, (double)recorded, (double)actual, error);
}

static gboolean check_stage(const Resolver *resolver, guint s, const PsStageEstimate *actual,
                            GError **error)
{
    const PsPlanFileStage *recorded = &resolver->file->stages[s];
    g_autofree char *place = g_strdup_printf("stages[%u]", s);
    const struct {
        const char *key;
        double recorded, actual;
    } figures[] = {
        {"compute_s", recorded->compute_s, actual->compute_s},
        {"edge_s", recorded->edge_s, actual->edge_s},
        {"resync_s", recorded->resync_s, actual->resync_s},
        {"tps_s", recorded->tps_s, actual->tps_s},
        {"memory_bytes", recorded->memory_bytes, actual->memory_bytes},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++) {
        if (!check_double(resolver, place, figures[i].key, figures[i].recorded, figures[i].actual,
                          error)) {
            return FALSE;
        }
    }
    return check_int(resolver, place, "in_flight", recorded->in_flight, actual->in_flight, error);
}

static gboolean check_nested(const Resolver *resolver, const PsPlan *plan, GError **error)
{
    gint64 recorded = resolver->file->nested;
    gboolean actual = ps_plan_is_nested(plan);
    return recorded == PS_NOT_RECORDED || recorded == actual ||
           refuse(
               resolver, error,
               "$.estimate.nested: is %s, which does not follow from the degrees (expected %s, or "
               "nothing)",
               recorded ? "true" : "false", actual ? "true" : "false");
}

static gboolean check_estimate(const Resolver *resolver, const PsPlan *plan, GError **error)
{
    const PsPlanFile *file = resolver->file;
    g_autoptr(PsEstimate) actual = ps_plan_estimate(plan, resolver->profile);
    for (guint s = 0; s < plan->n_stages; s++) {
        if (!check_stage(resolver, s, &actual->stages[s], error)) {
            return FALSE;
        }
    }
    static const char place[] = "estimate";
    return check_double(resolver, place, "tps_s", file->tps_s, actual->tps_s, error) &&
           check_double(resolver, place, "batch_s", file->batch_s, actual->batch_s, error) &&
           check_int(resolver, place, "devices_used", file->devices_used, actual->devices_used,
                     error) &&
           check_int(resolver, place, "sum_d", file->sum_data_parallel, actual->sum_data_parallel,
                     error) &&
           check_int(resolver, place, "bottleneck_stage", file->bottleneck, actual->bottleneck,
                     error) &&
           check_nested(resolver, plan, error);
}

/* ---- the plan ------------------------------------------------------------------------------- */

static PsSetting setting_of(const PsPlanFile *file, const PsProfile *profile)
{
    PsSetting own = {.devices = profile->devices,
                     .memory_bytes = profile->memory_bytes,
                     .bandwidth_bytes_per_s = profile->bandwidth_bytes_per_s,
                     .microbatches = profile->microbatches};
    return file->has_setting ? file->setting : own;
}

/* The stages' places: from the file, where it says them all. */
static gboolean resolve_places(const Resolver *resolver, PsPlan *plan, GError **error)
{
    gboolean flat = ps_setting_is_flat(&plan->setting);
    const PsPlanFileStage *written = resolver->file->stages;
    for (guint s = 0; s < plan->n_stages; s++) {
        gboolean said = written[s].first_device != PS_NOT_RECORDED;
        if (said && flat) {
            return refuse(resolver, error,
                          "$.stages[%u].first_device: means nothing without levels (expected "
                          "$.settings.levels, or no first_device)",
                          s);
        }
        if (said != (written[0].first_device != PS_NOT_RECORDED)) {
            return refuse(
                resolver, error,
                "$.stages[%u]: %s first_device, unlike the stages before (expected all or "
                "none to say it)",
                s, said ? "says its" : "does not say its");
        }
        plan->stages[s].first_device = said ? (guint)written[s].first_device : 0;
    }
    if (!flat && written[0].first_device == PS_NOT_RECORDED) {
        ps_plan_place(plan, resolver->profile);
    }
    return TRUE;
}

PsPlan *ps_plan_file_resolve(const PsPlanFile *file, const PsProfile *profile, GError **error)
{
    g_autoptr(GHashTable) layer_of = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < profile->n_layers; i++) {
        g_hash_table_insert(layer_of, &profile->layers[i].id, GUINT_TO_POINTER(i));
    }
    g_autofree guint *stage_of = g_new0(guint, profile->n_layers);
    Resolver resolver = {file, profile, layer_of, stage_of};
    PsSetting setting = setting_of(file, profile);
    g_autoptr(PsPlan) plan = ps_plan_new(file->n_stages, &setting);
    plan->optimal = file->optimal;
    plan->gap = file->gap;
    plan->batch_gap = file->batch_gap;
    plan->among = g_strdup(file->among);
    if (!check_origin(&resolver, error) || !resolve_stages(&resolver, plan, error) ||
        !resolve_places(&resolver, plan, error) || !check_estimate(&resolver, plan, error)) {
        return NULL;
    }
    return g_steal_pointer(&plan);
}
