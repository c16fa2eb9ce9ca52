#include "sim/base/table.h"

#include <math.h>
#include <string.h>
#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/base/json.h"
#include "sim/base/suggest.h"
#include "sim/base/table-layout.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

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

static void print_table(const PsTable *table, PsOutput *output)
{
    g_autofree const char **texts = g_new(const char *, table->cells->len);
    for (guint i = 0; i < table->cells->len; i++) {
        texts[i] = g_array_index(table->cells, Cell, i).shown;
    }
    ps_table_layout_print(table->columns, table->n_columns, texts, n_rows(table), output);
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

void ps_print_paragraph(PsOutput *output, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *wrapped = ps_wrap(text, PS_TABLE_WIDTH);
    ps_output_printf(output, "%s\n", wrapped);
}

/* End of the first thing of the list, with the mark that ends it and without blanks. */
static const char *item_end(const char *list)
{
    static const char *const marks[] = {"; ", " -> "};
    const char *end = list + strlen(list);
    for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
        const char *mark = strstr(list, marks[i]);
        if (mark != NULL) {
            end = MIN(end, mark + strlen(marks[i]) - 1);
        }
    }
    return end;
}

char *ps_break_list(const char *text)
{
    const char *indent = "  ";
    gboolean fits = g_utf8_strlen(text, -1) <= PS_TABLE_WIDTH;
    if (fits || *item_end(text) == '\0') {
        return g_strdup(text);
    }
    GString *lines = g_string_new(NULL);
    while (*text != '\0') {
        const char *end = item_end(text);
        g_autofree char *item = g_strndup(text, (gsize)(end - text));
        g_autofree char *wrapped = ps_wrap(item, PS_TABLE_WIDTH - (guint)strlen(indent));
        g_auto(GStrv) pieces = g_strsplit(wrapped, "\n", -1);
        for (char **piece = pieces; *piece != NULL; piece++) {
            g_string_append_printf(lines, "%s%s%s", lines->len > 0 ? "\n" : "",
                                   lines->len > 0 ? indent : "", *piece);
        }
        text = end + strspn(end, " ");
    }
    return g_string_free(lines, FALSE);
}
