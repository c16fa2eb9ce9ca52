#include "sim/base/units.h"
#include "sim/replay/state.h"

/* "0, 2-5": of microbatches since the start of the run, in ascending order. */
static char *describe_alive(const PsReplay *replay, const PsLane *lane)
{
    g_autoptr(GArray) alive = ps_cursor_alive(&lane->cursor, &lane->step);
    gint64 d = replay->workload->stages[lane->stage].data_parallel;
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < alive->len; i++) {
        guint first = i;
        gint64 from = ps_lane_microbatch(replay, lane, g_array_index(alive, gint64, i)), to = from;
        while (i + 1 < alive->len && d == 1 && g_array_index(alive, gint64, i + 1) == to + 1) {
            to = g_array_index(alive, gint64, ++i);
        }
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, first > 0 ? ", " : "", from);
        if (to > from) {
            g_string_append_printf(text, "-%" G_GINT64_FORMAT, to);
        }
    }
    return g_string_free(text, FALSE);
}

/* How many microbatches in flight would fit; 0: none. */
static guint fitting_in_flight(const PsReplay *replay, const PsLane *lane, double excess_bytes)
{
    const PsWorkStage *work = &replay->workload->stages[lane->stage];
    double each_bytes =
        work->stash_bytes +
        (replay->settings->schedule->weight_versions == 0 ? work->weights_bytes : 0);
    g_autoptr(GArray) alive = ps_cursor_alive(&lane->cursor, &lane->step);
    for (guint fewer = 1; fewer < alive->len; fewer++) {
        if (fewer * each_bytes >= excess_bytes) {
            return alive->len - fewer;
        }
    }
    return 0;
}

/* What the replicas of the stage would save by sharing out what they all hold, less what then
 * passes through on its way. */
static double saved_by_sharding(const PsReplay *replay, const PsLane *lane, PsSharding sharding)
{
    const PsWorkStage *work = &replay->workload->stages[lane->stage];
    double others = 1 - 1.0 / work->data_parallel;
    double passing_bytes = work->gradient_bytes / replay->settings->chunks;
    double saved_bytes = work->optimizer_bytes * others;
    if (sharding >= PS_SHARDING_ZERO2) {
        saved_bytes += work->gradients_bytes * others - passing_bytes;
    }
    if (sharding >= PS_SHARDING_ZERO3) {
        saved_bytes += work->weights_bytes * others - 2 * passing_bytes;
    }
    return saved_bytes;
}

static gboolean sharding_helps(const PsReplay *replay, const PsLane *lane, PsSharding sharding,
                               double excess_bytes)
{
    return replay->settings->sharding == PS_SHARDING_NONE &&
           replay->settings->resync == PS_RESYNC_BATCH && replay->lists != NULL &&
           saved_by_sharding(replay, lane, sharding) >= excess_bytes;
}

/* The cheapest change that would do at this moment: sharing optimizer state moves no byte more,
 * fewer in flight cost bubbles, sharing the rest costs transfers in every step. */
static char *describe_remedy(const PsReplay *replay, const PsLane *lane, double excess_bytes,
                             double held_bytes)
{
    guint in_flight = fitting_in_flight(replay, lane, excess_bytes);
    if (sharding_helps(replay, lane, PS_SHARDING_ZERO1, excess_bytes)) {
        return g_strdup("here, --sharding zero1 would fit");
    }
    if (in_flight > 0) {
        return g_strdup_printf("here, %u in flight would fit", in_flight);
    }
    if (sharding_helps(replay, lane, PS_SHARDING_ZERO2, excess_bytes)) {
        return g_strdup("here, not even one in flight would fit, but --sharding zero2 would");
    }
    if (sharding_helps(replay, lane, PS_SHARDING_ZERO3, excess_bytes)) {
        return g_strdup("here, not even one in flight would fit, but --sharding zero3 would");
    }
    g_autofree char *held = ps_quantity_format(PS_BYTES, held_bytes);
    return g_strdup_printf("here, not even one in flight would fit; %s on each device would", held);
}

static char *describe_categories(const double bytes[PS_N_MEMORY])
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < PS_N_MEMORY; i++) {
        if (bytes[i] > 0) {
            g_autofree char *quantity = ps_quantity_format(PS_BYTES, bytes[i]);
            g_string_append_printf(text, "%s%s %s", text->len > 0 ? ", " : "", ps_memory_names[i],
                                   quantity);
        }
    }
    return g_string_free(text, FALSE);
}

static char *describe_overflow(const PsReplay *replay, guint number)
{
    const PsLane *lane = &replay->lanes[number];
    double bytes[PS_N_MEMORY], there_bytes = replay->workload->memory_bytes;
    double held_bytes = ps_account_held(replay->account, number, bytes);
    g_autofree char *categories = describe_categories(bytes);
    g_autofree char *alive = describe_alive(replay, lane);
    g_autofree char *remedy = describe_remedy(replay, lane, held_bytes - there_bytes, held_bytes);
    g_autofree char *held = ps_quantity_format(PS_BYTES, held_bytes);
    g_autofree char *there = ps_quantity_format(PS_BYTES, there_bytes);
    g_autofree char *time =
        ps_quantity_format(PS_SECONDS, ps_ps_to_seconds(ps_simulator_now(replay->simulator)));
    return g_strdup_printf(
        "out of memory: lane %u (stage %u, replica %u) at %s in %s of microbatch %" G_GINT64_FORMAT
        ": %s on each device (expected at most %s): %s; microbatches alive: %s; %s",
        number, lane->stage, lane->replica, time,
        lane->step.kind == PS_STEP_FORWARD ? "forward" : "backward",
        ps_lane_microbatch(replay, lane, lane->step.index), held, there, categories, alive, remedy);
}

void ps_replay_note_overflow(PsReplay *replay)
{
    if (replay->result->out_of_memory == NULL && !replay->settling) {
        replay->settling = TRUE;
        ps_simulator_schedule(replay->simulator, ps_simulator_now(replay->simulator),
                              PS_PRIORITY_SETTLE, replay->settle_handler, 0);
    }
}

void ps_replay_settle(gpointer data, guint64 unused G_GNUC_UNUSED)
{
    PsReplay *replay = data;
    guint number = 0;
    replay->settling = FALSE;
    while (number < replay->workload->n_lanes && ps_account_fits(replay->account, number)) {
        number++;
    }
    if (number < replay->workload->n_lanes) {
        replay->result->out_of_memory = describe_overflow(replay, number);
    }
}
