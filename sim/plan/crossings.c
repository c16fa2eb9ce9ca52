/* The levels that are in force, and which of them stages pay where they lie. */
#include "sim/plan/plan.h"

PsLevels ps_setting_levels(const PsSetting *setting)
{
    if (setting->levels.n > 0) {
        return ps_levels_up_to(&setting->levels, setting->devices);
    }
    return (PsLevels){1, {{setting->devices, setting->bandwidth_bytes_per_s}}};
}

gboolean ps_setting_is_flat(const PsSetting *setting)
{
    return setting->levels.n < 2 || setting->levels.level[0].size >= setting->devices;
}

void ps_setting_use_devices(PsSetting *setting, guint devices)
{
    setting->devices = devices;
    PsLevels levels = ps_setting_levels(setting);
    setting->bandwidth_bytes_per_s = levels.level[levels.n - 1].bandwidth_bytes_per_s;
}

static guint64 last_device(const PsStage *stage)
{
    guint64 n = (guint64)stage->data_parallel * stage->tensor_parallel;
    return stage->first_device + MAX(n, 1) - 1;
}

/* The innermost level that holds both stages, wherever they lie. */
static guint8 joining_level(const PsLevels *levels, const PsStage *one, const PsStage *other)
{
    guint64 first = MIN(one->first_device, other->first_device);
    guint64 last = MAX(last_device(one), last_device(other));
    return (guint8)ps_levels_span(levels, first, last);
}

void ps_plan_crossings(const PsPlan *plan, PsCrossing *crossings)
{
    PsLevels levels = ps_setting_levels(&plan->setting);
    for (guint i = 0; i < plan->n_stages; i++) {
        const PsStage *stage = &plan->stages[i];
        PsCrossing *own = &crossings[i];
        own->resync = own->enter = own->leave = joining_level(&levels, stage, stage);
        if (i > 0) {
            own->enter = crossings[i - 1].leave = joining_level(&levels, &stage[-1], stage);
        }
    }
}

guint64 ps_plan_span(const PsPlan *plan)
{
    PsLevels levels = ps_setting_levels(&plan->setting);
    guint64 first = plan->stages[0].first_device;
    guint64 end = last_device(&plan->stages[plan->n_stages - 1]) + 1;
    /* The border behind it, of the groups inside the innermost one that holds first and last. */
    guint joins = ps_levels_span(&levels, first, end - 1);
    guint64 size = joins > 0 ? levels.level[joins - 1].size : 1;
    return (end + size - 1) / size * size - first;
}
