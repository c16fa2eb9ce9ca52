/* Max-min fair rates by progressive filling: the rates of all flows rise together; when a link is
 * full, the flows that cross it keep the rate they have (the link is their bottleneck), and the
 * others rise on (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
 *
 * A flow at rate x takes weight * x of the capacity of each link that it loads. An update costs
 * what it changes: it follows a change from bottleneck to bottleneck. All flows with one bottleneck
 * have one rate, the link's level; so that an owner can do its work once per link, it hears of
 * links and of flows that change their bottleneck, not of rates. */
#pragma once

#include <glib.h>

typedef struct PsFair PsFair;

typedef struct {
    guint link;
    double weight; /* positive */
} PsFairLoad;

#define PS_FAIR_NONE G_MAXUINT32

/* Called within ps_fair_update. Must not change the flows. */
typedef struct {
    /* The level of the link may change, or which flows it holds back, or a flow has left it: once
     * for each such link, while its level is the old one and before its flows move. */
    void (*begin)(gpointer owner, guint link);
    /* from is PS_FAIR_NONE for a new flow. */
    void (*moved)(gpointer owner, guint flow, guint from, guint to);
    /* All levels are the new ones: once for each link that began. */
    void (*end)(gpointer owner, guint link);
} PsFairFuncs;

/* Capacities (positive) are copied. funcs must outlive it. */
PsFair *ps_fair_new(const double *capacities, guint n_links, const PsFairFuncs *funcs,
                    gpointer owner);
void ps_fair_free(PsFair *fair);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsFair, ps_fair_free)

/* Adds a flow with at least one load; a link may occur more than once. Where most is positive, the
 * rate does not rise above it: the flow gets a link of its own, numbered from n_links up. Returns
 * the flow's number; numbers of removed flows are used again. */
guint ps_fair_add(PsFair *fair, const PsFairLoad *loads, guint n_loads, double most);
void ps_fair_remove(PsFair *fair, guint flow);

/* Accounts for what was added and removed since the last time. */
void ps_fair_update(PsFair *fair);

/* The link that holds the flow back; PS_FAIR_NONE before its first update. */
guint ps_fair_bottleneck(const PsFair *fair, guint flow);
/* Rate of the flows whose bottleneck the link is; 0 where there are none. */
double ps_fair_level(const PsFair *fair, guint link);
