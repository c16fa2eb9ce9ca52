#include "sim/topo/network.h"

#include "sim/base/error.h"
#include "sim/topo/level-kind.h"
#include "sim/topo/paths.h"

/* A level with its links: they follow those of the levels inside it. */
typedef struct {
    PsPorts ports;
    const PsKind *kind;
    guint first_link;
} Level;

struct PsNetwork {
    const PsTopology *topology;
    guint n_links;
    double *capacities;
    Level *levels;  /* NULL for a list of links */
    PsPaths *paths; /* NULL for levels */
};

static void add_levels(PsNetwork *network)
{
    const PsTopology *topology = network->topology;
    network->levels = g_new0(Level, topology->n_levels);
    for (guint i = 0; i < topology->n_levels; i++) {
        Level *level = &network->levels[i];
        level->ports = ps_topology_ports(topology, i);
        level->kind = ps_level_kind(&topology->levels[i]);
        level->first_link = network->n_links;
        guint n = level->kind->n_links(&level->ports);
        network->n_links += n;
        network->capacities = g_renew(double, network->capacities, network->n_links);
        for (guint link = 0; link < n; link++) {
            network->capacities[level->first_link + link] =
                level->kind->capacity(&level->ports, link);
        }
    }
}

PsNetwork *ps_network_new(const PsTopology *topology)
{
    PsNetwork *network = g_new0(PsNetwork, 1);
    network->topology = topology;
    const PsLinkList *list = topology->links;
    if (list == NULL) {
        add_levels(network);
        return network;
    }
    network->paths = ps_paths_new(list);
    network->n_links = list->n_links;
    network->capacities = g_new(double, list->n_links);
    for (guint i = 0; i < list->n_links; i++) {
        network->capacities[i] = list->links[i].bandwidth_bytes_per_s;
    }
    return network;
}

void ps_network_free(PsNetwork *network)
{
    if (network != NULL) {
        ps_paths_free(network->paths);
        g_free(network->levels);
        g_free(network->capacities);
        g_free(network);
    }
}

const PsTopology *ps_network_topology(const PsNetwork *network)
{
    return network->topology;
}

guint ps_network_devices(const PsNetwork *network)
{
    return ps_topology_devices(network->topology);
}

guint ps_network_links(const PsNetwork *network)
{
    return network->n_links;
}

const double *ps_network_capacities(const PsNetwork *network)
{
    return network->capacities;
}

char *ps_network_link_name(const PsNetwork *network, guint link)
{
    const PsLinkList *list = network->topology->links;
    if (list != NULL) {
        return g_strdup_printf("%s>%s", list->vertices[list->links[link].source],
                               list->vertices[list->links[link].destination]);
    }
    guint i = network->topology->n_levels - 1;
    while (network->levels[i].first_link > link) {
        i--;
    }
    const Level *level = &network->levels[i];
    return level->kind->link_name(&level->ports, link - level->first_link);
}

gboolean ps_network_find_links(const PsNetwork *network, const char *name, GArray *links,
                               GError **error)
{
    guint before = links->len;
    for (guint i = 0; i < network->n_links; i++) {
        g_autofree char *other = ps_network_link_name(network, i);
        if (g_str_equal(name, other)) {
            g_array_append_val(links, i);
        }
    }
    if (links->len == before) {
        g_autofree char *example = ps_network_link_name(network, 0);
        ps_error(error, PS_ERROR_USAGE, "unknown link \"%s\" (expected one such as %s)", name,
                 example);
    }
    return links->len > before;
}

/* Turns the numbers that a level appended from `start` on into those of the network. */
static void shift(const Level *level, GArray *links, guint start)
{
    for (guint i = start; i < links->len; i++) {
        g_array_index(links, guint, i) += level->first_link;
    }
}

static void list_device_links(const PsLinkList *list, guint device, GArray *links)
{
    for (guint i = 0; i < list->n_links; i++) {
        if (list->links[i].source == list->devices[device] ||
            list->links[i].destination == list->devices[device]) {
            g_array_append_val(links, i);
        }
    }
}

void ps_network_device_links(const PsNetwork *network, guint device, GArray *links)
{
    const PsTopology *topology = network->topology;
    if (topology->links != NULL) {
        list_device_links(topology->links, device, links);
        return;
    }
    for (guint i = 0; i < topology->n_levels; i++) {
        const Level *level = &network->levels[i];
        guint start = links->len;
        level->kind->at_port(&level->ports, ps_ports_of(&level->ports, device), links);
        shift(level, links, start);
    }
}

/* ---- routes over levels --------------------------------------------------------------------- */

/* From a device up to its port at a level, through the switches of the levels inside. */
static void climb(const PsNetwork *network, guint level, guint device, GArray *links)
{
    if (network->levels[level].ports.port_devices == 1) {
        return;
    }
    climb(network, level - 1, device, links);
    const Level *inner = &network->levels[level - 1];
    guint start = links->len;
    inner->kind->up(&inner->ports, ps_ports_of(&inner->ports, device), links);
    shift(inner, links, start);
}

static void descend(const PsNetwork *network, guint level, guint device, GArray *links)
{
    if (network->levels[level].ports.port_devices == 1) {
        return;
    }
    const Level *inner = &network->levels[level - 1];
    guint start = links->len;
    inner->kind->down(&inner->ports, ps_ports_of(&inner->ports, device), links);
    shift(inner, links, start);
    descend(network, level - 1, device, links);
}

/* Appends; returns the latency. */
static double append_route(const PsNetwork *network, guint source, guint destination, GArray *links)
{
    if (source == destination) {
        return 0;
    }
    const Level *level = network->levels;
    while (source / level->ports.level->size != destination / level->ports.level->size) {
        level++;
    }
    double latency_s = 0;
    guint members = level->ports.member_devices;
    if (level->kind->planes && level->ports.port_devices == 1) {
        guint relay = source - source % members + destination % members;
        latency_s = append_route(network, source, relay, links);
        source = relay;
    }
    guint index = (guint)(level - network->levels);
    climb(network, index, source, links);
    guint start = links->len;
    guint times = level->kind->between(&level->ports, ps_ports_of(&level->ports, source),
                                       ps_ports_of(&level->ports, destination), links);
    shift(level, links, start);
    descend(network, index, destination, links);
    return latency_s + times * level->ports.level->latency_s;
}

/* ---- routes --------------------------------------------------------------------------------- */

static gboolean find_path(PsNetwork *network, guint source, guint destination, GArray *links,
                          double *latency_s, GError **error)
{
    const PsLinkList *list = network->topology->links;
    const guint ranks[] = {source, destination};
    for (guint i = 0; i < G_N_ELEMENTS(ranks); i++) {
        if (list->devices[ranks[i]] == PS_NO_VERTEX) {
            ps_error_at(error, network->topology->path, 0,
                        "no link leads to or from device %u (expected one)", ranks[i]);
            return FALSE;
        }
    }
    if (!ps_paths_find(network->paths, list->devices[source], list->devices[destination], links,
                       latency_s)) {
        ps_error_at(error, network->topology->path, 0,
                    "no path leads from device %u to device %u (expected links that join them)",
                    source, destination);
        return FALSE;
    }
    return TRUE;
}

gboolean ps_network_route(PsNetwork *network, guint source, guint destination, GArray *links,
                          double *latency_s, GError **error)
{
    if (network->paths != NULL) {
        return find_path(network, source, destination, links, latency_s, error);
    }
    g_array_set_size(links, 0);
    *latency_s = append_route(network, source, destination, links);
    return TRUE;
}

guint ps_network_node(const PsNetwork *network, guint device)
{
    const PsLinkList *list = network->topology->links;
    if (list == NULL) {
        return device / network->topology->levels[0].size;
    }
    guint vertex = list->devices[device];
    guint link = vertex != PS_NO_VERTEX ? ps_paths_first_link(network->paths, vertex) : PS_NO_LINK;
    return link != PS_NO_LINK ? list->links[link].destination : vertex;
}
