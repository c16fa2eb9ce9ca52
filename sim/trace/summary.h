/* summary.json of a run folder. Its members are described in traces/README.md. */
#pragma once

#include <glib.h>
#include "sim/trace/run.h"

/* The whole file. */
void ps_run_summary_write(const PsRunSummary *summary, PsOutput *output);
PsRunSummary *ps_run_summary_read(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Writes the members of summary.json into the current object. */
void ps_run_summary_put(const PsRunSummary *summary, PsJsonWriter *writer);
