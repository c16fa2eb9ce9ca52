#include "sim/trace/run.h"

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/trace/run-files.h"
#include "sim/trace/run-rows.h"
#include "sim/trace/summary.h"

/* Hashing takes half as long as reading, so it is done beside it. Returns NULL on failure. */
static gpointer hash_file(gpointer path)
{
    return ps_digest_file(path);
}

static gboolean check_sha256(const char *path, const char *found, const char *expected,
                             GError **error)
{
    if (expected == NULL || g_strcmp0(found, expected) == 0) {
        return TRUE;
    }
    ps_error_at(error, path, 0,
                "changed since the run: its SHA-256 is not the one in %s (expected %s, found %s)",
                PS_RUN_SUMMARY, expected, found != NULL ? found : "none");
    return FALSE;
}

/* The folder's CSV files. */
typedef struct {
    PsRunParts part;
    const char *name;
    const char *const *columns;
    PsCsvRowFunc row_func;
    guint record_size;
    gsize sha256; /* offset in PsRunSummary */
    gsize place;  /* offset in PsRun of the array of records */
    gboolean optional;
} File;

static const File files[] = {
    {PS_RUN_OPS, PS_RUN_TRACE, ps_trace_columns, ps_run_row_op, sizeof(PsTraceOp),
     G_STRUCT_OFFSET(PsRunSummary, trace_sha256), G_STRUCT_OFFSET(PsRun, ops), FALSE},
    {PS_RUN_MEMORY, PS_RUN_MEMORY_FILE, ps_memory_columns, ps_run_row_memory, sizeof(PsTraceMemory),
     G_STRUCT_OFFSET(PsRunSummary, memory_sha256), G_STRUCT_OFFSET(PsRun, memory), FALSE},
    {PS_RUN_LOADS, PS_RUN_LOADER, ps_loader_columns, ps_run_row_load, sizeof(PsTraceLoad),
     G_STRUCT_OFFSET(PsRunSummary, loader_sha256), G_STRUCT_OFFSET(PsRun, loads), TRUE},
    {PS_RUN_LINKS, PS_RUN_LINKS_FILE, ps_links_columns, ps_run_row_link, sizeof(PsRunLink),
     G_STRUCT_OFFSET(PsRunSummary, links_sha256), G_STRUCT_OFFSET(PsRun, links), TRUE},
};

static gboolean read_file(const File *file, const char *path, const char *sha256,
                          PsRunReading *reading, GError **error)
{
    if (file->optional && sha256 == NULL && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        return TRUE;
    }
    GThread *hashing = sha256 != NULL ? g_thread_new("sha256", hash_file, (gpointer)path) : NULL;
    gboolean read = ps_csv_read(path, file->columns, file->row_func, reading, error);
    g_autofree char *found = hashing != NULL ? g_thread_join(hashing) : NULL;
    return read && check_sha256(path, found, sha256, error);
}

static gboolean read_part(PsRun *run, const File *file, const PsRunReading *frame, GError **error)
{
    g_autofree char *path = g_build_filename(run->folder, file->name, NULL);
    GArray *records = file->part == PS_RUN_LINKS ? ps_run_links_new()
                                                 : g_array_new(FALSE, FALSE, file->record_size);
    G_STRUCT_MEMBER(GArray *, run, file->place) = records;
    PsRunReading reading = *frame;
    reading.records = records;
    if (!read_file(file, path, G_STRUCT_MEMBER(char *, run->summary, file->sha256), &reading,
                   error)) {
        return FALSE;
    }
    if (file->part == PS_RUN_OPS && records->len != run->summary->n_ops) {
        g_autofree char *rows = ps_counted(records->len, "row");
        ps_error_at(error, path, 0, "%s (expected %" G_GINT64_FORMAT ": trace_rows in %s)", rows,
                    run->summary->n_ops, PS_RUN_SUMMARY);
        return FALSE;
    }
    return TRUE;
}

PsRun *ps_run_load(const char *folder, PsRunParts parts, GError **error)
{
    g_autofree char *path = g_build_filename(folder, PS_RUN_SUMMARY, NULL);
    g_autoptr(PsRun) run = g_new0(PsRun, 1);
    run->folder = g_strdup(folder);
    run->summary = ps_run_summary_read(path, error);
    if (run->summary == NULL) {
        return NULL;
    }
    const PsRunSummary *summary = run->summary;
    guint n_lanes = ps_run_summary_n_lanes(summary), rank = 0;
    g_autofree guint *stage_of = g_new(guint, n_lanes);
    g_autofree guint *first_ranks = g_new(guint, summary->n_stages);
    for (guint i = 0; i < summary->n_stages; i++) {
        const PsRunStage *stage = &summary->stages[i];
        first_ranks[i] = rank;
        rank += stage->data_parallel * stage->tensor_parallel;
        for (guint k = 0; k < stage->data_parallel; k++) {
            stage_of[stage->first_lane + k] = i;
        }
    }
    /* Where it was written as a double of seconds, from 4096 s on that is coarser than 1 ps. */
    gint64 latest_ps = summary->makespan_ps + (summary->makespan_ps >> 52) + 1;
    const PsRunReading frame = {summary, n_lanes, stage_of, first_ranks, latest_ps, NULL};
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        if (parts & files[i].part && !read_part(run, &files[i], &frame, error)) {
            return NULL;
        }
    }
    return g_steal_pointer(&run);
}
