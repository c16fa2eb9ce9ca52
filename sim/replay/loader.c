#include "sim/replay/loader.h"

#include <string.h>

#include "sim/base/error.h"
#include "sim/base/fields.h"
#include "sim/base/units.h"

#define MOST_SERVERS 1000000
#define MOST_PREFETCH 1000000
#define LEAST_RATE 1e-3
#define MOST_RATE 1e9
#define LEAST_SPEED 1e-3
#define MOST_SPEED 1e6
#define LAST_END_PS (G_MAXINT64 / 2)

/* ---- settings ------------------------------------------------------------------------------- */

enum { SERVERS, RATE, PREFETCH, SERIAL, REPLACE, N_FIELDS };

static const PsField fields[N_FIELDS] = {
    [SERVERS] = {"servers", PS_FIELD_COUNT, "8", 1, MOST_SERVERS},
    [RATE] = {"rate", PS_FIELD_QUANTITY, "120/s", LEAST_RATE, MOST_RATE, PS_PER_SECOND},
    [PREFETCH] = {"prefetch", PS_FIELD_COUNT, "16", 1, MOST_PREFETCH},
    [SERIAL] = {"serial", PS_FIELD_QUANTITY, NULL, 0, 1, PS_RATIO},
    [REPLACE] = {"replace", PS_FIELD_TEXT, NULL},
};

/* "4:20": how many servers go, and how fast the one is that comes. */
static gboolean parse_replace(const char *text, PsLoaderSettings *settings, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ":", -1);
    if (g_strv_length(parts) != 2) {
        ps_error(error, PS_ERROR_USAGE,
                 "\"%s\": not servers and a speed (expected SERVERS:SPEED such as 4:20)", text);
        return FALSE;
    }
    guint64 replaced;
    if (!ps_count_parse(parts[0], 1, settings->n_servers, &replaced, error) ||
        !ps_number_parse(parts[1], LEAST_SPEED, MOST_SPEED, &settings->accelerator, error)) {
        return FALSE;
    }
    settings->n_servers -= (guint)replaced - 1;
    return TRUE;
}

PsLoaderSettings *ps_loader_settings_new(const char *text, GError **error)
{
    g_autoptr(PsLoaderSettings) settings = g_new0(PsLoaderSettings, 1);
    PsFieldValue values[N_FIELDS] = {0};
    gboolean fine = ps_fields_parse(text, fields, N_FIELDS, values, error);
    settings->n_servers = (guint)values[SERVERS].number;
    settings->rate_per_s = values[RATE].number;
    settings->prefetch = (guint)values[PREFETCH].number;
    settings->serial = values[SERIAL].number;
    settings->text = ps_fields_text(fields, N_FIELDS, values);
    if (fine && values[REPLACE].given && !parse_replace(values[REPLACE].text, settings, error)) {
        g_prefix_error(error, "replace: ");
        fine = FALSE;
    }
    ps_fields_clear(values, N_FIELDS);
    if (!fine) {
        g_prefix_error(error, "--loader: ");
        return NULL;
    }
    return g_steal_pointer(&settings);
}

void ps_loader_settings_free(PsLoaderSettings *settings)
{
    if (settings != NULL) {
        g_free(settings->text);
        g_free(settings);
    }
}

/* ---- the loader at work --------------------------------------------------------------------- */

/* What a server works on. */
typedef struct {
    gboolean busy;
    PsPreparation preparation;
} Server;

struct PsLoader {
    const PsLoaderSettings *settings;
    PsSimulator *simulator;
    const PsLoaderFuncs *funcs;
    gpointer owner;
    guint end_priority, begin_priority;
    guint end_handler, begin_handler;
    Server *servers;
    guint n_idle, lowest_idle;        /* servers; no idle one has a lower number */
    gint64 n_begun, n_ready, n_taken; /* samples: begun and ready in their order */
    gint64 end;
    gint64 lock_free_ps;
    gboolean *prepared; /* of sample n, at n mod prefetch, until it is ready */
    gboolean beginning; /* an event to begin at the present time is under way */
    gboolean overran;
};

/* Samples are begun in order and the lock is had in order, so that all times of a preparation are
 * known when it begins. */
static void begin_sample(PsLoader *loader, guint number)
{
    const PsLoaderSettings *settings = loader->settings;
    gboolean accelerated = number == 0 && settings->accelerator > 0;
    double work_s = 1 / settings->rate_per_s / (accelerated ? settings->accelerator : 1);
    gint64 now_ps = ps_simulator_now(loader->simulator);
    gint64 length_ps = ps_seconds_to_ps(work_s);
    gint64 serial_ps = ps_seconds_to_ps(work_s * settings->serial);
    gint64 work_ps = serial_ps > 0 ? MAX(now_ps, loader->lock_free_ps) : now_ps;
    if (work_ps > LAST_END_PS - length_ps) {
        loader->overran = TRUE;
        return;
    }
    if (serial_ps > 0) {
        loader->lock_free_ps = work_ps + serial_ps;
    }
    loader->n_idle--;
    loader->servers[number] = (Server){
        .busy = TRUE,
        .preparation = {number, loader->n_begun++, now_ps, work_ps, work_ps + length_ps},
    };
    ps_simulator_schedule(loader->simulator, work_ps + length_ps, loader->end_priority,
                          loader->end_handler, number);
}

static gboolean may_begin(const PsLoader *loader)
{
    return loader->n_idle > 0 && loader->n_begun - loader->n_taken < loader->settings->prefetch &&
           loader->n_begun < loader->end && !loader->overran;
}

static void begin_samples(gpointer data, guint64 unused G_GNUC_UNUSED)
{
    PsLoader *loader = data;
    loader->beginning = FALSE;
    while (may_begin(loader)) {
        while (loader->servers[loader->lowest_idle].busy) {
            loader->lowest_idle++;
        }
        begin_sample(loader, loader->lowest_idle);
    }
}

/* Once all that happens at the present time has happened. */
static void begin_later(PsLoader *loader)
{
    if (!loader->beginning && may_begin(loader)) {
        loader->beginning = TRUE;
        ps_simulator_schedule(loader->simulator, ps_simulator_now(loader->simulator),
                              loader->begin_priority, loader->begin_handler, 0);
    }
}

static void end_sample(gpointer data, guint64 number)
{
    PsLoader *loader = data;
    Server *server = &loader->servers[number];
    server->busy = FALSE;
    loader->n_idle++;
    loader->lowest_idle = MIN(loader->lowest_idle, (guint)number);
    if (loader->funcs->prepared != NULL) {
        loader->funcs->prepared(loader->owner, &server->preparation);
    }
    gint64 prefetch = loader->settings->prefetch;
    loader->prepared[server->preparation.sample % prefetch] = TRUE;
    while (loader->n_ready < loader->end && loader->prepared[loader->n_ready % prefetch]) {
        loader->prepared[loader->n_ready % prefetch] = FALSE;
        gint64 sample = loader->n_ready++;
        loader->funcs->ready(loader->owner, sample);
    }
    begin_later(loader);
}

PsLoader *ps_loader_new(const PsLoaderSettings *settings, PsSimulator *simulator,
                        guint end_priority, guint begin_priority, const PsLoaderFuncs *funcs,
                        gpointer owner)
{
    PsLoader *loader = g_new0(PsLoader, 1);
    loader->settings = settings;
    loader->simulator = simulator;
    loader->funcs = funcs;
    loader->owner = owner;
    loader->end_priority = end_priority;
    loader->begin_priority = begin_priority;
    loader->end_handler = ps_simulator_add_handler(simulator, end_sample, loader);
    loader->begin_handler = ps_simulator_add_handler(simulator, begin_samples, loader);
    loader->servers = g_new0(Server, settings->n_servers);
    loader->n_idle = settings->n_servers;
    loader->prepared = g_new0(gboolean, settings->prefetch);
    loader->end = G_MAXINT64;
    return loader;
}

void ps_loader_free(PsLoader *loader)
{
    if (loader != NULL) {
        g_free(loader->servers);
        g_free(loader->prepared);
        g_free(loader);
    }
}

void ps_loader_start(PsLoader *loader)
{
    begin_later(loader);
}

void ps_loader_taken(PsLoader *loader, gint64 sample)
{
    g_assert(sample < loader->n_ready && loader->n_taken < loader->n_ready);
    loader->n_taken++;
    begin_later(loader);
}

void ps_loader_set_end(PsLoader *loader, gint64 end)
{
    loader->end = end;
    begin_later(loader);
}

gboolean ps_loader_overran(const PsLoader *loader)
{
    return loader->overran;
}
