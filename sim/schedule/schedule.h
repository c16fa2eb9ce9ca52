/* Schedules: in which order a lane works on its microbatches. Adding one is a file with a
 * PsSchedule record and a row in schedules.def.
 *
 * A lane numbers its own microbatches 0, 1, 2, ... and runs the steps of its schedule in strict
 * order, whatever the times: the next step waits until its inputs are there, nothing overtakes it.
 */
#pragma once

#include <glib.h>

typedef enum { PS_STEP_FORWARD, PS_STEP_BACKWARD, PS_N_STEPS } PsStepKind;

extern const char *const ps_step_names[PS_N_STEPS + 1]; /* "forward", "backward" */

/* Where a lane stands. */
typedef struct {
    gint64 n_forward;  /* forwards begun */
    gint64 n_backward; /* backwards begun */
    gint64 batch;      /* the lane's microbatches per batch, at least 1 */
    gint64 end;        /* its microbatches in all; G_MAXINT64 until known. May be lowered at any
                          time, but not below n_forward */
    gint64 in_flight;  /* y, at least 1: microbatches between forward and backward at most */
} PsLanePosition;

typedef struct {
    const char *name;
    const char *summary;
    /* Batches do not overlap: no forward of a batch before the weights of the last one are there.
     */
    gboolean flushes;
    /* Copies of the weights. A forward of batch k needs the updates of batches 0 .. k -
     * weight_versions, and so never runs before them. */
    guint weight_versions;
    /* The lane's next step; FALSE where it has done all up to `end`. A function of the position
     * alone. */
    gboolean (*next)(const PsLanePosition *position, PsStepKind *kind);
} PsSchedule;

/* All schedules, NULL-terminated, in the order of schedules.def. */
extern const PsSchedule *const ps_schedules[];

/* By name; the error (USAGE) lists the names. */
const PsSchedule *ps_schedule_find(const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* For schedules of the one-forward-one-backward kind: forwards until in_flight microbatches are
 * there or the lane has run weight_versions batches ahead of its backwards, else a backward. That
 * is: y warm-up forwards, then backward and forward in turn, then the remaining backwards. */
gboolean ps_one_forward_one_backward(const PsLanePosition *position, guint weight_versions,
                                     PsStepKind *kind);
