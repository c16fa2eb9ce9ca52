/* CSV (RFC 4180) over libcsv, strict in both directions: UTF-8 text; blanks belong to their field.
 * Read as well: lines that end in CRLF, empty lines (skipped) and a byte order mark. */
#pragma once

#include <glib.h>
#include "sim/base/output.h"

/* One data row. fields[i] belongs to columns[i] of the ps_csv_read call, whatever the order in the
 * file; valid during the callback only. line is where the row begins (the header is line 1). */
typedef struct {
    const char *path;
    guint line;
    const char *const *fields;
    guint n_fields;
} PsCsvRow;

/* Returns FALSE with error set (ps_csv_error adds the place) to stop reading. */
typedef gboolean (*PsCsvRowFunc)(const PsCsvRow *row, gpointer user_data, GError **error);

/* Reads path ("-" is standard input), streaming. columns is a NULL-terminated list: the header must
 * hold exactly these names in any order; a missing, doubled or unknown column is refused (with a
 * suggestion), as is a row with another number of fields. With columns == NULL the file has no
 * header and rows come as they are. A file without any line is refused. */
gboolean ps_csv_read(const char *path, const char *const *columns, PsCsvRowFunc row_func,
                     gpointer user_data, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* "path:line: column NAME: message". */
void ps_csv_error(const PsCsvRow *row, const char *column, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* Field parsers: finite decimals, whole numbers, exact picoseconds; the error names the column. */
gboolean ps_csv_get_double(const PsCsvRow *row, guint field, const char *column, double *value,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean ps_csv_get_int(const PsCsvRow *row, guint field, const char *column, gint64 min,
                        gint64 max, gint64 *value, GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean ps_csv_get_time(const PsCsvRow *row, guint field, const char *column, gint64 *time_ps,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Writer: fields in order, then end the row. It quotes only where RFC 4180 asks for it. Lines end
 * with LF. Does not own output; errors are the output's. It buffers: flush before commit. */
typedef struct PsCsvWriter PsCsvWriter;
PsCsvWriter *ps_csv_writer_new(PsOutput *output);
void ps_csv_text(PsCsvWriter *writer, const char *text); /* NULL is an empty field */
void ps_csv_int(PsCsvWriter *writer, gint64 value);
void ps_csv_double(PsCsvWriter *writer, double value); /* shortest text; not finite: empty */
void ps_csv_time(PsCsvWriter *writer, gint64 time_ps); /* seconds, 12 decimals */
void ps_csv_end_row(PsCsvWriter *writer);
void ps_csv_flush(PsCsvWriter *writer);
void ps_csv_writer_free(PsCsvWriter *writer); /* flushes */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsCsvWriter, ps_csv_writer_free)
