#include "sim/net/fair-parts.h"

gpointer ps_fair_grow(gpointer list, guint32 n, guint32 *capacity, gsize size)
{
    if (n < *capacity) {
        return list;
    }
    *capacity = MAX(4, 2 * *capacity);
    return g_realloc_n(list, *capacity, size);
}

static guint32 find_share(const PsFairLink *link, guint32 bottleneck)
{
    guint32 i = 0;
    while (i < link->n_shares && link->shares[i].bottleneck != bottleneck) {
        i++;
    }
    return i;
}

static void add_to_share(PsFair *fair, guint32 number, guint32 bottleneck, double weight)
{
    PsFairLink *link = ps_fair_link(fair, number), *holder = ps_fair_link(fair, bottleneck);
    guint32 i = find_share(link, bottleneck);
    if (i == link->n_shares) {
        link->shares =
            ps_fair_grow(link->shares, link->n_shares, &link->share_capacity, sizeof *link->shares);
        holder->holds = ps_fair_grow(holder->holds, holder->n_holds, &holder->hold_capacity,
                                     sizeof *holder->holds);
        link->shares[link->n_shares++] = (PsFairShare){bottleneck, 0, holder->n_holds, 0};
        holder->holds[holder->n_holds++] = (PsFairHold){number, i};
    }
    link->shares[i].n_parts++;
    link->shares[i].weight += weight;
}

/* The last ones take the places of the share and of the hold that go. */
static void take_from_share(PsFair *fair, guint32 number, guint32 bottleneck, double weight)
{
    PsFairLink *link = ps_fair_link(fair, number), *holder = ps_fair_link(fair, bottleneck);
    guint32 i = find_share(link, bottleneck);
    PsFairShare *share = &link->shares[i];
    share->weight -= weight;
    if (--share->n_parts > 0) {
        return;
    }
    PsFairHold last_hold = holder->holds[--holder->n_holds];
    holder->holds[share->place] = last_hold;
    ps_fair_link(fair, last_hold.link)->shares[last_hold.share].place = share->place;
    *share = link->shares[--link->n_shares];
    if (i < link->n_shares) {
        ps_fair_link(fair, share->bottleneck)->holds[share->place].share = i;
    }
}

void ps_fair_move(PsFair *fair, guint32 number, guint32 to)
{
    PsFairFlow *flow = ps_fair_flow(fair, number);
    const PsFairPart *parts = ps_fair_parts(flow);
    guint32 from = flow->bottleneck;
    for (guint i = 0; i < flow->n_parts; i++) {
        if (from != NONE) {
            take_from_share(fair, parts[i].link, from, parts[i].weight);
        }
        if (to != NONE) {
            add_to_share(fair, parts[i].link, to, parts[i].weight);
        }
    }
    flow->bottleneck = to;
    if (from != NONE) {
        ps_fair_link(fair, from)->n_held--;
    }
    if (to != NONE) {
        ps_fair_link(fair, to)->n_held++;
        fair->funcs->moved(fair->owner, number, from, to);
    }
}

void ps_fair_begin(PsFair *fair, guint32 number)
{
    PsFairRest *rest = ps_fair_rest(fair, number);
    if (rest->changed != fair->update) {
        rest->changed = fair->update;
        g_array_append_val(fair->changed, number);
        fair->funcs->begin(fair->owner, number);
    }
}
