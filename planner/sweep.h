/* What-if: plans, replays and checks every point of a grid of settings, on all cores. */
#pragma once

#include "planner/rehearse.h"
#include "sim/base/output.h"

/* What came of one setting. */
typedef struct {
    PsSetting setting;
    const char
        *status;  /* "ok", or what it failed at: "infeasible" (no plan), "failed"; NULL: not done */
    char *reason; /* NULL where ok */
    guint n_stages, devices_used;
    char *data_parallel, *tensor_parallel; /* "4 4 2": of each stage; NULL unless ok */
    gboolean nested;
    double estimate_tps_s, replayed_tps_s;
    double gap; /* replayed / estimate - 1 */
    double peak_memory_bytes;
} PsSweepPoint;

typedef struct {
    const PsProfile *profile;
    const PsPlannerOptions *planner;
    const PsReplaySettings *replay;
    guint n_points;
    PsSweepPoint *points; /* settings filled in by the caller; ps_sweep_clear frees the rest */
} PsSweep;

/* Runs all points on n_threads threads (0: one per core), with a progress bar. Results depend on
 * the settings alone. Where somebody interrupts, points under way end early and no more are begun;
 * returns how many are done. */
guint ps_sweep_run(PsSweep *sweep, guint n_threads);
void ps_sweep_clear(PsSweep *sweep);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PsSweep, ps_sweep_clear)

/* One CSV row per point that is done, in order, with every setting. */
void ps_sweep_write(const PsSweep *sweep, PsOutput *output);
