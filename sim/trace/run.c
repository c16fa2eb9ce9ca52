#include "sim/trace/run.h"

#include "sim/base/units.h"
#include "sim/trace/run-files.h"

const char *const ps_trace_columns[] = {
    "lane",  "stage",   "replica", "rank",  "stream", "kind", "microbatch",
    "chunk", "start_s", "end_s",   "bytes", "peer",   NULL,
};

const char *const ps_memory_columns[] = {"time_s", "lane", "stage", "category", "bytes", NULL};

const char *const ps_loader_columns[] = {"server", "sample", "start_s", "end_s", NULL};

const char *const ps_links_columns[] = {
    "link",        "name",        "capacity_bytes_per_s", "busy_s",
    "moved_bytes", "utilisation", "peak_flows",           NULL,
};

double ps_run_link_utilisation(const PsRunLink *link, gint64 makespan_ps)
{
    return link->moved_bytes / (link->capacity_bytes_per_s * ps_ps_to_seconds(makespan_ps));
}

PsRunSummary *ps_run_summary_new(guint n_stages)
{
    PsRunSummary *summary = g_new0(PsRunSummary, 1);
    summary->settings = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    summary->setting_names = g_new0(char *, 1);
    summary->n_stages = n_stages;
    summary->stages = g_new0(PsRunStage, n_stages);
    summary->stops = g_array_new(FALSE, FALSE, sizeof(PsRunStop));
    return summary;
}

void ps_run_summary_add_setting(PsRunSummary *summary, const char *name, const char *value)
{
    gboolean added = g_hash_table_insert(summary->settings, g_strdup(name), g_strdup(value));
    g_assert(added);
    guint n = summary->n_settings_in_order++;
    summary->setting_names = g_renew(char *, summary->setting_names, n + 2);
    summary->setting_names[n] = g_strdup(name);
    summary->setting_names[n + 1] = NULL;
}

guint ps_run_summary_n_lanes(const PsRunSummary *summary)
{
    const PsRunStage *last = &summary->stages[summary->n_stages - 1];
    return last->first_lane + last->data_parallel;
}

void ps_run_summary_free(PsRunSummary *summary)
{
    if (summary == NULL) {
        return;
    }
    for (guint i = 0; i < summary->n_stages; i++) {
        g_free(summary->stages[i].layers);
    }
    g_free(summary->stages);
    g_array_unref(summary->stops);
    g_hash_table_unref(summary->settings);
    g_strfreev(summary->setting_names);
    g_free(summary->version);
    g_free(summary->plan_path);
    g_free(summary->plan_sha256);
    g_free(summary->profile_path);
    g_free(summary->profile_sha256);
    g_free(summary->schedule_path);
    g_free(summary->schedule_sha256);
    g_free(summary->synthetic);
    g_free(summary->trace_sha256);
    g_free(summary->memory_sha256);
    g_free(summary->loader_sha256);
    g_free(summary->links_sha256);
    g_free(summary);
}

PsRun *ps_run_new(guint n_stages)
{
    PsRun *run = g_new0(PsRun, 1);
    run->summary = ps_run_summary_new(n_stages);
    return run;
}

void ps_run_free(PsRun *run)
{
    if (run != NULL) {
        g_free(run->folder);
        g_free(run->out_of_memory);
        g_free(run->standstill);
        ps_run_summary_free(run->summary);
        g_clear_pointer(&run->ops, g_array_unref);
        g_clear_pointer(&run->memory, g_array_unref);
        g_clear_pointer(&run->loads, g_array_unref);
        g_clear_pointer(&run->links, g_array_unref);
        g_free(run);
    }
}

static void clear_link(gpointer link)
{
    g_free(((PsRunLink *)link)->name);
}

GArray *ps_run_links_new(void)
{
    GArray *links = g_array_new(FALSE, FALSE, sizeof(PsRunLink));
    g_array_set_clear_func(links, clear_link);
    return links;
}
