#include "sim/replay/replay-options.h"

static GOptionEntry entry(PsReplayChoices *choices, const char *name, const char *help,
                          const char *argument)
{
    GOptionEntry entry = {name, 0, 0, G_OPTION_ARG_STRING, NULL, help, argument};
    for (guint i = 0; ps_replay_choice_table[i].name != NULL; i++) {
        if (g_str_equal(ps_replay_choice_table[i].name, name)) {
            entry.arg_data = (char *)choices + ps_replay_choice_table[i].offset;
        }
    }
    g_assert(entry.arg_data != NULL);
    return entry;
}

GOptionEntry *ps_replay_entries(PsReplayChoices *choices)
{
    g_autoptr(GArray) entries = g_array_new(TRUE, FALSE, sizeof(GOptionEntry));
    const GOptionEntry first[] = {
        entry(choices, "assume", "All switches at once (default real)", "piper|real"),
        entry(choices, "schedule", "Order of work on a lane (default by flush)", "NAME|FILE.csv"),
        entry(choices, "chunks",
              "Parts of the model on each stage, for schedules that interleave (default 2)", "V"),
    };
    g_array_append_vals(entries, first, G_N_ELEMENTS(first));
    for (const PsSwitch *one = ps_switches; one->name != NULL; one++) {
        GOptionEntry next = entry(choices, one->name, one->help, one->argument);
        g_array_append_val(entries, next);
    }
    for (const PsReplayQuantity *one = ps_replay_quantities; one->name != NULL; one++) {
        GOptionEntry next = entry(choices, one->name, one->help, one->argument);
        g_array_append_val(entries, next);
    }
    GOptionEntry fold =
        entry(choices, "fold", "Replay lanes that are alike once, or all of them", "auto|off");
    g_array_append_val(entries, fold);
    return (GOptionEntry *)(gpointer)g_array_free(g_steal_pointer(&entries), FALSE);
}
