#include "sim/base/error.h"
#include "sim/replay/settings.h"
#include "tests/harness/harness.h"

static char *describe(const PsReplaySettings *settings)
{
    static const char *const names[] = {"resync", "communication", "flush", "start", "network"};
    GString *text = g_string_new(ps_replay_settings_get(settings, "schedule"));
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_string_append_printf(text, " %s", ps_replay_settings_get(settings, names[i]));
    }
    return g_string_free(text, FALSE);
}

/* In the order schedule, resync, communication, flush, start, network. */
static const struct {
    PsReplayChoices choices;
    const char *settings;
} good[] = {
    {{0}, "1f1b batch overlap batch steady flat"},
    {{.assume = "real"}, "1f1b batch overlap batch steady flat"},
    {{.assume = "piper"}, "1f1b-2bw amortised serial none steady flat"},
    {{.assume = "piper", .resync = "batch"}, "1f1b-2bw batch serial none steady flat"},
    {{.assume = "piper", .flush = "batch"}, "1f1b amortised serial batch steady flat"},
    {{.flush = "none"}, "1f1b-2bw batch overlap none steady flat"},
    {{.schedule = "1f1b-2bw"}, "1f1b-2bw batch overlap none steady flat"},
    {{.schedule = "1f1b-2bw", .flush = "none"}, "1f1b-2bw batch overlap none steady flat"},
    {{.schedule = "1f1b", .assume = "piper"}, "1f1b amortised serial batch steady flat"},
    {{.start = "cold", .communication = "serial"}, "1f1b batch serial batch cold flat"},
};

START_TEST(choices_become_settings)
{
    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        PsReplaySettings settings;
        g_autoptr(GError) error = NULL;
        ck_assert(ps_replay_settings_choose(&settings, &good[i].choices, &error));
        g_autofree char *text = describe(&settings);
        ck_assert_str_eq(text, good[i].settings);
    }
}
END_TEST

static const struct {
    PsReplayChoices choices;
    const char *message;
} bad[] = {
    {{.assume = "papier"}, "--assume: unknown value \"papier\" (did you mean piper?)"},
    {{.resync = "never"}, "--resync: unknown value \"never\" (expected amortised or batch)"},
    {{.communication = "serail"},
     "--communication: unknown value \"serail\" (did you mean serial?)"},
    {{.flush = "x"}, "--flush: unknown value \"x\" (expected none or batch)"},
    {{.start = "warm-up"}, "--start: unknown value \"warm-up\" (expected steady or cold)"},
    {{.schedule = "gpiep"}, "unknown schedule \"gpiep\" (did you mean gpipe?)"},
    {{.schedule = "zb-v", .chunks = "3"},
     "schedule zb-v cannot have 3 chunks per stage (expected 2)"},
    {{.chunks = "2"}, "schedule 1f1b cannot have 2 chunks per stage (expected 1)"},
    {{.schedule = "interleaved", .chunks = "two"},
     "--chunks: \"two\": not a whole number (expected a whole number from 1 to 1000000)"},
    {{.schedule = "1f1b", .flush = "none"}, "--schedule 1f1b contradicts --flush none"},
    {{.schedule = "1f1b-2bw", .flush = "batch"}, "--schedule 1f1b-2bw contradicts --flush batch"},
};

START_TEST(wrong_choices)
{
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        PsReplaySettings settings;
        GError *error = NULL;
        ck_assert(!ps_replay_settings_choose(&settings, &bad[i].choices, &error));
        ps_assert_error(error, PS_ERROR_USAGE, bad[i].message);
    }
    PsReplaySettings settings;
    GError *error = NULL;
    ps_replay_settings_init(&settings);
    ck_assert(!ps_replay_settings_set(&settings, "resink", "batch", &error));
    ps_assert_error(error, PS_ERROR_USAGE, "unknown switch \"resink\" (did you mean resync?)");
}
END_TEST

/* Every value in the table can be set and is then in force. */
START_TEST(every_switch_turns)
{
    for (guint i = 0; ps_switches[i].name != NULL; i++) {
        for (guint k = 0; ps_switches[i].values != NULL && ps_switches[i].values[k] != NULL; k++) {
            PsReplaySettings settings;
            g_autoptr(GError) error = NULL;
            ps_replay_settings_init(&settings);
            ck_assert(ps_replay_settings_set(&settings, ps_switches[i].name,
                                             ps_switches[i].values[k], &error));
            ck_assert_str_eq(ps_replay_settings_get(&settings, ps_switches[i].name),
                             ps_switches[i].values[k]);
        }
    }
}
END_TEST

static void refuse(const char *name)
{
    PsReplaySettings settings;
    g_autoptr(GError) error = NULL;
    ps_replay_settings_init(&settings);
    ck_assert(!ps_replay_settings_set(&settings, name, "?", &error));
    g_autofree char *prefix = g_strdup_printf("--%s: ", name);
    ck_assert_msg(g_str_has_prefix(error->message, prefix), "%s", error->message);
}

/* Whatever the table, a wrong value is blamed on the option as people write it. */
START_TEST(wrong_values_name_their_option)
{
    for (guint i = 0; ps_switches[i].name != NULL; i++) {
        refuse(ps_switches[i].name);
    }
    for (guint i = 0; ps_replay_quantities[i].name != NULL; i++) {
        refuse(ps_replay_quantities[i].name);
    }
    refuse("assume");
    refuse("chunks");
    refuse("fold");
}
END_TEST

PS_TEST_MAIN("settings", choices_become_settings, wrong_choices, every_switch_turns,
             wrong_values_name_their_option)
