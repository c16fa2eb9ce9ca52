#include "sim/base/error.h"
#include "sim/schedule/actions.h"

/* Each rank has two queues: computations, and sends and receives. */
typedef enum { COMPUTATIONS, TRANSFERS, N_QUEUES } Queue;

typedef struct {
    const PsActions *actions;
    guint *next;   /* [rank * N_QUEUES + queue]: place in the rank's actions; its length: done */
    guint16 *done; /* [stage * n_microbatches + microbatch]: bit per kind */
} Run;

static guint16 *done_at(const Run *run, guint stage, guint microbatch)
{
    return &run->done[stage * (gsize)run->actions->n_microbatches + microbatch];
}

static gboolean is_done(const Run *run, PsActionKind kind, guint stage, guint microbatch)
{
    /* For those who wait, an input gradient is as good as a backward. */
    guint kinds =
        kind == PS_ACTION_BACKWARD ? 1u << PS_ACTION_BACKWARD | 1u << PS_ACTION_INPUT : 1u << kind;
    return *done_at(run, stage, microbatch) & kinds;
}

static const PsAction *head(const Run *run, guint queue)
{
    const GArray *list = ps_actions_of(run->actions, queue / N_QUEUES);
    return run->next[queue] < list->len ? &g_array_index(list, PsAction, run->next[queue]) : NULL;
}

/* Moves to the next action of this queue, from the present one on. */
static void seek(Run *run, guint queue)
{
    for (const PsAction *action; (action = head(run, queue)) != NULL; run->next[queue]++) {
        gboolean transfer = action->kind >= PS_ACTION_SEND_F;
        if (action->kind < PS_ACTION_UNSHARD && transfer == (queue % N_QUEUES == TRANSFERS)) {
            return;
        }
    }
}

static void finish(Run *run, guint queue)
{
    const PsAction *action = head(run, queue);
    *done_at(run, action->stage, action->microbatch) |= (guint16)(1u << action->kind);
    run->next[queue]++;
    seek(run, queue);
}

static guint queue_of(const Run *run, guint stage, Queue queue)
{
    return run->actions->rank_of[stage] * N_QUEUES + queue;
}

/* What a send or receive meets at the other end. */
static PsAction partner_of(const PsAction *transfer)
{
    static const struct {
        PsActionKind kind;
        gint stages;
    } partners[PS_N_ACTIONS] = {
        [PS_ACTION_SEND_F] = {PS_ACTION_RECV_F, 1},
        [PS_ACTION_RECV_F] = {PS_ACTION_SEND_F, -1},
        [PS_ACTION_SEND_B] = {PS_ACTION_RECV_B, -1},
        [PS_ACTION_RECV_B] = {PS_ACTION_SEND_B, 1},
    };
    return (PsAction){partners[transfer->kind].kind,
                      transfer->stage + (guint)partners[transfer->kind].stages,
                      transfer->microbatch};
}

static gboolean has_data(const Run *run, const PsAction *transfer)
{
    PsActionKind source = transfer->kind == PS_ACTION_SEND_F   ? PS_ACTION_FORWARD
                          : transfer->kind == PS_ACTION_SEND_B ? PS_ACTION_BACKWARD
                                                               : PS_N_ACTIONS;
    return source == PS_N_ACTIONS || is_done(run, source, transfer->stage, transfer->microbatch);
}

/* The queue that the head of this one waits for; G_MAXUINT where it can go. */
static guint blocker_of_transfer(const Run *run, const PsAction *transfer)
{
    if (!has_data(run, transfer)) {
        return queue_of(run, transfer->stage, COMPUTATIONS);
    }
    PsAction partner = partner_of(transfer);
    guint other = queue_of(run, partner.stage, TRANSFERS);
    const PsAction *there = head(run, other);
    gboolean meet = there != NULL && there->kind == partner.kind && there->stage == partner.stage &&
                    there->microbatch == partner.microbatch && has_data(run, there);
    return meet ? G_MAXUINT : other;
}

static guint blocker_of_computation(const Run *run, const PsAction *action)
{
    const PsActions *actions = run->actions;
    gboolean forward = action->kind == PS_ACTION_FORWARD;
    guint last = actions->n_stages - 1;
    if (action->kind == PS_ACTION_WEIGHT || action->stage == (forward ? 0 : last)) {
        return G_MAXUINT;
    }
    guint source = forward ? action->stage - 1 : action->stage + 1;
    gboolean crosses = actions->rank_of[source] != actions->rank_of[action->stage];
    if (actions->transfers && crosses) {
        PsActionKind receive = forward ? PS_ACTION_RECV_F : PS_ACTION_RECV_B;
        return is_done(run, receive, action->stage, action->microbatch)
                   ? G_MAXUINT
                   : queue_of(run, action->stage, TRANSFERS);
    }
    return is_done(run, forward ? PS_ACTION_FORWARD : PS_ACTION_BACKWARD, source,
                   action->microbatch)
               ? G_MAXUINT
               : queue_of(run, source, COMPUTATIONS);
}

static guint blocker_of(const Run *run, guint queue)
{
    const PsAction *action = head(run, queue);
    return queue % N_QUEUES == TRANSFERS ? blocker_of_transfer(run, action)
                                         : blocker_of_computation(run, action);
}

/* Goes on as far as this queue gets. */
static gboolean advance(Run *run, guint queue)
{
    gboolean moved = FALSE;
    while (head(run, queue) != NULL && blocker_of(run, queue) == G_MAXUINT) {
        if (queue % N_QUEUES == TRANSFERS) {
            finish(run, queue_of(run, partner_of(head(run, queue)).stage, TRANSFERS));
        }
        finish(run, queue);
        moved = TRUE;
    }
    return moved;
}

static void describe_deadlock(const Run *run, guint queue, GError **error)
{
    guint n_queues = run->actions->n_ranks * N_QUEUES;
    for (guint i = 0; i < n_queues; i++) { /* then the walk is on the cycle */
        queue = blocker_of(run, queue);
    }
    guint first = queue;
    for (guint on = blocker_of(run, queue); on != queue; on = blocker_of(run, on)) {
        first = MIN(first, on);
    }
    queue = first;
    g_autoptr(GString) cycle = g_string_new(NULL);
    do {
        g_autofree char *text = ps_action_text(head(run, queue));
        g_string_append_printf(cycle, "rank %u waits in %s -> ", queue / N_QUEUES, text);
        queue = blocker_of(run, queue);
    } while (queue != first);
    ps_error(error, PS_ERROR_STUCK, "%s: deadlock: %srank %u", run->actions->path, cycle->str,
             first / N_QUEUES);
}

gboolean ps_actions_run(const PsActions *actions, GError **error)
{
    guint n_queues = actions->n_ranks * N_QUEUES;
    g_autofree guint *next = g_new0(guint, n_queues);
    g_autofree guint16 *done = g_new0(guint16, (gsize)actions->n_stages * actions->n_microbatches);
    Run run = {actions, next, done};
    for (guint queue = 0; queue < n_queues; queue++) {
        seek(&run, queue);
    }
    for (gboolean moved = TRUE; moved;) {
        moved = FALSE;
        for (guint queue = 0; queue < n_queues; queue++) {
            moved |= advance(&run, queue);
        }
    }
    for (guint queue = 0; queue < n_queues; queue++) {
        if (head(&run, queue) != NULL) {
            describe_deadlock(&run, queue, error);
            return FALSE;
        }
    }
    return TRUE;
}
