#include "planner/certify.h"

#include "planner/search/planning.h"
#include "sim/base/log.h"
#include "sim/base/progress.h"
#include "sim/replay/replay-plan.h"

static void certified_free(gpointer data)
{
    PsCertified *certified = data;
    ps_plan_free(certified->plan);
    g_free(certified);
}

void ps_certificate_free(PsCertificate *certificate)
{
    if (certificate != NULL) {
        g_ptr_array_unref(certificate->candidates);
        g_free(certificate);
    }
}

static void add_candidate(PsCertificate *certificate, PsPlan *plan)
{
    PsCertified *certified = g_new0(PsCertified, 1);
    certified->plan = plan;
    g_ptr_array_add(certificate->candidates, certified);
}

static gboolean add_top(PsCertificate *certificate, const PsProfile *profile,
                        const PsSetting *setting, const PsPlannerOptions *options, guint n,
                        GError **error)
{
    g_autoptr(PsPlanning) planning = ps_planning_new(profile, setting, options);
    g_autoptr(GPtrArray) top = ps_planning_top(planning, n, error);
    if (top == NULL) {
        return FALSE;
    }
    for (guint i = 0; i < top->len; i++) {
        add_candidate(certificate, ps_planning_plan(planning, top->pdata[i]));
    }
    return TRUE;
}

static gboolean any_nested(const PsCertificate *certificate)
{
    for (guint i = 0; i < certificate->candidates->len; i++) {
        const PsCertified *certified = certificate->candidates->pdata[i];
        if (ps_plan_is_nested(certified->plan)) {
            return TRUE;
        }
    }
    return FALSE;
}

typedef struct {
    const PsProfile *profile;
    PsReplaySettings settings;
    PsProgress *progress;
    GMutex mutex;
    GError *error; /* the first one */
} Job;

static void replay_one(gpointer data, gpointer user_data)
{
    PsCertified *certified = data;
    Job *job = user_data;
    GError *error = NULL;
    /* Borrows both. */
    PsPlanInput input = {.profile = (PsProfile *)job->profile, .plan = certified->plan};
    g_autoptr(PsRun) run = ps_replay_plan(&input, &job->settings, NULL, 0, &error);
    if (run != NULL) {
        certified->replayed_tps_s = run->summary->tps_s;
    } else {
        g_mutex_lock(&job->mutex);
        if (job->error == NULL) {
            job->error = g_steal_pointer(&error);
        }
        g_mutex_unlock(&job->mutex);
        g_clear_error(&error);
    }
    ps_progress_step(job->progress, 1);
}

static gboolean replay_all(const PsCertificate *certificate, const PsProfile *profile,
                           GError **error)
{
    g_autoptr(PsProgress) progress = ps_progress_new("replay", certificate->candidates->len);
    Job job = {.profile = profile, .progress = progress};
    ps_replay_settings_init(&job.settings);
    if (!ps_replay_settings_set(&job.settings, "assume", "piper", error)) {
        return FALSE;
    }
    g_mutex_init(&job.mutex);
    GThreadPool *pool =
        g_thread_pool_new(replay_one, &job, (gint)g_get_num_processors(), FALSE, NULL);
    for (guint i = 0; i < certificate->candidates->len; i++) {
        g_thread_pool_push(pool, certificate->candidates->pdata[i], NULL);
    }
    g_thread_pool_free(pool, FALSE, TRUE);
    g_mutex_clear(&job.mutex);
    if (job.error != NULL) {
        g_propagate_error(error, job.error);
        return FALSE;
    }
    return TRUE;
}

static void choose_best(PsCertificate *certificate)
{
    double least = G_MAXDOUBLE;
    for (guint i = 0; i < certificate->candidates->len; i++) {
        const PsCertified *certified = certificate->candidates->pdata[i];
        /* Replays of equal plans may differ by a rounded picosecond. */
        if (certified->replayed_tps_s < least * (1 - 1e-9)) {
            least = certified->replayed_tps_s;
            certificate->best = i;
        }
    }
}

PsCertificate *ps_certify(const PsProfile *profile, const PsSetting *setting,
                          const PsPlannerOptions *options, guint n, GError **error)
{
    g_autoptr(PsCertificate) certificate = g_new0(PsCertificate, 1);
    certificate->candidates = g_ptr_array_new_with_free_func(certified_free);
    PsPlannerOptions nested = *options;
    nested.degrees = PS_DEGREES_NESTED;
    PsSetting sufficient = *setting;
    sufficient.in_flight = PS_IN_FLIGHT_SUFFICIENT;
    if (!add_top(certificate, profile, setting, options, n, error)) {
        return NULL;
    }
    /* Where the best estimate is a nested plan's, nothing can be faster. Else either class may be
     * too narrow for the memory there is. */
    const PsCertified *best = certificate->candidates->pdata[0];
    if (!ps_plan_is_replayable(best->plan) &&
        ((!any_nested(certificate) && !add_top(certificate, profile, setting, &nested, 1, NULL)) ||
         !add_top(certificate, profile, &sufficient, options, 1, NULL))) {
        ps_note(
            "not all classes of plans that are sure to reach their estimate have one that fits");
    }
    if (!replay_all(certificate, profile, error)) {
        return NULL;
    }
    const PsCertified *first = certificate->candidates->pdata[0];
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(first->plan, profile);
    certificate->bound_s = estimate->tps_s / (1 + first->plan->gap);
    choose_best(certificate);
    return g_steal_pointer(&certificate);
}
