#include "sim/engine/simulator.h"

typedef struct {
    PsEventFunc func;
    gpointer owner;
} Handler;

struct PsSimulator {
    PsEventQueue *queue;
    GArray *handlers; /* Handler */
    gint64 now_ps;
};

PsSimulator *ps_simulator_new(void)
{
    PsSimulator *simulator = g_new0(PsSimulator, 1);
    simulator->queue = ps_event_queue_new();
    simulator->handlers = g_array_new(FALSE, FALSE, sizeof(Handler));
    return simulator;
}

void ps_simulator_free(PsSimulator *simulator)
{
    if (simulator != NULL) {
        ps_event_queue_free(simulator->queue);
        g_array_unref(simulator->handlers);
        g_free(simulator);
    }
}

guint ps_simulator_add_handler(PsSimulator *simulator, PsEventFunc func, gpointer owner)
{
    Handler handler = {func, owner};
    g_array_append_val(simulator->handlers, handler);
    return simulator->handlers->len - 1;
}

gint64 ps_simulator_now(const PsSimulator *simulator)
{
    return simulator->now_ps;
}

PsEventHandle ps_simulator_schedule(PsSimulator *simulator, gint64 time_ps, guint priority,
                                    guint handler, guint64 data)
{
    g_assert(time_ps >= simulator->now_ps && handler < simulator->handlers->len);
    return ps_event_queue_push(simulator->queue, time_ps, priority, handler, data);
}

gboolean ps_simulator_cancel(PsSimulator *simulator, PsEventHandle handle)
{
    return ps_event_queue_cancel(simulator->queue, handle);
}

gboolean ps_simulator_run_some(PsSimulator *simulator, guint most)
{
    PsEvent event;
    for (guint i = 0; i < most; i++) {
        if (!ps_event_queue_pop(simulator->queue, &event)) {
            return FALSE;
        }
        simulator->now_ps = event.time_ps;
        const Handler *handler = &g_array_index(simulator->handlers, Handler, event.handler);
        handler->func(handler->owner, event.data);
    }
    return TRUE;
}

void ps_simulator_run(PsSimulator *simulator)
{
    while (ps_simulator_run_some(simulator, G_MAXUINT)) {
    }
}
