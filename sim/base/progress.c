#include "sim/base/progress.h"

#include <stdio.h>
#include <unistd.h>

#define BAR_CELLS 30
#define REDRAW_US (G_USEC_PER_SEC / 10)

struct PsProgress {
    GMutex mutex;
    char *label;
    guint64 total, done;
    gint64 started_us, drawn_us;
    gboolean visible;
};

PsProgress *ps_progress_new(const char *label, guint64 total)
{
    PsProgress *progress = g_new0(PsProgress, 1);
    g_mutex_init(&progress->mutex);
    progress->label = g_strdup(label);
    progress->total = total;
    progress->started_us = progress->drawn_us = g_get_monotonic_time();
    progress->visible = isatty(STDERR_FILENO);
    return progress;
}

static void draw(const PsProgress *progress)
{
    if (progress->total == 0) {
        fprintf(stderr, "\r\033[K%s: %" G_GUINT64_FORMAT, progress->label, progress->done);
        fflush(stderr);
        return;
    }
    static const char full[BAR_CELLS + 1] = "##############################";
    double share = MIN(1.0, (double)progress->done / (double)progress->total);
    double elapsed_s = (double)(progress->drawn_us - progress->started_us) / G_USEC_PER_SEC;
    double left_s = share > 0 ? elapsed_s * (1 - share) / share : 0;
    fprintf(stderr, "\r\033[K%s [%-*.*s] %3d%% %.0f s left", progress->label, BAR_CELLS,
            (int)(share * BAR_CELLS), full, (int)(share * 100), left_s);
    fflush(stderr);
}

void ps_progress_step(PsProgress *progress, guint64 amount)
{
    if (progress == NULL || !progress->visible) {
        return;
    }
    g_mutex_lock(&progress->mutex);
    progress->done += amount;
    gint64 now_us = g_get_monotonic_time();
    if (now_us - progress->drawn_us >= REDRAW_US) {
        progress->drawn_us = now_us;
        draw(progress);
    }
    g_mutex_unlock(&progress->mutex);
}

void ps_progress_free(PsProgress *progress)
{
    if (progress == NULL) {
        return;
    }
    if (progress->visible) {
        fputs("\r\033[K", stderr);
    }
    g_mutex_clear(&progress->mutex);
    g_free(progress->label);
    g_free(progress);
}
