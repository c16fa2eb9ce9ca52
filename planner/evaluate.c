#include "planner/evaluate.h"

#include <stdlib.h>

#include "planner/search/complete.h"
#include "sim/base/error.h"
#include "sim/base/units.h"

typedef struct {
    const PsProfile *profile;
    const PsSetting *setting;
    PsEvaluation *evaluation;
} Judge;

static void violated(const Judge *judge, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void violated(const Judge *judge, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_ptr_array_add(judge->evaluation->violations, g_strdup_vprintf(format, args));
    va_end(args);
}

static gint64 layer_id(const Judge *judge, guint layer)
{
    return judge->profile->layers[layer].id;
}

/* "layers 3-7, 9" of a list of layers. Caller frees. */
static char *layers_text(const Judge *judge, guint *layers, guint n)
{
    const PsStage stage = {.n_layers = n, .layers = layers};
    g_autofree char *ranges = ps_plan_layer_ranges(judge->profile, &stage);
    return g_strdup_printf("layer%s %s", n == 1 ? "" : "s", ranges);
}

/* ---- the stages as the file says them ------------------------------------------------------- */

static int compare_layers(const void *a, const void *b)
{
    guint x = *(const guint *)a, y = *(const guint *)b;
    return (x > y) - (x < y);
}

static gboolean place_layers(const PsPlanFile *file, guint s, const PsProfile *profile,
                             PsStage *stage, GError **error)
{
    const PsPlanFileStage *written = &file->stages[s];
    stage->data_parallel = written->data_parallel;
    stage->tensor_parallel = written->tensor_parallel;
    stage->n_layers = written->n_nodes;
    stage->layers = g_new(guint, stage->n_layers);
    for (guint i = 0; i < stage->n_layers; i++) {
        stage->layers[i] = ps_profile_find_layer(profile, written->nodes[i]);
        if (stage->layers[i] == G_MAXUINT) {
            ps_error_at(error, file->path, 0,
                        "$.stages[%u]: %" G_GINT64_FORMAT " is no layer (expected a node of %s)", s,
                        written->nodes[i], profile->path);
            return FALSE;
        }
    }
    qsort(stage->layers, stage->n_layers, sizeof *stage->layers, compare_layers);
    return TRUE;
}

/* A plan without TMPCs. */
static PsPlan *place_stages(const PsPlanFile *file, const PsProfile *profile,
                            const PsSetting *setting, GError **error)
{
    g_autoptr(PsPlan) plan = ps_plan_new(file->n_stages, setting);
    for (guint s = 0; s < plan->n_stages; s++) {
        if (!place_layers(file, s, profile, &plan->stages[s], error)) {
            return NULL;
        }
    }
    return g_steal_pointer(&plan);
}

/* ---- rules ---------------------------------------------------------------------------------- */

#define NO_STAGE G_MAXUINT

/* Fills stage_of. */
static gboolean judge_partition(const Judge *judge, const PsPlan *plan, guint *stage_of)
{
    const PsProfile *profile = judge->profile;
    guint before = judge->evaluation->violations->len;
    for (guint v = 0; v < profile->n_layers; v++) {
        stage_of[v] = NO_STAGE;
    }
    for (guint s = 0; s < plan->n_stages; s++) {
        for (guint i = 0; i < plan->stages[s].n_layers; i++) {
            guint v = plan->stages[s].layers[i];
            if (stage_of[v] != NO_STAGE) {
                violated(judge,
                         "layer %" G_GINT64_FORMAT " is in stage %u and in stage %u (expected one)",
                         layer_id(judge, v), stage_of[v], s);
            }
            stage_of[v] = s;
        }
    }
    g_autoptr(GArray) missing = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint v = 0; v < profile->n_layers; v++) {
        if (stage_of[v] == NO_STAGE) {
            g_array_append_val(missing, v);
        }
    }
    if (missing->len > 0) {
        g_autofree char *text = layers_text(judge, (guint *)(void *)missing->data, missing->len);
        violated(judge, "%s: in no stage (expected one)", text);
    }
    return judge->evaluation->violations->len == before;
}

static void judge_order(const Judge *judge, const guint *stage_of)
{
    const PsProfile *profile = judge->profile;
    for (guint e = 0; e < profile->n_edges; e++) {
        const PsEdge *edge = &profile->edges[e];
        if (stage_of[edge->source] > stage_of[edge->target]) {
            violated(judge,
                     "edge %" G_GINT64_FORMAT " -> %" G_GINT64_FORMAT
                     " runs from stage %u back to stage %u (expected stages in the order of the "
                     "graph)",
                     layer_id(judge, edge->source), layer_id(judge, edge->target),
                     stage_of[edge->source], stage_of[edge->target]);
        }
    }
}

static gboolean judge_tensor_parallel(const Judge *judge, const PsPlan *plan)
{
    gboolean all = TRUE;
    g_autoptr(GArray) unable = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint s = 0; s < plan->n_stages; s++) {
        const PsStage *stage = &plan->stages[s];
        g_array_set_size(unable, 0);
        for (guint i = 0; i < stage->n_layers; i++) {
            guint v = stage->layers[i];
            if (ps_layer_set(&judge->profile->layers[v], stage->tensor_parallel) == NULL) {
                g_array_append_val(unable, v);
            }
        }
        if (unable->len > 0) {
            g_autofree char *text = layers_text(judge, (guint *)(void *)unable->data, unable->len);
            violated(judge, "stage %u: the profile has no TMPC for tensor-parallel degree %u of %s",
                     s, stage->tensor_parallel, text);
            all = FALSE;
        }
    }
    return all;
}

typedef struct {
    guint64 data_parallel, devices;
} Sums;

static Sums sum_degrees(const PsPlan *plan)
{
    Sums sums = {0};
    for (guint s = 0; s < plan->n_stages; s++) {
        const PsStage *stage = &plan->stages[s];
        sums.data_parallel += stage->data_parallel;
        sums.devices += (guint64)stage->data_parallel * stage->tensor_parallel;
    }
    return sums;
}

static void judge_degrees(const Judge *judge, const PsPlan *plan)
{
    const PsSetting *setting = judge->setting;
    for (guint s = 0; s < plan->n_stages; s++) {
        if (setting->microbatches % plan->stages[s].data_parallel != 0) {
            violated(judge,
                     "stage %u has data-parallel degree %u (expected a divisor of the %u "
                     "microbatches)",
                     s, plan->stages[s].data_parallel, setting->microbatches);
        }
    }
    Sums sums = sum_degrees(plan);
    guint most = MIN(setting->microbatches, setting->devices);
    if (sums.data_parallel > most) {
        violated(
            judge,
            "the data-parallel degrees sum to %" G_GUINT64_FORMAT " (expected at most %u, the %s)",
            sums.data_parallel, most, most == setting->microbatches ? "microbatches" : "devices");
    }
    guint64 wanted;
    guint too_many = ps_plan_wants_too_many(plan, &wanted);
    if (too_many < plan->n_stages) {
        violated(judge,
                 "stage %u wants %" G_GUINT64_FORMAT
                 " microbatches in flight (expected at most the %u of a batch, for a run to keep "
                 "up)",
                 too_many, wanted, setting->microbatches);
    }
    if (sums.devices > setting->devices) {
        violated(judge,
                 "the stages take %" G_GUINT64_FORMAT
                 " devices (expected at most the %u there are)",
                 sums.devices, setting->devices);
    }
}

static double least_memory_bytes(const PsProfile *profile, const PsStage *stage, guint in_flight)
{
    double sum = 0;
    for (guint i = 0; i < stage->n_layers; i++) {
        const PsTmpcSet *set =
            ps_layer_set(&profile->layers[stage->layers[i]], stage->tensor_parallel);
        double least = G_MAXDOUBLE;
        for (guint j = 0; j < set->n_tmpcs; j++) {
            const PsTmpc *tmpc = &set->tmpcs[j];
            least = MIN(least,
                        tmpc->memory_per_microbatch_bytes * in_flight + tmpc->memory_fixed_bytes);
        }
        sum += least;
    }
    return sum;
}

static void judge_memory(const Judge *judge, const PsPlan *plan)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, judge->profile);
    g_autofree char *there = ps_quantity_format(PS_BYTES, judge->setting->memory_bytes);
    for (guint s = 0; s < plan->n_stages; s++) {
        const PsStageEstimate *cost = &estimate->stages[s];
        if (ps_memory_fits(cost->memory_bytes, judge->setting->memory_bytes)) {
            continue;
        }
        const PsStage *stage = &plan->stages[s];
        double least_bytes = least_memory_bytes(judge->profile, stage, cost->in_flight);
        g_autofree char *layers = layers_text(judge, stage->layers, stage->n_layers);
        g_autofree char *needed = ps_quantity_format_up(PS_BYTES, cost->memory_bytes);
        g_autofree char *least = ps_quantity_format_up(PS_BYTES, least_bytes);
        g_autofree char *otherwise = least_bytes < cost->memory_bytes
                                         ? g_strdup_printf("; the smallest TMPCs take %s", least)
                                         : g_strdup(" even with the smallest TMPCs");
        violated(judge, "stage %u (%s) takes %s of memory on each device (expected at most %s)%s",
                 s, layers, needed, there, otherwise);
    }
}

/* ---- completion ----------------------------------------------------------------------------- */

/* Takes the choices over into the file, so that it can be resolved like a complete one. */
static void fill_in(PsPlanFileStage *written, const PsStage *stage, const PsProfile *profile)
{
    written->n_choices = stage->n_layers;
    written->choice_nodes = g_new(gint64, stage->n_layers);
    written->choice_names = g_new(char *, stage->n_layers);
    for (guint i = 0; i < stage->n_layers; i++) {
        written->choice_nodes[i] = profile->layers[stage->layers[i]].id;
        written->choice_names[i] = g_strdup(ps_stage_tmpc(stage, profile, i)->id);
    }
}

static PsCosts *costs_for(const Judge *judge, const PsPlan *plan, PsRecompute recompute)
{
    PsSetting setting = *judge->setting;
    ps_setting_use_devices(&setting, MAX(setting.devices, (guint)sum_degrees(plan).devices));
    const PsRestrictions restrictions = {.recompute = recompute};
    return ps_costs_new(judge->profile, &setting, &restrictions);
}

/* FALSE where the degrees leave no in-flight bounds to choose by. */
static gboolean complete(const Judge *judge, PsPlan *plan, PsPlanFile *file, PsRecompute recompute)
{
    GArray *completed = judge->evaluation->completed;
    for (guint s = 0; s < plan->n_stages; s++) {
        if (file->stages[s].n_choices == 0) {
            g_array_append_val(completed, s);
        } else { /* anything but NULL, so that it is left alone */
            plan->stages[s].tmpcs = g_new0(guint, plan->stages[s].n_layers);
        }
    }
    Sums sums = sum_degrees(plan);
    if (completed->len == 0 || sums.data_parallel > judge->setting->microbatches ||
        sums.devices > G_MAXINT) {
        return completed->len == 0;
    }
    g_autoptr(PsCosts) costs = costs_for(judge, plan, recompute);
    (void)ps_complete_plan(plan, costs);
    for (guint i = 0; i < completed->len; i++) {
        guint s = g_array_index(completed, guint, i);
        fill_in(&file->stages[s], &plan->stages[s], judge->profile);
    }
    return TRUE;
}

/* ---- places --------------------------------------------------------------------------------- */

/* FALSE where the stages cannot be placed. */
static gboolean place(const Judge *judge, PsPlan *plan, PsRecompute recompute)
{
    const GArray *completed = judge->evaluation->completed;
    if (completed->len == 0) {
        return ps_plan_place(plan, judge->profile);
    }
    g_autofree gboolean *free_stages = g_new0(gboolean, plan->n_stages);
    for (guint i = 0; i < completed->len; i++) {
        free_stages[g_array_index(completed, guint, i)] = TRUE;
    }
    g_autoptr(PsCosts) costs = costs_for(judge, plan, recompute);
    return ps_complete_places(plan, costs, free_stages);
}

/* Puts the plan into the setting. Where too many devices are asked for, that was said before. */
static void judge_places(const Judge *judge, PsPlan *plan, const PsPlanFile *file,
                         PsRecompute recompute)
{
    const PsSetting *setting = judge->setting;
    ps_plan_change_setting(plan, judge->profile, setting);
    if (ps_setting_is_flat(setting)) {
        return;
    }
    gboolean said = file->stages[0].first_device != PS_NOT_RECORDED;
    gboolean too_many = sum_degrees(plan).devices > setting->devices;
    if (!said && !place(judge, plan, recompute) && !too_many) {
        violated(judge,
                 "no places on %u devices keep each tensor-parallel group within one group of its "
                 "level",
                 setting->devices);
        return;
    }
    g_autoptr(GError) error = NULL;
    if (!too_many && !ps_plan_verify_places(plan, &error)) {
        violated(judge, "%s", error->message);
    }
}

/* ---- all of it ------------------------------------------------------------------------------ */

static PsEvaluation *new_evaluation(void)
{
    PsEvaluation *evaluation = g_new0(PsEvaluation, 1);
    evaluation->violations = g_ptr_array_new_with_free_func(g_free);
    evaluation->completed = g_array_new(FALSE, FALSE, sizeof(guint));
    return evaluation;
}

void ps_evaluation_free(PsEvaluation *evaluation)
{
    if (evaluation != NULL) {
        ps_plan_free(evaluation->plan);
        g_ptr_array_unref(evaluation->violations);
        g_array_unref(evaluation->completed);
        g_free(evaluation);
    }
}

PsEvaluation *ps_evaluate(PsDraft *draft, const PsProfile *profile, const PsSetting *setting,
                          PsRecompute recompute, GError **error)
{
    g_autoptr(PsPlan) plan = place_stages(draft->file, profile, setting, error);
    if (plan == NULL) {
        return NULL;
    }
    g_autoptr(PsEvaluation) evaluation = new_evaluation();
    const Judge judge = {profile, setting, evaluation};
    g_autofree guint *stage_of = g_new(guint, profile->n_layers);
    gboolean partition = judge_partition(&judge, plan, stage_of);
    if (partition) {
        judge_order(&judge, stage_of);
    }
    judge_degrees(&judge, plan);
    gboolean runs = judge_tensor_parallel(&judge, plan);
    recompute = draft->says_recompute ? draft->recompute : recompute;
    if (partition && runs && complete(&judge, plan, draft->file, recompute)) {
        evaluation->plan = ps_plan_file_resolve(draft->file, profile, error);
        if (evaluation->plan == NULL) {
            return NULL;
        }
        evaluation->plan->optimal = FALSE;
        judge_places(&judge, evaluation->plan, draft->file, recompute);
        judge_memory(&judge, evaluation->plan);
    }
    return g_steal_pointer(&evaluation);
}
