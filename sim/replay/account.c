#include "sim/replay/account.h"

typedef struct {
    guint n_stashed, n_workspaces;
} Held;

typedef struct {
    guint stage;
    Held held;
    gint64 since_ps; /* of the latest change */
    double peak_bytes;
    Held peak;
    guint most_stashed;
} Lane;

struct PsAccount {
    const PsWorkload *workload;
    const PsReplaySettings *settings;
    const PsTraceSink *sink;
    Lane *lanes;
};

/* What a lane of the stage holds on each device. */
static double category_bytes(const PsAccount *account, guint stage, const Held *held,
                             PsMemoryKind category)
{
    const PsWorkStage *work = &account->workload->stages[stage];
    const PsReplaySettings *settings = account->settings;
    double chunks = settings->chunks;
    switch (category) {
    case PS_MEMORY_WEIGHTS:
        return work->weights_bytes;
    case PS_MEMORY_WEIGHT_VERSIONS:
        return settings->schedule->weight_versions > 0
                   ? (settings->schedule->weight_versions - 1) * work->weight_versions_bytes
                   : (MAX(held->n_stashed, 1) - 1) * work->weights_bytes;
    case PS_MEMORY_STATE:
        return work->state_bytes;
    case PS_MEMORY_GRADIENTS: /* part of the state */
    case PS_MEMORY_OPTIMIZER:
    case PS_MEMORY_BUFFERS: /* not counted */
        return 0;
    case PS_MEMORY_STASH:
        return held->n_stashed * work->stash_bytes / chunks;
    case PS_MEMORY_WORKSPACE:
        return held->n_workspaces * work->workspace_bytes / chunks;
    case PS_N_MEMORY:
        break;
    }
    g_assert_not_reached();
}

/* Reports the category if the lane holds another amount of it than before. */
static void report(const PsAccount *account, guint number, PsMemoryKind category,
                   double before_bytes, gint64 time_ps)
{
    const Lane *lane = &account->lanes[number];
    double bytes = category_bytes(account, lane->stage, &lane->held, category);
    if (bytes != before_bytes && account->sink != NULL && account->sink->memory != NULL) {
        PsTraceMemory change = {time_ps, number, lane->stage, category, bytes};
        account->sink->memory(&change, account->sink->user_data);
    }
}

static double sum_held(const PsAccount *account, guint stage, const Held *held)
{
    double sum_bytes = 0;
    for (guint i = 0; i < PS_N_MEMORY; i++) {
        sum_bytes += category_bytes(account, stage, held, i);
    }
    return sum_bytes;
}

static gboolean fits(const PsAccount *account, const Lane *lane)
{
    double memory_bytes = account->workload->memory_bytes;
    return memory_bytes == 0 || sum_held(account, lane->stage, &lane->held) <= memory_bytes;
}

static void note_peak(const PsAccount *account, Lane *lane)
{
    double sum_bytes = sum_held(account, lane->stage, &lane->held);
    if (sum_bytes > lane->peak_bytes) {
        lane->peak_bytes = sum_bytes;
        lane->peak = lane->held;
    }
    lane->most_stashed = MAX(lane->most_stashed, lane->held.n_stashed);
}

/* The lane is about to hold something else. What it has held counts if that lasted. */
static void go_on_to(const PsAccount *account, Lane *lane, gint64 time_ps)
{
    if (time_ps > lane->since_ps) {
        note_peak(account, lane);
        lane->since_ps = time_ps;
    }
}

PsAccount *ps_account_new(const PsWorkload *workload, const PsReplaySettings *settings,
                          const PsTraceSink *sink)
{
    PsAccount *account = g_new0(PsAccount, 1);
    *account = (PsAccount){workload, settings, sink, g_new0(Lane, workload->n_lanes)};
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *work = &workload->stages[i];
        for (guint k = 0; k < work->data_parallel; k++) {
            Lane *lane = &account->lanes[work->first_lane + k];
            lane->stage = i;
            for (guint category = 0; category < PS_N_MEMORY; category++) {
                report(account, work->first_lane + k, category, 0, 0);
            }
        }
    }
    return account;
}

void ps_account_free(PsAccount *account)
{
    if (account != NULL) {
        g_free(account->lanes);
        g_free(account);
    }
}

gboolean ps_account_stash(PsAccount *account, guint number, gint n, gint64 time_ps)
{
    static const PsMemoryKind affected[] = {PS_MEMORY_WEIGHT_VERSIONS, PS_MEMORY_STASH};
    Lane *lane = &account->lanes[number];
    Held before = lane->held;
    go_on_to(account, lane, time_ps);
    lane->held.n_stashed += n;
    for (guint i = 0; i < G_N_ELEMENTS(affected); i++) {
        report(account, number, affected[i],
               category_bytes(account, lane->stage, &before, affected[i]), time_ps);
    }
    return n < 0 || fits(account, lane);
}

gboolean ps_account_workspace(PsAccount *account, guint number, gint n, gint64 time_ps)
{
    Lane *lane = &account->lanes[number];
    Held before = lane->held;
    go_on_to(account, lane, time_ps);
    lane->held.n_workspaces += n;
    report(account, number, PS_MEMORY_WORKSPACE,
           category_bytes(account, lane->stage, &before, PS_MEMORY_WORKSPACE), time_ps);
    return n < 0 || fits(account, lane);
}

double ps_account_held(const PsAccount *account, guint number, double bytes[PS_N_MEMORY])
{
    const Lane *lane = &account->lanes[number];
    for (guint i = 0; i < PS_N_MEMORY; i++) {
        bytes[i] = category_bytes(account, lane->stage, &lane->held, i);
    }
    return sum_held(account, lane->stage, &lane->held);
}

void ps_account_peak(const PsAccount *account, guint stage, double *bytes,
                     double peak_bytes[PS_N_MEMORY], double *stash_microbatches)
{
    const PsWorkStage *work = &account->workload->stages[stage];
    Lane peak = {.peak_bytes = -1};
    guint most_stashed = 0;
    for (guint k = 0; k < work->data_parallel; k++) {
        Lane lane = account->lanes[work->first_lane + k];
        note_peak(account, &lane); /* what it holds at the end */
        peak = lane.peak_bytes > peak.peak_bytes ? lane : peak;
        most_stashed = MAX(most_stashed, lane.most_stashed);
    }
    *bytes = peak.peak_bytes;
    *stash_microbatches = (double)most_stashed / account->settings->chunks;
    for (guint i = 0; i < PS_N_MEMORY; i++) {
        peak_bytes[i] = category_bytes(account, stage, &peak.peak, i);
    }
}
