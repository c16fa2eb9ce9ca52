#include "sim/schedule/schedules.h"

#include "sim/base/error.h"
#include "sim/base/text.h"

const char *const ps_step_names[PS_N_STEPS + 1] = {"forward", "backward", "input", "weight", NULL};

gboolean ps_schedule_check_chunks(const PsSchedule *schedule, guint chunks, GError **error)
{
    if (chunks >= schedule->min_chunks && chunks <= schedule->max_chunks) {
        return TRUE;
    }
    g_autofree char *given = ps_counted(chunks, "chunk");
    g_autofree char *range =
        schedule->min_chunks == schedule->max_chunks
            ? g_strdup_printf("%u", schedule->min_chunks)
            : g_strdup_printf("%u to %u", schedule->min_chunks, schedule->max_chunks);
    ps_error(error, PS_ERROR_USAGE, "schedule %s cannot have %s per stage (expected %s)",
             schedule->name, given, range);
    return FALSE;
}

GArray *ps_schedule_list(const PsSchedule *schedule, const PsLaneShape *lane)
{
    GArray *steps = g_array_new(FALSE, FALSE, sizeof(PsStep));
    schedule->list(schedule, lane, steps);
    return steps;
}

guint ps_schedule_place(const PsSchedule *schedule, const PsLaneShape *lane, guint chunk)
{
    return schedule->place != NULL ? schedule->place(schedule, lane, chunk)
                                   : chunk * lane->n_stages + lane->stage;
}

guint ps_schedule_versions(const PsSchedule *schedule, guint batch, guint in_flight)
{
    guint spanned = 1 + (in_flight - 1 + batch - 1) / batch;
    return schedule->weight_versions > 0 ? schedule->weight_versions : spanned;
}

gboolean ps_one_forward_one_backward(const PsLanePosition *position, guint weight_versions,
                                     PsStepKind *kind)
{
    gint64 limit = position->end;
    if (weight_versions > 0) {
        gint64 whole_batches = position->n_backward / position->batch;
        limit = MIN((whole_batches + weight_versions) * position->batch, limit);
    }
    gint64 in_flight = position->n_forward - position->n_backward;
    gboolean forward = position->n_forward < limit && in_flight < position->in_flight;
    *kind = forward ? PS_STEP_FORWARD : PS_STEP_BACKWARD;
    return forward || in_flight > 0;
}

void ps_steps_trim(GArray *steps, guint batch)
{
    guint n_kept = 0;
    for (guint i = 0; i < steps->len; i++) {
        PsStep step = g_array_index(steps, PsStep, i);
        if (step.index < batch) {
            g_array_index(steps, PsStep, n_kept++) = step;
        }
    }
    g_array_set_size(steps, n_kept);
}

guint ps_place_in_v(const PsSchedule *schedule G_GNUC_UNUSED, const PsLaneShape *lane, guint chunk)
{
    return chunk == 0 ? lane->stage : 2 * lane->n_stages - 1 - lane->stage;
}
