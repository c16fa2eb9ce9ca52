#include "sim/net/fair-parts.h"

static void mark_dirty(PsFair *fair, guint32 component)
{
    if (!ps_fair_component(fair, component)->dirty) {
        ps_fair_component(fair, component)->dirty = TRUE;
        g_array_append_val(fair->dirty, component);
    }
}

static void free_component(PsFair *fair, guint32 component)
{
    *ps_fair_component(fair, component) = (PsFairComponent){.next_free = fair->free_component};
    fair->free_component = component;
}

/* The link's component, a new one if it is in none. */
static guint32 component_of(PsFair *fair, guint32 number)
{
    PsFairLink *link = ps_fair_link(fair, number);
    if (link->component != NONE) {
        return link->component;
    }
    guint32 component = fair->free_component;
    if (component == NONE) {
        component = fair->components->len;
        g_array_set_size(fair->components, component + 1);
    } else {
        fair->free_component = ps_fair_component(fair, component)->next_free;
    }
    *ps_fair_component(fair, component) =
        (PsFairComponent){.first = number, .n_links = 1, .fresh = NONE};
    link->component = component;
    link->next = number;
    return component;
}

/* A link has left its component. If it belonged to one flow, which has gone, it is free again. */
static void drop_link(PsFair *fair, guint32 number)
{
    PsFairLink *link = ps_fair_link(fair, number);
    link->component = NONE;
    if (number >= fair->n_links && link->n_entries == 0) {
        link->next = fair->free_link;
        fair->free_link = number;
    }
}

static void add_fresh(PsFairComponent *component, guint32 flow)
{
    component->cold |= component->fresh != NONE;
    component->fresh = flow;
}

/* The smaller one becomes part of the larger one. */
static guint32 join(PsFair *fair, guint32 a, guint32 b)
{
    if (a == b) {
        return a;
    }
    gboolean a_larger = ps_fair_component(fair, a)->n_links >= ps_fair_component(fair, b)->n_links;
    guint32 kept = a_larger ? a : b, lost = a_larger ? b : a;
    PsFairComponent *to = ps_fair_component(fair, kept), *from = ps_fair_component(fair, lost);
    guint32 link = from->first;
    for (guint i = 0; i < from->n_links; i++) {
        ps_fair_link(fair, link)->component = kept;
        link = ps_fair_link(fair, link)->next;
    }
    PsFairLink *before = ps_fair_link(fair, to->first), *last = ps_fair_link(fair, from->first);
    guint32 after = before->next;
    before->next = last->next;
    last->next = after;
    to->n_links += from->n_links;
    to->cold |= from->cold;
    if (from->fresh != NONE) {
        add_fresh(to, from->fresh);
    }
    if (from->dirty) {
        mark_dirty(fair, kept);
    }
    free_component(fair, lost);
    return kept;
}

static guint32 join_parts(PsFair *fair, guint32 number)
{
    PsFairFlow *flow = ps_fair_flow(fair, number);
    const PsFairPart *parts = ps_fair_parts(flow);
    guint32 component = component_of(fair, parts[0].link);
    for (guint i = 1; i < flow->n_parts; i++) {
        component = join(fair, component, component_of(fair, parts[i].link));
    }
    mark_dirty(fair, component);
    return component;
}

void ps_fair_join(PsFair *fair, guint32 flow)
{
    guint32 component = join_parts(fair, flow);
    add_fresh(ps_fair_component(fair, component), flow);
}

void ps_fair_part_with(PsFair *fair, guint32 number)
{
    PsFairFlow *flow = ps_fair_flow(fair, number);
    guint32 component = ps_fair_link(fair, ps_fair_parts(flow)[0].link)->component;
    ps_fair_component(fair, component)->cold |= flow->bottleneck == NONE;
    mark_dirty(fair, component);
    fair->n_removed++;
}

/* When as many flows have gone as there are, so that it costs O(1) for each that went. */
void ps_fair_rebuild(PsFair *fair)
{
    if (fair->n_removed <= fair->n_flows) {
        return;
    }
    fair->n_removed = 0;
    for (guint i = 0; i < fair->components->len; i++) {
        const PsFairComponent *component = ps_fair_component(fair, i);
        guint32 link = component->first;
        for (guint j = 0; j < component->n_links; j++) {
            guint32 next = ps_fair_link(fair, link)->next;
            drop_link(fair, link);
            link = next;
        }
    }
    g_array_set_size(fair->components, 0);
    g_array_set_size(fair->dirty, 0);
    fair->free_component = NONE;
    for (guint i = 0; i < fair->flows->len; i++) {
        if (ps_fair_flow(fair, i)->n_parts > 0) {
            ps_fair_component(fair, join_parts(fair, i))->cold = TRUE;
        }
    }
}

void ps_fair_gather(PsFair *fair, guint32 number)
{
    const PsFairComponent *component = ps_fair_component(fair, number);
    guint32 link = component->first;
    g_array_set_size(fair->members, 0);
    for (guint i = 0; i < component->n_links; i++) {
        guint32 next = ps_fair_link(fair, link)->next;
        if (ps_fair_link(fair, link)->n_entries > 0) {
            g_array_append_val(fair->members, link);
        } else {
            drop_link(fair, link);
        }
        link = next;
    }
    if (fair->members->len == 0) {
        free_component(fair, number);
    } else {
        ps_fair_link_members(fair, number);
    }
}

void ps_fair_link_members(PsFair *fair, guint32 number)
{
    guint n = fair->members->len;
    const guint32 *links = (const guint32 *)(gpointer)fair->members->data;
    for (guint i = 0; i < n; i++) {
        ps_fair_link(fair, links[i])->next = links[i + 1 < n ? i + 1 : 0];
    }
    *ps_fair_component(fair, number) =
        (PsFairComponent){.first = links[0], .n_links = n, .fresh = NONE};
}
