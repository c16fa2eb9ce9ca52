/* A topology as links with capacities, and the links that a message takes from one device to
 * another. Both directions of a connection are links of their own (full duplex). */
#pragma once

#include "sim/topo/topology.h"

typedef struct PsNetwork PsNetwork;

/* topology must outlive the network. Not thread-safe: an explicit list's paths are found when they
 * are first asked for. */
PsNetwork *ps_network_new(const PsTopology *topology);
void ps_network_free(PsNetwork *network);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsNetwork, ps_network_free)

const PsTopology *ps_network_topology(const PsNetwork *network);
guint ps_network_devices(const PsNetwork *network);
guint ps_network_links(const PsNetwork *network);
/* Bytes per second of every link, by its number. */
const double *ps_network_capacities(const PsNetwork *network);
/* "source>destination": a device is its rank, a switch LEVEL/NUMBER. Caller frees. */
char *ps_network_link_name(const PsNetwork *network, guint link);

/* Appends the links (guint) of that name: one, or two around a ring of two. The error (USAGE) where
 * there is none shows how names look. */
gboolean ps_network_find_links(const PsNetwork *network, const char *name, GArray *links,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Appends the links (guint) by which a device is attached: at every level those that begin or end
 * at its adapter, which may be one that its member shares; in a list those that begin or end at it.
 */
void ps_network_device_links(const PsNetwork *network, guint device, GArray *links);

/* Puts the links from one device to another into `links` (guint; what it held is dropped), in the
 * order in which a message crosses them, and its latency; nothing and 0 from a device to itself.
 *
 * Levels: the innermost level that holds both devices carries the message, and its latency is paid
 * (of a ring or torus: once per hop); to an adapter that a member shares the message climbs through
 * the levels inside. Lists of links: a path of fewest links, of these the one with least latency,
 * of these the one whose last link stands first in the file, and so on back to the source.
 *
 * Both ranks must be below ps_network_devices. FALSE with error (INPUT) where a list of links has
 * no path. */
gboolean ps_network_route(PsNetwork *network, guint source, guint destination, GArray *links,
                          double *latency_s, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A number that devices of one node share and others do not: the group of the innermost level; in a
 * list of links the vertex that a device's first link leads to. */
guint ps_network_node(const PsNetwork *network, guint device);
