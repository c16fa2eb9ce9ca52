/* Building the phases of a collective from the messages of an algorithm. */
#pragma once

#include "sim/coll/algorithm.h"

/* ranks: [n_groups][n_ranks], the devices of each group, which do alike. All must outlive the
 * phases. */
PsPhases *ps_phases_new(PsNetwork *network, const guint *ranks, guint n_ranks, guint n_groups);
void ps_phases_free(PsPhases *phases);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsPhases, ps_phases_free)

/* Builds by an algorithm under a protocol (NULL: none). What was built before is dropped. FALSE
 * with error (INPUT) where a message has no path. */
gboolean ps_phases_build(PsPhases *phases, const PsCollectiveAlgorithm *algorithm,
                         const PsTeam *team, const PsProtocol *protocol,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

double ps_phases_time_s(const PsPhases *phases);

/* Hands over the phases; *n is their number. Caller frees each one's loads, and the whole. */
PsPhase *ps_phases_steal(PsPhases *phases, guint *n);
