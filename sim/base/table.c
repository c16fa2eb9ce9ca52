#include "sim/base/table.h"

#include <math.h>
#include <string.h>
#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/base/json.h"
#include "sim/base/suggest.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

#define GAP 2
#define LEAST_WRAPPED 20 /* narrower columns are harder to read than long lines */

static const char *const format_names[] = {
    [PS_FORMAT_TABLE] = "table", [PS_FORMAT_CSV] = "csv", [PS_FORMAT_JSON] = "json", NULL};

typedef struct {
    char *shown, *value;
} Cell;

struct PsTable {
    const PsColumn *columns;
    guint n_columns;
    GArray *cells; /* Cell, row by row */
};

gboolean ps_format_parse(const char *text, PsFormat *format, GError **error)
{
    for (guint i = 0; format_names[i] != NULL; i++) {
        if (strcmp(text, format_names[i]) == 0) {
            *format = i;
            return TRUE;
        }
    }
    g_autofree char *hint = ps_suggest_text(text, format_names);
    ps_error(error, PS_ERROR_USAGE, "unknown format \"%s\"%s", text, hint);
    return FALSE;
}

static void clear_cell(gpointer data)
{
    Cell *cell = data;
    g_free(cell->shown);
    g_free(cell->value);
}

PsTable *ps_table_new(const PsColumn *columns, guint n_columns)
{
    PsTable *table = g_new0(PsTable, 1);
    table->columns = columns;
    table->n_columns = n_columns;
    table->cells = g_array_new(FALSE, FALSE, sizeof(Cell));
    g_array_set_clear_func(table->cells, clear_cell);
    return table;
}

void ps_table_free(PsTable *table)
{
    g_array_unref(table->cells);
    g_free(table);
}

void ps_table_cell(PsTable *table, const char *shown, const char *value)
{
    Cell cell = {ps_printable(shown), g_strdup(value != NULL ? value : shown)};
    g_array_append_val(table->cells, cell);
}

/* printf of one double among other text, with a decimal point in every locale: g_ascii_formatd
 * takes the conversion alone. Caller frees. */
static char *format_double(const char *format, double value)
{
    GString *text = g_string_new(NULL);
    while (*format != '\0') {
        gsize plain = strcspn(format, "%");
        g_string_append_len(text, format, (gssize)plain);
        format += plain;
        if (g_str_has_prefix(format, "%%")) {
            g_string_append_c(text, '%');
            format += 2;
        } else if (*format == '%') {
            char number[512]; /* holds the largest double in %f */
            gsize length = MIN(strcspn(format, "efgEFG") + 1, strlen(format));
            g_autofree char *conversion = g_strndup(format, length);
            g_ascii_formatd(number, sizeof number, conversion, value);
            g_string_append(text, number);
            format += length;
        }
    }
    return g_string_free(text, FALSE);
}

void ps_table_double(PsTable *table, const char *format, double shown, double value)
{
    g_autofree char *text = format_double(format, shown);
    g_autofree char *exact = isfinite(value) ? ps_double_format(value) : g_strdup("");
    ps_table_cell(table, text, exact);
}

void ps_table_int(PsTable *table, gint64 value)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
    ps_table_cell(table, text, NULL);
}

static guint n_rows(const PsTable *table)
{
    return table->cells->len / table->n_columns;
}

static const Cell *cell_at(const PsTable *table, guint row, guint column)
{
    return &g_array_index(table->cells, Cell, row * table->n_columns + column);
}

/* ---- as an aligned table --------------------------------------------------------------------- */

static guint text_width(const char *text)
{
    return (guint)g_utf8_strlen(text, -1);
}

/* The column that wraps: the last one of text; the first where all are numbers. */
static guint wrapped_column(const PsTable *table)
{
    guint column = table->n_columns - 1;
    while (column > 0 && table->columns[column].numeric) {
        column--;
    }
    return column;
}

static guint *column_widths(const PsTable *table)
{
    guint *widths = g_new(guint, table->n_columns);
    guint total = GAP * (table->n_columns - 1);
    for (guint i = 0; i < table->n_columns; i++) {
        widths[i] = text_width(table->columns[i].heading);
        for (guint row = 0; row < n_rows(table); row++) {
            widths[i] = MAX(widths[i], text_width(cell_at(table, row, i)->shown));
        }
        total += widths[i];
    }
    guint wrapped = wrapped_column(table);
    guint excess = total > PS_TABLE_WIDTH ? total - PS_TABLE_WIDTH : 0;
    if (!table->columns[wrapped].numeric && excess > 0 && widths[wrapped] > LEAST_WRAPPED) {
        widths[wrapped] = MAX(LEAST_WRAPPED, widths[wrapped] - MIN(excess, widths[wrapped]));
    }
    return widths;
}

static void print_line(const PsTable *table, const guint *widths, const char *const *texts,
                       PsOutput *output)
{
    g_autoptr(GString) line = g_string_new(NULL);
    for (guint i = 0; i < table->n_columns; i++) {
        int blanks = (int)widths[i] - (int)MIN(widths[i], text_width(texts[i]));
        int before = table->columns[i].numeric ? blanks : 0;
        g_string_append_printf(line, "%*s%s%*s", before + (i > 0 ? GAP : 0), "", texts[i],
                               blanks - before, "");
    }
    ps_output_printf(output, "%s\n", g_strchomp(line->str));
}

/* Bytes of text that go on a line of the given width: up to a blank, else cut at the width. */
static gsize piece_length(const char *text, guint width)
{
    if (text_width(text) <= width) {
        return strlen(text);
    }
    const char *limit = g_utf8_offset_to_pointer(text, width);
    const char *blank = limit;
    while (blank > text && *blank != ' ') {
        blank--;
    }
    return (gsize)((blank > text ? blank : limit) - text);
}

/* Changes texts. */
static void print_wrapped(const PsTable *table, const guint *widths, const char **texts,
                          PsOutput *output)
{
    guint wrapped = wrapped_column(table);
    const char *rest = texts[wrapped];
    do {
        gsize length = piece_length(rest, widths[wrapped]);
        g_autofree char *piece = g_strndup(rest, length);
        texts[wrapped] = piece;
        print_line(table, widths, texts, output);
        for (guint i = 0; i < table->n_columns; i++) {
            texts[i] = "";
        }
        rest += length + strspn(rest + length, " ");
    } while (*rest != '\0');
}

static void print_table(const PsTable *table, PsOutput *output)
{
    g_autofree guint *widths = column_widths(table);
    g_autofree const char **texts = g_new(const char *, table->n_columns);
    for (guint i = 0; i < table->n_columns; i++) {
        texts[i] = table->columns[i].heading;
    }
    print_wrapped(table, widths, texts, output);
    for (guint row = 0; row < n_rows(table); row++) {
        for (guint i = 0; i < table->n_columns; i++) {
            texts[i] = cell_at(table, row, i)->shown;
        }
        print_wrapped(table, widths, texts, output);
    }
}

/* ---- for machines ---------------------------------------------------------------------------- */

static void print_csv(const PsTable *table, PsOutput *output)
{
    g_autoptr(PsCsvWriter) writer = ps_csv_writer_new(output);
    for (guint i = 0; i < table->n_columns; i++) {
        ps_csv_text(writer, table->columns[i].key);
    }
    ps_csv_end_row(writer);
    for (guint row = 0; row < n_rows(table); row++) {
        for (guint i = 0; i < table->n_columns; i++) {
            ps_csv_text(writer, cell_at(table, row, i)->value);
        }
        ps_csv_end_row(writer);
    }
}

static void put_cell(PsJsonWriter *writer, const PsColumn *column, const char *value)
{
    gint64 integer;
    if (*value == '\0') {
        ps_json_put_string(writer, column->key, NULL);
    } else if (!column->numeric) {
        ps_json_put_string(writer, column->key, value);
    } else if (g_ascii_string_to_signed(value, 10, G_MININT64, G_MAXINT64, &integer, NULL)) {
        ps_json_put_int(writer, column->key, integer);
    } else {
        ps_json_put_double(writer, column->key, g_ascii_strtod(value, NULL));
    }
}

static void print_json(const PsTable *table, PsOutput *output)
{
    g_autoptr(PsJsonWriter) writer = ps_json_writer_new(output);
    ps_json_begin_array(writer, NULL);
    for (guint row = 0; row < n_rows(table); row++) {
        ps_json_begin_object(writer, NULL);
        for (guint i = 0; i < table->n_columns; i++) {
            put_cell(writer, &table->columns[i], cell_at(table, row, i)->value);
        }
        ps_json_end_object(writer);
    }
    ps_json_end_array(writer);
}

void ps_table_print(PsTable *table, PsFormat format, PsOutput *output)
{
    static void (*const printers[])(const PsTable *, PsOutput *) = {
        [PS_FORMAT_TABLE] = print_table,
        [PS_FORMAT_CSV] = print_csv,
        [PS_FORMAT_JSON] = print_json,
    };
    printers[format](table, output);
}

char *ps_wrap(const char *text, guint width)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    GString *wrapped = g_string_new(NULL);
    glong used = 0;
    for (char **word = words; *word != NULL; word++) {
        glong length = g_utf8_strlen(*word, -1);
        gboolean fits = used == 0 || used + 1 + length <= (glong)width;
        if (word != words) {
            g_string_append_c(wrapped, fits ? ' ' : '\n');
        }
        g_string_append(wrapped, *word);
        used = fits ? used + (used > 0) + length : length;
    }
    return g_string_free(wrapped, FALSE);
}
