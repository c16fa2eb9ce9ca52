/* Actions of a schedule file (see schedule-csv.h) and what must hold of them. Internal to
 * sim/schedule. */
#pragma once

#include <glib.h>
#include "sim/schedule/schedule.h"

typedef enum {
    PS_ACTION_FORWARD, /* the four computations in the order of PsStepKind */
    PS_ACTION_BACKWARD,
    PS_ACTION_INPUT,
    PS_ACTION_WEIGHT,
    PS_ACTION_SEND_F,
    PS_ACTION_RECV_F,
    PS_ACTION_SEND_B,
    PS_ACTION_RECV_B,
    PS_ACTION_UNSHARD,
    PS_ACTION_RESHARD,
    PS_ACTION_REDUCE_GRAD,
    PS_N_ACTIONS
} PsActionKind;

extern const char *const ps_action_names[PS_N_ACTIONS]; /* "F", "SEND_F", ... */

typedef struct {
    PsActionKind kind;
    guint stage;      /* place of the pipeline */
    guint microbatch; /* 0 where the action has none */
} PsAction;

/* A file: the actions of each rank, in order. */
typedef struct {
    char *path, *sha256;
    guint n_ranks, n_stages, n_microbatches;
    GPtrArray *ranks;   /* GArray of PsAction */
    GArray *lines;      /* guint: of the rank's row */
    guint *rank_of;     /* [n_stages] */
    gboolean transfers; /* sends and receives are spelled out */
} PsActions;

void ps_actions_free(PsActions *actions);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsActions, ps_actions_free)

/* "3SEND_F1". Caller frees. */
char *ps_action_text(const PsAction *action);

static inline const GArray *ps_actions_of(const PsActions *actions, guint rank)
{
    return actions->ranks->pdata[rank];
}

/* Reads the cells; ranks and lines are filled in. */
PsActions *ps_actions_read(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Finds out the rest and checks all but deadlocks. */
gboolean ps_actions_verify(PsActions *actions, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Whether all ranks get through: see schedule-csv.h. */
gboolean ps_actions_run(const PsActions *actions, GError **error) G_GNUC_WARN_UNUSED_RESULT;
