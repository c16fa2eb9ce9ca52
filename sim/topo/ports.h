/* Where the levels of a topology are attached; what the kinds of levels share. */
#pragma once

#include "sim/topo/topology.h"

/* Where a level is attached. A port is what stands between the level and the devices behind it: the
 * adapter of one device, or the one that a member shares. Ports are numbered over the whole
 * topology, device by device. */
typedef struct {
    const PsTopologyLevel *level;
    guint member_devices;          /* devices in a member of a group */
    guint port_devices;            /* devices behind a port: 1, or member_devices where shared */
    guint n_ports;                 /* in the whole topology */
    const char *member_level_name; /* NULL at the innermost level */
} PsPorts;

PsPorts ps_topology_ports(const PsTopology *topology, guint level);

double ps_port_capacity(const PsPorts *ports);
char *ps_port_name(const PsPorts *ports, guint port); /* caller frees */
guint ps_ports_of(const PsPorts *ports, guint devices);
/* at_port of the kinds whose links begin with one to and one from each port. */
void ps_port_both_ways(const PsPorts *ports, guint port, GArray *links);
