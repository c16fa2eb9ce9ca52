/* Writes a run folder. */
#pragma once

#include <glib.h>
#include "sim/trace/run.h"
#include "sim/trace/trace.h"

typedef struct PsRunWriter PsRunWriter;

/* Creates the folder if it is not there. An older run in it stays as it is until
 * ps_run_writer_finish. */
PsRunWriter *ps_run_writer_new(const char *folder, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Frees; without ps_run_writer_finish none of its files appears, an older run stays whole, and the
 * folder goes if it was made for them. */
void ps_run_writer_free(PsRunWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsRunWriter, ps_run_writer_free)

/* Belongs to the writer. Rows come in the order in which the sink's functions are called. */
const PsTraceSink *ps_run_writer_sink(PsRunWriter *writer);

/* The rows of links.csv: links that have carried something, in ascending order. Copied. */
void ps_run_writer_set_links(PsRunWriter *writer, const PsRunLink *links, guint n_links);

/* Puts the SHA-256 of the files into the summary and, once everything has been written, makes all
 * appear: trace.csv, memory.csv, loader.csv and links.csv if there is something in them, and
 * summary.json. An older run's summary.json is removed just before, so that no moment leaves a
 * folder that passes for a run and holds files of both; its loader.csv and links.csv go with it. */
gboolean ps_run_writer_finish(PsRunWriter *writer, PsRunSummary *summary,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
