#include "sim/schedule/schedule-csv.h"

#include "sim/base/csv.h"
#include "sim/schedule/actions.h"
#include "sim/schedule/cursor.h"

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct {
    PsSchedule schedule; /* first: a PsSchedule is cast to it */
    PsActions *actions;
} File;

/* The chunk-th stage on the rank. */
static guint place(const PsSchedule *schedule, const PsLaneShape *lane, guint chunk)
{
    const PsActions *actions = ((const File *)schedule)->actions;
    guint stage = 0;
    while (actions->rank_of[stage] != lane->stage || chunk-- > 0) {
        stage++;
    }
    return stage;
}

/* The chunk that each of the rank's stages is there. Caller frees. */
static guint *find_chunks(const PsSchedule *schedule, const PsLaneShape *lane)
{
    guint *chunk_of = g_new0(guint, ((const File *)schedule)->actions->n_stages);
    for (guint chunk = 0; chunk < lane->chunks; chunk++) {
        chunk_of[place(schedule, lane, chunk)] = chunk;
    }
    return chunk_of;
}

static void list(const PsSchedule *schedule, const PsLaneShape *lane, GArray *steps)
{
    const PsActions *actions = ((const File *)schedule)->actions;
    const GArray *row = ps_actions_of(actions, lane->stage);
    g_autofree guint *chunk_of = find_chunks(schedule, lane);
    for (guint i = 0; i < row->len; i++) {
        const PsAction *action = &g_array_index(row, PsAction, i);
        if (action->kind <= PS_ACTION_WEIGHT) {
            ps_step_add(steps, (PsStepKind)action->kind, chunk_of[action->stage],
                        action->microbatch);
        }
    }
}

static void list_transfers(const PsSchedule *schedule, const PsLaneShape *lane, GArray *transfers)
{
    const PsActions *actions = ((const File *)schedule)->actions;
    const GArray *row = ps_actions_of(actions, lane->stage);
    g_autofree guint *chunk_of = find_chunks(schedule, lane);
    for (guint i = 0; i < row->len; i++) {
        const PsAction *action = &g_array_index(row, PsAction, i);
        gboolean forward = action->kind == PS_ACTION_SEND_F || action->kind == PS_ACTION_RECV_F;
        gboolean sends = action->kind == PS_ACTION_SEND_F || action->kind == PS_ACTION_SEND_B;
        if (action->kind >= PS_ACTION_SEND_F && action->kind <= PS_ACTION_RECV_B) {
            const PsStepTransfer transfer = {sends,
                                             {forward ? PS_STEP_FORWARD : PS_STEP_BACKWARD,
                                              chunk_of[action->stage], action->microbatch}};
            g_array_append_val(transfers, transfer);
        }
    }
}

gboolean ps_schedule_is_file(const char *name)
{
    return g_str_has_suffix(name, ".csv");
}

PsSchedule *ps_schedule_read(const char *path, GError **error)
{
    g_autoptr(PsActions) actions = ps_actions_read(path, error);
    if (actions == NULL || !ps_actions_verify(actions, error) || !ps_actions_run(actions, error)) {
        return NULL;
    }
    File *file = g_new0(File, 1);
    guint chunks = actions->n_stages / actions->n_ranks;
    file->schedule = (PsSchedule){
        .name = actions->path,
        .summary = "read from a file",
        .weight_versions = 1,
        .min_chunks = chunks,
        .max_chunks = chunks,
        .uniform = TRUE,
        .n_stages = actions->n_ranks,
        .batch = actions->n_microbatches,
        .sha256 = actions->sha256,
        .place = place,
        .list = list,
        .transfers = actions->transfers ? list_transfers : NULL,
    };
    file->actions = g_steal_pointer(&actions);
    return &file->schedule;
}

void ps_schedule_free(PsSchedule *schedule)
{
    if (schedule != NULL) {
        ps_actions_free(((File *)schedule)->actions);
        g_free(schedule);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

void ps_schedule_write(const PsSchedule *schedule, guint n_stages, guint chunks, guint batch,
                       PsOutput *output)
{
    PsCsvWriter *writer = ps_csv_writer_new(output);
    for (guint stage = 0; stage < n_stages; stage++) {
        const PsLaneShape lane = {stage, n_stages, chunks, batch, n_stages - stage};
        g_autoptr(GArray) steps =
            ps_schedule_flushes(schedule) ? ps_schedule_list(schedule, &lane) : NULL;
        PsCursor cursor;
        ps_cursor_init(&cursor, schedule, &lane, steps);
        ps_cursor_set_end(&cursor, batch);
        for (PsStep step; ps_cursor_peek(&cursor, &step); ps_cursor_take(&cursor, &step)) {
            const PsAction action = {(PsActionKind)step.kind,
                                     ps_schedule_place(schedule, &lane, step.chunk),
                                     (guint)step.index};
            g_autofree char *text = ps_action_text(&action);
            ps_csv_text(writer, text);
        }
        ps_csv_end_row(writer);
    }
    ps_csv_flush(writer);
    ps_csv_writer_free(writer);
}
