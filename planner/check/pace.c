#include "planner/check/pace.h"

static void add_batch(PsPace *pace, gint64 length_ps)
{
    pace->least_batch_ps = pace->n_batches > 0 ? MIN(pace->least_batch_ps, length_ps) : length_ps;
    pace->most_batch_ps = MAX(pace->most_batch_ps, length_ps);
    pace->n_batches++;
}

PsPace ps_pace_measure(const PsRunSummary *summary, const gint64 *ends_ps, gint64 n)
{
    PsPace pace = {0};
    gint64 batch = MAX(summary->setting.microbatches, 1);
    gint64 all_ps = 0; /* when this microbatch and all before it were complete */
    gint64 last_batch_ps = summary->window_start_ps == 0 ? 0 : -1;
    for (gint64 i = 0; i < n; i++) {
        gint64 end_ps = ends_ps[i] >= 0 ? ends_ps[i] : all_ps;
        all_ps = MAX(all_ps, end_ps);
        pace.completed += ps_in_window(summary, end_ps);
        pace.completed_in_order += ps_in_window(summary, all_ps);
        if ((i + 1) % batch != 0) {
            continue;
        }
        if (last_batch_ps >= summary->window_start_ps && all_ps <= summary->window_end_ps) {
            add_batch(&pace, all_ps - last_batch_ps);
        }
        last_batch_ps = all_ps;
    }
    return pace;
}
