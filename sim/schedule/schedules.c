#include "sim/schedule/schedules.h"

#include "sim/base/error.h"
#include "sim/base/suggest.h"

#define PS_SCHEDULE(name) &ps_schedule_##name,
const PsSchedule *const ps_schedules[] = {
#include "sim/schedule/schedules.def"
    NULL};
#undef PS_SCHEDULE

const PsSchedule *ps_schedule_find(const char *name, GError **error)
{
    const char *names[G_N_ELEMENTS(ps_schedules)] = {NULL};
    for (guint i = 0; ps_schedules[i] != NULL; i++) {
        if (g_str_equal(ps_schedules[i]->name, name)) {
            return ps_schedules[i];
        }
        names[i] = ps_schedules[i]->name;
    }
    g_autofree char *suggestion = ps_suggest_text(name, names);
    ps_error(error, PS_ERROR_USAGE, "unknown schedule \"%s\"%s", name, suggestion);
    return NULL;
}
