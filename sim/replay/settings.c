#include "sim/replay/settings.h"

#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/base/units.h"

#define MOST_CHUNKS 1000000

static const char *const resync_values[] = {"amortised", "batch", NULL};
static const char *const communication_values[] = {"serial", "overlap", NULL};
static const char *const flush_values[] = {"none", "batch", NULL};
static const char *const start_values[] = {"steady", "cold", NULL};
static const char *const network_values[] = {"flat", NULL};
static const char *const assume_values[] = {"piper", "real", NULL};

const PsSwitch ps_switches[] = {
    {"resync", resync_values, "amortised", "batch",
     "weight gradients: a share after each microbatch, or one all-reduce per batch"},
    {"communication", communication_values, "serial", "overlap",
     "transfers: on the compute streams of both ends, or on streams of their own"},
    {"flush", flush_values, "none", "batch",
     "batches stream on (schedule 1f1b-2bw), or the pipeline drains after each (1f1b)"},
    {"start", start_values, "steady", "steady",
     "measure the steady state, or one batch from an empty pipeline (cold)"},
    {"network", network_values, "flat", "flat", "every device has the bandwidth B to all others"},
    {NULL},
};

static gboolean find_value(const char *name, const char *value, const char *const *values,
                           guint *index, GError **error)
{
    for (guint i = 0; values[i] != NULL; i++) {
        if (g_str_equal(values[i], value)) {
            *index = i;
            return TRUE;
        }
    }
    g_autofree char *suggestion = ps_suggest_text(value, values);
    ps_error(error, PS_ERROR_USAGE, "unknown value \"%s\" of %s%s", value, name, suggestion);
    return FALSE;
}

static void set_resync(PsReplaySettings *settings, guint value)
{
    settings->resync = value;
}

static void set_communication(PsReplaySettings *settings, guint value)
{
    settings->communication = value;
}

static void set_schedule(PsReplaySettings *settings, const PsSchedule *schedule)
{
    settings->schedule = schedule;
    settings->chunks = schedule->min_chunks;
}

static void set_flush(PsReplaySettings *settings, guint value)
{
    static const char *const schedules[] = {"1f1b-2bw", "1f1b"};
    if (settings->schedule == NULL || ps_schedule_flushes(settings->schedule) != (gboolean)value) {
        set_schedule(settings, ps_schedule_find(schedules[value], NULL));
    }
}

static void set_start(PsReplaySettings *settings, guint value)
{
    settings->start = value;
}

/* There is one network so far: nothing to keep. */
static void set_network(PsReplaySettings *settings G_GNUC_UNUSED, guint value G_GNUC_UNUSED)
{
}

static guint get_resync(const PsReplaySettings *settings)
{
    return settings->resync;
}

static guint get_communication(const PsReplaySettings *settings)
{
    return settings->communication;
}

static guint get_flush(const PsReplaySettings *settings)
{
    return ps_schedule_flushes(settings->schedule);
}

static guint get_start(const PsReplaySettings *settings)
{
    return settings->start;
}

static guint get_network(const PsReplaySettings *settings G_GNUC_UNUSED)
{
    return 0;
}

/* In the order of ps_switches. */
static const struct {
    void (*set)(PsReplaySettings *settings, guint value);
    guint (*get)(const PsReplaySettings *settings);
} accessors[] = {
    {set_resync, get_resync},   {set_communication, get_communication},
    {set_flush, get_flush},     {set_start, get_start},
    {set_network, get_network},
};
G_STATIC_ASSERT(G_N_ELEMENTS(accessors) + 1 == G_N_ELEMENTS(ps_switches));

static gboolean assume(PsReplaySettings *settings, const char *value, GError **error)
{
    guint real;
    if (!find_value("assume", value, assume_values, &real, error)) {
        return FALSE;
    }
    for (guint i = 0; ps_switches[i].name != NULL; i++) {
        guint index;
        if (!find_value(ps_switches[i].name, real ? ps_switches[i].real : ps_switches[i].piper,
                        ps_switches[i].values, &index, error)) {
            return FALSE;
        }
        accessors[i].set(settings, index);
    }
    return TRUE;
}

void ps_replay_settings_init(PsReplaySettings *settings)
{
    *settings = (PsReplaySettings){0};
    gboolean known = assume(settings, "real", NULL);
    g_assert(known);
}

static gboolean set_chunks(PsReplaySettings *settings, const char *value, GError **error)
{
    guint64 chunks;
    if (!ps_count_parse(value, 1, MOST_CHUNKS, &chunks, error)) {
        g_prefix_error(error, "chunks: ");
        return FALSE;
    }
    if (!ps_schedule_check_chunks(settings->schedule, (guint)chunks, error)) {
        return FALSE;
    }
    settings->chunks = (guint)chunks;
    return TRUE;
}

gboolean ps_replay_settings_set(PsReplaySettings *settings, const char *name, const char *value,
                                GError **error)
{
    if (g_str_equal(name, "assume")) {
        return assume(settings, value, error);
    }
    if (g_str_equal(name, "schedule")) {
        const PsSchedule *schedule = ps_schedule_find(value, error);
        if (schedule != NULL) {
            set_schedule(settings, schedule);
        }
        return schedule != NULL;
    }
    if (g_str_equal(name, "chunks")) {
        return set_chunks(settings, value, error);
    }
    const char *names[G_N_ELEMENTS(ps_switches) + 3] = {"assume", "schedule", "chunks"};
    for (guint i = 0; ps_switches[i].name != NULL; i++) {
        names[i + 3] = ps_switches[i].name;
        if (g_str_equal(name, ps_switches[i].name)) {
            guint index;
            if (!find_value(name, value, ps_switches[i].values, &index, error)) {
                return FALSE;
            }
            accessors[i].set(settings, index);
            return TRUE;
        }
    }
    g_autofree char *suggestion = ps_suggest_text(name, names);
    ps_error(error, PS_ERROR_USAGE, "unknown switch \"%s\"%s", name, suggestion);
    return FALSE;
}

const char *ps_replay_settings_get(const PsReplaySettings *settings, const char *name)
{
    if (g_str_equal(name, "schedule")) {
        return settings->schedule->name;
    }
    for (guint i = 0; ps_switches[i].name != NULL; i++) {
        if (g_str_equal(name, ps_switches[i].name)) {
            return ps_switches[i].values[accessors[i].get(settings)];
        }
    }
    return NULL;
}

void ps_replay_choices_clear(PsReplayChoices *choices)
{
    g_free(choices->assume);
    g_free(choices->schedule);
    g_free(choices->chunks);
    g_free(choices->resync);
    g_free(choices->communication);
    g_free(choices->flush);
    g_free(choices->start);
    ps_schedule_free(choices->file);
}

gboolean ps_replay_choices_open(PsReplayChoices *choices, GError **error)
{
    if (choices->schedule == NULL || !ps_schedule_is_file(choices->schedule)) {
        return TRUE;
    }
    choices->file = ps_schedule_read(choices->schedule, error);
    return choices->file != NULL;
}

gboolean ps_replay_settings_choose(PsReplaySettings *settings, const PsReplayChoices *choices,
                                   GError **error)
{
    const struct {
        const char *name, *value;
    } steps[] = {
        {"assume", choices->assume}, {"schedule", choices->schedule},
        {"resync", choices->resync}, {"communication", choices->communication},
        {"flush", choices->flush},   {"start", choices->start},
        {"chunks", choices->chunks},
    };
    ps_replay_settings_init(settings);
    for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
        if (choices->file != NULL && g_str_equal(steps[i].name, "schedule")) {
            set_schedule(settings, choices->file);
        } else if (steps[i].value != NULL &&
                   !ps_replay_settings_set(settings, steps[i].name, steps[i].value, error)) {
            return FALSE;
        }
    }
    if (choices->schedule != NULL && !g_str_equal(settings->schedule->name, choices->schedule)) {
        ps_error(error, PS_ERROR_USAGE, "schedule %s contradicts flush %s", choices->schedule,
                 choices->flush);
        return FALSE;
    }
    return TRUE;
}
