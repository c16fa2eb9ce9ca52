/* A line chart of a CSV table. */
#pragma once

#include "plots/canvas.h"
#include "plots/data-table.h"

#define PS_MOST_LINES 24

/* Names of columns, as ps_data_table_find takes them. */
typedef struct {
    const char *x, *y;
    const char *series; /* NULL: none */
} PsChartColumns;

/* Errors: unknown or ambiguous columns (USAGE); those of ps_series_collect; more than PS_MOST_LINES
 * lines (INPUT). */
PsCanvas *ps_chart_draw(const PsDataTable *table, const PsChartColumns *columns,
                        PsCanvasFormat format, GError **error) G_GNUC_WARN_UNUSED_RESULT;
