#include "sim/trace/run-writer.h"

#include <errno.h>
#include <glib/gstdio.h>

#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/trace/run-files.h"
#include "sim/trace/summary.h"

/* A CSV file under way. */
typedef struct {
    char *path;
    PsOutput *output;
    PsCsvWriter *writer;
} File;

struct PsRunWriter {
    char *summary_path;
    File trace, memory;
    PsTraceSink sink;
};

static gboolean file_open(File *file, const char *folder, const char *name,
                          const char *const *columns, GError **error)
{
    file->path = g_build_filename(folder, name, NULL);
    file->output = ps_output_open(file->path, error);
    if (file->output == NULL) {
        return FALSE;
    }
    file->writer = ps_csv_writer_new(file->output);
    for (guint i = 0; columns[i] != NULL; i++) {
        ps_csv_text(file->writer, columns[i]);
    }
    ps_csv_end_row(file->writer);
    return TRUE;
}

/* Returns the file's SHA-256. */
static char *file_commit(File *file, GError **error)
{
    ps_csv_flush(file->writer);
    if (!ps_output_commit(file->output, error)) {
        return NULL;
    }
    gsize length;
    g_autofree char *text = ps_read_file(file->path, &length, error);
    return text != NULL ? ps_sha256(text, length) : NULL;
}

static void file_clear(File *file)
{
    g_clear_pointer(&file->writer, ps_csv_writer_free);
    g_clear_pointer(&file->output, ps_output_free);
    g_clear_pointer(&file->path, g_free);
}

/* Most sizes are whole: the same text, without the detour through decimal conversion. */
static void put_bytes(PsCsvWriter *writer, double bytes)
{
    if (bytes < 0x1p53 && bytes == (double)(gint64)bytes) {
        ps_csv_int(writer, (gint64)bytes);
    } else {
        ps_csv_double(writer, bytes);
    }
}

static void write_op(const PsTraceOp *op, gpointer user_data)
{
    PsCsvWriter *writer = ((PsRunWriter *)user_data)->trace.writer;
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
    put_bytes(writer, op->bytes);
    ps_csv_int(writer, op->peer);
    ps_csv_end_row(writer);
}

static void write_memory(const PsTraceMemory *change, gpointer user_data)
{
    PsCsvWriter *writer = ((PsRunWriter *)user_data)->memory.writer;
    ps_csv_time(writer, change->time_ps);
    ps_csv_int(writer, change->lane);
    ps_csv_int(writer, change->stage);
    ps_csv_text(writer, ps_memory_names[change->category]);
    put_bytes(writer, change->bytes);
    ps_csv_end_row(writer);
}

PsRunWriter *ps_run_writer_new(const char *folder, GError **error)
{
    if (!ps_make_folder(folder, error)) {
        return NULL;
    }
    g_autoptr(PsRunWriter) writer = g_new0(PsRunWriter, 1);
    writer->sink = (PsTraceSink){write_op, write_memory, writer};
    writer->summary_path = g_build_filename(folder, PS_RUN_SUMMARY, NULL);
    if (g_unlink(writer->summary_path) != 0 && errno != ENOENT) {
        ps_error(error, PS_ERROR_IO, "%s: %s", writer->summary_path, g_strerror(errno));
        return NULL;
    }
    if (!file_open(&writer->trace, folder, PS_RUN_TRACE, ps_trace_columns, error) ||
        !file_open(&writer->memory, folder, PS_RUN_MEMORY_FILE, ps_memory_columns, error)) {
        return NULL;
    }
    return g_steal_pointer(&writer);
}

void ps_run_writer_free(PsRunWriter *writer)
{
    if (writer != NULL) {
        file_clear(&writer->trace);
        file_clear(&writer->memory);
        g_free(writer->summary_path);
        g_free(writer);
    }
}

const PsTraceSink *ps_run_writer_sink(PsRunWriter *writer)
{
    return &writer->sink;
}

gboolean ps_run_writer_finish(PsRunWriter *writer, PsRunSummary *summary, GError **error)
{
    g_free(summary->trace_sha256);
    summary->trace_sha256 = file_commit(&writer->trace, error);
    if (summary->trace_sha256 == NULL) {
        return FALSE;
    }
    g_free(summary->memory_sha256);
    summary->memory_sha256 = file_commit(&writer->memory, error);
    return summary->memory_sha256 != NULL &&
           ps_run_summary_write(summary, writer->summary_path, error);
}
