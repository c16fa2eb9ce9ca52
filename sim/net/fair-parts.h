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
    guint32 n_parts; /* 0: free */
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
    double weight;
} PsFairShare;

typedef struct {
    double capacity;
    double weight; /* of the entries */
    double level;  /* rate of the flows whose bottleneck it is */
    PsFairEntry *entries;
    PsFairShare *shares; /* of the entries whose flows have a bottleneck */
    guint32 n_entries, entry_capacity;
    guint32 n_shares, share_capacity;
    guint32 component; /* NONE for a link without flows */
    guint32 next;      /* in its component, a ring; of a free link: the next free one */
} PsFairLink;

/* Links joined by flows. It may be more than one: where flows have gone, this shows when all
 * components are built anew. */
typedef struct {
    guint32 first; /* a link; from there on bottlenecks come in the order of their levels, as far
                      as the component has not been joined with another */
    guint32 n_links;
    guint32 next_free;
    guint32 fresh; /* the flow without bottleneck, or NONE */
    gboolean cold; /* more than that is new: it must be filled */
    gboolean dirty;
} PsFairComponent;

/* Of a link, while the rates of its component are found. */
typedef struct {
    double left;   /* capacity for the flows that are not fixed yet */
    double weight; /* theirs */
    double level;  /* found by an adjustment */
    guint32 n_parts;
    guint32 round; /* of that adjustment */
} PsFairRest;

/* A link that waits to be full. */
typedef struct {
    double level; /* at most the level at which it will be */
    guint32 link;
} PsFairCandidate;

struct PsFair {
    const PsFairFuncs *funcs;
    gpointer owner;
    GArray *flows;      /* PsFairFlow */
    GArray *rounds;     /* guint32, by flow: the filling that fixed it last */
    GArray *links;      /* PsFairLink */
    GArray *rests;      /* PsFairRest, by link */
    GArray *components; /* PsFairComponent */
    guint32 free_flow, free_link, free_component;
    guint n_links; /* without those that belong to one flow */
    guint n_flows;
    guint n_removed;    /* since the components were built */
    guint32 round;      /* number of the filling or adjustment */
    GArray *dirty;      /* guint32, components; some may be free again */
    GArray *members;    /* guint32, links of the component at hand */
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

static inline PsFairComponent *ps_fair_component(const PsFair *fair, guint32 component)
{
    return &g_array_index(fair->components, PsFairComponent, component);
}

/* ---- components (fair-components.c) -----------------------------------------------------------
 */

/* Joins what a new flow crosses. */
void ps_fair_join(PsFair *fair, guint32 flow);
/* A flow is about to be removed. */
void ps_fair_part_with(PsFair *fair, guint32 flow);
/* Builds all components anew if too many flows have gone. */
void ps_fair_rebuild(PsFair *fair);
/* Lists the links of a component that have flows as fair->members; the others leave it. The
 * component is clean then, and gone if nothing is left. */
void ps_fair_gather(PsFair *fair, guint32 component);
/* The members, in the order that they have now, are the component's ring. */
void ps_fair_link_members(PsFair *fair, guint32 component);

/* ---- rates (fair-rates.c) ---------------------------------------------------------------------
 */

/* Changes a flow's bottleneck; to is NONE for a flow that goes. */
void ps_fair_move(PsFair *fair, guint32 flow, guint32 to);
/* Finds the levels of the members and the bottlenecks of their flows; puts the members that are
 * bottlenecks first, by level. */
void ps_fair_fill(PsFair *fair);
/* Finds the levels as if no flow changed its bottleneck, and whether they are fair: if so they are
 * the members' levels now. fresh (or NONE): a flow without a bottleneck. */
gboolean ps_fair_adjust(PsFair *fair, guint32 fresh);
