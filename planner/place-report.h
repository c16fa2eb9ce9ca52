/* Where the stages of a plan lie and which levels they pay, for plans whose setting has levels. */
#pragma once

#include "sim/base/table.h"
#include "sim/plan/plan.h"

/* "300 GB/s in groups of 8, 25 GB/s beyond": the levels in force. Caller frees. */
char *ps_place_levels_text(const PsSetting *setting);

/* Columns for scripts, and the cells of one stage in them. */
#define PS_PLACE_COLUMNS                                                                           \
    {"first_device", NULL, TRUE}, {"resync_bandwidth_bytes_per_s", NULL, TRUE},                    \
    {                                                                                              \
        "next_bandwidth_bytes_per_s", NULL, TRUE                                                   \
    }
#define PS_N_PLACE_COLUMNS 3
void ps_place_add_cells(PsTable *table, const PsPlan *plan, guint stage);

/* A table for people, one row per stage. */
void ps_place_report(const PsPlan *plan, PsOutput *output);
