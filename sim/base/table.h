/* Results as rows, printed as an aligned table, CSV or a JSON list from the same cells. */
#pragma once

#include <glib.h>
#include "sim/base/output.h"

#define PS_TABLE_WIDTH 80 /* columns of a line */

typedef enum { PS_FORMAT_TABLE, PS_FORMAT_CSV, PS_FORMAT_JSON } PsFormat;

gboolean ps_format_parse(const char *text, PsFormat *format,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* key: column name in CSV and JSON, with its unit ("edge_s"). heading: what people read ("edge").
 * A numeric column is aligned right and its value unquoted in JSON. */
typedef struct {
    const char *key;
    const char *heading;
    gboolean numeric;
} PsColumn;

typedef struct PsTable PsTable;

/* columns (n of them) must outlive the table. */
PsTable *ps_table_new(const PsColumn *columns, guint n_columns);
/* Next cell of the current row: shown is for people, value for machines (NULL: the same as shown,
 * "" is an empty CSV field and JSON null). Both are copied. A full row starts the next one.
 * In the table form control characters are shown as in messages. */
void ps_table_cell(PsTable *table, const char *shown, const char *value);
/* Printf for people with the double as value. */
void ps_table_double(PsTable *table, const char *format, double shown, double value);
void ps_table_int(PsTable *table, gint64 value);
/* Prints. The table form keeps within PS_TABLE_WIDTH columns: see table-layout.h. */
void ps_table_print(PsTable *table, PsFormat format, PsOutput *output);
void ps_table_free(PsTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsTable, ps_table_free)

/* Text with line breaks at blanks, so that no line is longer than width characters unless a word
 * is. Caller frees. */
char *ps_wrap(const char *text, guint width);

/* printf of a paragraph, wrapped to PS_TABLE_WIDTH, and the end of its last line. */
void ps_print_paragraph(PsOutput *output, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* A message that lists things one after the other, which end in "; " or " -> ": where it is longer
 * than a line, each on lines of its own, indented from the second on. Caller frees. */
char *ps_break_list(const char *text);
