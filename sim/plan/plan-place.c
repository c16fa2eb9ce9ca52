/* Where a plan's stages lie. */
#include "sim/plan/plan.h"

typedef struct {
    const PsPlan *plan;
    const PsProfile *profile;
} Placed;

static double load_s(guint stage, PsCrossing crossing, gpointer user_data)
{
    const Placed *placed = user_data;
    return ps_stage_load_s(placed->plan, placed->profile, stage, crossing);
}

static void put_side_by_side(PsPlan *plan)
{
    guint64 device = 0;
    for (guint i = 0; i < plan->n_stages; i++) {
        PsStage *stage = &plan->stages[i];
        stage->first_device = (guint)MIN(device, G_MAXINT);
        device += (guint64)stage->data_parallel * stage->tensor_parallel;
    }
}

/* Returns how many devices the stages take from the end of the pipeline on, or 0. */
static guint place_by(const PsPlan *plan, const PsSetting *setting, PsStageLoad load,
                      gpointer user_data, guint *first_devices)
{
    PsLevels levels = ps_setting_levels(setting);
    g_autofree PsStageDegrees *degrees = g_new(PsStageDegrees, plan->n_stages);
    for (guint i = 0; i < plan->n_stages; i++) {
        const PsStage *stage = &plan->stages[i];
        degrees[i] = (PsStageDegrees){stage->data_parallel, stage->tensor_parallel};
    }
    return ps_place(&levels, setting->devices, degrees, plan->n_stages, load, user_data,
                    first_devices);
}

gboolean ps_plan_place_by(PsPlan *plan, PsStageLoad load, gpointer user_data)
{
    g_autofree guint *first_devices = g_new(guint, plan->n_stages);
    if (place_by(plan, &plan->setting, load, user_data, first_devices) == 0) {
        put_side_by_side(plan);
        return FALSE;
    }
    for (guint i = 0; i < plan->n_stages; i++) {
        plan->stages[i].first_device = first_devices[i];
    }
    return TRUE;
}

gboolean ps_plan_place(PsPlan *plan, const PsProfile *profile)
{
    Placed placed = {plan, profile};
    return ps_plan_place_by(plan, load_s, &placed);
}

static double no_load(guint stage, PsCrossing crossing, gpointer user_data)
{
    (void)stage;
    (void)crossing;
    (void)user_data;
    return 0;
}

guint ps_plan_least_devices(const PsPlan *plan, const PsSetting *setting)
{
    PsSetting cluster = *setting;
    if (setting->levels.n > 0) {
        cluster.devices = setting->levels.level[setting->levels.n - 1].size;
    }
    g_autofree guint *first_devices = g_new(guint, plan->n_stages);
    /* Loads are equal, so the fewest devices are taken. */
    return place_by(plan, &cluster, no_load, NULL, first_devices);
}

static gboolean same_levels(const PsSetting *one, const PsSetting *other)
{
    PsLevels a = ps_setting_levels(one), b = ps_setting_levels(other);
    gboolean same = a.n == b.n;
    for (guint i = 0; same && i + 1 < a.n; i++) {
        same = a.level[i].size == b.level[i].size &&
               a.level[i].bandwidth_bytes_per_s == b.level[i].bandwidth_bytes_per_s;
    }
    return same && a.level[a.n - 1].bandwidth_bytes_per_s == b.level[b.n - 1].bandwidth_bytes_per_s;
}

void ps_plan_change_setting(PsPlan *plan, const PsProfile *profile, const PsSetting *setting)
{
    gboolean same = same_levels(&plan->setting, setting);
    plan->setting = *setting;
    if (!same && !ps_setting_is_flat(setting)) {
        ps_plan_place(plan, profile);
    }
}
