/* A data loader in front of the first stage: servers prepare samples, a sample being what one
 * microbatch of the first stage works on.
 *
 *     "servers=8 rate=120/s prefetch=16 serial=5% replace=4:20"
 *
 * Preparing a sample takes a server 1/rate. The serial fraction of it (default 0%; building a
 * vocabulary, say) comes first and under one lock: one server at a time, in the order of samples.
 * At most `prefetch` samples are in preparation or ready beyond those that have been taken.
 * replace=K:X removes K of the servers and adds one that is X times as fast in both parts.
 *
 * Samples are begun in order 0, 1, 2, ...: at every instant, after everything that ends then, by
 * the idle servers in the order of their numbers; the accelerator is server 0, so that it is never
 * idle while another begins. They are handed out in order as well: one that is prepared before an
 * earlier one waits for it. */
#pragma once

#include <glib.h>
#include "sim/engine/simulator.h"

typedef struct {
    guint n_servers;    /* with the accelerator, without what it replaces */
    double rate_per_s;  /* of one server that is not the accelerator */
    double serial;      /* fraction of the work under the lock */
    double accelerator; /* server 0 is so many times as fast; 0: there is no accelerator */
    guint prefetch;
    char *text; /* as it was given, in the order above: for summary.json; reads back as the same */
} PsLoaderSettings;

/* Errors (USAGE) begin with "--loader: ". */
PsLoaderSettings *ps_loader_settings_new(const char *text,
                                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_loader_settings_free(PsLoaderSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsLoaderSettings, ps_loader_settings_free)

/* One sample's preparation. */
typedef struct {
    guint server;
    gint64 sample;
    gint64 start_ps; /* the server takes it on */
    gint64 work_ps;  /* it has the lock; the same where nothing is serial */
    gint64 end_ps;
} PsPreparation;

typedef struct {
    /* The next sample is there, at the simulator's time. May call ps_loader_taken. */
    void (*ready)(gpointer owner, gint64 sample);
    /* A preparation has ended; before `ready` where that follows. May be NULL. */
    void (*prepared)(gpointer owner, const PsPreparation *preparation);
} PsLoaderFuncs;

typedef struct PsLoader PsLoader;

/* Events at which preparations end have end_priority; those at which they begin begin_priority,
 * which must come after all that may take samples. What is passed must outlive the loader. */
PsLoader *ps_loader_new(const PsLoaderSettings *settings, PsSimulator *simulator,
                        guint end_priority, guint begin_priority, const PsLoaderFuncs *funcs,
                        gpointer owner);
void ps_loader_free(PsLoader *loader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsLoader, ps_loader_free)

/* The servers begin at the simulator's present time. */
void ps_loader_start(PsLoader *loader);

/* Somebody has taken a sample that was ready (each once, in any order): there is room for another.
 */
void ps_loader_taken(PsLoader *loader, gint64 sample);

/* There is no sample from `end` on. Of those that are begun already, none becomes ready. */
void ps_loader_set_end(PsLoader *loader, gint64 end);

/* A preparation would have ended in the second half of the clock's range, so that no more were
 * begun. */
gboolean ps_loader_overran(const PsLoader *loader);
