#include "planner/sweep.h"

#include "planner/plan-report.h"
#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/base/interrupt.h"
#include "sim/base/progress.h"

static void fill_point(const PsSweep *sweep, PsSweepPoint *point, const PsRehearsal *rehearsal)
{
    const PsPlan *plan = rehearsal->plan;
    const PsCheck *check = rehearsal->check;
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(plan, sweep->profile);
    point->status = "ok";
    point->n_stages = plan->n_stages;
    point->devices_used = estimate->devices_used;
    point->data_parallel = ps_plan_figures_text(plan, PS_STAGE_DATA_PARALLEL, FALSE);
    point->tensor_parallel = ps_plan_figures_text(plan, PS_STAGE_TENSOR_PARALLEL, FALSE);
    point->nested = ps_plan_is_nested(plan);
    point->estimate_tps_s = check->estimate_tps_s;
    point->replayed_tps_s = check->simulated_tps_s;
    point->gap = check->relative_error;
    for (guint i = 0; i < check->n_stages; i++) {
        point->peak_memory_bytes =
            MAX(point->peak_memory_bytes, check->stages[i].replay.memory_bytes);
    }
}

typedef struct {
    const PsSweep *sweep;
    PsProgress *progress;
} Job;

static void run_point(gpointer data, gpointer user_data)
{
    PsSweepPoint *point = data;
    const Job *job = user_data;
    if (ps_interrupt_requested()) {
        return;
    }
    const PsSweep *sweep = job->sweep;
    g_autoptr(GError) error = NULL;
    g_autoptr(PsRehearsal) rehearsal = ps_rehearse(sweep->profile, &point->setting, sweep->planner,
                                                   sweep->replay, NULL, PS_CHECK_TOLERANCE, &error);
    if (rehearsal == NULL) {
        point->status = error->code == PS_ERROR_NEGATIVE ? "infeasible" : "failed";
        point->reason = g_strdup(error->message);
    } else if (rehearsal->check != NULL) {
        fill_point(sweep, point, rehearsal);
    } else if (rehearsal->run->standstill != NULL) {
        point->status = "failed";
        point->reason = g_strdup(rehearsal->run->standstill);
    }
    ps_progress_step(job->progress, 1);
}

static guint count_done(const PsSweep *sweep)
{
    guint n_done = 0;
    for (guint i = 0; i < sweep->n_points; i++) {
        n_done += sweep->points[i].status != NULL;
    }
    return n_done;
}

guint ps_sweep_run(PsSweep *sweep, guint n_threads)
{
    g_autoptr(PsProgress) progress = ps_progress_new("sweep", sweep->n_points);
    Job job = {sweep, progress};
    gint threads = (gint)(n_threads > 0 ? n_threads : g_get_num_processors());
    /* Not exclusive, so creation cannot fail. */
    GThreadPool *pool = g_thread_pool_new(run_point, &job, threads, FALSE, NULL);
    for (guint i = 0; i < sweep->n_points; i++) {
        g_thread_pool_push(pool, &sweep->points[i], NULL);
    }
    g_thread_pool_free(pool, FALSE, TRUE);
    return count_done(sweep);
}

void ps_sweep_clear(PsSweep *sweep)
{
    for (guint i = 0; i < sweep->n_points; i++) {
        g_free(sweep->points[i].reason);
        g_free(sweep->points[i].data_parallel);
        g_free(sweep->points[i].tensor_parallel);
    }
    g_free(sweep->points);
}

static void write_header(PsCsvWriter *writer)
{
    static const char *const before[] = {
        "profile",   "time_unit_s",  "devices",   "memory_bytes", "bandwidth_bytes_per_s",
        "levels",    "microbatches", "in_flight", "degrees",      "forbid",
        "recompute", "schedule",     "chunks"};
    static const char *const after[] = {"status",        "reason",           "stages",
                                        "data_parallel", "tensor_parallel",  "devices_used",
                                        "nested",        "estimate_tps_s",   "replayed_tps_s",
                                        "gap",           "peak_memory_bytes"};
    for (guint i = 0; i < G_N_ELEMENTS(before); i++) {
        ps_csv_text(writer, before[i]);
    }
    for (const PsSwitch *one = ps_switches; one->name != NULL; one++) {
        ps_csv_text(writer, one->name);
    }
    for (const PsReplayQuantity *one = ps_replay_quantities; one->name != NULL; one++) {
        static const char *const units[PS_N_DIMENSIONS] = {
            [PS_BYTES] = "bytes", [PS_BYTES_PER_S] = "bytes_per_s", [PS_SECONDS] = "s"};
        g_autofree char *name = g_strdup_printf("%s_%s", one->name, units[one->dimension]);
        ps_csv_text(writer, g_strdelimit(name, "-", '_'));
    }
    for (guint kind = 0; kind < PS_N_DISTURBANCES; kind++) {
        ps_csv_text(writer, ps_disturbance_names[kind]);
    }
    ps_csv_text(writer, "loader");
    for (guint i = 0; i < G_N_ELEMENTS(after); i++) {
        ps_csv_text(writer, after[i]);
    }
    ps_csv_end_row(writer);
}

static void write_results(PsCsvWriter *writer, const PsSweepPoint *point)
{
    gboolean ok = point->reason == NULL;
    ps_csv_text(writer, point->status);
    ps_csv_text(writer, point->reason);
    if (!ok) {
        for (guint i = 0; i < 9; i++) {
            ps_csv_text(writer, NULL);
        }
        return;
    }
    ps_csv_int(writer, point->n_stages);
    ps_csv_text(writer, point->data_parallel);
    ps_csv_text(writer, point->tensor_parallel);
    ps_csv_int(writer, point->devices_used);
    ps_csv_text(writer, point->nested ? "true" : "false");
    ps_csv_double(writer, point->estimate_tps_s);
    ps_csv_double(writer, point->replayed_tps_s);
    ps_csv_double(writer, point->gap);
    ps_csv_double(writer, point->peak_memory_bytes);
}

/* "8:3e11 64:2.5e10": size and bandwidth of the levels in force; empty where there is one. */
static void write_levels(PsCsvWriter *writer, const PsSetting *setting)
{
    PsLevels levels = ps_setting_levels(setting);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; levels.n > 1 && i < levels.n; i++) {
        g_autofree char *rate = ps_double_format(levels.level[i].bandwidth_bytes_per_s);
        g_string_append_printf(text, "%s%u:%s", i > 0 ? " " : "", levels.level[i].size, rate);
    }
    ps_csv_text(writer, text->str);
}

/* Column by column as in the header, up to the results. */
static void write_settings(PsCsvWriter *writer, const PsSweep *sweep, const PsSetting *setting)
{
    const PsRestrictions *restrictions = &sweep->planner->restrictions;
    const char *forbidden[] = {restrictions->forbid_data_parallel ? "data-parallel" : "",
                               restrictions->forbid_tensor_parallel ? "tensor-parallel" : "", NULL};
    g_autofree char *forbid = g_strjoinv(" ", (char **)forbidden);
    ps_csv_text(writer, sweep->profile->path);
    ps_csv_double(writer, sweep->profile->time_unit_s);
    ps_csv_int(writer, setting->devices);
    ps_csv_double(writer, setting->memory_bytes);
    ps_csv_double(writer, setting->bandwidth_bytes_per_s);
    write_levels(writer, setting);
    ps_csv_int(writer, setting->microbatches);
    ps_csv_text(writer, ps_in_flight_names[setting->in_flight]);
    ps_csv_text(writer, ps_degrees_names[sweep->planner->degrees]);
    ps_csv_text(writer, g_strstrip(forbid));
    ps_csv_text(writer, ps_recompute_names[restrictions->recompute]);
    ps_csv_text(writer, ps_replay_settings_get(sweep->replay, "schedule"));
    ps_csv_int(writer, sweep->replay->chunks);
    for (const PsSwitch *one = ps_switches; one->name != NULL; one++) {
        ps_csv_text(writer, ps_replay_settings_get(sweep->replay, one->name));
    }
    for (const PsReplayQuantity *one = ps_replay_quantities; one->name != NULL; one++) {
        ps_csv_double(writer, ps_replay_settings_quantity(sweep->replay, one));
    }
    const PsDisturbance *disturbance = sweep->replay->disturbance;
    for (guint kind = 0; kind < PS_N_DISTURBANCES; kind++) {
        ps_csv_text(writer, disturbance != NULL ? ps_disturbance_text(disturbance, kind) : NULL);
    }
    const PsLoaderSettings *loader = sweep->replay->loader;
    ps_csv_text(writer, loader != NULL ? loader->text : NULL);
}

void ps_sweep_write(const PsSweep *sweep, PsOutput *output)
{
    g_autoptr(PsCsvWriter) writer = ps_csv_writer_new(output);
    write_header(writer);
    for (guint i = 0; i < sweep->n_points; i++) {
        const PsSweepPoint *point = &sweep->points[i];
        if (point->status != NULL) {
            write_settings(writer, sweep, &point->setting);
            write_results(writer, point);
            ps_csv_end_row(writer);
        }
    }
}
