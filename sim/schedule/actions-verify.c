#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/schedule/actions.h"

static guint line_of(const PsActions *actions, guint rank)
{
    return g_array_index(actions->lines, guint, rank);
}

/* Stages and microbatches are numbered without gaps from 0: the largest numbers say how many. */
static gboolean find_sizes(PsActions *actions, GError **error)
{
    gsize n_actions = 0;
    for (guint rank = 0; rank < actions->n_ranks; rank++) {
        const GArray *list = ps_actions_of(actions, rank);
        n_actions += list->len;
        for (guint i = 0; i < list->len; i++) {
            const PsAction *action = &g_array_index(list, PsAction, i);
            actions->n_stages = MAX(actions->n_stages, action->stage + 1);
            actions->n_microbatches = MAX(actions->n_microbatches, action->microbatch + 1);
            actions->transfers |=
                action->kind >= PS_ACTION_SEND_F && action->kind <= PS_ACTION_RECV_B;
        }
    }
    /* Each microbatch runs twice or more on each stage; also keeps tables within the file's size.
     */
    if ((guint64)actions->n_stages * actions->n_microbatches * 2 > n_actions) {
        ps_error_at(error, actions->path, 0,
                    "%" G_GSIZE_FORMAT " actions are too few for stages 0 to %u and microbatches 0 "
                    "to %u (expected every microbatch forward and backward on every stage)",
                    n_actions, actions->n_stages - 1, actions->n_microbatches - 1);
        return FALSE;
    }
    return TRUE;
}

#define NO_RANK G_MAXUINT

static gboolean place_stages(PsActions *actions, GError **error)
{
    g_autofree guint *n_held = g_new0(guint, actions->n_ranks);
    actions->rank_of = g_new(guint, actions->n_stages);
    for (guint stage = 0; stage < actions->n_stages; stage++) {
        actions->rank_of[stage] = NO_RANK;
    }
    for (guint rank = 0; rank < actions->n_ranks; rank++) {
        const GArray *list = ps_actions_of(actions, rank);
        for (guint i = 0; i < list->len; i++) {
            guint stage = g_array_index(list, PsAction, i).stage;
            if (actions->rank_of[stage] == NO_RANK) {
                actions->rank_of[stage] = rank;
                n_held[rank]++;
            } else if (actions->rank_of[stage] != rank) {
                ps_error_at(error, actions->path, line_of(actions, rank),
                            "stage %u is on rank %u as well (expected one rank for each stage)",
                            stage, actions->rank_of[stage]);
                return FALSE;
            }
        }
    }
    for (guint rank = 0; rank < actions->n_ranks; rank++) {
        if (n_held[rank] != n_held[0] || n_held[rank] == 0) {
            g_autofree char *held = ps_counted(n_held[rank], "stage");
            ps_error_at(error, actions->path, line_of(actions, rank),
                        "rank %u has %s, rank 0 has %u (expected as many on each, at least one)",
                        rank, held, n_held[0]);
            return FALSE;
        }
    }
    return TRUE;
}

/* Kinds seen of each stage and microbatch, a bit each; and the state of each stage. */
typedef struct {
    const PsActions *actions;
    guint16 *seen; /* [stage * n_microbatches + microbatch] */
    guint8 *shard; /* [stage]: UNSHARD or RESHARD - PS_ACTION_UNSHARD + 1; 0: neither yet */
    guint *n_gradients;
    gboolean *reduced;
} Check;

#define BIT(kind) (1u << PS_ACTION_##kind)

/* What must have been seen on this rank before an action, and what must not. */
static const struct {
    guint before, never;
} rules[PS_ACTION_UNSHARD] = {
    [PS_ACTION_FORWARD] = {0, BIT(FORWARD)},
    [PS_ACTION_BACKWARD] = {BIT(FORWARD), BIT(BACKWARD) | BIT(INPUT) | BIT(WEIGHT)},
    [PS_ACTION_INPUT] = {BIT(FORWARD), BIT(BACKWARD) | BIT(INPUT)},
    [PS_ACTION_WEIGHT] = {BIT(FORWARD) | BIT(INPUT), BIT(BACKWARD) | BIT(WEIGHT)},
    [PS_ACTION_SEND_F] = {0, BIT(SEND_F)},
    [PS_ACTION_RECV_F] = {0, BIT(RECV_F)},
    [PS_ACTION_SEND_B] = {0, BIT(SEND_B)},
    [PS_ACTION_RECV_B] = {0, BIT(RECV_B)},
};

static const char *order_fault(guint16 seen, PsActionKind kind)
{
    if (seen & rules[kind].never) {
        return "comes a second time (expected once)";
    }
    if (~seen & rules[kind].before) {
        return kind == PS_ACTION_WEIGHT ? "comes before its input gradient (expected after it)"
                                        : "comes before its forward (expected after it)";
    }
    return NULL;
}

/* Stages whose parameters are gathered must be so while they compute, and reduce their gradients
 * once all are there. */
static const char *shard_fault(Check *check, const PsAction *action)
{
    static const char *const too_early =
        "comes while the parameters of the stage are resharded (expected UNSHARD before it)";
    guint stage = action->stage;
    if (action->kind == PS_ACTION_REDUCE_GRAD) {
        gboolean all = check->n_gradients[stage] == check->actions->n_microbatches;
        gboolean again = check->reduced[stage];
        check->reduced[stage] = TRUE;
        return again ? "comes a second time (expected once)"
               : all ? NULL
                     : "comes before the last gradient (expected after it)";
    }
    if (action->kind >= PS_ACTION_UNSHARD) {
        check->shard[stage] = (guint8)(action->kind - PS_ACTION_UNSHARD + 1);
        return NULL;
    }
    gboolean computes = action->kind <= PS_ACTION_WEIGHT;
    check->n_gradients[stage] +=
        action->kind == PS_ACTION_BACKWARD || action->kind == PS_ACTION_WEIGHT;
    gboolean resharded = check->shard[stage] == PS_ACTION_RESHARD - PS_ACTION_UNSHARD + 1;
    return computes && resharded ? too_early : NULL;
}

/* What crosses a border of the pipeline between two ranks, and what does not cross any. */
static guint transfers_of(const PsActions *actions, guint stage)
{
    guint rank = actions->rank_of[stage];
    gboolean before = stage > 0 && actions->rank_of[stage - 1] != rank;
    gboolean after = stage + 1 < actions->n_stages && actions->rank_of[stage + 1] != rank;
    return (before ? BIT(RECV_F) | BIT(SEND_B) : 0) | (after ? BIT(SEND_F) | BIT(RECV_B) : 0);
}

static gboolean check_action(Check *check, guint rank, const PsAction *action, GError **error)
{
    const char *fault = shard_fault(check, action);
    if (fault == NULL && action->kind < PS_ACTION_UNSHARD) {
        guint16 *seen =
            &check
                 ->seen[action->stage * (gsize)check->actions->n_microbatches + action->microbatch];
        fault = order_fault(*seen, action->kind);
        if (fault == NULL && action->kind >= PS_ACTION_SEND_F &&
            !(transfers_of(check->actions, action->stage) & 1u << action->kind)) {
            fault =
                "has no other rank to go to or come from (expected transfers between ranks only)";
        }
        *seen |= (guint16)(1u << action->kind);
    }
    if (fault != NULL) {
        g_autofree char *text = ps_action_text(action);
        ps_error_at(error, check->actions->path, line_of(check->actions, rank), "%s %s", text,
                    fault);
    }
    return fault == NULL;
}

static gboolean check_complete(const Check *check, GError **error)
{
    const PsActions *actions = check->actions;
    for (guint stage = 0; stage < actions->n_stages; stage++) {
        guint line = line_of(actions, actions->rank_of[stage]);
        guint needed = actions->transfers ? transfers_of(actions, stage) : 0;
        for (guint n = 0; n < actions->n_microbatches; n++) {
            guint seen = check->seen[stage * (gsize)actions->n_microbatches + n];
            guint gradients = seen & BIT(INPUT) ? BIT(INPUT) | BIT(WEIGHT) : (guint)BIT(BACKWARD);
            guint missing = (BIT(FORWARD) | gradients | needed) & ~seen;
            if (missing != 0) {
                PsAction action = {(PsActionKind)g_bit_nth_lsf(missing, -1), stage, n};
                g_autofree char *text = ps_action_text(&action);
                ps_error_at(error, actions->path, line,
                            "%s is missing (expected every microbatch on every stage)", text);
                return FALSE;
            }
        }
    }
    return TRUE;
}

static gboolean check_actions(const PsActions *actions, GError **error)
{
    gsize n = (gsize)actions->n_stages * actions->n_microbatches;
    g_autofree guint16 *seen = g_new0(guint16, n);
    g_autofree guint8 *shard = g_new0(guint8, actions->n_stages);
    g_autofree guint *n_gradients = g_new0(guint, actions->n_stages);
    g_autofree gboolean *reduced = g_new0(gboolean, actions->n_stages);
    Check check = {actions, seen, shard, n_gradients, reduced};
    for (guint rank = 0; rank < actions->n_ranks; rank++) {
        const GArray *list = ps_actions_of(actions, rank);
        for (guint i = 0; i < list->len; i++) {
            if (!check_action(&check, rank, &g_array_index(list, PsAction, i), error)) {
                return FALSE;
            }
        }
    }
    return check_complete(&check, error);
}

gboolean ps_actions_verify(PsActions *actions, GError **error)
{
    return find_sizes(actions, error) && place_stages(actions, error) &&
           check_actions(actions, error);
}
