/* A clock and the events pending on it.
 *
 * The owner registers handlers once, then schedules events for them. An event is handled with the
 * clock at its time; handlers may schedule further events, at the current time or later. Order of
 * events: see event-queue.h. Times are picoseconds since the start. */
#pragma once

#include <glib.h>
#include "sim/engine/event-queue.h"

typedef struct PsSimulator PsSimulator;

/* owner is what the handler was registered with, data what the event was scheduled with. */
typedef void (*PsEventFunc)(gpointer owner, guint64 data);

PsSimulator *ps_simulator_new(void);
void ps_simulator_free(PsSimulator *simulator);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsSimulator, ps_simulator_free)

/* Returns the handler's number, for ps_simulator_schedule. */
guint ps_simulator_add_handler(PsSimulator *simulator, PsEventFunc func, gpointer owner);

gint64 ps_simulator_now(const PsSimulator *simulator);

/* time_ps must not lie in the past. The handle is for ps_simulator_cancel. */
PsEventHandle ps_simulator_schedule(PsSimulator *simulator, gint64 time_ps, guint priority,
                                    guint handler, guint64 data);
/* FALSE where the event has been handled or cancelled already. */
gboolean ps_simulator_cancel(PsSimulator *simulator, PsEventHandle handle);

/* Handles events until none is left. */
void ps_simulator_run(PsSimulator *simulator);
/* Handles at most so many; FALSE where none was left. */
gboolean ps_simulator_run_some(PsSimulator *simulator, guint most);
