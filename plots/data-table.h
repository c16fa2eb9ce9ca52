/* Any CSV file with a header, as text; columns are found by name with or without their unit. */
#pragma once

#include <glib.h>
#include "sim/base/units.h"

typedef struct {
    char *path;
    guint n_columns;
    char **columns;  /* NULL-terminated names */
    GPtrArray *rows; /* char **, [n_columns] and NULL */
    GArray *lines;   /* guint: where each row begins */
} PsDataTable;

/* Refuses a header with empty or doubled names, rows with another number of fields, and a file
 * without rows. */
PsDataTable *ps_data_table_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_data_table_free(PsDataTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsDataTable, ps_data_table_free)

const char *ps_data_table_text(const PsDataTable *table, guint row, guint column);

/* The column called `name`, or else the only one that is called so but for its unit ("bandwidth"
 * finds bandwidth_bytes_per_s). The error (USAGE) begins with the option's name. */
gboolean ps_data_table_find(const PsDataTable *table, const char *option, const char *name,
                            guint *column, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A number that can be drawn: 0 or of a size from 1e-100 to 1e100. The error names the place. */
gboolean ps_data_table_number(const PsDataTable *table, guint row, guint column, double *value,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* What the suffix of a column's name says; PS_N_DIMENSIONS for a plain number or text. */
PsDimension ps_column_dimension(const char *column);

/* The name as people read it, without the unit: "bandwidth". Caller frees. */
char *ps_column_title(const char *column);
