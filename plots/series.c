#include "plots/series.h"

#include <math.h>
#include <string.h>
#include "sim/base/error.h"

typedef struct {
    const PsDataTable *table;
    guint x, y;
    GArray *split;  /* guint: the columns that tell lines apart */
    GArray *points; /* PsPoint, per row */
    GArray *order;  /* guint: rows, by line and x */
} Collector;

/* ---- what splits the lines ------------------------------------------------------------------- */

static const char *text_at(const Collector *collector, guint row, guint column)
{
    return ps_data_table_text(collector->table, row, column);
}

/* What the row shares with others at the same x of the same line. Caller frees. */
static char *place_key(const Collector *collector, guint row)
{
    GString *key = g_string_new(NULL);
    g_string_append_printf(key, "%a", g_array_index(collector->points, PsPoint, row).x);
    for (guint i = 0; i < collector->split->len; i++) {
        const char *text = text_at(collector, row, g_array_index(collector->split, guint, i));
        g_string_append_printf(key, " %zu:%s", strlen(text), text);
    }
    return g_string_free(key, FALSE);
}

/* Rows at a place that an earlier row has; *first and *second are the first such pair. */
static guint count_conflicts(const Collector *collector, guint *first, guint *second)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    guint n = 0;
    for (guint row = 0; row < collector->table->rows->len; row++) {
        g_autofree char *key = place_key(collector, row);
        gpointer earlier;
        if (!g_hash_table_lookup_extended(seen, key, NULL, &earlier)) {
            g_hash_table_insert(seen, g_steal_pointer(&key), GUINT_TO_POINTER(row));
        } else if (n++ == 0) {
            *first = GPOINTER_TO_UINT(earlier);
            *second = row;
        }
    }
    return n;
}

static gboolean is_split(const Collector *collector, guint column)
{
    for (guint i = 0; i < collector->split->len; i++) {
        if (g_array_index(collector->split, guint, i) == column) {
            return TRUE;
        }
    }
    return FALSE;
}

/* Drops the added columns that the others make needless. */
static void prune_split(Collector *collector, guint n_given)
{
    guint first, second;
    for (guint i = n_given; i < collector->split->len;) {
        guint column = g_array_index(collector->split, guint, i);
        g_array_remove_index(collector->split, i);
        if (count_conflicts(collector, &first, &second) > 0) {
            g_array_insert_val(collector->split, i, column);
            i++;
        }
    }
}

static gboolean choose_split(Collector *collector, GError **error)
{
    guint first = 0, second = 0, n_given = collector->split->len;
    guint n = count_conflicts(collector, &first, &second);
    for (guint column = 0; n > 0 && column < collector->table->n_columns; column++) {
        if (column == collector->x || column == collector->y || is_split(collector, column)) {
            continue;
        }
        g_array_append_val(collector->split, column);
        guint with = count_conflicts(collector, &first, &second);
        if (with == n) {
            g_array_set_size(collector->split, collector->split->len - 1);
        }
        n = with;
    }
    if (n > 0) {
        (void)count_conflicts(collector, &first, &second);
        ps_error_at(error, collector->table->path,
                    g_array_index(collector->table->lines, guint, second),
                    "the row differs from line %u in %s only (expected one row for each place)",
                    g_array_index(collector->table->lines, guint, first),
                    collector->table->columns[collector->y]);
        return FALSE;
    }
    prune_split(collector, n_given);
    return TRUE;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_values(const Collector *collector, guint a, guint b, guint column)
{
    double x, y;
    if (ps_data_table_number(collector->table, a, column, &x, NULL) &&
        ps_data_table_number(collector->table, b, column, &y, NULL) && x != y) {
        return x < y ? -1 : 1;
    }
    return strcmp(text_at(collector, a, column), text_at(collector, b, column));
}

static int compare_lines(const Collector *collector, guint a, guint b)
{
    int order = 0;
    for (guint i = 0; order == 0 && i < collector->split->len; i++) {
        order = compare_values(collector, a, b, g_array_index(collector->split, guint, i));
    }
    return order;
}

static int compare_rows(gconstpointer a, gconstpointer b, gpointer user_data)
{
    const Collector *collector = user_data;
    guint left = *(const guint *)a, right = *(const guint *)b;
    int order = compare_lines(collector, left, right);
    double x = g_array_index(collector->points, PsPoint, left).x;
    double y = g_array_index(collector->points, PsPoint, right).x;
    return order != 0 ? order : (x > y) - (x < y);
}

/* ---- text ------------------------------------------------------------------------------------ */

static char *value_text(const Collector *collector, guint row, guint column)
{
    const char *name = collector->table->columns[column];
    PsDimension dimension = ps_column_dimension(name);
    double value;
    if (!ps_data_table_number(collector->table, row, column, &value, NULL)) {
        return g_strdup(text_at(collector, row, column));
    }
    if (dimension != PS_N_DIMENSIONS) {
        return ps_quantity_format(dimension, value);
    }
    g_autofree char *title = ps_column_title(name);
    return g_strdup_printf("%s %s", text_at(collector, row, column), title);
}

static char *line_label(const Collector *collector, guint row)
{
    GString *label = g_string_new(NULL);
    for (guint i = 0; i < collector->split->len; i++) {
        g_autofree char *text =
            value_text(collector, row, g_array_index(collector->split, guint, i));
        g_string_append_printf(label, "%s%s", i > 0 ? ", " : "", text);
    }
    return g_string_free(label, FALSE);
}

static char *heading_text(const Collector *collector)
{
    GString *heading = g_string_new(NULL);
    for (guint i = 0; i < collector->split->len; i++) {
        guint column = g_array_index(collector->split, guint, i);
        g_autofree char *title = ps_column_title(collector->table->columns[column]);
        g_string_append_printf(heading, "%s%s", i > 0 ? ", " : "", title);
    }
    return g_string_free(heading, FALSE);
}

/* The distinct values of "status" in rows without a y, in order of appearance. */
static char *missing_text(const Collector *collector)
{
    const PsDataTable *table = collector->table;
    g_autoptr(GPtrArray) reasons = g_ptr_array_new();
    for (guint column = 0; column < table->n_columns; column++) {
        for (guint row = 0; strcmp(table->columns[column], "status") == 0 && row < table->rows->len;
             row++) {
            const char *reason = text_at(collector, row, column);
            if (isnan(g_array_index(collector->points, PsPoint, row).y) && *reason != '\0' &&
                !g_ptr_array_find_with_equal_func(reasons, reason, g_str_equal, NULL)) {
                g_ptr_array_add(reasons, (gpointer)reason);
            }
        }
    }
    g_ptr_array_add(reasons, NULL);
    return g_strjoinv(", ", (char **)reasons->pdata);
}

/* ---- all together ---------------------------------------------------------------------------- */

static gboolean read_points(Collector *collector, guint *n_values, GError **error)
{
    for (guint row = 0; row < collector->table->rows->len; row++) {
        PsPoint point = {0, NAN};
        gboolean has_y = *text_at(collector, row, collector->y) != '\0';
        if (!ps_data_table_number(collector->table, row, collector->x, &point.x, error) ||
            (has_y &&
             !ps_data_table_number(collector->table, row, collector->y, &point.y, error))) {
            return FALSE;
        }
        *n_values += has_y;
        g_array_append_val(collector->points, point);
        g_array_append_val(collector->order, row);
    }
    if (*n_values == 0) {
        ps_error_at(error, collector->table->path, 0,
                    "column %s is empty in every row (expected at least one number)",
                    collector->table->columns[collector->y]);
        return FALSE;
    }
    return TRUE;
}

static PsSeriesSet *build_set(const Collector *collector, guint n_values)
{
    g_autoptr(GArray) lines = g_array_new(FALSE, FALSE, sizeof(PsSeries));
    for (guint i = 0; i < collector->order->len; i++) {
        guint row = g_array_index(collector->order, guint, i);
        if (i == 0 ||
            compare_lines(collector, g_array_index(collector->order, guint, i - 1), row) != 0) {
            PsSeries line = {line_label(collector, row),
                             g_array_new(FALSE, FALSE, sizeof(PsPoint))};
            g_array_append_val(lines, line);
        }
        PsSeries *line = &g_array_index(lines, PsSeries, lines->len - 1);
        PsPoint point = g_array_index(collector->points, PsPoint, row);
        g_array_append_val(line->points, point);
        line->n_values += !isnan(point.y);
    }
    PsSeriesSet *set = g_new0(PsSeriesSet, 1);
    set->n = lines->len;
    set->series = g_array_steal(lines, NULL);
    set->heading = heading_text(collector);
    set->n_missing = collector->order->len - n_values;
    set->missing_why = missing_text(collector);
    return set;
}

PsSeriesSet *ps_series_collect(const PsDataTable *table, guint x, guint y, gint series,
                               GError **error)
{
    g_autoptr(GArray) split = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(PsPoint));
    g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(guint));
    Collector collector = {table, x, y, split, points, order};
    guint n_values = 0;
    if (series >= 0) {
        g_array_append_val(split, series);
    }
    if (!read_points(&collector, &n_values, error) || !choose_split(&collector, error)) {
        return NULL;
    }
    g_array_sort_with_data(order, compare_rows, &collector);
    return build_set(&collector, n_values);
}

void ps_series_set_free(PsSeriesSet *set)
{
    for (guint i = 0; i < set->n; i++) {
        g_free(set->series[i].label);
        g_array_unref(set->series[i].points);
    }
    g_free(set->series);
    g_free(set->heading);
    g_free(set->missing_why);
    g_free(set);
}
