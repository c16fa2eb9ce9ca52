/* A progress bar on standard error: drawn only on a terminal, at most ten times a second, wiped
 * when done. Safe to step from several threads. */
#pragma once

#include <glib.h>

typedef struct PsProgress PsProgress;

/* total 0: nobody knows; the amount is shown instead of a bar. */
PsProgress *ps_progress_new(const char *label, guint64 total);
void ps_progress_step(PsProgress *progress, guint64 amount); /* progress may be NULL */
void ps_progress_free(PsProgress *progress);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsProgress, ps_progress_free)
