/* Memory of the lanes of a replay, by category, with the peak of each lane.
 *
 * Stash is counted in whole microbatches and multiplied, never summed up, so that what is taken is
 * given back exactly. */
#pragma once

#include <glib.h>
#include "sim/replay/workload.h"
#include "sim/trace/trace.h"

typedef struct PsAccount PsAccount;

/* weight_versions: whether the schedule keeps a second copy of the weights. Reports the fixed part
 * to the sink (may be NULL) at time 0. workload and sink must outlive it. */
PsAccount *ps_account_new(const PsWorkload *workload, gboolean weight_versions,
                          const PsTraceSink *sink);
void ps_account_free(PsAccount *account);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsAccount, ps_account_free)

/* n more microbatches (or fewer, n < 0) are stashed; the lane's workspace is taken or given back.
 */
void ps_account_stash(PsAccount *account, guint lane, gint n, gint64 time_ps);
void ps_account_workspace(PsAccount *account, guint lane, gboolean taken, gint64 time_ps);

/* The most that any lane of the stage held, what it was made of at the first such moment of the
 * first such lane, and the most microbatches stashed. */
void ps_account_peak(const PsAccount *account, guint stage, double *bytes,
                     double category_bytes[PS_N_MEMORY], guint *stash_microbatches);
