/* Counts per lane-local microbatch over a moving window: how many of its inputs have come. They are
 * taken in nearly ascending order of microbatches. */
#pragma once

#include <glib.h>

typedef struct {
    guint16 *counts; /* ring */
    gsize capacity;  /* a power of two */
    gint64 base;     /* the first microbatch that has not been taken */
} PsWindow;

static inline void ps_window_init(PsWindow *window)
{
    *window = (PsWindow){g_new0(guint16, 16), 16, 0};
}

static inline void ps_window_clear(PsWindow *window)
{
    g_clear_pointer(&window->counts, g_free);
}

static inline guint16 *ps_window_at(const PsWindow *window, gint64 index)
{
    return &window->counts[(gsize)index & (window->capacity - 1)];
}

static inline void ps_window_grow(PsWindow *window)
{
    PsWindow larger = {g_new0(guint16, window->capacity * 2), window->capacity * 2, window->base};
    for (gsize i = 0; i < window->capacity; i++) {
        gint64 index = window->base + (gint64)i;
        *ps_window_at(&larger, index) = *ps_window_at(window, index);
    }
    g_free(window->counts);
    *window = larger;
}

/* One more input of microbatch `index` (not before the base). */
static inline void ps_window_add(PsWindow *window, gint64 index)
{
    g_assert(index >= window->base);
    while (index - window->base >= (gint64)window->capacity) {
        ps_window_grow(window);
    }
    (*ps_window_at(window, index))++;
}

/* Inputs of microbatch `index` (not before the base, and not taken yet). */
static inline guint ps_window_count(const PsWindow *window, gint64 index)
{
    return index - window->base < (gint64)window->capacity ? *ps_window_at(window, index) : 0;
}

#define PS_WINDOW_TAKEN G_MAXUINT16

/* Microbatch `index` has been served. Moves the base on to the first that has not. */
static inline void ps_window_take(PsWindow *window, gint64 index)
{
    while (index - window->base >= (gint64)window->capacity) {
        ps_window_grow(window);
    }
    *ps_window_at(window, index) = PS_WINDOW_TAKEN;
    while (*ps_window_at(window, window->base) == PS_WINDOW_TAKEN) {
        *ps_window_at(window, window->base++) = 0;
    }
}
