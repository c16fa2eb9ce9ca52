#include "sim/replay/account.h"

typedef struct {
    guint stage;
    guint n_stashed;
    gboolean workspace;
    double peak_bytes;
    guint peak_stashed;
    gboolean peak_workspace;
    guint most_stashed;
} Lane;

struct PsAccount {
    const PsWorkload *workload;
    gboolean weight_versions;
    const PsTraceSink *sink;
    Lane *lanes;
};

static void report(const PsAccount *account, guint lane, PsMemoryKind category, double bytes,
                   gint64 time_ps)
{
    if (account->sink != NULL && account->sink->memory != NULL) {
        PsTraceMemory change = {time_ps, lane, account->lanes[lane].stage, category, bytes};
        account->sink->memory(&change, account->sink->user_data);
    }
}

static void categories(const PsAccount *account, const Lane *lane, guint n_stashed,
                       gboolean workspace, double bytes[PS_N_MEMORY])
{
    const PsWorkStage *work = &account->workload->stages[lane->stage];
    bytes[PS_MEMORY_WEIGHTS] = work->weights_bytes;
    bytes[PS_MEMORY_WEIGHT_VERSIONS] = account->weight_versions ? work->weight_versions_bytes : 0;
    bytes[PS_MEMORY_STATE] = work->state_bytes;
    bytes[PS_MEMORY_STASH] = n_stashed * work->stash_bytes;
    bytes[PS_MEMORY_WORKSPACE] = workspace ? work->workspace_bytes : 0;
}

static void note_peak(PsAccount *account, Lane *lane)
{
    double bytes[PS_N_MEMORY], sum_bytes = 0;
    categories(account, lane, lane->n_stashed, lane->workspace, bytes);
    for (guint i = 0; i < PS_N_MEMORY; i++) {
        sum_bytes += bytes[i];
    }
    if (sum_bytes > lane->peak_bytes) {
        lane->peak_bytes = sum_bytes;
        lane->peak_stashed = lane->n_stashed;
        lane->peak_workspace = lane->workspace;
    }
    lane->most_stashed = MAX(lane->most_stashed, lane->n_stashed);
}

PsAccount *ps_account_new(const PsWorkload *workload, gboolean weight_versions,
                          const PsTraceSink *sink)
{
    PsAccount *account = g_new0(PsAccount, 1);
    account->workload = workload;
    account->weight_versions = weight_versions;
    account->sink = sink;
    account->lanes = g_new0(Lane, workload->n_lanes);
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *work = &workload->stages[i];
        for (guint k = 0; k < work->data_parallel; k++) {
            guint number = work->first_lane + k;
            Lane *lane = &account->lanes[number];
            double bytes[PS_N_MEMORY];
            lane->stage = i;
            categories(account, lane, 0, FALSE, bytes);
            for (guint category = 0; category < PS_N_MEMORY; category++) {
                if (bytes[category] > 0) {
                    report(account, number, category, bytes[category], 0);
                }
            }
            note_peak(account, lane);
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

void ps_account_stash(PsAccount *account, guint number, gint n, gint64 time_ps)
{
    Lane *lane = &account->lanes[number];
    double each_bytes = account->workload->stages[lane->stage].stash_bytes;
    lane->n_stashed += n;
    if (each_bytes > 0) {
        report(account, number, PS_MEMORY_STASH, lane->n_stashed * each_bytes, time_ps);
    }
    if (n > 0) {
        note_peak(account, lane);
    }
}

void ps_account_workspace(PsAccount *account, guint number, gboolean taken, gint64 time_ps)
{
    Lane *lane = &account->lanes[number];
    double bytes = account->workload->stages[lane->stage].workspace_bytes;
    lane->workspace = taken;
    if (bytes > 0) {
        report(account, number, PS_MEMORY_WORKSPACE, taken ? bytes : 0, time_ps);
        if (taken) {
            note_peak(account, lane);
        }
    }
}

void ps_account_peak(const PsAccount *account, guint stage, double *bytes,
                     double category_bytes[PS_N_MEMORY], guint *stash_microbatches)
{
    const PsWorkStage *work = &account->workload->stages[stage];
    const Lane *peak = &account->lanes[work->first_lane];
    *stash_microbatches = 0;
    for (guint k = 0; k < work->data_parallel; k++) {
        const Lane *lane = &account->lanes[work->first_lane + k];
        peak = lane->peak_bytes > peak->peak_bytes ? lane : peak;
        *stash_microbatches = MAX(*stash_microbatches, lane->most_stashed);
    }
    *bytes = peak->peak_bytes;
    categories(account, peak, peak->peak_stashed, peak->peak_workspace, category_bytes);
}
