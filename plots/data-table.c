#include "plots/data-table.h"

#include <math.h>
#include <string.h>
#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/base/text.h"

#define LEAST_SIZE 1e-100
#define MOST_SIZE 1e100

/* Longer ones first: _bytes_per_s also ends in _s. */
static const struct {
    const char *text;
    PsDimension dimension;
} suffixes[] = {
    {"_bytes_per_s", PS_BYTES_PER_S},
    {"_flop_per_s", PS_FLOP_PER_S},
    {"_bytes", PS_BYTES},
    {"_s", PS_SECONDS},
};

/* Length of the name without its unit. */
static gsize split_suffix(const char *column, PsDimension *dimension)
{
    gsize length = strlen(column);
    for (guint i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        if (g_str_has_suffix(column, suffixes[i].text) && length > strlen(suffixes[i].text)) {
            *dimension = suffixes[i].dimension;
            return length - strlen(suffixes[i].text);
        }
    }
    *dimension = PS_N_DIMENSIONS;
    return length;
}

PsDimension ps_column_dimension(const char *column)
{
    PsDimension dimension;
    (void)split_suffix(column, &dimension);
    return dimension;
}

char *ps_column_title(const char *column)
{
    PsDimension dimension;
    g_autofree char *name = g_strndup(column, split_suffix(column, &dimension));
    g_auto(GStrv) words = g_strsplit(name, "_", -1);
    for (char **word = words; *word != NULL; word++) {
        if (strcmp(*word, "tps") == 0) {
            memcpy(*word, "TPS", 3);
        }
    }
    return g_strjoinv(" ", words);
}

/* ---- loading --------------------------------------------------------------------------------- */

static gboolean take_header(PsDataTable *table, const PsCsvRow *row, GError **error)
{
    table->n_columns = row->n_fields;
    table->columns = g_new0(char *, row->n_fields + 1);
    for (guint i = 0; i < row->n_fields; i++) {
        if (row->fields[i][0] == '\0') {
            ps_error_at(error, row->path, row->line, "column %u has no name (expected a header)",
                        i + 1);
            return FALSE;
        }
        if (g_strv_contains((const char *const *)table->columns, row->fields[i])) {
            ps_error_at(error, row->path, row->line, "column \"%s\" appears twice (expected once)",
                        row->fields[i]);
            return FALSE;
        }
        table->columns[i] = g_strdup(row->fields[i]);
    }
    return TRUE;
}

static gboolean take_row(const PsCsvRow *row, gpointer user_data, GError **error)
{
    PsDataTable *table = user_data;
    if (table->columns == NULL) {
        return take_header(table, row, error);
    }
    if (row->n_fields != table->n_columns) {
        g_autofree char *fields = ps_counted(row->n_fields, "field");
        ps_error_at(error, row->path, row->line, "the row has %s (expected %u)", fields,
                    table->n_columns);
        return FALSE;
    }
    char **copy = g_new0(char *, row->n_fields + 1);
    for (guint i = 0; i < row->n_fields; i++) {
        copy[i] = g_strdup(row->fields[i]);
    }
    g_ptr_array_add(table->rows, copy);
    g_array_append_val(table->lines, row->line);
    return TRUE;
}

PsDataTable *ps_data_table_load(const char *path, GError **error)
{
    g_autoptr(PsDataTable) table = g_new0(PsDataTable, 1);
    table->path = g_strdup(path);
    table->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    table->lines = g_array_new(FALSE, FALSE, sizeof(guint));
    if (!ps_csv_read(path, NULL, take_row, table, error)) {
        return NULL;
    }
    if (table->rows->len == 0) {
        ps_error_at(error, path, 0, "there are no rows below the header (expected at least one)");
        return NULL;
    }
    return g_steal_pointer(&table);
}

void ps_data_table_free(PsDataTable *table)
{
    g_ptr_array_unref(table->rows);
    g_array_unref(table->lines);
    g_strfreev(table->columns);
    g_free(table->path);
    g_free(table);
}

/* ---- asking ---------------------------------------------------------------------------------- */

const char *ps_data_table_text(const PsDataTable *table, guint row, guint column)
{
    return ((char **)table->rows->pdata[row])[column];
}

static gboolean is_called(const char *column, const char *name)
{
    PsDimension dimension;
    gsize length = split_suffix(column, &dimension);
    return strlen(name) == length && strncmp(column, name, length) == 0;
}

/* A slip in a full name, or else one in a short name or the list of those. */
static void unknown_column(const PsDataTable *table, const char *option, const char *name,
                           GError **error)
{
    g_auto(GStrv) short_names = g_new0(char *, table->n_columns + 1);
    for (guint i = 0; i < table->n_columns; i++) {
        PsDimension dimension;
        short_names[i] = g_strndup(table->columns[i], split_suffix(table->columns[i], &dimension));
    }
    const char *close = ps_suggest(name, (const char *const *)table->columns);
    g_autofree char *hint = close != NULL ? g_strdup_printf(" (did you mean %s?)", close)
                                          : ps_suggest_text(name, (const char *const *)short_names);
    ps_error(error, PS_ERROR_USAGE, "--%s: %s has no column '%s'%s", option, table->path, name,
             hint);
}

gboolean ps_data_table_find(const PsDataTable *table, const char *option, const char *name,
                            guint *column, GError **error)
{
    guint n = 0;
    g_autoptr(GString) candidates = g_string_new(NULL);
    for (guint i = 0; i < table->n_columns; i++) {
        if (strcmp(table->columns[i], name) == 0) {
            *column = i;
            return TRUE;
        }
    }
    for (guint i = 0; i < table->n_columns; i++) {
        if (is_called(table->columns[i], name)) {
            g_string_append_printf(candidates, "%s%s", n++ > 0 ? " or " : "", table->columns[i]);
            *column = i;
        }
    }
    if (n == 0) {
        unknown_column(table, option, name, error);
    } else if (n > 1) {
        ps_error(error, PS_ERROR_USAGE, "--%s: '%s' is ambiguous in %s (expected %s)", option, name,
                 table->path, candidates->str);
    }
    return n == 1;
}

gboolean ps_data_table_number(const PsDataTable *table, guint row, guint column, double *value,
                              GError **error)
{
    PsCsvRow place = {table->path, g_array_index(table->lines, guint, row),
                      (const char *const *)table->rows->pdata[row], table->n_columns};
    if (!ps_csv_get_double(&place, column, table->columns[column], value, error)) {
        return FALSE;
    }
    if (*value != 0 && !(fabs(*value) >= LEAST_SIZE && fabs(*value) <= MOST_SIZE)) {
        ps_csv_error(&place, table->columns[column], error,
                     "\"%s\" cannot be drawn (expected 0 or a size from 1e-100 to 1e100)",
                     place.fields[column]);
        return FALSE;
    }
    return TRUE;
}
