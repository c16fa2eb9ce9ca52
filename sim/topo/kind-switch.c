/* One switch per group: each port has a link up to it and one down. */
#include "sim/topo/level-kind.h"

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
    guint port = link / 2, group = port / ps_ports_of(ports, ports->level->size);
    g_autofree char *end = ps_port_name(ports, port);
    return link % 2 == 0 ? g_strdup_printf("%s>%s/%u", end, ports->level->name, group)
                         : g_strdup_printf("%s/%u>%s", ports->level->name, group, end);
}

static void up(const PsPorts *ports, guint port, GArray *links)
{
    (void)ports;
    guint link = 2 * port;
    g_array_append_val(links, link);
}

static void down(const PsPorts *ports, guint port, GArray *links)
{
    (void)ports;
    guint link = 2 * port + 1;
    g_array_append_val(links, link);
}

static guint between(const PsPorts *ports, guint source, guint destination, GArray *links)
{
    up(ports, source, links);
    down(ports, destination, links);
    return 1;
}

const PsKind ps_kind_switch = {
    .name = "switch",
    .n_links = n_links,
    .capacity = capacity,
    .link_name = link_name,
    .at_port = ps_port_both_ways,
    .between = between,
    .up = up,
    .down = down,
};
