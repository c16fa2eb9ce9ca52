/* Routes over every kind of level and over explicit lists of links. */
#include <string.h>

#include "sim/base/error.h"
#include "sim/topo/network.h"
#include "tests/harness/harness.h"

typedef struct {
    PsTopology *topology;
    PsNetwork *network;
    GArray *links;
    double latency_s;
} Net;

static void net_clear(Net *net)
{
    ps_network_free(net->network);
    ps_topology_free(net->topology);
    g_array_unref(net->links);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Net, net_clear)

static Net open_net(const char *text)
{
    g_autoptr(GError) error = NULL;
    Net net = {.topology = ps_topology_load(text, &error),
               .links = g_array_new(FALSE, FALSE, sizeof(guint))};
    ps_assert_no_error(error);
    net.network = ps_network_new(net.topology);
    return net;
}

static Net open_links(const char *rows)
{
    g_autofree char *text =
        g_strconcat("source,destination,bandwidth_bytes_per_s,latency_s\n", rows, NULL);
    g_autofree char *name = g_strconcat("links:", ps_test_file("links.csv", text), NULL);
    return open_net(name);
}

/* Names of the links of a route, separated by blanks. Caller frees. */
static char *route_text(Net *net, guint source, guint destination)
{
    g_autoptr(GError) error = NULL;
    ck_assert(
        ps_network_route(net->network, source, destination, net->links, &net->latency_s, &error));
    ps_assert_no_error(error);
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < net->links->len; i++) {
        g_autofree char *name =
            ps_network_link_name(net->network, g_array_index(net->links, guint, i));
        g_string_append_printf(text, "%s%s", i > 0 ? " " : "", name);
    }
    return g_string_free(text, FALSE);
}

/* ---- levels --------------------------------------------------------------------------------- */

#define NODE "node:4 100GB/s 2us "

static const struct {
    const char *topology;
    guint source, destination;
    const char *route;
    double latency_us;
} cases[] = {
    {"flat:4 25GB/s 3us 1GiB", 0, 3, "0>flat/0 flat/0>3", 3},
    {"flat:4 25GB/s 3us 1GiB", 2, 2, "", 0},
    /* An adapter each: the message between nodes leaves the node's switch aside. */
    {NODE "all:16 25GB/s 5us 1GiB", 5, 6, "5>node/1 node/1>6", 2},
    {NODE "all:16 25GB/s 5us 1GiB", 5, 8, "5>all/0 all/0>8", 5},
    /* A shared one: through the node's switch. */
    {NODE "all:16 25GB/s 5us shared 1GiB", 5, 8, "5>node/1 node/1>all/0 all/0>node/2 node/2>8", 5},
    {NODE "rack:8 50GB/s 3us shared all:16 25GB/s 5us shared 1GiB", 1, 14,
     "1>node/0 node/0>rack/0 rack/0>all/0 all/0>rack/1 rack/1>node/3 node/3>14", 5},
    {NODE "rack:8 50GB/s 3us all:16 25GB/s 5us shared 1GiB", 1, 14,
     "1>rack/0 rack/0>all/0 all/0>rack/1 rack/1>14", 5},
    /* Fat tree: over the spine only between leaves. */
    {"all:16 25GB/s 5us fat-tree=4,2:1 1GiB", 1, 2, "1>all/leaf/0 all/leaf/0>2", 5},
    {"all:16 25GB/s 5us fat-tree=4,2:1 1GiB", 1, 14,
     "1>all/leaf/0 all/leaf/0>all/0 all/0>all/leaf/3 all/leaf/3>14", 5},
    {NODE "pod:8 25GB/s 5us shared fat-tree=4,1:1 all:16 9GB/s 7us shared 1GiB", 1, 9,
     "1>node/0 node/0>pod/leaf/0 pod/leaf/0>pod/0 pod/0>all/0 all/0>pod/1 pod/1>pod/leaf/2 "
     "pod/leaf/2>node/2 node/2>9",
     7},
    /* Rails: straight on one, or first to the device on the right one. */
    {NODE "all:16 25GB/s 5us rail 1GiB", 1, 13, "1>all/0/rail/1 all/0/rail/1>13", 5},
    {NODE "all:16 25GB/s 5us rail 1GiB", 1, 14, "1>node/0 node/0>2 2>all/0/rail/2 all/0/rail/2>14",
     7},
    /* Rings: the shorter way, upwards where both are as long. */
    {"ring:6 9GB/s 1us ring 1GiB", 0, 2, "0>1 1>2", 2},
    {"ring:6 9GB/s 1us ring 1GiB", 0, 4, "0>5 5>4", 2},
    {"ring:6 9GB/s 1us ring 1GiB", 5, 2, "5>0 0>1 1>2", 3},
    {NODE "all:12 25GB/s 5us ring 1GiB", 1, 9, "1>9", 5},
    {NODE "all:12 25GB/s 5us ring 1GiB", 1, 7, "1>node/0 node/0>3 3>7", 7},
    {NODE "all:12 25GB/s 5us shared ring 1GiB", 1, 7, "1>node/0 node/0>node/1 node/1>7", 5},
    /* Torus: the first dimension first. */
    {"grid:12 9GB/s 1us torus=4x3 1GiB", 0, 11, "0>3 3>11", 2},
    {"grid:12 9GB/s 1us torus=4x3 1GiB", 0, 6, "0>1 1>2 2>6", 3},
    {"grid:12 9GB/s 1us torus=4x3 pods:24 1GB/s 9us 1GiB", 12, 18, "12>13 13>14 14>18", 3},
};

START_TEST(routes_over_levels)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(Net) net = open_net(cases[i].topology);
        g_autofree char *route = route_text(&net, cases[i].source, cases[i].destination);
        ck_assert_str_eq(route, cases[i].route);
        ck_assert_double_eq_tol(net.latency_s * 1e6, cases[i].latency_us, 1e-9);
    }
}
END_TEST

/* Capacity of the link of that name. */
static double capacity_of(const Net *net, const char *name)
{
    for (guint i = 0; i < ps_network_links(net->network); i++) {
        g_autofree char *other = ps_network_link_name(net->network, i);
        if (strcmp(name, other) == 0) {
            return ps_network_capacities(net->network)[i];
        }
    }
    ck_abort_msg("no link %s", name);
    return 0;
}

START_TEST(links_have_their_capacities)
{
    g_auto(Net) net =
        open_net("node:4 100GB/s leaves:16 25GB/s shared fat-tree=8,5:2 all:32 10GB/s ring 1GiB");
    ck_assert_double_eq(capacity_of(&net, "3>node/0"), 100e9);
    ck_assert_double_eq(capacity_of(&net, "node/0>3"), 100e9);
    ck_assert_double_eq(capacity_of(&net, "node/3>leaves/leaf/1"), 25e9);
    /* Two nodes of 25 GB/s under a leaf, 5 : 2. */
    ck_assert_double_eq_tol(capacity_of(&net, "leaves/leaf/1>leaves/0"), 2 * 25e9 * 2 / 5, 1);
    ck_assert_double_eq(capacity_of(&net, "7>23"), 10e9);
    /* What a planner with one rate per device is told. */
    ck_assert_double_eq(net.topology->levels[1].bandwidth_bytes_per_s, 25e9 / 4);
}
END_TEST

/* A level around groups of `members` devices, of a random kind that may stand there. */
static guint draw_level(GRand *rand, guint index, guint members, gboolean switched_below,
                        gboolean *switched, GString *text)
{
    static const char *const kinds[] = {"", "fat-tree", "ring", "torus", "rail"};
    guint a = (guint)g_rand_int_range(rand, 1, 4), b = (guint)g_rand_int_range(rand, 2, 4);
    guint kind = (guint)g_rand_int_range(rand, 0, index > 0 ? 5 : 4);
    gboolean shared = kind != 4 && index > 0 && switched_below && g_rand_boolean(rand);
    guint size = members * a * b;
    g_string_append_printf(
        text, "L%u:%u %uGB/s %uus%s %s", index, size, (guint)g_rand_int_range(rand, 1, 100),
        (guint)g_rand_int_range(rand, 1, 9), shared ? " shared" : "", kinds[kind]);
    if (kind == 1) {
        g_string_append_printf(text, "=%u,3:%u", members * a, (guint)g_rand_int_range(rand, 1, 4));
    } else if (kind == 3) {
        g_string_append_printf(text, "=%ux%u", a, b);
    }
    g_string_append_c(text, ' ');
    *switched = kind < 2;
    return size;
}

/* One to three random levels. Caller frees. */
static char *draw_topology(GRand *rand)
{
    GString *text = g_string_new(NULL);
    gboolean switched = FALSE;
    guint n_levels = (guint)g_rand_int_range(rand, 1, 4), size = 1;
    for (guint i = 0; i < n_levels; i++) {
        size = draw_level(rand, i, size, switched, &switched, text);
    }
    return g_string_free(g_string_append(text, "1GiB"), FALSE);
}

/* From any device to any other the links of a route join on to each other, no link comes twice, and
 * every link has its twin of the same capacity the other way. */
START_TEST(random_routes_join)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("random_routes_join"));
    for (guint round = 0; round < 100; round++) {
        g_autofree char *text = draw_topology(rand);
        g_auto(Net) net = open_net(text);
        guint size = ps_network_devices(net.network);
        for (guint pair = 0; pair < 20; pair++) {
            guint source = (guint)g_rand_int_range(rand, 0, (int)size);
            guint destination = (guint)g_rand_int_range(rand, 0, (int)size);
            g_autofree char *route = route_text(&net, source, destination);
            g_auto(GStrv) links = g_strsplit(route, " ", -1);
            g_autofree char *at = g_strdup_printf("%u", source);
            for (char **link = links; *link != NULL; link++) {
                g_auto(GStrv) ends = g_strsplit(*link, ">", -1);
                ck_assert_msg(strcmp(ends[0], at) == 0, "%s: %s", text, route);
                ck_assert(!g_strv_contains((const char *const *)link + 1, *link));
                g_autofree char *back = g_strdup_printf("%s>%s", ends[1], ends[0]);
                ck_assert_double_eq(capacity_of(&net, *link), capacity_of(&net, back));
                g_free(at);
                at = g_strdup(ends[1]);
            }
            g_autofree char *end = g_strdup_printf("%u", destination);
            ck_assert_msg(strcmp(end, at) == 0, "%s: %s", text, route);
        }
    }
}
END_TEST

static gboolean is_number(const char *text)
{
    return text[strspn(text, "0123456789")] == '\0';
}

/* Whether `end`, one end of a link whose other end is `other`, is an adapter of the device, by
 * their names alone. A shared adapter of level i bears the name of the switch inside it, LEVEL/n of
 * level i - 1; its links lead to switches of level i or, in rings, to adapters like it. */
static gboolean is_adapter(const PsTopology *topology, guint device, const char *end,
                           const char *other)
{
    if (is_number(end)) {
        return (guint)g_ascii_strtoull(end, NULL, 10) == device;
    }
    for (guint i = 1; i < topology->n_levels; i++) {
        const PsTopologyLevel *level = &topology->levels[i], *inner = level - 1;
        g_autofree char *adapter = g_strdup_printf("%s/%u", inner->name, device / inner->size);
        g_autofree char *switches = g_strconcat(level->name, "/", NULL);
        g_autofree char *peers = g_strconcat(inner->name, "/", NULL);
        gboolean at_level = g_str_has_prefix(other, switches) ||
                            (g_str_has_prefix(other, peers) && is_number(other + strlen(peers)));
        if (level->shared_bytes_per_s > 0 && at_level && g_str_equal(end, adapter)) {
            return TRUE;
        }
    }
    return FALSE;
}

/* The links of a device are those that begin or end at one of its adapters, each once. */
START_TEST(devices_have_their_links)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("devices_have_their_links"));
    for (guint round = 0; round < 200; round++) {
        g_autofree char *text = draw_topology(rand);
        g_auto(Net) net = open_net(text);
        guint n_links = ps_network_links(net.network);
        guint device = (guint)g_rand_int_range(rand, 0, (int)ps_network_devices(net.network));
        ps_network_device_links(net.network, device, net.links);
        g_autofree guint *times = g_new0(guint, n_links);
        for (guint i = 0; i < net.links->len; i++) {
            times[g_array_index(net.links, guint, i)]++;
        }
        for (guint link = 0; link < n_links; link++) {
            g_autofree char *name = ps_network_link_name(net.network, link);
            g_auto(GStrv) ends = g_strsplit(name, ">", -1);
            guint expected = is_adapter(net.topology, device, ends[0], ends[1]) ||
                             is_adapter(net.topology, device, ends[1], ends[0]);
            gboolean to_itself = g_str_equal(ends[0], ends[1]); /* a ring of one: never used */
            ck_assert_msg(to_itself || times[link] == expected, "%s: device %u, %s", text, device,
                          name);
        }
    }
}
END_TEST

START_TEST(links_are_found_by_name)
{
    g_auto(Net) levels = open_net(NODE "all:8 25GB/s ring 1GiB");
    GError *error = NULL;
    ck_assert(ps_network_find_links(levels.network, "node/1>5", levels.links, &error));
    ck_assert_uint_eq(levels.links->len, 1);
    /* Around a ring of two there are two ways. */
    ck_assert(ps_network_find_links(levels.network, "5>1", levels.links, &error));
    ck_assert_uint_eq(levels.links->len, 3);
    for (guint i = 0; i < 3; i++) {
        guint link = g_array_index(levels.links, guint, i);
        g_autofree char *name = ps_network_link_name(levels.network, link);
        ck_assert_str_eq(name, i == 0 ? "node/1>5" : "5>1");
    }
    ck_assert(!ps_network_find_links(levels.network, "5>node/0", levels.links, &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "unknown link \"5>node/0\" (expected one such as 0>node/0)");
    ck_assert_uint_eq(levels.links->len, 3);
    g_auto(Net) list = open_links("0,a,1e9,0\na,1,1e9,0\n1,0,1e9,0\na,b,1e9,0\n0,b,1e9,0\n");
    ps_network_device_links(list.network, 0, list.links);
    ck_assert_uint_eq(list.links->len, 3);
    ck_assert_uint_eq(g_array_index(list.links, guint, 0), 0);
    ck_assert_uint_eq(g_array_index(list.links, guint, 1), 2);
    ck_assert_uint_eq(g_array_index(list.links, guint, 2), 4);
}
END_TEST

/* ---- lists of links ------------------------------------------------------------------------- */

START_TEST(routes_over_links)
{
    g_auto(Net) net = open_links("0,a,1e9,1e-6\na,1,1e9,1e-6\n"      /* two links, 2 us */
                                 "0,b,1e9,1e-6\nb,1,2e9,0\n"         /* two links, 1 us */
                                 "0,c,1e9,0\nc,d,1e9,0\nd,1,1e9,0\n" /* three links, nothing */
                                 "1,2,3e9,5e-6\n"
                                 "0,y,1e9,0\n0,x,1e9,0\nx,3,1e9,0\ny,3,1e9,0\n");
    ck_assert_uint_eq(ps_network_devices(net.network), 4);
    g_autofree char *least = route_text(&net, 0, 1);
    ck_assert_str_eq(least, "0>b b>1");
    ck_assert_double_eq_tol(net.latency_s, 1e-6, 1e-15);
    g_autofree char *through = route_text(&net, 0, 2); /* a device passes messages on */
    ck_assert_str_eq(through, "0>b b>1 1>2");
    ck_assert_double_eq_tol(net.latency_s, 6e-6, 1e-15);
    g_autofree char *equal = route_text(&net, 0, 3); /* x>3 stands before y>3 */
    ck_assert_str_eq(equal, "0>x x>3");
    g_autofree char *itself = route_text(&net, 2, 2);
    ck_assert_str_eq(itself, "");
    ck_assert_double_eq(ps_network_capacities(net.network)[3], 2e9);
}
END_TEST

START_TEST(says_where_no_path_leads)
{
    g_auto(Net) net = open_links("0,1,1e9,0\n1,3,1e9,0\n");
    g_autoptr(GError) error = NULL;
    ck_assert(!ps_network_route(net.network, 1, 0, net.links, &net.latency_s, &error));
    g_autofree char *no_path =
        g_strdup_printf("%s: no path leads from device 1 to device 0 (expected links that join "
                        "them)",
                        net.topology->path);
    ps_assert_error(error, PS_ERROR_INPUT, no_path);
    ck_assert(!ps_network_route(net.network, 0, 2, net.links, &net.latency_s, &error));
    g_autofree char *absent =
        g_strdup_printf("%s: no link leads to or from device 2 (expected one)", net.topology->path);
    ps_assert_error(error, PS_ERROR_INPUT, absent);
}
END_TEST

#define MOST_VERTICES 12

/* Fewest links, then least latency: against Floyd and Warshall over pairs of both. */
START_TEST(random_paths_are_shortest)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("random_paths_are_shortest"));
    for (guint round = 0; round < 200; round++) {
        guint n = (guint)g_rand_int_range(rand, 2, MOST_VERTICES + 1);
        int hops[MOST_VERTICES][MOST_VERTICES], us[MOST_VERTICES][MOST_VERTICES];
        g_autoptr(GString) rows = g_string_new(NULL);
        for (guint i = 0; i < n; i++) {
            for (guint j = 0; j < n; j++) {
                gboolean link = i != j && (i + 1 == j || g_rand_int_range(rand, 0, 4) == 0);
                hops[i][j] = i == j ? 0 : link ? 1 : 1000;
                us[i][j] = link ? g_rand_int_range(rand, 0, 8) : 0;
                if (link) {
                    g_string_append_printf(rows, "%u,%u,1e9,%de-6\n", i, j, us[i][j]);
                }
            }
        }
        for (guint k = 0; k < n; k++) {
            for (guint i = 0; i < n; i++) {
                for (guint j = 0; j < n; j++) {
                    int h = hops[i][k] + hops[k][j], t = us[i][k] + us[k][j];
                    if (h < hops[i][j] || (h == hops[i][j] && t < us[i][j])) {
                        hops[i][j] = h;
                        us[i][j] = t;
                    }
                }
            }
        }
        g_auto(Net) net = open_links(rows->str);
        for (guint i = 0; i < n; i++) {
            for (guint j = 0; j < n; j++) {
                gboolean found =
                    ps_network_route(net.network, i, j, net.links, &net.latency_s, NULL);
                ck_assert_int_eq(found, hops[i][j] < 1000);
                if (found) {
                    ck_assert_int_eq((int)net.links->len, hops[i][j]);
                    ck_assert_double_eq_tol(net.latency_s * 1e6, us[i][j], 1e-6);
                }
            }
        }
    }
}
END_TEST

START_TEST(nodes_are_groups)
{
    g_auto(Net) levels = open_net(NODE "all:16 25GB/s 1GiB");
    ck_assert_uint_eq(ps_network_node(levels.network, 3), ps_network_node(levels.network, 0));
    ck_assert_uint_ne(ps_network_node(levels.network, 4), ps_network_node(levels.network, 3));
    g_auto(Net) links = open_links("0,a,1e9,0\n1,a,1e9,0\n2,b,1e9,0\n2,a,1e9,0\n");
    ck_assert_uint_eq(ps_network_node(links.network, 1), ps_network_node(links.network, 0));
    ck_assert_uint_ne(ps_network_node(links.network, 2), ps_network_node(links.network, 0));
}
END_TEST

PS_TEST_MAIN("network", routes_over_levels, links_have_their_capacities, random_routes_join,
             devices_have_their_links, links_are_found_by_name, routes_over_links,
             says_where_no_path_leads, random_paths_are_shortest, nodes_are_groups)
