/* Judges the planner's estimate against a replayed run. */
#pragma once

#include "planner/check/restoration.h"
#include "sim/base/json.h"
#include "sim/base/table.h"
#include "sim/trace/run.h"

#define PS_CHECK_TOLERANCE 0.05 /* unless the user says otherwise */

/* Per microbatch; each replica's share is divided by d, as in the planner's formula. */
typedef struct {
    double tps_s, compute_s, edge_s, resync_s; /* tps_s: their sum */
    double memory_bytes;
} PsCheckFigures;

typedef struct {
    PsCheckFigures estimate, replay;
    double busy_s;       /* of the compute stream; with overlap, less than replay.tps_s */
    double bubble_share; /* of the busiest lane's compute stream, within the window */
} PsCheckStage;

typedef struct {
    double estimate_tps_s, simulated_tps_s;
    double relative_error; /* simulated / estimate - 1: above 0, the planner was an optimist */
    gboolean exact;        /* the degrees can reach the estimate */
    char *reason;          /* why estimate and replay agree or differ, in words */
    char *unsettled;       /* NULL, or what of the run does not settle, in words; then: */
    gint64 n_batches;      /* whole ones in the window, one after the other */
    double least_tps_s, most_tps_s; /* of those the fastest and the slowest, per microbatch; 0
                                       where there is none */
    PsRestoration *restoration;     /* owned; NULL unless ps_check_restore was asked for it */
    guint n_stages;
    PsCheckStage *stages;
    double memory_bytes; /* M */
    double tolerance;
    gboolean passed;
    char *verdict; /* one sentence */
} PsCheck;

/* Measures the run's trace anew, compares it with the run's summary (a difference is an INPUT
 * error: the folder was changed), and judges. Of a run that was interrupted it says so (INPUT). */
PsCheck *ps_check_run(const PsRun *run, double tolerance, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_check_free(PsCheck *check);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsCheck, ps_check_free)

/* Where the degrees are not nested, adds what would restore the estimate. For the plan of the run.
 */
gboolean ps_check_restore(PsCheck *check, const PsPlan *plan, const PsProfile *profile,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The value of --tolerance, a percentage. */
gboolean ps_check_parse_tolerance(const char *text, double *tolerance,
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Prints it. */
void ps_check_report(const PsCheck *check, PsFormat format, PsOutput *output);

/* Writes the members of its JSON form (as `check --format json` prints) into the current object. */
void ps_check_write_members(const PsCheck *check, PsJsonWriter *writer);

/* Sets error (NEGATIVE) to the verdict unless the check passed. */
gboolean ps_check_result(const PsCheck *check, GError **error);
