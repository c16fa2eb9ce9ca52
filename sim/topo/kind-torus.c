/* Rings and tori: members on a grid, each linked to the next and the previous one in every
 * dimension, the last to the first. Messages go dimension by dimension, the shorter way around;
 * upwards where both are as long. Where each device has its own adapters, the i-th devices of all
 * members form a grid of their own. */
#include <string.h>

#include "sim/base/units.h"
#include "sim/topo/level-kind.h"
#include "sim/topo/topo-read.h"

/* Of a level of either kind: a ring has one dimension. */
typedef struct {
    guint n;
    guint sizes[PS_MAX_DIMENSIONS];
} Grid;

static guint members(const PsPorts *ports)
{
    return ports->level->size / ports->member_devices;
}

static Grid grid_of(const PsPorts *ports)
{
    const PsTopologyLevel *level = ports->level;
    Grid grid = {1, {members(ports)}};
    if (level->kind == PS_LEVEL_TORUS) {
        grid.n = level->n_dimensions;
        memcpy(grid.sizes, level->dimensions, sizeof grid.sizes);
    }
    return grid;
}

static char *parse_dimensions(PsTopologyLevel *level, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "x", -1);
    guint n = g_strv_length(parts);
    gboolean sound = n >= 1 && n <= PS_MAX_DIMENSIONS;
    for (guint i = 0; sound && i < n; i++) {
        guint64 size = 0;
        sound = ps_count_parse(parts[i], 1, PS_TOPOLOGY_MAX_DEVICES, &size, NULL);
        level->dimensions[i] = (guint)size;
    }
    if (!sound) {
        return g_strdup_printf("\"%s\": not a grid (expected up to %u sizes such as 4x4x2)", text,
                               PS_MAX_DIMENSIONS);
    }
    level->n_dimensions = n;
    return NULL;
}

static char *format_dimensions(const PsTopologyLevel *level)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < level->n_dimensions; i++) {
        g_string_append_printf(text, "%s%u", i > 0 ? "x" : "", level->dimensions[i]);
    }
    return g_string_free(text, FALSE);
}

static char *torus_fault(const PsPorts *ports, const char **key)
{
    *key = "dimensions";
    guint64 product = 1;
    for (guint i = 0; i < ports->level->n_dimensions && product <= PS_TOPOLOGY_MAX_DEVICES; i++) {
        product *= ports->level->dimensions[i];
    }
    if (ports->level->n_dimensions > 0 && product == members(ports)) {
        return NULL;
    }
    g_autofree char *text = format_dimensions(ports->level);
    return g_strdup_printf("%s (expected sizes whose product is %u)", text, members(ports));
}

static guint n_links(const PsPorts *ports)
{
    return 2 * grid_of(ports).n * ports->n_ports;
}

static double capacity(const PsPorts *ports, guint link)
{
    (void)link;
    return ps_port_capacity(ports);
}

/* The port beside this one: its member is one step along a dimension, upwards or downwards. */
static guint neighbour(const PsPorts *ports, const Grid *grid, guint port, guint dimension,
                       gboolean upwards)
{
    guint planes = ports->member_devices / ports->port_devices;
    guint group_ports = ps_ports_of(ports, ports->level->size);
    guint member = port % group_ports / planes, stride = 1;
    for (guint i = 0; i < dimension; i++) {
        stride *= grid->sizes[i];
    }
    guint size = grid->sizes[dimension], old = member / stride % size;
    guint new = upwards ? (old + 1) % size : (old + size - 1) % size;
    return port - old * stride * planes + new *stride *planes;
}

static char *link_name(const PsPorts *ports, guint link)
{
    Grid grid = grid_of(ports);
    guint port = link / 2 / grid.n;
    guint next = neighbour(ports, &grid, port, link / 2 % grid.n, link % 2 == 0);
    g_autofree char *from = ps_port_name(ports, port), *to = ps_port_name(ports, next);
    return g_strdup_printf("%s>%s", from, to);
}

/* The link that leaves a port along a dimension. */
static guint link_from(const Grid *grid, guint port, guint dimension, gboolean upwards)
{
    return 2 * (port * grid->n + dimension) + !upwards;
}

static void at_port(const PsPorts *ports, guint port, GArray *links)
{
    Grid grid = grid_of(ports);
    for (guint i = 0; i < grid.n; i++) {
        for (int upwards = 0; upwards <= 1 && grid.sizes[i] > 1; upwards++) {
            guint back = neighbour(ports, &grid, port, i, !upwards);
            guint ends[] = {link_from(&grid, port, i, upwards), link_from(&grid, back, i, upwards)};
            g_array_append_vals(links, ends, G_N_ELEMENTS(ends));
        }
    }
}

static guint between(const PsPorts *ports, guint source, guint destination, GArray *links)
{
    Grid grid = grid_of(ports);
    guint planes = ports->member_devices / ports->port_devices;
    guint group_ports = ps_ports_of(ports, ports->level->size);
    guint from = source % group_ports / planes, to = destination % group_ports / planes;
    guint port = source, hops = 0;
    for (guint i = 0; i < grid.n; i++) {
        guint size = grid.sizes[i];
        guint forward = (to % size + size - from % size) % size;
        gboolean upwards = forward <= size - forward;
        guint steps = upwards ? forward : size - forward;
        for (guint step = 0; step < steps; step++) {
            guint link = link_from(&grid, port, i, upwards);
            g_array_append_val(links, link);
            port = neighbour(ports, &grid, port, i, upwards);
        }
        hops += steps;
        from /= size;
        to /= size;
    }
    return hops;
}

const PsKind ps_kind_ring = {
    .name = "ring",
    .planes = TRUE,
    .n_links = n_links,
    .capacity = capacity,
    .link_name = link_name,
    .at_port = at_port,
    .between = between,
};

const PsKind ps_kind_torus = {
    .name = "torus",
    .keys = {{"dimensions", parse_dimensions, format_dimensions}},
    .planes = TRUE,
    .fault = torus_fault,
    .n_links = n_links,
    .capacity = capacity,
    .link_name = link_name,
    .at_port = at_port,
    .between = between,
};
