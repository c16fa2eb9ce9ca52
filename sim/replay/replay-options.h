/* The options that say how to replay: --assume, --schedule and one per switch. */
#pragma once

#include <glib.h>
#include "sim/replay/settings.h"

/* Entries that fill `choices`, for ps_options_parse. Caller frees with g_free. */
GOptionEntry *ps_replay_entries(PsReplayChoices *choices);

/* What --help says of the defaults. */
#define PS_REPLAY_HELP                                                                             \
    "How a run differs from the planner's assumptions is a matter of switches. --assume\n"         \
    "piper sets all to the planner's side: --resync amortised --communication serial\n"            \
    "--flush none --network flat --collectives server (schedule 1f1b-2bw). --assume\n"             \
    "real, the default: --resync batch --communication overlap --flush batch (schedule\n"          \
    "1f1b) and, with --topology, --network topology --collectives auto. Switches given\n"          \
    "beside it count more.\n"
