#include "sim/net/fair.h"

#include <string.h>

#include "sim/net/fair-parts.h"

PsFair *ps_fair_new(const double *capacities, guint n_links, const PsFairFuncs *funcs,
                    gpointer owner)
{
    PsFair *fair = g_new0(PsFair, 1);
    fair->funcs = funcs;
    fair->owner = owner;
    fair->n_links = n_links;
    fair->flows = g_array_new(FALSE, TRUE, sizeof(PsFairFlow));
    fair->rounds = g_array_new(FALSE, TRUE, sizeof(guint32));
    fair->links = g_array_sized_new(FALSE, TRUE, sizeof(PsFairLink), n_links);
    fair->rests = g_array_sized_new(FALSE, TRUE, sizeof(PsFairRest), n_links);
    fair->components = g_array_new(FALSE, TRUE, sizeof(PsFairComponent));
    fair->dirty = g_array_new(FALSE, FALSE, sizeof(guint32));
    fair->members = g_array_new(FALSE, FALSE, sizeof(guint32));
    fair->candidates = g_array_new(FALSE, FALSE, sizeof(PsFairCandidate));
    fair->free_flow = fair->free_link = fair->free_component = NONE;
    g_array_set_size(fair->links, n_links);
    g_array_set_size(fair->rests, n_links);
    for (guint i = 0; i < n_links; i++) {
        ps_fair_link(fair, i)->capacity = capacities[i];
        ps_fair_link(fair, i)->component = NONE;
    }
    return fair;
}

void ps_fair_free(PsFair *fair)
{
    if (fair == NULL) {
        return;
    }
    for (guint i = 0; i < fair->flows->len; i++) {
        g_free(ps_fair_flow(fair, i)->many);
    }
    for (guint i = 0; i < fair->links->len; i++) {
        g_free(ps_fair_link(fair, i)->entries);
        g_free(ps_fair_link(fair, i)->shares);
    }
    g_array_unref(fair->flows);
    g_array_unref(fair->rounds);
    g_array_unref(fair->links);
    g_array_unref(fair->rests);
    g_array_unref(fair->components);
    g_array_unref(fair->dirty);
    g_array_unref(fair->members);
    g_array_unref(fair->candidates);
    g_free(fair);
}

guint ps_fair_bottleneck(const PsFair *fair, guint flow)
{
    return ps_fair_flow(fair, flow)->bottleneck;
}

double ps_fair_level(const PsFair *fair, guint link)
{
    return ps_fair_link(fair, link)->level;
}

/* ---- flows ------------------------------------------------------------------------------------
 */

static guint32 take_flow(PsFair *fair)
{
    guint32 number = fair->free_flow;
    if (number == NONE) {
        number = fair->flows->len;
        g_array_set_size(fair->flows, number + 1);
        g_array_set_size(fair->rounds, number + 1);
    } else {
        fair->free_flow = ps_fair_flow(fair, number)->next_free;
    }
    ps_fair_flow(fair, number)->bottleneck = NONE;
    return number;
}

/* A link for one flow alone. */
static guint32 take_link(PsFair *fair, double capacity)
{
    guint32 number = fair->free_link;
    if (number == NONE) {
        number = fair->links->len;
        g_array_set_size(fair->links, number + 1);
        g_array_set_size(fair->rests, number + 1);
        ps_fair_link(fair, number)->component = NONE;
    } else {
        fair->free_link = ps_fair_link(fair, number)->next;
    }
    ps_fair_link(fair, number)->capacity = capacity;
    return number;
}

static void add_part(PsFair *fair, guint32 flow_number, guint32 link_number, double weight)
{
    PsFairFlow *flow = ps_fair_flow(fair, flow_number);
    guint32 place = flow->n_parts++;
    if (flow->n_parts > MAX(PS_FEW_PARTS, flow->many_capacity)) {
        flow->many_capacity = 2 * flow->n_parts;
        flow->many = g_renew(PsFairPart, flow->many, flow->many_capacity);
    }
    if (flow->n_parts == PS_FEW_PARTS + 1) {
        memcpy(flow->many, flow->few, sizeof flow->few);
    }
    PsFairLink *link = ps_fair_link(fair, link_number);
    if (link->n_entries == link->entry_capacity) {
        link->entry_capacity = MAX(4, 2 * link->entry_capacity);
        link->entries = g_renew(PsFairEntry, link->entries, link->entry_capacity);
    }
    ps_fair_parts(flow)[place] = (PsFairPart){link_number, link->n_entries, weight};
    link->entries[link->n_entries++] = (PsFairEntry){flow_number, place};
    link->weight += weight;
}

guint ps_fair_add(PsFair *fair, const PsFairLoad *loads, guint n_loads, double most)
{
    g_assert(n_loads > 0);
    guint32 number = take_flow(fair);
    for (guint i = 0; i < n_loads; i++) {
        add_part(fair, number, loads[i].link, loads[i].weight);
    }
    if (most > 0) {
        add_part(fair, number, take_link(fair, most), 1);
    }
    fair->n_flows++;
    ps_fair_join(fair, number);
    return number;
}

/* Takes a part off its link's list: the list's last entry takes its place. */
static void remove_part(PsFair *fair, const PsFairPart *part)
{
    PsFairLink *link = ps_fair_link(fair, part->link);
    PsFairEntry last = link->entries[--link->n_entries];
    link->entries[part->position] = last;
    ps_fair_parts(ps_fair_flow(fair, last.flow))[last.part].position = part->position;
    link->weight -= part->weight;
    if (link->n_entries == 0) {
        /* Nothing remains of rounding errors either. */
        link->weight = link->level = 0;
    }
}

void ps_fair_remove(PsFair *fair, guint number)
{
    ps_fair_part_with(fair, number);
    ps_fair_move(fair, number, NONE);
    PsFairFlow *flow = ps_fair_flow(fair, number);
    const PsFairPart *parts = ps_fair_parts(flow);
    for (guint i = flow->n_parts; i > 0; i--) {
        remove_part(fair, &parts[i - 1]);
    }
    flow->n_parts = 0;
    flow->next_free = fair->free_flow;
    fair->free_flow = number;
    fair->n_flows--;
}

/* ---- updates ----------------------------------------------------------------------------------
 */

static void update_component(PsFair *fair, guint32 number)
{
    PsFairComponent component = *ps_fair_component(fair, number);
    ps_fair_gather(fair, number);
    if (fair->members->len == 0) {
        return;
    }
    const guint32 *links = (const guint32 *)(gpointer)fair->members->data;
    fair->funcs->begin(fair->owner, links, fair->members->len);
    if (component.cold || !ps_fair_adjust(fair, component.fresh)) {
        ps_fair_fill(fair);
        ps_fair_link_members(fair, number);
    }
    fair->funcs->end(fair->owner, links, fair->members->len);
}

void ps_fair_update(PsFair *fair)
{
    ps_fair_rebuild(fair);
    for (guint i = 0; i < fair->dirty->len; i++) {
        guint32 number = g_array_index(fair->dirty, guint32, i);
        if (ps_fair_component(fair, number)->dirty) {
            update_component(fair, number);
        }
    }
    g_array_set_size(fair->dirty, 0);
}
