/* Memory of the lanes of a replay, by category, with the peak of each lane.
 *
 * Stash and workspace are counted in microbatches on a chunk, which has 1/v of the stage's bytes,
 * and multiplied, never summed up, so that what is taken is given back exactly. A microbatch keeps
 * both until its weight gradient is done: what the input gradient alone would free is little (Qi et
 * al., ICLR 2024, table 2: 2 of 34 parts). A schedule with a weight version for each microbatch in
 * flight has one copy less beside the weights in use. What replicas share out (ZeRO) each has 1/d
 * of. */
#pragma once

#include <glib.h>
#include "sim/replay/settings.h"
#include "sim/replay/workload.h"
#include "sim/trace/trace.h"

typedef struct PsAccount PsAccount;

/* Reports the fixed part to the sink (may be NULL) at time 0. All must outlive it. */
PsAccount *ps_account_new(const PsWorkload *workload, const PsReplaySettings *settings,
                          const PsTraceSink *sink);
void ps_account_free(PsAccount *account);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsAccount, ps_account_free)

/* One more or one less: the stash, or the workspace, of a microbatch on one chunk. FALSE where the
 * lane now has more than the workload's memory_bytes. */
gboolean ps_account_stash(PsAccount *account, guint lane, gint n, gint64 time_ps);
gboolean ps_account_workspace(PsAccount *account, guint lane, gint n, gint64 time_ps);
/* More (or less, where negative) bytes in buffers of transfers and collectives; likewise. */
gboolean ps_account_buffer(PsAccount *account, guint lane, gint64 bytes, gint64 time_ps);

/* Whether the lane holds at most the workload's memory_bytes. */
gboolean ps_account_fits(const PsAccount *account, guint lane);

/* What the lane holds now, in all and by category. */
double ps_account_held(const PsAccount *account, guint lane, double category_bytes[PS_N_MEMORY]);

/* The most that any lane of the stage held for any time at all, what it was made of at the first
 * such moment of the first such lane, and the most microbatches stashed (one on one of v chunks
 * counts as 1/v). */
void ps_account_peak(const PsAccount *account, guint stage, double *bytes,
                     double category_bytes[PS_N_MEMORY], double *stash_microbatches);
