/* Parts of the fair sharing; fair.h is what others use. */
#pragma once

#include "sim/net/fair.h"

#define NONE PS_FAIR_NONE

/* A load, and where the link's list has it. */
typedef struct {
    guint32 link;
    guint32 position;
    double weight;
} PsFairPart;

/* Most flows cross few links: their loads lie in the flow itself, where filling finds them fast. */
#define PS_FEW_PARTS 4

typedef struct {
    guint32 n_parts; /* 0: nothing has this number */
    guint32 bottleneck;
    guint32 next_free;
    guint32 many_capacity;
    PsFairPart
        *many; /* all parts where they are more than a few; kept for the number's next flow */
    PsFairPart few[PS_FEW_PARTS];
} PsFairFlow;

/* A flow on a link's list, and which of its parts it is. */
typedef struct {
    guint32 flow;
    guint32 part;
} PsFairEntry;

/* The parts on a link's list whose flows have one bottleneck. */
typedef struct {
    guint32 bottleneck;
    guint32 n_parts;
    guint32 place; /* in the bottleneck's list of holds */
    double weight;
} PsFairShare;

/* Where flows that a bottleneck holds back are: a share of a link's list. */
typedef struct {
    guint32 link;
    guint32 share;
} PsFairHold;

typedef struct {
    double capacity;
    double weight; /* of the entries */
    double level;  /* rate of the flows that it holds back; 0 where there are none */
    PsFairEntry *entries;
    PsFairShare *shares; /* of the entries whose flows have a bottleneck */
    PsFairHold *holds;   /* of the flows whose bottleneck it is */
    guint32 n_entries, entry_capacity;
    guint32 n_shares, share_capacity;
    guint32 n_holds, hold_capacity;
    guint32 n_held;    /* flows whose bottleneck it is */
    guint32 next_free; /* of links that belong to one flow */
} PsFairLink;

/* Of a link, while rates are found anew. Marks are numbers of updates. */
typedef struct {
    double left;      /* capacity for the rising flows; as long as it is not counted, only what
                         others have given back since the last update */
    double weight;    /* of the rising flows */
    double level;     /* of the flows that it holds back now, if it is fixed */
    double least;     /* level that all of its flows can have: it is not full below */
    double queued;    /* lowest level of its candidates */
    guint32 n_parts;  /* of the rising flows */
    guint32 crossed;  /* mark: the above is of this update */
    guint32 counted;  /* mark: `left` is all that is left */
    guint32 released; /* mark: the flows that it held back rise, until it is fixed */
    guint32 fixed;    /* mark: it is a bottleneck, and done with */
    guint32 settled;  /* mark: it stays the bottleneck that it was */
    guint32 touched;  /* number of a batch */
    guint32 changed;  /* mark: the owner has heard of it */
} PsFairRest;

/* A link that waits for its level. */
typedef struct {
    double level; /* at most the level at which it will be looked at */
    guint32 link;
} PsFairCandidate;

struct PsFair {
    const PsFairFuncs *funcs;
    gpointer owner;
    GArray *flows; /* PsFairFlow */
    GArray *links; /* PsFairLink */
    GArray *rests; /* PsFairRest, by link */
    guint32 free_flow, free_link;
    guint n_links;      /* without those that belong to one flow */
    GArray *fresh;      /* guint32, flows since the last update */
    GArray *left_links; /* guint32, links that flows have left since then */
    guint32 update, batch;
    guint n_rising;     /* flows */
    GArray *changed;    /* guint32, links whose level or flows change */
    GArray *touched;    /* guint32, links over which more flows rise */
    GArray *candidates; /* PsFairCandidate, a heap */
};

static inline PsFairFlow *ps_fair_flow(const PsFair *fair, guint32 flow)
{
    return &g_array_index(fair->flows, PsFairFlow, flow);
}

static inline PsFairPart *ps_fair_parts(PsFairFlow *flow)
{
    return flow->n_parts <= PS_FEW_PARTS ? flow->few : flow->many;
}

static inline PsFairLink *ps_fair_link(const PsFair *fair, guint32 link)
{
    return &g_array_index(fair->links, PsFairLink, link);
}

static inline PsFairRest *ps_fair_rest(const PsFair *fair, guint32 link)
{
    return &g_array_index(fair->rests, PsFairRest, link);
}

/* ---- shares (fair-shares.c) ----------------------------------------------------------------- */

/* Room for one more element of a list that doubles. */
gpointer ps_fair_grow(gpointer list, guint32 n, guint32 *capacity, gsize size);

/* Changes a flow's bottleneck; to is NONE for a flow that goes. */
void ps_fair_move(PsFair *fair, guint32 flow, guint32 to);

/* The link's level or flows are about to change. */
void ps_fair_begin(PsFair *fair, guint32 link);

/* ---- rates (fair-fill.c) -------------------------------------------------------------------- */

/* Finds the bottlenecks that differ from what they were before flows came (fair->fresh) and left
 * (fair->left_links), and makes them the flows' bottlenecks; the levels are left in the rests. */
void ps_fair_fill(PsFair *fair);
