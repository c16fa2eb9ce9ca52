#include "sim/replay/account.h"

typedef struct {
    guint n_stashed, n_workspaces;
    gint64 buffer_bytes;
} Held;

typedef struct {
    guint stage;
    Held held;
    gint64 since_ps; /* of the latest change */
    double peak_bytes;
    Held peak;
    guint most_stashed;
} Lane;

/* What the lanes of a stage hold, on each device. */
typedef struct {
    double fixed_bytes[PS_N_MEMORY];
    double sum_fixed_bytes;
    double stash_bytes, workspace_bytes; /* of one microbatch on one chunk */
    double version_bytes; /* of the weights that a microbatch keeps, if the schedule says so */
} Stage;

struct PsAccount {
    const PsWorkload *workload;
    const PsReplaySettings *settings;
    const PsTraceSink *sink;
    Stage *stages;
    Lane *lanes;
};

static Stage make_stage(const PsWorkload *workload, guint number, const PsReplaySettings *settings)
{
    const PsWorkStage *work = &workload->stages[number];
    guint versions = settings->schedule->weight_versions;
    PsSharding sharding = settings->sharding;
    double d = ps_workload_replicas(workload, number), chunks = settings->chunks;
    double weight_share = sharding >= PS_SHARDING_ZERO3 ? 1 / d : 1;
    double gradient_share = sharding >= PS_SHARDING_ZERO2 ? 1 / d : 1;
    double optimizer_share = sharding >= PS_SHARDING_ZERO1 ? 1 / d : 1;
    Stage stage = {
        .fixed_bytes =
            {
                [PS_MEMORY_WEIGHTS] = work->weights_bytes * weight_share,
                [PS_MEMORY_WEIGHT_VERSIONS] =
                    versions > 1 ? (versions - 1) * work->weight_versions_bytes * weight_share : 0,
                [PS_MEMORY_GRADIENTS] = work->gradients_bytes * gradient_share,
                [PS_MEMORY_OPTIMIZER] = work->optimizer_bytes * optimizer_share,
                [PS_MEMORY_STATE] = work->state_bytes,
            },
        .stash_bytes = work->stash_bytes / chunks,
        .workspace_bytes = work->workspace_bytes / chunks,
        .version_bytes = versions == 0 ? work->weights_bytes : 0,
    };
    for (guint i = 0; i < PS_N_MEMORY; i++) {
        stage.sum_fixed_bytes += stage.fixed_bytes[i];
    }
    return stage;
}

static double extra_versions_bytes(const Stage *stage, const Held *held)
{
    return (MAX(held->n_stashed, 1) - 1) * stage->version_bytes;
}

/* What a lane of the stage holds on each device. */
static double category_bytes(const PsAccount *account, guint number, const Held *held,
                             PsMemoryKind category)
{
    const Stage *stage = &account->stages[number];
    switch (category) {
    case PS_MEMORY_WEIGHT_VERSIONS:
        return stage->fixed_bytes[category] + extra_versions_bytes(stage, held);
    case PS_MEMORY_STASH:
        return held->n_stashed * stage->stash_bytes;
    case PS_MEMORY_WORKSPACE:
        return held->n_workspaces * stage->workspace_bytes;
    case PS_MEMORY_BUFFERS:
        return (double)held->buffer_bytes;
    default:
        return stage->fixed_bytes[category];
    }
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

static double sum_held(const PsAccount *account, guint number, const Held *held)
{
    const Stage *stage = &account->stages[number];
    return stage->sum_fixed_bytes + extra_versions_bytes(stage, held) +
           held->n_stashed * stage->stash_bytes + held->n_workspaces * stage->workspace_bytes +
           (double)held->buffer_bytes;
}

static gboolean fits(const PsAccount *account, const Lane *lane)
{
    double memory_bytes = account->workload->memory_bytes;
    return memory_bytes == 0 ||
           ps_memory_fits(sum_held(account, lane->stage, &lane->held), memory_bytes);
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
    *account = (PsAccount){workload, settings, sink, g_new(Stage, workload->n_stages),
                           g_new0(Lane, workload->n_lanes)};
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *work = &workload->stages[i];
        account->stages[i] = make_stage(workload, i, settings);
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
        g_free(account->stages);
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

gboolean ps_account_buffer(PsAccount *account, guint number, gint64 bytes, gint64 time_ps)
{
    Lane *lane = &account->lanes[number];
    Held before = lane->held;
    if (bytes == 0) {
        return TRUE;
    }
    go_on_to(account, lane, time_ps);
    lane->held.buffer_bytes += bytes;
    report(account, number, PS_MEMORY_BUFFERS, (double)before.buffer_bytes, time_ps);
    return bytes < 0 || fits(account, lane);
}

gboolean ps_account_fits(const PsAccount *account, guint number)
{
    return fits(account, &account->lanes[number]);
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
