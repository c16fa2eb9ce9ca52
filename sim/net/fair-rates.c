#include "sim/net/fair-parts.h"

/* Rates that differ by less are the same: rounding must not tell ties apart. */
#define SAME 1e-12

/* ---- shares -----------------------------------------------------------------------------------
 */

static void add_to_share(PsFairLink *link, guint32 bottleneck, double weight)
{
    guint i = 0;
    while (i < link->n_shares && link->shares[i].bottleneck != bottleneck) {
        i++;
    }
    if (i == link->n_shares) {
        if (link->n_shares == link->share_capacity) {
            link->share_capacity = MAX(4, 2 * link->share_capacity);
            link->shares = g_renew(PsFairShare, link->shares, link->share_capacity);
        }
        link->shares[link->n_shares++] = (PsFairShare){bottleneck, 0, 0};
    }
    link->shares[i].n_parts++;
    link->shares[i].weight += weight;
}

static void take_from_share(PsFairLink *link, guint32 bottleneck, double weight)
{
    PsFairShare *share = link->shares;
    while (share->bottleneck != bottleneck) {
        share++;
    }
    share->n_parts--;
    share->weight -= weight;
    if (share->n_parts == 0) {
        *share = link->shares[--link->n_shares];
    }
}

void ps_fair_move(PsFair *fair, guint32 number, guint32 to)
{
    PsFairFlow *flow = ps_fair_flow(fair, number);
    const PsFairPart *parts = ps_fair_parts(flow);
    guint32 from = flow->bottleneck;
    for (guint i = 0; i < flow->n_parts; i++) {
        PsFairLink *link = ps_fair_link(fair, parts[i].link);
        if (from != NONE) {
            take_from_share(link, from, parts[i].weight);
        }
        if (to != NONE) {
            add_to_share(link, to, parts[i].weight);
        }
    }
    flow->bottleneck = to;
    if (to != NONE) {
        fair->funcs->moved(fair->owner, number, from, to);
    }
}

/* ---- filling ----------------------------------------------------------------------------------
 */

static inline gboolean sooner(PsFairCandidate a, PsFairCandidate b)
{
    return a.level < b.level || (a.level == b.level && a.link < b.link);
}

static void sink(PsFairCandidate *heap, guint n, guint place, PsFairCandidate candidate)
{
    guint child;
    while ((child = 2 * place + 1) < n) {
        child += child + 1 < n && sooner(heap[child + 1], heap[child]);
        if (!sooner(heap[child], candidate)) {
            break;
        }
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = candidate;
}

static PsFairCandidate *make_heap(PsFair *fair)
{
    guint n = fair->members->len;
    g_array_set_size(fair->candidates, n);
    PsFairCandidate *heap = (PsFairCandidate *)(gpointer)fair->candidates->data;
    for (guint i = 0; i < n; i++) {
        guint32 number = g_array_index(fair->members, guint32, i);
        PsFairLink *link = ps_fair_link(fair, number);
        PsFairRest *rest = ps_fair_rest(fair, number);
        link->level = 0;
        rest->left = link->capacity;
        rest->weight = link->weight;
        rest->n_parts = link->n_entries;
        heap[i] = (PsFairCandidate){link->capacity / link->weight, number};
    }
    for (guint i = n / 2; i > 0; i--) {
        sink(heap, n, i - 1, heap[i - 1]);
    }
    return heap;
}

/* The link is full when its flows that are not fixed reach `level`: they stay there. */
static void fix_flows(PsFair *fair, guint32 number, double level)
{
    guint32 *rounds = (guint32 *)(gpointer)fair->rounds->data;
    PsFairRest *rests = ps_fair_rest(fair, 0);
    PsFairLink *link = ps_fair_link(fair, number);
    link->level = level;
    for (guint i = 0; i < link->n_entries && rests[number].n_parts > 0; i++) {
        guint32 flow_number = link->entries[i].flow;
        if (rounds[flow_number] == fair->round) {
            continue;
        }
        rounds[flow_number] = fair->round;
        PsFairFlow *flow = ps_fair_flow(fair, flow_number);
        const PsFairPart *parts = ps_fair_parts(flow);
        for (guint j = 0; j < flow->n_parts; j++) {
            PsFairRest *rest = &rests[parts[j].link];
            rest->left -= parts[j].weight * level;
            rest->weight -= parts[j].weight;
            rest->n_parts--;
        }
        if (flow->bottleneck != number) {
            ps_fair_move(fair, flow_number, number);
        }
    }
}

/* Links become full in the order of their levels. Fixing flows only raises the level of a link that
 * they cross, so that a candidate may wait with its old one until it comes up. */
void ps_fair_fill(PsFair *fair)
{
    guint n = fair->members->len, n_full = 0, n_idle = n;
    PsFairCandidate *heap = make_heap(fair);
    guint32 *members = (guint32 *)(gpointer)fair->members->data;
    double level = 0;
    fair->round++;
    while (n > 0) {
        guint32 number = heap[0].link;
        const PsFairRest *rest = ps_fair_rest(fair, number);
        double full = rest->left / rest->weight;
        if (rest->n_parts > 0 && full > heap[0].level) {
            sink(heap, n, 0, (PsFairCandidate){full, number});
            continue;
        }
        n--;
        sink(heap, n, 0, heap[n]);
        if (rest->n_parts > 0) {
            level = full > level ? full : level; /* rounding must not make levels fall */
            members[n_full++] = number;
            fix_flows(fair, number, level);
        } else {
            members[--n_idle] = number;
        }
    }
}

/* ---- adjusting --------------------------------------------------------------------------------
 */

/* The bottleneck of a new flow is, as a guess, the one with the lowest level that it crosses. */
static gboolean guess(PsFair *fair, guint32 number)
{
    PsFairFlow *flow = ps_fair_flow(fair, number);
    const PsFairPart *parts = ps_fair_parts(flow);
    guint32 lowest = NONE;
    for (guint i = 0; i < flow->n_parts; i++) {
        double level = ps_fair_link(fair, parts[i].link)->level;
        if (level > 0 && (lowest == NONE || level < ps_fair_link(fair, lowest)->level)) {
            lowest = parts[i].link;
        }
    }
    if (lowest != NONE) {
        ps_fair_move(fair, number, lowest);
    }
    return lowest != NONE;
}

/* What a link's flows with other bottlenecks take, and whether all of these levels are known. */
typedef struct {
    double used;
    double own_weight; /* of the flows whose bottleneck it is */
    double highest;    /* level of the others */
    gboolean known;
} Load;

static Load load_of(const PsFair *fair, guint32 number)
{
    const PsFairLink *link = ps_fair_link(fair, number);
    Load load = {0, 0, 0, TRUE};
    for (guint i = 0; i < link->n_shares; i++) {
        const PsFairShare *share = &link->shares[i];
        const PsFairRest *rest = ps_fair_rest(fair, share->bottleneck);
        if (share->bottleneck == number) {
            load.own_weight = share->weight;
        } else if (rest->round == fair->round) {
            load.used += share->weight * rest->level;
            load.highest = MAX(load.highest, rest->level);
        } else {
            load.known = FALSE;
        }
    }
    return load;
}

/* Levels of the bottlenecks, in their old order: those of one are found from those before it, and
 * must not be below any of theirs that it meets. */
static gboolean find_levels(PsFair *fair)
{
    const guint32 *members = (const guint32 *)(gpointer)fair->members->data;
    for (guint i = 0; i < fair->members->len; i++) {
        Load load = load_of(fair, members[i]);
        if (load.own_weight == 0) {
            continue;
        }
        double capacity = ps_fair_link(fair, members[i])->capacity;
        double level = (capacity - load.used) / load.own_weight;
        if (!load.known || level <= 0 || level < load.highest * (1 - SAME)) {
            return FALSE;
        }
        PsFairRest *rest = ps_fair_rest(fair, members[i]);
        rest->level = level;
        rest->round = fair->round;
    }
    return TRUE;
}

/* Whether no other link carries more than it can. */
static gboolean all_fit(PsFair *fair)
{
    const guint32 *members = (const guint32 *)(gpointer)fair->members->data;
    for (guint i = 0; i < fair->members->len; i++) {
        if (ps_fair_rest(fair, members[i])->round != fair->round &&
            load_of(fair, members[i]).used >
                ps_fair_link(fair, members[i])->capacity * (1 + SAME)) {
            return FALSE;
        }
    }
    return TRUE;
}

gboolean ps_fair_adjust(PsFair *fair, guint32 fresh)
{
    fair->round++;
    if ((fresh != NONE && !guess(fair, fresh)) || !find_levels(fair) || !all_fit(fair)) {
        return FALSE;
    }
    for (guint i = 0; i < fair->members->len; i++) {
        guint32 number = g_array_index(fair->members, guint32, i);
        const PsFairRest *rest = ps_fair_rest(fair, number);
        ps_fair_link(fair, number)->level = rest->round == fair->round ? rest->level : 0;
    }
    return TRUE;
}
