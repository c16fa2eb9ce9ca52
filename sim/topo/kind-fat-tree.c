/* Leaf switches under a spine. The links of a leaf to the spine act as one, as if every message
 * were spread evenly over them, with the bandwidth from below divided by the oversubscription. */
#include <string.h>

#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/topo/level-kind.h"
#include "sim/topo/topo-read.h"

#define MAX_PART 1000

static char *parse_leaf(PsTopologyLevel *level, const char *text)
{
    guint64 devices;
    g_autoptr(GError) wrong = NULL;
    if (!ps_count_parse(text, 1, PS_TOPOLOGY_MAX_DEVICES, &devices, &wrong)) {
        return g_strdup(wrong->message);
    }
    level->leaf_devices = (guint)devices;
    return NULL;
}

static char *format_leaf(const PsTopologyLevel *level)
{
    return g_strdup_printf("%u", level->leaf_devices);
}

static char *parse_oversubscription(PsTopologyLevel *level, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ":", -1);
    guint64 below, above;
    if (g_strv_length(parts) != 2 || !ps_count_parse(parts[0], 1, MAX_PART, &below, NULL) ||
        !ps_count_parse(parts[1], 1, MAX_PART, &above, NULL)) {
        return g_strdup_printf("\"%s\": not a ratio (expected one such as 3:1)", text);
    }
    level->oversubscription = (double)below / (double)above;
    return NULL;
}

/* The ratio in least terms; denominators are small, because that is how it was read. */
static char *format_oversubscription(const PsTopologyLevel *level)
{
    for (guint above = 1; above <= MAX_PART; above++) {
        guint below = (guint)(level->oversubscription * above + 0.5);
        if ((double)below / above == level->oversubscription) {
            return g_strdup_printf("%u:%u", below, above);
        }
    }
    return ps_double_format(level->oversubscription);
}

static char *fault(const PsPorts *ports, const char **key)
{
    const PsTopologyLevel *level = ports->level;
    *key = "leaf";
    if (level->leaf_devices == 0 || level->leaf_devices % ports->member_devices != 0 ||
        level->size % level->leaf_devices != 0) {
        g_autofree char *devices = ps_counted(level->leaf_devices, "device");
        return g_strdup_printf("%s under a leaf (expected a multiple of %u that divides %u)",
                               devices, ports->member_devices, level->size);
    }
    *key = "oversubscription";
    gboolean sound = level->oversubscription >= 1 && level->oversubscription <= MAX_PART;
    return sound ? NULL : g_strdup("out of range (expected 1:1 to 1000:1)");
}

static guint leaf_ports(const PsPorts *ports)
{
    return ps_ports_of(ports, ports->level->leaf_devices);
}

static guint n_links(const PsPorts *ports)
{
    return 2 * (ports->n_ports + ports->n_ports / leaf_ports(ports));
}

static double capacity(const PsPorts *ports, guint link)
{
    double port = ps_port_capacity(ports);
    return link < 2 * ports->n_ports ? port
                                     : leaf_ports(ports) * port / ports->level->oversubscription;
}

static char *link_name(const PsPorts *ports, guint link)
{
    gboolean to_spine = link >= 2 * ports->n_ports;
    guint lower = (to_spine ? link - 2 * ports->n_ports : link) / 2;
    guint leaf = to_spine ? lower : lower / leaf_ports(ports);
    const char *level = ports->level->name;
    g_autofree char *leaf_name = g_strdup_printf("%s/leaf/%u", level, leaf);
    g_autofree char *below = to_spine ? g_strdup(leaf_name) : ps_port_name(ports, lower);
    guint group = leaf / (ports->level->size / ports->level->leaf_devices);
    g_autofree char *above =
        to_spine ? g_strdup_printf("%s/%u", level, group) : g_strdup(leaf_name);
    return link % 2 == 0 ? g_strdup_printf("%s>%s", below, above)
                         : g_strdup_printf("%s>%s", above, below);
}

static void up(const PsPorts *ports, guint port, GArray *links)
{
    guint path[] = {2 * port, 2 * (ports->n_ports + port / leaf_ports(ports))};
    g_array_append_vals(links, path, G_N_ELEMENTS(path));
}

static void down(const PsPorts *ports, guint port, GArray *links)
{
    guint path[] = {2 * (ports->n_ports + port / leaf_ports(ports)) + 1, 2 * port + 1};
    g_array_append_vals(links, path, G_N_ELEMENTS(path));
}

static guint between(const PsPorts *ports, guint source, guint destination, GArray *links)
{
    if (source / leaf_ports(ports) != destination / leaf_ports(ports)) {
        up(ports, source, links);
        down(ports, destination, links);
        return 1;
    }
    guint path[] = {2 * source, 2 * destination + 1};
    g_array_append_vals(links, path, G_N_ELEMENTS(path));
    return 1;
}

const PsKind ps_kind_fat_tree = {
    .name = "fat-tree",
    .keys = {{"leaf", parse_leaf, format_leaf},
             {"oversubscription", parse_oversubscription, format_oversubscription}},
    .fault = fault,
    .n_links = n_links,
    .capacity = capacity,
    .link_name = link_name,
    .at_port = ps_port_both_ways,
    .between = between,
    .up = up,
    .down = down,
};
