#include "sim/replay/state.h"

void ps_feed_start(PsReplay *replay)
{
    for (guint i = 0; i < replay->workload->n_lanes; i++) {
        ps_transfer_advance(replay, i);
        ps_lane_try_start(replay, i);
    }
}

void ps_feed_set_end(PsReplay *replay, gint64 end)
{
    replay->result->microbatches_simulated = end;
    for (guint i = 0; i < replay->workload->n_lanes; i++) {
        PsLane *lane = &replay->lanes[i];
        gint64 d = replay->workload->stages[lane->stage].data_parallel;
        gint64 lane_end = (end - lane->replica + d - 1) / d;
        ps_cursor_set_end(&lane->cursor, lane_end);
        if (lane->posting != NULL) {
            ps_posting_set_end(lane->posting, lane_end);
        }
    }
    if (replay->loader != NULL) {
        ps_loader_set_end(replay->loader, end);
    }
    ps_feed_start(replay);
}

/* Microbatches that the lane has begun to get things for: posted receives, joined in gathering. */
static gint64 n_committed(const PsLane *lane)
{
    PsStep next;
    gint64 n = lane->posting != NULL ? ps_posting_n_begun(lane->posting) : 0;
    if (lane->n_gathers > lane->n_gathered && ps_cursor_peek(&lane->cursor, &next)) {
        n = MAX(n, next.index + 1);
    }
    return n;
}

/* Stops the feed after all that has begun or is waited for, so that the run is the same as if its
 * end had been known from the start. Batches that resync or flush are run to their end. */
void ps_feed_close(gpointer data, guint64 unused G_GNUC_UNUSED)
{
    PsReplay *replay = data;
    gint64 end = 0;
    for (guint i = 0; i < replay->workload->n_lanes; i++) {
        const PsLane *lane = &replay->lanes[i];
        gint64 n_begun = ps_cursor_n_begun(&lane->cursor, lane->state == PS_LANE_IDLE);
        n_begun = MAX(n_begun, n_committed(lane));
        if (n_begun > 0) {
            end = MAX(end, ps_lane_microbatch(replay, lane, n_begun - 1) + 1);
        }
    }
    if (replay->settings->resync == PS_RESYNC_BATCH ||
        ps_schedule_flushes(replay->settings->schedule)) {
        gint64 batch = replay->workload->microbatches;
        end = (end + batch - 1) / batch * batch;
    }
    ps_feed_set_end(replay, end);
}
