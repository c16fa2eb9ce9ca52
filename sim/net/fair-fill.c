/* Filling again what a change reaches.
 *
 * A flow has its max-min fair rate if some link that it crosses is full and none of the link's
 * flows is faster (Bertsekas and Gallager, section 6.5.2). So flows that had theirs before a change
 * keep it as long as their bottleneck remains such a link. At first the new flows rise, and those
 * of bottlenecks that flows have left: from level 0, beside all others.
 *
 * - A link becomes full while flows that do not rise are faster on it: their bottlenecks release
 *   them, since they have to come down to it. Otherwise it is the bottleneck of all that rise over
 *   it, and done with.
 * - The level gets to that of a bottleneck whose flows do not rise: it releases them if it is not
 *   full (they can rise further) or others rise over it (they are to have one rate).
 *
 * Who is released was faster than the level, so that nothing below it changes any more: links are
 * done with in the order of their levels. The flows of a bottleneck are released together and, but
 * for those that become full on other links before, fixed together; this is counted by shares, not
 * by flows. */
#include "sim/net/fair-parts.h"

/* Rates that differ by less are the same: rounding must not tell ties apart. */
#define SAME 1e-12
#define NEVER G_MAXDOUBLE

/* ---- links in the order of their levels ----------------------------------------------------- */

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

static void push(GArray *candidates, PsFairCandidate candidate)
{
    guint place = candidates->len;
    g_array_set_size(candidates, place + 1);
    PsFairCandidate *heap = (PsFairCandidate *)(gpointer)candidates->data;
    for (; place > 0 && sooner(candidate, heap[(place - 1) / 2]); place = (place - 1) / 2) {
        heap[place] = heap[(place - 1) / 2];
    }
    heap[place] = candidate;
}

static void drop_first(PsFair *fair)
{
    GArray *candidates = fair->candidates;
    PsFairCandidate *heap = (PsFairCandidate *)(gpointer)candidates->data;
    guint n = candidates->len - 1;
    ps_fair_rest(fair, heap[0].link)->queued = NEVER;
    sink(heap, n, 0, heap[n]);
    g_array_set_size(candidates, n);
}

/* Level of the flows that the link holds back and that do not rise; NEVER where there are none. */
static inline double held_level(const PsFair *fair, guint32 number)
{
    double level = ps_fair_link(fair, number)->level;
    const PsFairRest *rest = ps_fair_rest(fair, number);
    return level > 0 && rest->released != fair->update && rest->settled != fair->update ? level
                                                                                        : NEVER;
}

/* The flows of the bottleneck rise. */
static inline gboolean rises(const PsFair *fair, guint32 bottleneck)
{
    const PsFairRest *rest = ps_fair_rest(fair, bottleneck);
    return rest->released == fair->update && rest->fixed != fair->update;
}

/* Counts what is left of a link. */
static PsFairRest *count(PsFair *fair, guint32 number)
{
    const PsFairLink *link = ps_fair_link(fair, number);
    PsFairRest *rest = ps_fair_rest(fair, number);
    if (rest->counted == fair->update) {
        return rest;
    }
    rest->counted = fair->update;
    rest->left = link->capacity;
    for (guint i = 0; i < link->n_shares; i++) {
        const PsFairShare *share = &link->shares[i];
        const PsFairRest *other = ps_fair_rest(fair, share->bottleneck);
        if (other->fixed == fair->update) {
            rest->left -= share->weight * other->level;
        } else if (other->released != fair->update) {
            rest->left -= share->weight * ps_fair_link(fair, share->bottleneck)->level;
        }
    }
    return rest;
}

/* Level at which the link is full; NEVER where no flow rises over it, but 0 where those that have
 * risen leave too little for the others. */
static double full_level(PsFair *fair, guint32 number)
{
    const PsFairRest *rest = count(fair, number);
    if (rest->n_parts > 0) {
        return rest->left / rest->weight;
    }
    return rest->left < -SAME * ps_fair_link(fair, number)->capacity ? 0 : NEVER;
}

/* Level at which the link is to be looked at. */
static double next_level(PsFair *fair, guint32 number)
{
    double full = full_level(fair, number);
    return MIN(MAX(full, ps_fair_rest(fair, number)->least), held_level(fair, number));
}

/* ---- who rises ------------------------------------------------------------------------------ */

/* More flows rise over the link: it may be full sooner than it was to be. */
static PsFairRest *touch(PsFair *fair, guint32 number)
{
    PsFairRest *rest = ps_fair_rest(fair, number);
    if (rest->crossed != fair->update) {
        rest->crossed = fair->update;
        rest->left = rest->weight = 0;
        rest->queued = NEVER;
        rest->n_parts = 0;
        const PsFairLink *link = ps_fair_link(fair, number);
        rest->least = link->capacity / link->weight;
    }
    if (rest->touched != fair->batch) {
        rest->touched = fair->batch;
        g_array_append_val(fair->touched, number);
    }
    rest->settled = 0;
    return rest;
}

static void push_touched(PsFair *fair)
{
    for (guint i = 0; i < fair->touched->len; i++) {
        guint32 number = g_array_index(fair->touched, guint32, i);
        PsFairRest *rest = ps_fair_rest(fair, number);
        if (rest->queued <= rest->least) {
            continue;
        }
        double level = rest->counted == fair->update ? next_level(fair, number) : rest->least;
        if (level < rest->queued) {
            rest->queued = level;
            push(fair->candidates, (PsFairCandidate){level, number});
        }
    }
    g_array_set_size(fair->touched, 0);
    fair->batch++;
}

/* The flows that the link holds back rise from the level that they have. */
static void release(PsFair *fair, guint32 number)
{
    if (ps_fair_rest(fair, number)->released == fair->update) {
        return;
    }
    ps_fair_begin(fair, number);
    ps_fair_rest(fair, number)->released = fair->update;
    const PsFairLink *link = ps_fair_link(fair, number);
    fair->n_rising += link->n_held;
    for (guint i = 0; i < link->n_holds; i++) {
        PsFairHold hold = link->holds[i];
        const PsFairShare *share = &ps_fair_link(fair, hold.link)->shares[hold.share];
        PsFairRest *rest = touch(fair, hold.link);
        rest->left += share->weight * link->level;
        rest->weight += share->weight;
        rest->n_parts += share->n_parts;
    }
}

static void start_fresh(PsFair *fair, guint32 number)
{
    PsFairFlow *flow = ps_fair_flow(fair, number);
    const PsFairPart *parts = ps_fair_parts(flow);
    for (guint i = 0; i < flow->n_parts; i++) {
        PsFairRest *rest = touch(fair, parts[i].link);
        rest->weight += parts[i].weight;
        rest->n_parts++;
    }
    fair->n_rising++;
}

static void start(PsFair *fair)
{
    for (guint i = 0; i < fair->left_links->len; i++) {
        guint32 number = g_array_index(fair->left_links, guint32, i);
        if (ps_fair_link(fair, number)->level > 0) {
            release(fair, number);
        }
    }
    for (guint i = 0; i < fair->fresh->len; i++) {
        start_fresh(fair, g_array_index(fair->fresh, guint32, i));
    }
    push_touched(fair);
}

/* ---- faster flows --------------------------------------------------------------------------- */

/* The level of flows over a link that have kept theirs, if it is above another; else 0. */
static inline double faster(const PsFair *fair, const PsFairShare *share, double level)
{
    double other = ps_fair_link(fair, share->bottleneck)->level;
    const PsFairRest *rest = ps_fair_rest(fair, share->bottleneck);
    gboolean kept = rest->released != fair->update && rest->fixed != fair->update;
    return kept && other > level * (1 + SAME) ? other : 0;
}

/* The level at which a link is full if the flows that are faster come down to it: it rises as they
 * give way, so that fewer and fewer of them are. */
static double shared_level(PsFair *fair, guint32 number)
{
    const PsFairLink *link = ps_fair_link(fair, number);
    const PsFairRest *rest = ps_fair_rest(fair, number);
    double level = full_level(fair, number);
    for (guint n_faster = G_MAXUINT;;) {
        double left = rest->left, weight = rest->weight;
        guint n = 0;
        for (guint i = 0; i < link->n_shares; i++) {
            double other = faster(fair, &link->shares[i], level);
            if (other > 0) {
                left += link->shares[i].weight * other;
                weight += link->shares[i].weight;
                n++;
            }
        }
        if (n >= n_faster) {
            return level;
        }
        n_faster = n;
        level = weight > 0 ? left / weight : level;
    }
}

/* Releases the flows over a link that are faster than a level. */
static gboolean release_faster(PsFair *fair, guint32 number, double level)
{
    const PsFairLink *link = ps_fair_link(fair, number);
    gboolean any = FALSE;
    for (guint i = 0; i < link->n_shares; i++) {
        if (faster(fair, &link->shares[i], level) > 0) {
            release(fair, link->shares[i].bottleneck);
            any = TRUE;
        }
    }
    return any;
}

/* ---- the level rises ------------------------------------------------------------------------ */

static inline void fix_part(PsFairRest *rest, double weight, guint32 n_parts, double level)
{
    rest->left -= weight * level;
    rest->weight -= weight;
    rest->n_parts -= n_parts;
}

/* The flows that a link held back have it as their bottleneck again. */
static void fix_held(PsFair *fair, guint32 number, double level)
{
    const PsFairLink *link = ps_fair_link(fair, number);
    fair->n_rising -= link->n_held;
    for (guint i = 0; i < link->n_holds; i++) {
        PsFairHold hold = link->holds[i];
        const PsFairShare *share = &ps_fair_link(fair, hold.link)->shares[hold.share];
        fix_part(ps_fair_rest(fair, hold.link), share->weight, share->n_parts, level);
    }
}

/* The other flows that rise over it move to it. */
static void fix_others(PsFair *fair, guint32 number, double level)
{
    const PsFairLink *link = ps_fair_link(fair, number);
    const PsFairRest *rest = ps_fair_rest(fair, number);
    for (guint i = 0; i < link->n_entries && rest->n_parts > 0; i++) {
        PsFairFlow *flow = ps_fair_flow(fair, link->entries[i].flow);
        if (flow->bottleneck != NONE && !rises(fair, flow->bottleneck)) {
            continue;
        }
        const PsFairPart *parts = ps_fair_parts(flow);
        for (guint j = 0; j < flow->n_parts; j++) {
            fix_part(ps_fair_rest(fair, parts[j].link), parts[j].weight, 1, level);
        }
        ps_fair_move(fair, link->entries[i].flow, number);
        fair->n_rising--;
    }
}

static void fix(PsFair *fair, guint32 number, double level)
{
    ps_fair_begin(fair, number);
    if (rises(fair, number)) {
        fix_held(fair, number, level);
    }
    PsFairRest *rest = ps_fair_rest(fair, number);
    rest->fixed = fair->update;
    rest->level = level;
    fix_others(fair, number, level);
}

/* The level has got to that of flows that the link holds back. */
static void meet_held(PsFair *fair, guint32 number, double level)
{
    PsFairRest *rest = ps_fair_rest(fair, number);
    double slack = rest->left - (rest->n_parts > 0 ? rest->weight * level : 0);
    if (rest->n_parts > 0 || slack > SAME * ps_fair_link(fair, number)->capacity) {
        release(fair, number);
    } else {
        rest->settled = fair->update;
    }
}

/* The link is full, if faster flows do not give way. */
static void meet_full(PsFair *fair, guint32 number, double level)
{
    gboolean any = release_faster(fair, number, shared_level(fair, number)) ||
                   release_faster(fair, number, level);
    if (!any && held_level(fair, number) < NEVER) {
        release(fair, number);
        any = TRUE;
    }
    if (any) {
        touch(fair, number);
    } else if (ps_fair_rest(fair, number)->n_parts > 0) {
        fix(fair, number, level);
    }
}

/* No flow rises any more. What is left to look at are links that carry too much and bottlenecks
 * that carry too little; a link that holds nothing back and carries no more than before is neither.
 */
static void drop_settled(PsFair *fair)
{
    GArray *candidates = fair->candidates;
    PsFairCandidate *heap = (PsFairCandidate *)(gpointer)candidates->data;
    guint n = 0;
    for (guint i = 0; i < candidates->len; i++) {
        guint32 number = heap[i].link;
        PsFairRest *rest = ps_fair_rest(fair, number);
        gboolean relieved = rest->counted != fair->update && rest->left >= 0;
        rest->queued = NEVER;
        if ((relieved && held_level(fair, number) == NEVER) || next_level(fair, number) == NEVER) {
            continue;
        }
        rest->queued = next_level(fair, number);
        heap[n++] = (PsFairCandidate){rest->queued, number};
    }
    g_array_set_size(candidates, n);
    for (guint i = n / 2; i > 0; i--) {
        sink(heap, n, i - 1, heap[i - 1]);
    }
}

static void look_at_first(PsFair *fair, double *level)
{
    GArray *candidates = fair->candidates;
    PsFairCandidate *first = (PsFairCandidate *)(gpointer)candidates->data;
    guint32 number = first->link;
    double next = next_level(fair, number);
    if (next < NEVER && next > first->level) {
        /* Fixing flows only raises the level of a link that they cross. */
        ps_fair_rest(fair, number)->queued = next;
        sink(first, candidates->len, 0, (PsFairCandidate){next, number});
        return;
    }
    drop_first(fair);
    if (next < NEVER) {
        double held = held_level(fair, number);
        *level = MAX(*level, next); /* rounding must not make levels fall */
        if (held <= full_level(fair, number) * (1 + SAME)) {
            meet_held(fair, number, held);
        } else {
            meet_full(fair, number, *level);
        }
        push_touched(fair);
    }
}

void ps_fair_fill(PsFair *fair)
{
    double level = 0;
    start(fair);
    while (fair->candidates->len > 0) {
        gboolean rising = fair->n_rising > 0;
        look_at_first(fair, &level);
        if (rising && fair->n_rising == 0) {
            drop_settled(fair);
        }
    }
}
