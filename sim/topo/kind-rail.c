/* Rail-optimised: the i-th devices of all members share a switch, the rail. Rails are not joined: a
 * message between two of them changes inside the sender's member (as NCCL's PXN does). */
#include "sim/topo/level-kind.h"

static char *fault(const PsPorts *ports, const char **key)
{
    *key = "kind";
    if (ports->member_level_name == NULL) {
        return g_strdup("rail at the innermost level (expected a level inside it)");
    }
    if (ports->level->shared_bytes_per_s > 0) {
        return g_strdup("rail with a shared adapter (expected one for each device)");
    }
    return NULL;
}

static guint n_links(const PsPorts *ports)
{
    return 2 * ports->n_ports;
}

static double capacity(const PsPorts *ports, guint link)
{
    (void)link;
    return ps_port_capacity(ports);
}

static char *link_name(const PsPorts *ports, guint link)
{
    guint device = link / 2, rail = device % ports->member_devices;
    guint group = device / ports->level->size;
    return link % 2 == 0
               ? g_strdup_printf("%u>%s/%u/rail/%u", device, ports->level->name, group, rail)
               : g_strdup_printf("%s/%u/rail/%u>%u", ports->level->name, group, rail, device);
}

static guint between(const PsPorts *ports, guint source, guint destination, GArray *links)
{
    (void)ports;
    guint ends[] = {2 * source, 2 * destination + 1};
    g_array_append_vals(links, ends, G_N_ELEMENTS(ends));
    return 1;
}

const PsKind ps_kind_rail = {
    .name = "rail",
    .planes = TRUE,
    .fault = fault,
    .n_links = n_links,
    .capacity = capacity,
    .link_name = link_name,
    .at_port = ps_port_both_ways,
    .between = between,
};
