/* Messages over a whole cluster against an independent replay. */
#include <math.h>

#include "sim/base/units.h"
#include "sim/net/flow-file.h"
#include "sim/net/transfers.h"
#include "tests/harness/harness.h"

#define N_DEVICES 64
#define NODE 8
#define N_LINKS (2 * N_DEVICES + 2 * N_DEVICES / NODE)
#define N_FLOWS 1200

/* Links of a tree of two levels: out of and into each device, then of each node. */
static guint path_of(guint source, guint destination, guint *links)
{
    guint n = 0;
    links[n++] = source;
    if (source / NODE != destination / NODE) {
        links[n++] = 2 * N_DEVICES + source / NODE;
        links[n++] = 2 * N_DEVICES + N_DEVICES / NODE + destination / NODE;
    }
    links[n++] = N_DEVICES + destination;
    return n;
}

typedef struct {
    guint links[4], n_links;
    double start_s, left_bytes, rate, end_s;
    enum { WAITING, MOVING, FIXED, ENDED } state; /* FIXED: moving, its rate known */
} Flow;

static void share(Flow *flows)
{
    double left[N_LINKS];
    guint n_moving[N_LINKS] = {0};
    for (guint j = 0; j < N_LINKS; j++) {
        left[j] = j < 2 * N_DEVICES ? 100e9 : 25e9;
    }
    for (guint i = 0; i < N_FLOWS; i++) {
        flows[i].state = flows[i].state == FIXED ? MOVING : flows[i].state;
        for (guint k = 0; flows[i].state == MOVING && k < flows[i].n_links; k++) {
            n_moving[flows[i].links[k]]++;
        }
    }
    for (;;) {
        guint full = N_LINKS;
        for (guint j = 0; j < N_LINKS; j++) {
            if (n_moving[j] > 0 &&
                (full == N_LINKS || left[j] / n_moving[j] < left[full] / n_moving[full])) {
                full = j;
            }
        }
        if (full == N_LINKS) {
            return;
        }
        double rate = left[full] / n_moving[full];
        for (guint i = 0; i < N_FLOWS; i++) {
            Flow *flow = &flows[i];
            gboolean crosses = FALSE;
            for (guint k = 0; flow->state == MOVING && k < flow->n_links; k++) {
                crosses |= flow->links[k] == full;
            }
            for (guint k = 0; crosses && k < flow->n_links; k++) {
                left[flow->links[k]] -= rate;
                n_moving[flow->links[k]]--;
            }
            if (crosses) {
                flow->rate = rate;
                flow->state = FIXED;
            }
        }
    }
}

static void replay(Flow *flows)
{
    double now_s = 0;
    for (guint ended = 0; ended < N_FLOWS;) {
        share(flows);
        double next_s = INFINITY;
        for (guint i = 0; i < N_FLOWS; i++) {
            double event_s = flows[i].state == WAITING ? flows[i].start_s
                             : flows[i].state == FIXED ? now_s + flows[i].left_bytes / flows[i].rate
                                                       : INFINITY;
            next_s = MIN(next_s, event_s);
        }
        for (guint i = 0; i < N_FLOWS; i++) {
            Flow *flow = &flows[i];
            if (flow->state == WAITING && flow->start_s <= next_s) {
                flow->state = MOVING;
            } else if (flow->state == FIXED) {
                gboolean ends = now_s + flow->left_bytes / flow->rate <= next_s + 1e-14;
                flow->left_bytes -= flow->rate * (next_s - now_s);
                flow->end_s = next_s;
                flow->state = ends ? ENDED : MOVING;
                ended += ends;
            }
        }
        now_s = next_s;
    }
}

/* As a level whose nodes share an adapter, and as a list of links. Caller frees. */
static PsTopology *tree(gboolean as_list)
{
    g_autoptr(GString) rows = g_string_new("source,destination,bandwidth_bytes_per_s,latency_s\n");
    for (guint i = 0; i < N_DEVICES; i++) {
        g_string_append_printf(rows, "%u,n%u,1e11,0\nn%u,%u,1e11,0\n", i, i / NODE, i / NODE, i);
    }
    for (guint i = 0; i < N_DEVICES / NODE; i++) {
        g_string_append_printf(rows, "n%u,root,25e9,0\nroot,n%u,25e9,0\n", i, i);
    }
    g_autofree char *list = g_strconcat("links:", ps_test_file("tree.csv", rows->str), NULL);
    g_autoptr(GError) error = NULL;
    PsTopology *topology =
        ps_topology_load(as_list ? list : "node:8 100GB/s cluster:64 25GB/s shared 80GiB", &error);
    ps_assert_no_error(error);
    return topology;
}

START_TEST(random_messages_in_a_tree)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("random_messages_in_a_tree"));
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(PsFlowRow));
    g_autofree Flow *flows = g_new0(Flow, N_FLOWS);
    for (guint i = 0; i < N_FLOWS; i++) {
        guint source = (guint)g_rand_int_range(rand, 0, N_DEVICES);
        guint destination = (source + (guint)g_rand_int_range(rand, 1, N_DEVICES)) % N_DEVICES;
        PsFlowRow row = {g_rand_int_range(rand, 0, 1000000) * G_GINT64_CONSTANT(1000000), source,
                         destination, g_rand_double_range(rand, 1e6, 1e9), 2 + i};
        g_array_append_val(rows, row);
        flows[i].start_s = ps_ps_to_seconds(row.start_ps);
        flows[i].left_bytes = row.bytes;
        flows[i].n_links = path_of(source, destination, flows[i].links);
    }
    replay(flows);
    for (guint form = 0; form < 2; form++) {
        g_autoptr(PsTopology) topology = tree(form == 1);
        g_autoptr(PsNetwork) network = ps_network_new(topology);
        g_autofree gint64 *ends_ps = g_new(gint64, N_FLOWS);
        g_autoptr(GError) error = NULL;
        ck_assert(ps_transfers_run(network, rows, "rows", ends_ps, &error));
        ps_assert_no_error(error);
        for (guint i = 0; i < N_FLOWS; i++) {
            ck_assert_double_eq_tol(ps_ps_to_seconds(ends_ps[i]), flows[i].end_s, 1e-8);
        }
    }
}
END_TEST

/* Oversubscription: all sixteen devices of a leaf send out of it at once. */
START_TEST(oversubscribed_leaf)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsTopology) topology =
        ps_topology_load("all:32 10GB/s 4us fat-tree=16,4:1 80GiB", &error);
    ps_assert_no_error(error);
    g_autoptr(PsNetwork) network = ps_network_new(topology);
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(PsFlowRow));
    for (guint i = 0; i < 16; i++) {
        PsFlowRow row = {0, i, 16 + i, 1e9, 2 + i};
        g_array_append_val(rows, row);
    }
    gint64 ends_ps[16];
    ck_assert(ps_transfers_run(network, rows, "rows", ends_ps, &error));
    for (guint i = 0; i < 16; i++) {
        /* 4 us, then 16 GB through 16 * 10 / 4 GB/s. */
        ck_assert_int_eq(ends_ps[i], 400004000000);
    }
}
END_TEST

PS_TEST_MAIN("transfers", random_messages_in_a_tree, oversubscribed_leaf)
