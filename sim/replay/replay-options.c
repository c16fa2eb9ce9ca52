#include "sim/replay/replay-options.h"

/* What help says of a switch or quantity. */
static void describe(GOptionEntry *entry)
{
    for (const PsSwitch *one = ps_switches; one->name != NULL; one++) {
        if (g_str_equal(one->name, entry->long_name)) {
            entry->description = one->help;
            entry->arg_description = one->argument;
        }
    }
    for (const PsReplayQuantity *one = ps_replay_quantities; one->name != NULL; one++) {
        if (g_str_equal(one->name, entry->long_name)) {
            entry->description = one->help;
            entry->arg_description = one->argument;
        }
    }
}

GOptionEntry *ps_replay_entries(PsReplayChoices *choices)
{
    GArray *entries = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));
    for (const PsReplayChoice *choice = ps_replay_choice_table; choice->name != NULL; choice++) {
        GOptionEntry entry = {.long_name = choice->name,
                              .arg = G_OPTION_ARG_STRING,
                              .arg_data = (char *)choices + choice->offset,
                              .description = choice->help,
                              .arg_description = choice->argument};
        if (choice->help == NULL) {
            describe(&entry);
        }
        g_array_append_val(entries, entry);
    }
    return (GOptionEntry *)(gpointer)g_array_free(entries, FALSE);
}
