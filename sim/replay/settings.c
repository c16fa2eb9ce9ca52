#include "sim/replay/settings.h"

#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/coll/collectives.h"

#define MOST_CHUNKS 1000000

/* ---- the tables ----------------------------------------------------------------------------- */

static const char *const resync_values[] = {"amortised", "batch", NULL};
static const char *const communication_values[] = {"serial", "blocking", "overlap", NULL};
static const char *const messages_values[] = {"rendezvous", "eager", NULL};
static const char *const streams_values[] = {"split", "single", NULL};
static const char *const flush_values[] = {"none", "batch", NULL};
static const char *const start_values[] = {"steady", "cold", NULL};
static const char *const network_values[] = {"flat", "topology", NULL};
static const char *const sharding_values[] = {"none", "zero1", "zero2", "zero3", NULL};
static const char *const fold_values[] = {"auto", "off", NULL};
static const char *const assume_values[] = {"piper", "real", NULL};

const PsSwitch ps_switches[] = {
    {"resync", "amortised|batch", resync_values, "amortised", "batch",
     "Weight gradients: a share per microbatch, or collectives once per batch"},
    {"communication", "serial|blocking|overlap", communication_values, "serial", "overlap",
     "Transfers: on the compute streams, both ends waiting, or on streams of their own"},
    {"messages", "rendezvous|eager", messages_values, "rendezvous", "rendezvous",
     "Receivers must be ready, or messages go into a buffer"},
    {"streams", "split|single", streams_values, "split", "split",
     "Of transfers: one each way, or one for both in the order of the schedule"},
    {"flush", "none|batch", flush_values, "none", "batch",
     "Let batches stream on, or drain the pipeline after each"},
    {"start", "steady|cold", start_values, "steady", "steady",
     "Measure the steady state, or one batch with fill and drain"},
    {"network", "flat|topology", network_values, "flat", "topology",
     "B from each device to all others, or the links of --topology"},
    {"collectives", "server|auto|ALGORITHM", NULL, PS_COLLECTIVES_SERVER, PS_AUTO,
     "The planner's 4 (d-1) w / d bytes at B, the fastest, or one (see collective)"},
    {"sharding", "none|zero1|zero2|zero3", sharding_values, "none", "none",
     "What replicas share out: optimizer state, and gradients, and weights"},
    {"placement", "ORDER", ps_placement_names, "tensor,data,pipeline", "tensor,data,pipeline",
     "Which ranks are neighbours, the innermost first"},
    {NULL},
};

/* Where a switch is kept; "flush" is a property of the schedule, "collectives" a text. */
typedef struct {
    const char *name;
    const char *const *values;
    gsize offset;
} EnumField;

#define ENUM_FIELD(name)                                                                           \
    {                                                                                              \
#name, name##_values, G_STRUCT_OFFSET(PsReplaySettings, name)                              \
    }
static const EnumField enum_fields[] = {
    ENUM_FIELD(resync),
    ENUM_FIELD(communication),
    ENUM_FIELD(messages),
    ENUM_FIELD(streams),
    ENUM_FIELD(start),
    ENUM_FIELD(network),
    ENUM_FIELD(sharding),
    ENUM_FIELD(fold),
    {"placement", ps_placement_names, G_STRUCT_OFFSET(PsReplaySettings, placement)},
};

const PsReplayQuantity ps_replay_quantities[] = {
    {"bucket", PS_BYTES, G_STRUCT_OFFSET(PsReplaySettings, bucket_bytes), "SIZE",
     "Reduce gradients in buckets, each as soon as its layers are through"},
    {"launch-overhead", PS_SECONDS, G_STRUCT_OFFSET(PsReplaySettings, launch_overhead_s), "TIME",
     "What every computation takes longer"},
    {"hop-overhead", PS_SECONDS, G_STRUCT_OFFSET(PsReplaySettings, hop_overhead_s), "TIME",
     "What every transfer between stages takes longer on its way"},
    {"optimizer", PS_BYTES_PER_S, G_STRUCT_OFFSET(PsReplaySettings, optimizer_bytes_per_s), "RATE",
     "Weights that a device updates at the end of a batch (default: at once)"},
    {NULL},
};

#define FIELD(field) G_STRUCT_OFFSET(PsReplayChoices, field)
#define DISTURBANCE(kind)                                                                          \
    (G_STRUCT_OFFSET(PsReplayChoices, disturbances) + PS_DISTURBANCE_##kind * sizeof(char *))
const PsReplayChoice ps_replay_choice_table[] = {
    {"assume", FIELD(assume), "piper|real", "All switches at once (default real)"},
    {"schedule", FIELD(schedule), "NAME|FILE.csv", "Order of work on a lane (default by flush)"},
    {"resync", FIELD(resync)},
    {"communication", FIELD(communication)},
    {"messages", FIELD(messages)},
    {"streams", FIELD(streams)},
    {"flush", FIELD(flush)},
    {"start", FIELD(start)},
    {"network", FIELD(network)},
    {"collectives", FIELD(collectives)},
    {"sharding", FIELD(sharding)},
    {"placement", FIELD(placement)},
    {"chunks", FIELD(chunks), "V",
     "Parts of the model on each stage, for schedules that interleave (default 2)"},
    {"bucket", FIELD(bucket)},
    {"launch-overhead", FIELD(launch_overhead)},
    {"hop-overhead", FIELD(hop_overhead)},
    {"optimizer", FIELD(optimizer)},
    {"loader", FIELD(loader), "\"servers=8 rate=120/s prefetch=16\"",
     "Data loader in front of stage 0; also serial=5% and replace=K:X", TRUE},
    {"jitter", DISTURBANCE(JITTER), "\"lognormal 5%\"",
     "Noise of each computation, lognormal or gamma", TRUE},
    {"slow", DISTURBANCE(SLOW), "\"rank=12 factor=1.5\"",
     "Devices that compute more slowly; several in one option, separated by \";\"", TRUE},
    {"slow-link", DISTURBANCE(SLOW_LINK), "\"rank=12 factor=2\"",
     "Devices, or links (link=A>B), with less bandwidth; several as for --slow", TRUE},
    {"stop", DISTURBANCE(STOP), "\"rank=5 at=1.2s\"", "Devices that stop; several as for --slow",
     TRUE},
    {"seed", DISTURBANCE(SEED), "N", "Of the jitter (default 1)", TRUE},
    {"fold", FIELD(fold), "auto|off", "Replay lanes that are alike once, or all of them"},
    {NULL},
};

/* ---- setting one ---------------------------------------------------------------------------- */

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
    ps_error(error, PS_ERROR_USAGE, "--%s: unknown value \"%s\"%s", name, value, suggestion);
    return FALSE;
}

static void set_schedule(PsReplaySettings *settings, const PsSchedule *schedule)
{
    settings->schedule = schedule;
    settings->chunks = schedule->min_chunks;
}

static gboolean set_flush(PsReplaySettings *settings, const char *value, GError **error)
{
    static const char *const schedules[] = {"1f1b-2bw", "1f1b"};
    guint flushes;
    if (!find_value("flush", value, flush_values, &flushes, error)) {
        return FALSE;
    }
    if (settings->schedule == NULL || ps_schedule_flushes(settings->schedule) != (gint)flushes) {
        set_schedule(settings, ps_schedule_find(schedules[flushes], NULL));
    }
    return TRUE;
}

/* Keeps the name from a table, so that nobody need own it. */
static gboolean set_collectives(PsReplaySettings *settings, const char *value, GError **error)
{
    g_autofree const char **able = ps_collective_algorithm_names(PS_ALL_REDUCE);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_ptr_array_add(names, (gpointer)PS_COLLECTIVES_SERVER);
    g_ptr_array_add(names, (gpointer)PS_AUTO);
    for (guint i = 0; able[i] != NULL; i++) {
        g_ptr_array_add(names, (gpointer)able[i]);
    }
    g_ptr_array_add(names, NULL);
    guint index;
    if (!find_value("collectives", value, (const char *const *)names->pdata, &index, error)) {
        return FALSE;
    }
    settings->collectives = names->pdata[index];
    return TRUE;
}

static gboolean assume(PsReplaySettings *settings, const char *value, GError **error)
{
    guint real;
    if (!find_value("assume", value, assume_values, &real, error)) {
        return FALSE;
    }
    for (guint i = 0; ps_switches[i].name != NULL; i++) {
        const PsSwitch *one = &ps_switches[i];
        if (!ps_replay_settings_set(settings, one->name, real ? one->real : one->piper, error)) {
            return FALSE;
        }
    }
    if (settings->topology == NULL) {
        settings->network = PS_NETWORK_FLAT;
        settings->collectives = PS_COLLECTIVES_SERVER;
    }
    return TRUE;
}

static gboolean choose_schedule(PsReplaySettings *settings, const char *value, GError **error)
{
    const PsSchedule *schedule = ps_schedule_find(value, error);
    if (schedule != NULL) {
        set_schedule(settings, schedule);
    }
    return schedule != NULL;
}

static gboolean set_chunks(PsReplaySettings *settings, const char *value, GError **error)
{
    guint64 chunks;
    if (!ps_count_parse(value, 1, MOST_CHUNKS, &chunks, error)) {
        g_prefix_error(error, "--chunks: ");
        return FALSE;
    }
    if (!ps_schedule_check_chunks(settings->schedule, (guint)chunks, error)) {
        return FALSE;
    }
    settings->chunks = (guint)chunks;
    return TRUE;
}

static const struct {
    const char *name;
    gboolean (*set)(PsReplaySettings *settings, const char *value, GError **error);
} special[] = {
    {"assume", assume},   {"schedule", choose_schedule},    {"chunks", set_chunks},
    {"flush", set_flush}, {"collectives", set_collectives},
};

static gboolean set_quantity(PsReplaySettings *settings, const PsReplayQuantity *quantity,
                             const char *value, GError **error)
{
    double *field = &G_STRUCT_MEMBER(double, settings, quantity->offset);
    if (!ps_quantity_parse(quantity->dimension, value, field, error)) {
        g_prefix_error(error, "--%s: ", quantity->name);
        return FALSE;
    }
    return TRUE;
}

static void refuse_name(const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; ps_replay_choice_table[i].name != NULL; i++) {
        g_ptr_array_add(names, (gpointer)ps_replay_choice_table[i].name);
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *suggestion = ps_suggest_text(name, (const char *const *)names->pdata);
    ps_error(error, PS_ERROR_USAGE, "unknown switch \"%s\"%s", name, suggestion);
}

gboolean ps_replay_settings_set(PsReplaySettings *settings, const char *name, const char *value,
                                GError **error)
{
    for (guint i = 0; i < G_N_ELEMENTS(special); i++) {
        if (g_str_equal(name, special[i].name)) {
            return special[i].set(settings, value, error);
        }
    }
    for (guint i = 0; i < G_N_ELEMENTS(enum_fields); i++) {
        if (g_str_equal(name, enum_fields[i].name)) {
            return find_value(name, value, enum_fields[i].values,
                              &G_STRUCT_MEMBER(guint, settings, enum_fields[i].offset), error);
        }
    }
    for (guint i = 0; ps_replay_quantities[i].name != NULL; i++) {
        if (g_str_equal(name, ps_replay_quantities[i].name)) {
            return set_quantity(settings, &ps_replay_quantities[i], value, error);
        }
    }
    refuse_name(name, error);
    return FALSE;
}

void ps_replay_settings_init(PsReplaySettings *settings)
{
    *settings = (PsReplaySettings){0};
    gboolean known = assume(settings, "real", NULL);
    g_assert(known);
}

const char *ps_replay_settings_get(const PsReplaySettings *settings, const char *name)
{
    if (g_str_equal(name, "schedule")) {
        return settings->schedule->name;
    }
    if (g_str_equal(name, "flush")) {
        return flush_values[ps_schedule_flushes(settings->schedule)];
    }
    if (g_str_equal(name, "collectives")) {
        return settings->collectives;
    }
    for (guint i = 0; i < G_N_ELEMENTS(enum_fields); i++) {
        if (g_str_equal(name, enum_fields[i].name)) {
            return enum_fields[i].values[G_STRUCT_MEMBER(guint, settings, enum_fields[i].offset)];
        }
    }
    return NULL;
}

double ps_replay_settings_quantity(const PsReplaySettings *settings,
                                   const PsReplayQuantity *quantity)
{
    return G_STRUCT_MEMBER(double, settings, quantity->offset);
}

/* ---- what goes together --------------------------------------------------------------------- */

gboolean ps_replay_settings_check(const PsReplaySettings *settings, GError **error)
{
    gboolean serial = settings->communication == PS_COMMUNICATION_SERIAL;
    gboolean overlap = settings->communication == PS_COMMUNICATION_OVERLAP;
    gboolean batch = settings->resync == PS_RESYNC_BATCH;
    gboolean over_links = settings->network == PS_NETWORK_TOPOLOGY;
    const struct {
        gboolean wrong;
        const char *text;
    } rules[] = {
        {over_links && settings->topology == NULL, "--network topology needs --topology"},
        {over_links && serial,
         "--network topology needs --communication overlap or blocking: serial "
         "charges bytes at one bandwidth"},
        {over_links && !batch, "--network topology needs --resync batch: amortised is no transfer"},
        {over_links && g_str_equal(settings->collectives, PS_COLLECTIVES_SERVER),
         "--network topology needs --collectives auto or an algorithm: there is no server"},
        {!batch && !g_str_equal(settings->collectives, PS_COLLECTIVES_SERVER),
         "--collectives other than server need --resync batch"},
        {serial && settings->messages == PS_MESSAGES_EAGER,
         "--messages eager needs --communication overlap or blocking"},
        {serial && settings->hop_overhead_s > 0,
         "--hop-overhead needs --communication overlap or blocking: serial delivers at once"},
        {!overlap && settings->streams == PS_STREAMS_SINGLE,
         "--streams single needs --communication overlap"},
        {!(overlap && batch) && settings->bucket_bytes > 0,
         "--bucket needs --communication overlap and --resync batch"},
        {settings->sharding >= PS_SHARDING_ZERO2 && settings->bucket_bytes > 0,
         "--bucket needs --sharding none or zero1: zero2 reduces gradients after each microbatch"},
        {!batch && settings->optimizer_bytes_per_s > 0, "--optimizer needs --resync batch"},
        {!batch && settings->sharding != PS_SHARDING_NONE, "--sharding needs --resync batch"},
        {settings->sharding != PS_SHARDING_NONE && !ps_schedule_flushes(settings->schedule),
         "--sharding needs a schedule that flushes (such as 1f1b)"},
        {!over_links && settings->placement != PS_PLACE_TENSOR_DATA_PIPELINE,
         "--placement needs --network topology: a flat one has no places"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(rules); i++) {
        if (rules[i].wrong) {
            ps_error(error, PS_ERROR_USAGE, "%s", rules[i].text);
            return FALSE;
        }
    }
    return TRUE;
}

/* ---- choices -------------------------------------------------------------------------------- */

void ps_replay_choices_clear(PsReplayChoices *choices)
{
    for (guint i = 0; ps_replay_choice_table[i].name != NULL; i++) {
        g_free(ps_replay_choice(choices, &ps_replay_choice_table[i]));
    }
    ps_schedule_free(choices->file);
    ps_topology_free(choices->topology);
    g_free(choices->topology_text);
    ps_disturbance_free(choices->disturbance);
    ps_loader_settings_free(choices->loader_settings);
}

gboolean ps_replay_choices_open(PsReplayChoices *choices, const char *topology, GError **error)
{
    GError *cause = NULL;
    if (choices->schedule != NULL && ps_schedule_is_file(choices->schedule)) {
        choices->file = ps_schedule_read(choices->schedule, &cause);
    }
    if (cause == NULL && topology != NULL) {
        choices->topology = ps_topology_load(topology, &cause);
        choices->topology_text = g_strdup(topology);
    }
    if (cause == NULL) {
        choices->disturbance =
            ps_disturbance_new((const char *const *)choices->disturbances, &cause);
    }
    if (cause == NULL && choices->loader != NULL) {
        choices->loader_settings = ps_loader_settings_new(choices->loader, &cause);
    }
    if (cause != NULL) {
        g_propagate_error(error, cause);
        return FALSE;
    }
    return TRUE;
}

/* A real run is over links where there are any, unless something asked for needs a flat network. */
static void choose_network(PsReplaySettings *settings, const PsReplayChoices *choices)
{
    gboolean piper = choices->assume != NULL && g_str_equal(choices->assume, "piper");
    gboolean able = settings->topology != NULL && !piper && settings->resync == PS_RESYNC_BATCH &&
                    settings->communication != PS_COMMUNICATION_SERIAL;
    gboolean server =
        choices->collectives != NULL && g_str_equal(choices->collectives, PS_COLLECTIVES_SERVER);
    if (choices->network == NULL) {
        settings->network = able && !server ? PS_NETWORK_TOPOLOGY : PS_NETWORK_FLAT;
    }
    if (choices->collectives == NULL) {
        settings->collectives =
            settings->network == PS_NETWORK_TOPOLOGY ? PS_AUTO : PS_COLLECTIVES_SERVER;
    }
}

gboolean ps_replay_settings_choose(PsReplaySettings *settings, const PsReplayChoices *choices,
                                   GError **error)
{
    ps_replay_settings_init(settings);
    settings->topology = choices->topology;
    settings->topology_text = choices->topology_text;
    settings->disturbance = choices->disturbance;
    settings->loader = choices->loader_settings;
    for (guint i = 0; ps_replay_choice_table[i].name != NULL; i++) {
        const PsReplayChoice *choice = &ps_replay_choice_table[i];
        const char *value = ps_replay_choice(choices, choice);
        if (choices->file != NULL && g_str_equal(choice->name, "schedule")) {
            set_schedule(settings, choices->file);
        } else if (value != NULL && !choice->opened &&
                   !ps_replay_settings_set(settings, choice->name, value, error)) {
            return FALSE;
        }
    }
    if (choices->schedule != NULL && !g_str_equal(settings->schedule->name, choices->schedule)) {
        ps_error(error, PS_ERROR_USAGE, "--schedule %s contradicts --flush %s", choices->schedule,
                 choices->flush);
        return FALSE;
    }
    choose_network(settings, choices);
    if (choices->streams == NULL && settings->schedule->transfers != NULL &&
        settings->communication == PS_COMMUNICATION_OVERLAP) {
        settings->streams = PS_STREAMS_SINGLE; /* the file says in which order */
    }
    return ps_replay_settings_check(settings, error);
}
