/* A run folder: trace.csv, memory.csv and summary.json, and loader.csv and links.csv where the run
 * had a data loader or a network of links (design section 5). summary.json is written last, so its
 * presence marks a complete folder. */
#pragma once

#include <glib.h>
#include "sim/base/json.h"
#include "sim/plan/plan.h"
#include "sim/trace/trace.h"

/* What the run says of one stage. */
typedef struct {
    guint data_parallel, tensor_parallel;
    guint first_lane; /* its lanes are first_lane .. first_lane + data_parallel - 1 */
    char *layers;     /* "0-9, 12": layer ids as ranges, for titles */
    PsStageEstimate estimate;
    /* Results, over the measuring window unless said otherwise. */
    double busy_s_per_microbatch;    /* of the busiest lane's compute stream, divided by d */
    double compute_s_per_microbatch; /* the same split by what it was busy with; transfers and */
    double edge_s_per_microbatch;    /* collectives on streams of their own count here as well */
    double resync_s_per_microbatch;
    double bubble_share; /* 1 - busy share of the busiest lane's compute stream in the window */
    double peak_memory_bytes;                /* largest of its lanes, whole run */
    double peak_category_bytes[PS_N_MEMORY]; /* what it was made of, at the first such moment */
    double peak_stash_microbatches;          /* one on one of v chunks counts as 1/v */
} PsRunStage;

/* A lane of which a device stopped: it does nothing more. */
typedef struct {
    guint lane;
    gint64 at_ps; /* before the end of the run */
} PsRunStop;

typedef struct {
    char *version;
    GHashTable *settings; /* name -> text: every switch and option in force */
    guint n_settings_in_order;
    char **setting_names; /* in file order, NULL-terminated */
    PsSetting setting;
    char *plan_path;   /* as given; NULL where the plan never was a file */
    char *plan_sha256; /* NULL likewise */
    char *profile_path, *profile_sha256;
    char *schedule_path, *schedule_sha256; /* NULL where the schedule is not read from a file */
    char *synthetic;    /* the line that describes a pipeline without plan and profile, else NULL */
    double time_unit_s; /* what one unit of the profile's times was taken for */
    guint n_stages;
    PsRunStage *stages;
    double estimate_tps_s;
    gboolean nested; /* ps_plan_is_nested of the plan replayed */
    /* The run was interrupted at makespan_ps: its records end there, and its other results are
     * those of a complete run as far as they were known. */
    gboolean partial;
    GArray *stops; /* PsRunStop, by lane */
    /* Results. */
    double tps_s; /* (window_end - window_start) / window_microbatches */
    gint64 makespan_ps;
    gint64 window_start_ps, window_end_ps;
    gint64 window_microbatches;
    gint64 microbatches_simulated;
    gint64 steady_after_microbatches; /* it took so many to prove the period; 0 where !steady */
    gint64 n_ops;                     /* rows of trace.csv */
    gboolean steady;                  /* the period was found to repeat exactly */
    /* NULL: not recorded, so not compared. */
    char *trace_sha256, *memory_sha256, *loader_sha256, *links_sha256;
} PsRunSummary;

/* What one link of the network has carried. */
typedef struct {
    guint link; /* its number in the network */
    char *name;
    double capacity_bytes_per_s;
    gint64 busy_ps; /* with at least one flow on it */
    double moved_bytes;
    guint peak_flows; /* the most at one time */
} PsRunLink;

/* Share of what the link could have carried in the whole run. */
double ps_run_link_utilisation(const PsRunLink *link, gint64 makespan_ps);

typedef struct {
    char *folder;
    PsRunSummary *summary;
    char *out_of_memory; /* of a run just made, where a lane held more than there is: a sentence */
    char *standstill;    /* likewise, where a device stopped: who waits for whom */
    GArray *ops;         /* PsTraceOp, in file order; NULL if not asked for */
    GArray *memory;      /* PsTraceMemory, likewise */
    GArray *loads;       /* PsTraceLoad, likewise; empty where the run has no loader */
    GArray *links;       /* PsRunLink, likewise, and of every run just made; empty where it has no
                            network of links */
} PsRun;

typedef enum {
    PS_RUN_OPS = 1 << 0,
    PS_RUN_MEMORY = 1 << 1,
    PS_RUN_LOADS = 1 << 2,
    PS_RUN_LINKS = 1 << 3,
    PS_RUN_EVERYTHING = (1 << 4) - 1
} PsRunParts;

/* Reads a run folder. Every row is checked by itself (known names, start <= end <= makespan, lane,
 * stage, replica and rank agree with the summary) and the files against their SHA-256; what rows
 * say together is `check`'s business. loader.csv and links.csv may be missing, unless the summary
 * has their SHA-256. */
PsRun *ps_run_load(const char *folder, PsRunParts parts, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* With a summary of n_stages zero-filled stages, and nothing else. */
PsRun *ps_run_new(guint n_stages);
void ps_run_free(PsRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsRun, ps_run_free)

/* An empty array of PsRunLink that owns the names in it. */
GArray *ps_run_links_new(void);

/* n_stages zero-filled stages, no settings yet. */
PsRunSummary *ps_run_summary_new(guint n_stages);
/* The last setting in order; each name once. Both are copied. */
void ps_run_summary_add_setting(PsRunSummary *summary, const char *name, const char *value);
guint ps_run_summary_n_lanes(const PsRunSummary *summary);
void ps_run_summary_free(PsRunSummary *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsRunSummary, ps_run_summary_free)
