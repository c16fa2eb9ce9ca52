/* Rows of a run folder's CSV files, each checked by itself. Internal to sim/trace. */
#pragma once

#include "sim/base/csv.h"
#include "sim/trace/run.h"

/* What rows are read into and checked against. */
typedef struct {
    const PsRunSummary *summary;
    guint n_lanes;
    guint *stage_of;    /* [n_lanes] */
    guint *first_ranks; /* [n_stages] */
    gint64 latest_ps;   /* no time may be later */
    GArray *records;    /* of the row's type */
} PsRunReading;

/* PsCsvRowFuncs whose user_data is a PsRunReading. */
gboolean ps_run_row_op(const PsCsvRow *row, gpointer reading, GError **error);
gboolean ps_run_row_memory(const PsCsvRow *row, gpointer reading, GError **error);
gboolean ps_run_row_load(const PsCsvRow *row, gpointer reading, GError **error);
gboolean ps_run_row_link(const PsCsvRow *row, gpointer reading, GError **error);
