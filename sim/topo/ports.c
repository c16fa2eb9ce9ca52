#include "sim/topo/ports.h"

PsPorts ps_topology_ports(const PsTopology *topology, guint index)
{
    const PsTopologyLevel *level = &topology->levels[index];
    const PsTopologyLevel *member = index > 0 ? level - 1 : NULL;
    guint member_devices = member != NULL ? member->size : 1;
    guint port_devices = level->shared_bytes_per_s > 0 ? member_devices : 1;
    return (PsPorts){
        .level = level,
        .member_devices = member_devices,
        .port_devices = port_devices,
        .n_ports = ps_topology_devices(topology) / port_devices,
        .member_level_name = member != NULL ? member->name : NULL,
    };
}

double ps_port_capacity(const PsPorts *ports)
{
    return ports->level->shared_bytes_per_s > 0 ? ports->level->shared_bytes_per_s
                                                : ports->level->bandwidth_bytes_per_s;
}

char *ps_port_name(const PsPorts *ports, guint port)
{
    return ports->port_devices == 1 ? g_strdup_printf("%u", port)
                                    : g_strdup_printf("%s/%u", ports->member_level_name, port);
}

guint ps_ports_of(const PsPorts *ports, guint devices)
{
    return devices / ports->port_devices;
}

void ps_port_both_ways(const PsPorts *ports, guint port, GArray *links)
{
    (void)ports;
    guint both[] = {2 * port, 2 * port + 1};
    g_array_append_vals(links, both, G_N_ELEMENTS(both));
}
