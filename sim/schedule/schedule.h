/* Schedules: in which order a lane works on its microbatches. Adding one is a file with a
 * PsSchedule record and a row in schedules.def.
 *
 * A lane numbers its own microbatches 0, 1, 2, ... and runs the steps of its schedule in strict
 * order, whatever the times: the next step waits until its inputs are there, nothing overtakes it.
 *
 * With v chunks the pipeline is cut into p v places instead of p stages, and each stage's lanes
 * hold v of them: chunks 0 .. v - 1, in the order in which a microbatch comes through them. */
#pragma once

#include <glib.h>

typedef enum {
    PS_STEP_FORWARD,
    PS_STEP_BACKWARD, /* gradients of inputs and weights in one go: B and W */
    PS_STEP_INPUT,    /* gradients of the inputs alone: B */
    PS_STEP_WEIGHT,   /* gradients of the weights, some time after them: W */
    PS_N_STEPS
} PsStepKind;

extern const char *const ps_step_names[PS_N_STEPS + 1]; /* "forward", "backward", "input", ... */

typedef struct {
    PsStepKind kind;
    guint chunk;
    gint64 index; /* lane-local microbatch */
} PsStep;

/* All that a step receives, or all that it sends. */
typedef struct {
    gboolean sends;
    PsStep step; /* forward or backward (an input gradient counts as one) */
} PsStepTransfer;

/* What the order of a lane depends on. */
typedef struct {
    guint stage, n_stages; /* p */
    guint chunks;          /* v */
    guint batch;           /* the lane's microbatches per batch, at least 1 */
    guint in_flight;       /* y, at least 1: microbatches between forward and backward that the plan
                              has room for */
} PsLaneShape;

/* Where a lane of a schedule that streams stands. */
typedef struct {
    gint64 n_forward;  /* forwards begun */
    gint64 n_backward; /* backwards begun */
    gint64 batch;      /* as in PsLaneShape */
    gint64 in_flight;
    gint64 end; /* its microbatches in all; G_MAXINT64 until known. May be lowered at any time, but
                   not below n_forward */
} PsLanePosition;

typedef struct PsSchedule PsSchedule;
struct PsSchedule {
    const char *name;
    const char *summary;
    /* Copies of the weights. A forward of batch k needs the updates of batches 0 .. k -
     * weight_versions, and so never runs before them. 0: as many as microbatches are in flight,
     * and a forward takes whatever weights there are (see ps_schedule_versions). */
    guint weight_versions;
    guint min_chunks, max_chunks;
    /* What the replay needs of a plan: all stages with one data-parallel degree. */
    gboolean uniform;
    /* The only pipeline it is for; 0: any. */
    guint n_stages, batch;
    /* SHA-256 of the file it was read from; NULL where it was not. */
    const char *sha256;
    /* Pipeline place that chunk `chunk` of a stage holds; NULL: chunk p + stage (round and round).
     */
    guint (*place)(const PsSchedule *schedule, const PsLaneShape *lane, guint chunk);
    /* A schedule that flushes: appends the steps of one batch, indices 0 .. batch - 1, so that
     * every microbatch runs forward once on every chunk, then backward, or input and, later,
     * weight. Batches do not overlap: no forward before the weights of the last one are there. */
    void (*list)(const PsSchedule *schedule, const PsLaneShape *lane, GArray *steps);
    /* Appends the sends and receives of one batch, PsStepTransfer, in the order of a stream that
     * does both; NULL: as the steps come to need them. */
    void (*transfers)(const PsSchedule *schedule, const PsLaneShape *lane, GArray *transfers);
    /* A schedule that streams has this instead: the lane's next step, forward or backward, each in
     * order of microbatches; FALSE where it has done all up to `end`. A function of the position
     * alone. It has one chunk. */
    gboolean (*next)(const PsLanePosition *position, PsStepKind *kind);
};

/* All schedules, NULL-terminated, in the order of schedules.def. */
extern const PsSchedule *const ps_schedules[];

/* By name; the error (USAGE) lists the names. */
const PsSchedule *ps_schedule_find(const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;

static inline gboolean ps_schedule_flushes(const PsSchedule *schedule)
{
    return schedule->list != NULL;
}

/* Batches that a lane with so many microbatches per batch and in flight may have under way. Where
 * each microbatch in flight keeps its own weights, they are as many as the microbatches can be of,
 * 1 + ceil((y - 1) / batch): the backward of batch b waits for the collective of batch b less
 * these. Nothing else would keep a lane from running ahead of a collective that takes longer than a
 * batch. (Others are stricter: PyTorch's DDP ends a backward only when its gradients are reduced.)
 */
guint ps_schedule_versions(const PsSchedule *schedule, guint batch, guint in_flight);

/* Refuses (USAGE) a number of chunks that the schedule cannot have. */
gboolean ps_schedule_check_chunks(const PsSchedule *schedule, guint chunks,
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The steps of one batch of a schedule that flushes: PsStep. Caller unrefs. */
GArray *ps_schedule_list(const PsSchedule *schedule, const PsLaneShape *lane);
guint ps_schedule_place(const PsSchedule *schedule, const PsLaneShape *lane, guint chunk);

/* For schedules that stream, one forward, one backward: forwards until in_flight microbatches are
 * there or the lane has run weight_versions batches ahead of its backwards (0: never held back),
 * else a backward. That is: y warm-up forwards, then backward and forward in turn, then the
 * remaining backwards. */
gboolean ps_one_forward_one_backward(const PsLanePosition *position, guint weight_versions,
                                     PsStepKind *kind);

/* For lists. */
static inline void ps_step_add(GArray *steps, PsStepKind kind, guint chunk, gint64 index)
{
    PsStep step = {kind, chunk, index};
    g_array_append_vals(steps, &step, 1);
}

/* Takes out the steps of microbatches from `batch` on. A list for more microbatches stays in order
 * and free of deadlocks without them: fewer ops wait, for fewer others. */
void ps_steps_trim(GArray *steps, guint batch);
