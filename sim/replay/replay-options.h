/* The options that say how to replay: --assume, --schedule and one per switch. */
#pragma once

#include <glib.h>
#include "sim/replay/settings.h"

/* Entries that fill `choices`, for ps_options_parse. Caller frees with g_free. */
GOptionEntry *ps_replay_entries(PsReplayChoices *choices);

/* What --help says of the defaults. */
#define PS_REPLAY_HELP                                                                             \
    "How a run differs from the planner's assumptions is a matter of switches. --assume piper\n"   \
    "sets all to the planner's side: --resync amortised --communication serial --flush none\n"     \
    "--start steady (schedule 1f1b-2bw). --assume real, the default: --resync batch\n"             \
    "--communication overlap --flush batch --start steady (schedule 1f1b). Switches given "        \
    "beside\n"                                                                                     \
    "it count more.\n"
