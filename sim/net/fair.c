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
    fair->links = g_array_sized_new(FALSE, TRUE, sizeof(PsFairLink), n_links);
    fair->rests = g_array_sized_new(FALSE, TRUE, sizeof(PsFairRest), n_links);
    GArray **const numbers[] = {&fair->fresh, &fair->left_links, &fair->changed, &fair->touched};
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
        *numbers[i] = g_array_new(FALSE, FALSE, sizeof(guint32));
    }
    fair->candidates = g_array_new(FALSE, FALSE, sizeof(PsFairCandidate));
    fair->free_flow = fair->free_link = NONE;
    fair->batch = 1;
    g_array_set_size(fair->links, n_links);
    g_array_set_size(fair->rests, n_links);
    for (guint i = 0; i < n_links; i++) {
        ps_fair_link(fair, i)->capacity = capacities[i];
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
        g_free(ps_fair_link(fair, i)->holds);
    }
    GArray *const arrays[] = {fair->flows,      fair->links,   fair->rests,   fair->fresh,
                              fair->left_links, fair->changed, fair->touched, fair->candidates};
    for (guint i = 0; i < G_N_ELEMENTS(arrays); i++) {
        g_array_unref(arrays[i]);
    }
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

/* ---- flows ---------------------------------------------------------------------------------- */

static guint32 take_flow(PsFair *fair)
{
    guint32 number = fair->free_flow;
    if (number == NONE) {
        number = fair->flows->len;
        g_array_set_size(fair->flows, number + 1);
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
    } else {
        fair->free_link = ps_fair_link(fair, number)->next_free;
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
    link->entries =
        ps_fair_grow(link->entries, link->n_entries, &link->entry_capacity, sizeof *link->entries);
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
    g_array_append_val(fair->fresh, number);
    return number;
}

/* Takes a part off its link's list: the list's last entry takes its place. */
static void remove_part(PsFair *fair, const PsFairPart *part)
{
    PsFairLink *link = ps_fair_link(fair, part->link);
    PsFairEntry last = link->entries[--link->n_entries];
    link->entries[part->position] = last;
    ps_fair_parts(ps_fair_flow(fair, last.flow))[last.part].position = part->position;
    link->weight = link->n_entries > 0 ? link->weight - part->weight : 0;
    g_array_append_val(fair->left_links, part->link);
}

/* A flow goes that has come since the last update. */
static void forget_fresh(PsFair *fair, guint32 number)
{
    guint i = 0;
    while (g_array_index(fair->fresh, guint32, i) != number) {
        i++;
    }
    g_array_remove_index(fair->fresh, i);
}

void ps_fair_remove(PsFair *fair, guint number)
{
    PsFairFlow *flow = ps_fair_flow(fair, number);
    if (flow->bottleneck == NONE) {
        forget_fresh(fair, number);
    }
    ps_fair_move(fair, number, NONE);
    const PsFairPart *parts = ps_fair_parts(flow);
    for (guint i = flow->n_parts; i > 0; i--) {
        remove_part(fair, &parts[i - 1]);
    }
    flow->n_parts = 0;
    flow->next_free = fair->free_flow;
    fair->free_flow = number;
}

/* ---- updates -------------------------------------------------------------------------------- */

static void set_levels(PsFair *fair)
{
    for (guint i = 0; i < fair->changed->len; i++) {
        guint32 number = g_array_index(fair->changed, guint32, i);
        const PsFairRest *rest = ps_fair_rest(fair, number);
        PsFairLink *link = ps_fair_link(fair, number);
        if (rest->fixed == fair->update || rest->released == fair->update) {
            link->level = rest->fixed == fair->update ? rest->level : 0;
        }
        if (link->n_held == 0) {
            link->level = 0;
        }
    }
}

/* Links that belonged to one flow, which has gone. */
static void free_links(PsFair *fair)
{
    for (guint i = 0; i < fair->left_links->len; i++) {
        guint32 number = g_array_index(fair->left_links, guint32, i);
        if (number >= fair->n_links) {
            ps_fair_link(fair, number)->next_free = fair->free_link;
            fair->free_link = number;
        }
    }
}

void ps_fair_update(PsFair *fair)
{
    if (fair->fresh->len == 0 && fair->left_links->len == 0) {
        return;
    }
    fair->update++;
    g_array_set_size(fair->changed, 0);
    for (guint i = 0; i < fair->left_links->len; i++) {
        ps_fair_begin(fair, g_array_index(fair->left_links, guint32, i));
    }
    ps_fair_fill(fair);
    set_levels(fair);
    for (guint i = 0; i < fair->changed->len; i++) {
        fair->funcs->end(fair->owner, g_array_index(fair->changed, guint32, i));
    }
    free_links(fair);
    g_array_set_size(fair->fresh, 0);
    g_array_set_size(fair->left_links, 0);
}
