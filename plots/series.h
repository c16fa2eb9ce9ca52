/* Groups the rows of a table into lines of a chart. */
#pragma once

#include "plots/data-table.h"

typedef struct {
    double x, y; /* y is NAN where the row has none */
} PsPoint;

typedef struct {
    char *label;    /* "8 GiB, 32 devices" */
    GArray *points; /* PsPoint, by ascending x, each x once */
    guint n_values; /* points with a y */
} PsSeries;

typedef struct {
    guint n;
    PsSeries *series;
    char *heading;     /* what tells the lines apart, "memory, devices"; "" for a single line */
    guint n_missing;   /* points without a y */
    char *missing_why; /* what the column "status" says of them, "infeasible, failed"; may be "" */
} PsSeriesSet;

/* Rows with the same values in the column `series` (-1: none given) form a line. Where that puts
 * two rows at the same x, further columns split the lines: as few as needed, those to the left
 * first (settings stand before results). Lines come in ascending order of what splits them. An
 * error (INPUT) names the place: x empty or not a number, y neither empty nor a number, no y at
 * all, or two rows that no column but y tells apart. */
PsSeriesSet *ps_series_collect(const PsDataTable *table, guint x, guint y, gint series,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_series_set_free(PsSeriesSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsSeriesSet, ps_series_set_free)
