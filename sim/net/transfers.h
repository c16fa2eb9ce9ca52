/* Messages over a network, and when they arrive. */
#pragma once

#include "sim/topo/network.h"

/* Sends rows (PsFlowRow) over the network, each along its route, all sharing its links. ends_ps has
 * room for one time per row. Errors: INPUT where there is no path or it would take longer than the
 * clock runs. path: of the file of the rows, for messages. */
gboolean ps_transfers_run(PsNetwork *network, const GArray *rows, const char *path, gint64 *ends_ps,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
