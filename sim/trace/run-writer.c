#include "sim/trace/run-writer.h"

#include <errno.h>
#include <glib/gstdio.h>

#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/base/folder.h"
#include "sim/trace/run-files.h"
#include "sim/trace/summary.h"

/* A CSV file under way. */
typedef struct {
    PsOutput *output;
    PsDigest *digest;
    PsCsvWriter *writer;
} File;

enum { TRACE, MEMORY, LOADER, LINKS, SUMMARY, N_FILES };

struct PsRunWriter {
    char *folder;
    PsFolder *made;
    File files[N_FILES];
    GArray *loads; /* PsTraceLoad: few, so that a file is made only where there are any */
    GArray *links; /* PsRunLink */
    PsTraceSink sink;
};

static gboolean file_open(File *file, const char *folder, const char *name,
                          const char *const *columns, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    file->output = ps_output_open(path, error);
    if (file->output == NULL) {
        return FALSE;
    }
    file->digest = ps_digest_new();
    ps_output_digest(file->output, file->digest);
    file->writer = ps_csv_writer_new(file->output);
    for (guint i = 0; columns[i] != NULL; i++) {
        ps_csv_text(file->writer, columns[i]);
    }
    ps_csv_end_row(file->writer);
    return TRUE;
}

/* All is written; *sha256 becomes the file's SHA-256. */
static gboolean file_settle(File *file, char **sha256, GError **error)
{
    ps_csv_flush(file->writer);
    if (!ps_output_settle(file->output, error)) {
        return FALSE;
    }
    g_free(*sha256);
    *sha256 = ps_digest_finish(file->digest);
    return TRUE;
}

static void file_clear(File *file)
{
    g_clear_pointer(&file->writer, ps_csv_writer_free);
    g_clear_pointer(&file->output, ps_output_free);
    g_clear_pointer(&file->digest, ps_digest_free);
}

static void write_op(const PsTraceOp *op, gpointer user_data)
{
    PsCsvWriter *writer = ((PsRunWriter *)user_data)->files[TRACE].writer;
    ps_csv_int(writer, op->lane);
    ps_csv_int(writer, op->stage);
    ps_csv_int(writer, op->replica);
    ps_csv_int(writer, op->rank);
    ps_csv_text(writer, ps_stream_names[op->stream]);
    ps_csv_text(writer, ps_op_names[op->kind]);
    ps_csv_int(writer, op->microbatch);
    ps_csv_int(writer, op->chunk);
    ps_csv_time(writer, op->start_ps);
    ps_csv_time(writer, op->end_ps);
    ps_csv_double(writer, op->bytes);
    ps_csv_int(writer, op->peer);
    ps_csv_end_row(writer);
}

static void write_memory(const PsTraceMemory *change, gpointer user_data)
{
    PsCsvWriter *writer = ((PsRunWriter *)user_data)->files[MEMORY].writer;
    ps_csv_time(writer, change->time_ps);
    ps_csv_int(writer, change->lane);
    ps_csv_int(writer, change->stage);
    ps_csv_text(writer, ps_memory_names[change->category]);
    ps_csv_double(writer, change->bytes);
    ps_csv_end_row(writer);
}

static void keep_load(const PsTraceLoad *load, gpointer user_data)
{
    g_array_append_vals(((PsRunWriter *)user_data)->loads, load, 1);
}

void ps_run_writer_set_links(PsRunWriter *writer, const PsRunLink *links, guint n_links)
{
    g_array_set_size(writer->links, 0);
    for (guint i = 0; i < n_links; i++) {
        PsRunLink copy = links[i];
        copy.name = g_strdup(links[i].name);
        g_array_append_val(writer->links, copy);
    }
}

/* Of an older run in the folder, what this one may not replace; the summary first: without it
 * nothing takes the files of both for a run. */
static gboolean remove_old(const char *folder, GError **error)
{
    static const char *const files[] = {PS_RUN_SUMMARY, PS_RUN_LOADER, PS_RUN_LINKS_FILE};
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(folder, files[i], NULL);
        if (g_unlink(path) != 0 && errno != ENOENT) {
            ps_error(error, PS_ERROR_IO, "%s: %s", path, g_strerror(errno));
            return FALSE;
        }
    }
    return TRUE;
}

PsRunWriter *ps_run_writer_new(const char *folder, GError **error)
{
    g_autoptr(PsRunWriter) writer = g_new0(PsRunWriter, 1);
    writer->folder = g_strdup(folder);
    writer->loads = g_array_new(FALSE, FALSE, sizeof(PsTraceLoad));
    writer->links = ps_run_links_new();
    writer->sink = (PsTraceSink){
        .op = write_op, .memory = write_memory, .load = keep_load, .user_data = writer};
    writer->made = ps_folder_make(folder, error);
    if (writer->made == NULL ||
        !file_open(&writer->files[TRACE], folder, PS_RUN_TRACE, ps_trace_columns, error) ||
        !file_open(&writer->files[MEMORY], folder, PS_RUN_MEMORY_FILE, ps_memory_columns, error)) {
        return NULL;
    }
    return g_steal_pointer(&writer);
}

void ps_run_writer_free(PsRunWriter *writer)
{
    if (writer != NULL) {
        for (guint i = 0; i < N_FILES; i++) {
            file_clear(&writer->files[i]);
        }
        ps_folder_free(writer->made);
        g_array_unref(writer->loads);
        g_array_unref(writer->links);
        g_free(writer->folder);
        g_free(writer);
    }
}

const PsTraceSink *ps_run_writer_sink(PsRunWriter *writer)
{
    return &writer->sink;
}

static void write_loads(const GArray *loads, PsCsvWriter *writer)
{
    for (guint i = 0; i < loads->len; i++) {
        const PsTraceLoad *load = &g_array_index(loads, PsTraceLoad, i);
        ps_csv_int(writer, load->server);
        ps_csv_int(writer, load->sample);
        ps_csv_time(writer, load->start_ps);
        ps_csv_time(writer, load->end_ps);
        ps_csv_end_row(writer);
    }
}

static void write_links(const GArray *links, gint64 makespan_ps, PsCsvWriter *writer)
{
    for (guint i = 0; i < links->len; i++) {
        const PsRunLink *link = &g_array_index(links, PsRunLink, i);
        ps_csv_int(writer, link->link);
        ps_csv_text(writer, link->name);
        ps_csv_double(writer, link->capacity_bytes_per_s);
        ps_csv_time(writer, link->busy_ps);
        ps_csv_double(writer, link->moved_bytes);
        ps_csv_double(writer, ps_run_link_utilisation(link, makespan_ps));
        ps_csv_int(writer, link->peak_flows);
        ps_csv_end_row(writer);
    }
}

/* Writes the files that only some runs have. */
static gboolean write_others(PsRunWriter *writer, PsRunSummary *summary, GError **error)
{
    File *loader = &writer->files[LOADER], *links = &writer->files[LINKS];
    if (writer->loads->len > 0) {
        if (!file_open(loader, writer->folder, PS_RUN_LOADER, ps_loader_columns, error)) {
            return FALSE;
        }
        write_loads(writer->loads, loader->writer);
        if (!file_settle(loader, &summary->loader_sha256, error)) {
            return FALSE;
        }
    }
    if (writer->links->len > 0) {
        if (!file_open(links, writer->folder, PS_RUN_LINKS_FILE, ps_links_columns, error)) {
            return FALSE;
        }
        write_links(writer->links, summary->makespan_ps, links->writer);
        return file_settle(links, &summary->links_sha256, error);
    }
    return TRUE;
}

static gboolean write_summary(PsRunWriter *writer, const PsRunSummary *summary, GError **error)
{
    g_autofree char *path = g_build_filename(writer->folder, PS_RUN_SUMMARY, NULL);
    PsOutput *output = writer->files[SUMMARY].output = ps_output_open(path, error);
    if (output == NULL) {
        return FALSE;
    }
    ps_run_summary_write(summary, output);
    return ps_output_settle(output, error);
}

/* Everything is written. Between the old summary's end and the new one's rename, which is the last,
 * there is none. */
static gboolean commit(PsRunWriter *writer, GError **error)
{
    if (!remove_old(writer->folder, error)) {
        return FALSE;
    }
    for (guint i = 0; i < N_FILES; i++) {
        PsOutput *output = writer->files[i].output;
        if (output != NULL && !ps_output_commit(output, error)) {
            return FALSE;
        }
    }
    ps_folder_keep(writer->made);
    return TRUE;
}

gboolean ps_run_writer_finish(PsRunWriter *writer, PsRunSummary *summary, GError **error)
{
    return file_settle(&writer->files[TRACE], &summary->trace_sha256, error) &&
           file_settle(&writer->files[MEMORY], &summary->memory_sha256, error) &&
           write_others(writer, summary, error) && write_summary(writer, summary, error) &&
           commit(writer, error);
}
