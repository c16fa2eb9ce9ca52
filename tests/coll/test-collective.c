/* Collectives: closed forms to the picosecond, bytes conserved, contention, the choice of `auto`,
 * measured times. */
#include <math.h>
#include <string.h>

#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/coll/collective-runs.h"
#include "sim/coll/collectives.h"
#include "tests/harness/harness.h"

#define MOST_RANKS 64

typedef struct {
    PsTopology *topology;
    PsNetwork *network;
} Net;

static void net_clear(Net *net)
{
    ps_network_free(net->network);
    ps_topology_free(net->topology);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Net, net_clear)

static Net open_net(const char *text)
{
    g_autoptr(GError) error = NULL;
    Net net = {.topology = ps_topology_load(text, &error)};
    ps_assert_no_error(error);
    net.network = ps_network_new(net.topology);
    return net;
}

/* Among the first n devices. */
static PsCollective *make(const Net *net, PsCollectiveKind kind, guint n, double bytes,
                          const char *algorithm)
{
    guint ranks[MOST_RANKS];
    for (guint i = 0; i < n; i++) {
        ranks[i] = i;
    }
    const PsCollectiveCall call = {kind, ranks, n, bytes};
    g_autoptr(GError) error = NULL;
    PsCollective *collective = ps_collective_new(net->network, &call, algorithm, &error);
    ps_assert_no_error(error);
    return collective;
}

/* ---- closed forms --------------------------------------------------------------------------- */

static guint ceil_log2(guint n)
{
    guint log = 0;
    while ((1u << log) < n) {
        log++;
    }
    return log;
}

/* What the time of a collective is on links alike: passes of S/B, and latencies. */
typedef struct {
    double passes;
    guint latencies;
} Form;

/* Patarasuk and Yuan 2009. */
static Form ring(PsCollectiveKind kind, guint n)
{
    double share = (n - 1.0) / n;
    return kind == PS_ALL_REDUCE  ? (Form){2 * share, 2 * (n - 1)}
           : kind == PS_BROADCAST ? (Form){1, n - 1}
                                  : (Form){share, n - 1};
}

/* Sanders, Speck, Traff 2009: every rank passes on each half once up and twice down at most. */
static Form tree(PsCollectiveKind kind, guint n)
{
    if (kind == PS_BROADCAST) {
        return (Form){1, 1 + ceil_log2(n - 1)};
    }
    return (Form){n == 2 ? 1 : n == 3 ? 1.5 : 2, 2 * ceil_log2(n)};
}

/* Thakur, Rabenseifner, Gropp 2005, sections 4.1 and 4.5. */
static Form halving_doubling(PsCollectiveKind kind, guint n)
{
    guint log = ceil_log2(n + 1) - 1, p = 1u << log;
    Form form = {2 * (p - 1.0) / p, 2 * log};
    if (kind != PS_ALL_REDUCE) {
        return (Form){form.passes / 2, form.latencies / 2};
    }
    return p == n ? form : (Form){form.passes + 2, form.latencies + 2};
}

static Form pairwise(PsCollectiveKind kind, guint n)
{
    (void)kind;
    return (Form){(n - 1.0) / n, n - 1};
}

/* Bruck et al. 1997: piece p, of n - 1, travels once for each bit of p. */
static Form bruck(PsCollectiveKind kind, guint n)
{
    (void)kind;
    guint bits = 0;
    for (guint piece = 1; piece < n; piece++) {
        bits += (guint)__builtin_popcount(piece);
    }
    return (Form){(double)bits / n, ceil_log2(n)};
}

static const struct {
    const char *name;
    Form (*form)(PsCollectiveKind kind, guint n);
} forms[] = {
    {"ring", ring},         {"tree", tree},   {"halving-doubling", halving_doubling},
    {"pairwise", pairwise}, {"bruck", bruck},
};

/* Whether the algorithm can do this. */
static gboolean able(const PsCollectiveAlgorithm *algorithm, PsCollectiveKind kind, guint n,
                     const guint *nodes)
{
    const PsTeam team = {kind, n, 1, nodes};
    g_autofree char *fault = algorithm->fault != NULL ? algorithm->fault(&team) : NULL;
    return (algorithm->kinds & PS_KIND_BIT(kind)) != 0 && fault == NULL;
}

START_TEST(closed_forms_to_the_picosecond)
{
    const guint one_node[MOST_RANKS] = {0};
    const double bandwidth = 25e9, latency = 3e-6;
    g_auto(Net) net = open_net("flat:64 25GB/s 3us 80GiB");
    for (guint i = 0; i < G_N_ELEMENTS(forms); i++) {
        const PsCollectiveAlgorithm *algorithm = NULL;
        for (guint j = 0; ps_collective_algorithms[j] != NULL; j++) {
            if (strcmp(ps_collective_algorithms[j]->name, forms[i].name) == 0) {
                algorithm = ps_collective_algorithms[j];
            }
        }
        ck_assert_ptr_nonnull(algorithm);
        for (guint kind = 0; kind < PS_N_COLLECTIVE_KINDS; kind++) {
            for (guint n = 2; n <= MOST_RANKS; n++) {
                if (!able(algorithm, kind, n, one_node)) {
                    continue;
                }
                double bytes = 1000 * 1048576.0 / 3;
                g_autoptr(PsCollective) collective = make(&net, kind, n, bytes, forms[i].name);
                Form form = forms[i].form(kind, n);
                double time_s = form.passes * bytes / bandwidth + form.latencies * latency;
                ck_assert_msg(ps_seconds_to_ps(collective->time_s) == ps_seconds_to_ps(time_s),
                              "%s of %u ranks by %s: %.15g s, not %.15g s",
                              ps_collective_kind_names[kind], n, forms[i].name, collective->time_s,
                              time_s);
            }
        }
    }
}
END_TEST

/* Inside nodes of l at 100 GB/s and 2 us, across m nodes at 25 GB/s and 5 us. */
START_TEST(hierarchical_form)
{
    g_auto(Net) net = open_net("node:4 100GB/s 2us cluster:64 25GB/s 5us 80GiB");
    for (guint m = 2; m <= 16; m++) {
        const double l = 4, bytes = 123456789;
        g_autoptr(PsCollective) collective =
            make(&net, PS_ALL_REDUCE, 4 * m, bytes, "hierarchical");
        double inside = 2 * (l - 1) / l * bytes / 100e9 + 2 * (l - 1) * 2e-6;
        double across = 2 * (m - 1.0) / m * bytes / l / 25e9 + 2 * (m - 1) * 5e-6;
        ck_assert_int_eq(ps_seconds_to_ps(collective->time_s), ps_seconds_to_ps(inside + across));
    }
}
END_TEST

/* ---- every algorithm ------------------------------------------------------------------------ */

/* Bytes that a device sends and receives, from the links of a flat network: two per device. */
static void count(const PsCollective *collective, double *sent, double *received)
{
    for (guint i = 0; i < MOST_RANKS; i++) {
        sent[i] = received[i] = 0;
    }
    for (guint i = 0; i < collective->n_phases; i++) {
        const PsPhase *phase = &collective->phases[i];
        for (guint j = 0; j < phase->n_loads; j++) {
            double bytes = phase->bytes * phase->loads[j].weight;
            double *counts = phase->loads[j].link % 2 == 0 ? sent : received;
            counts[phase->loads[j].link / 2] += bytes;
        }
    }
}

/* Least that all ranks together must receive for the result to be right, in S: each lacks what the
 * others hold; for reductions every rank's contribution must get out as well, so that n - 1 vectors
 * have to be merged (Patarasuk and Yuan 2009, lemma 1). */
static double least_received(PsCollectiveKind kind, guint n)
{
    return kind == PS_ALL_REDUCE ? 2.0 * (n - 1) : n - 1.0;
}

/* What is sent is received, by ranks of the group only; it is enough, and not more than the form of
 * the algorithm says; no time beats the bus. */
START_TEST(bytes_are_conserved)
{
    const guint one_node[MOST_RANKS] = {0};
    const double bytes = 1e9;
    g_auto(Net) net = open_net("flat:64 25GB/s 80GiB");
    for (guint i = 0; ps_collective_algorithms[i] != NULL; i++) {
        for (guint kind = 0; kind < PS_N_COLLECTIVE_KINDS; kind++) {
            for (guint n = 2; n <= MOST_RANKS; n++) {
                const char *name = ps_collective_algorithms[i]->name;
                if (!able(ps_collective_algorithms[i], kind, n, one_node)) {
                    continue;
                }
                g_autoptr(PsCollective) collective = make(&net, kind, n, bytes, name);
                double sent[MOST_RANKS], received[MOST_RANKS], all_sent = 0, all_received = 0;
                count(collective, sent, received);
                for (guint rank = 0; rank < MOST_RANKS; rank++) {
                    all_sent += sent[rank];
                    all_received += received[rank];
                    ck_assert(rank < n || sent[rank] + received[rank] == 0);
                }
                ck_assert_double_eq_tol(all_sent / all_received, 1, 1e-12);
                ck_assert_double_ge(all_received, bytes * least_received(kind, n) * (1 - 1e-12));
                ck_assert_double_ge(collective->time_s,
                                    bytes * ps_collective_bus_factor(kind, n) / 25e9 * (1 - 1e-12));
            }
        }
    }
}
END_TEST

/* Every row: a name and a kind; all kinds are done by some row. */
START_TEST(the_table_is_sound)
{
    guint kinds = 0;
    for (guint i = 0; ps_collective_algorithms[i] != NULL; i++) {
        const PsCollectiveAlgorithm *algorithm = ps_collective_algorithms[i];
        ck_assert(algorithm->name[0] != '\0' && algorithm->summary[0] != '\0');
        ck_assert(algorithm->kinds != 0 && algorithm->kinds < 1u << PS_N_COLLECTIVE_KINDS);
        kinds |= algorithm->kinds;
        for (guint j = 0; j < i; j++) {
            ck_assert_str_ne(algorithm->name, ps_collective_algorithms[j]->name);
        }
    }
    ck_assert_uint_eq(kinds, (1u << PS_N_COLLECTIVE_KINDS) - 1);
}
END_TEST

/* doc/PERFORMANCE.md of nccl-tests. */
START_TEST(bus_factors)
{
    const double expected[] = {2 * 7.0 / 8, 7.0 / 8, 7.0 / 8, 7.0 / 8, 1};
    for (guint kind = 0; kind < PS_N_COLLECTIVE_KINDS; kind++) {
        ck_assert_double_eq(ps_collective_bus_factor(kind, 8), expected[kind]);
    }
}
END_TEST

/* ---- on shared links ------------------------------------------------------------------------ */

typedef struct {
    PsSimulator *simulator;
    gint64 ends_ps[2];
} Ends;

static void on_end(gpointer owner, guint64 number)
{
    Ends *ends = owner;
    ends->ends_ps[number] = ps_simulator_now(ends->simulator);
}

/* Runs one collective or two at once from 0. */
static Ends run(const Net *net, const PsCollective *a, const PsCollective *b)
{
    Ends ends = {ps_simulator_new(), {0, 0}};
    g_autoptr(PsFlows) flows = ps_flows_new(ends.simulator, ps_network_capacities(net->network),
                                            ps_network_links(net->network), 0);
    g_autoptr(PsCollectiveRuns) runs = ps_collective_runs_new(flows);
    ps_collective_runs_start(runs, a, on_end, &ends, 0);
    if (b != NULL) {
        ps_collective_runs_start(runs, b, on_end, &ends, 1);
    }
    ps_simulator_run(ends.simulator);
    ps_simulator_free(ends.simulator);
    return ends;
}

/* Event by event with the links to itself, a collective takes the time that is foretold. */
START_TEST(alone_as_foretold)
{
    const char *const topologies[] = {
        "flat:64 25GB/s 3us 80GiB", "node:8 300GB/s 2us all:64 25GB/s 5us rail 80GiB",
        "node:8 300GB/s 2us all:64 90GB/s 5us shared 80GiB", "grid:64 50GB/s 1us torus=4x4x4 80GiB",
        "all:64 25GB/s 5us fat-tree=16,4:1 80GiB"};
    for (guint t = 0; t < G_N_ELEMENTS(topologies); t++) {
        g_auto(Net) net = open_net(topologies[t]);
        guint nodes[MOST_RANKS];
        for (guint i = 0; i < MOST_RANKS; i++) {
            nodes[i] = ps_network_node(net.network, i);
        }
        for (guint i = 0; ps_collective_algorithms[i] != NULL; i++) {
            for (guint kind = 0; kind < PS_N_COLLECTIVE_KINDS; kind++) {
                for (guint n = 2; n <= MOST_RANKS; n += n < 9 ? 1 : 11) {
                    if (!able(ps_collective_algorithms[i], kind, n, nodes)) {
                        continue;
                    }
                    g_autoptr(PsCollective) collective =
                        make(&net, kind, n, 7654321, ps_collective_algorithms[i]->name);
                    gint64 difference_ps = run(&net, collective, NULL).ends_ps[0] -
                                           ps_seconds_to_ps(collective->time_s);
                    /* Latency and movement of each phase are rounded. */
                    ck_assert_int_le(ABS(difference_ps), collective->n_phases + 1);
                }
            }
        }
    }
}
END_TEST

/* Two rings over the same links: half the rate each. Rings side by side: no matter. */
START_TEST(rings_contend)
{
    g_auto(Net) net = open_net("flat:64 25GB/s 80GiB");
    g_autoptr(PsCollective) one = make(&net, PS_ALL_REDUCE, 8, 1e9, "ring");
    Ends both = run(&net, one, one);
    gint64 alone_ps = ps_seconds_to_ps(one->time_s);
    ck_assert_int_le(ABS(both.ends_ps[0] - 2 * alone_ps), 2);
    ck_assert_int_eq(both.ends_ps[0], both.ends_ps[1]);
    const guint others[] = {8, 9, 10, 11, 12, 13, 14, 15};
    const PsCollectiveCall call = {PS_ALL_REDUCE, others, 8, 1e9};
    g_autoptr(PsCollective) beside = ps_collective_new(net.network, &call, "ring", NULL);
    ck_assert_int_le(ABS(run(&net, one, beside).ends_ps[0] - alone_ps), 1);
}
END_TEST

/* A ring is as slow as its slowest hop: four of eight devices behind a link of 1 GB/s. */
START_TEST(the_slowest_hop_decides)
{
    g_autoptr(GString) rows = g_string_new("source,destination,bandwidth_bytes_per_s,latency_s\n");
    for (guint i = 0; i < 8; i++) {
        g_string_append_printf(rows, "%u,s%u,10e9,1e-6\ns%u,%u,10e9,0\n", i, i / 4, i / 4, i);
    }
    g_string_append(rows, "s0,s1,1e9,4e-6\ns1,s0,2e9,4e-6\n");
    g_autofree char *text = g_strconcat("links:", ps_test_file("slow.csv", rows->str), NULL);
    g_auto(Net) net = open_net(text);
    g_autoptr(PsCollective) collective = make(&net, PS_ALL_REDUCE, 8, 1e9, "ring");
    double time_s = 2 * 7.0 / 8 * 1e9 / 1e9 + 14 * 5e-6;
    ck_assert_int_eq(ps_seconds_to_ps(collective->time_s), ps_seconds_to_ps(time_s));
}
END_TEST

/* Groups in lock step: two that share one link of 1 GB/s each way take twice as long as one, two
 * that share nothing as long as one, to the last bit; an adapter shared by both counts for both. */
START_TEST(groups_in_lock_step)
{
    g_auto(Net) net = open_net("node:2 300GB/s cluster:8 25GB/s shared 80GiB");
    g_auto(Net) own = open_net("node:2 300GB/s cluster:8 25GB/s 80GiB");
    const guint across[] = {0, 2, 4, 6, 1, 3, 5, 7};
    const guint inside[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const struct {
        const Net *net;
        const guint *ranks;
        guint n_ranks, n_groups;
        double times; /* the time of one group */
    } cases[] = {{&net, across, 4, 1, 1},
                 {&net, across, 4, 2, 2},
                 {&own, across, 4, 2, 1},
                 {&net, inside, 2, 4, 1}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PsCollectiveCall call = {PS_ALL_REDUCE, cases[i].ranks, cases[i].n_ranks, 1e9, 1};
        g_autoptr(PsCollective) one = ps_collective_new(cases[i].net->network, &call, "ring", NULL);
        call.n_groups = cases[i].n_groups;
        g_autoptr(PsCollective) all = ps_collective_new(cases[i].net->network, &call, "ring", NULL);
        ck_assert_double_eq(all->time_s, cases[i].times * one->time_s);
    }
}
END_TEST

/* ---- choosing ------------------------------------------------------------------------------- */

/* `auto` is the fastest of all, at every size; small messages take few steps, large ones a ring. */
START_TEST(auto_is_the_fastest)
{
    g_auto(Net) net = open_net("node:8 300GB/s 3us cluster:64 25GB/s 10us 80GiB");
    guint nodes[MOST_RANKS];
    for (guint i = 0; i < MOST_RANKS; i++) {
        nodes[i] = i / 8;
    }
    for (double bytes = 1024; bytes < 1e11; bytes *= 4) {
        for (guint kind = 0; kind < PS_N_COLLECTIVE_KINDS; kind++) {
            double least_s = INFINITY;
            for (guint i = 0; ps_collective_algorithms[i] != NULL; i++) {
                if (able(ps_collective_algorithms[i], kind, 48, nodes)) {
                    g_autoptr(PsCollective) one =
                        make(&net, kind, 48, bytes, ps_collective_algorithms[i]->name);
                    least_s = MIN(least_s, one->time_s);
                }
            }
            g_autoptr(PsCollective) chosen = make(&net, kind, 48, bytes, PS_AUTO);
            ck_assert_double_eq(chosen->time_s, least_s);
        }
    }
    g_auto(Net) flat = open_net("flat:64 25GB/s 10us 80GiB");
    g_autoptr(PsCollective) small = make(&flat, PS_ALL_REDUCE, 64, 1024, PS_AUTO);
    g_autoptr(PsCollective) large = make(&flat, PS_ALL_REDUCE, 60, 1e11, PS_AUTO);
    g_autoptr(PsCollective) wide = make(&net, PS_ALL_REDUCE, 48, 1e11, PS_AUTO);
    ck_assert_str_ne(ps_collective_algorithm_name(small), "ring");
    ck_assert_str_eq(ps_collective_algorithm_name(large), "ring");
    ck_assert_str_eq(ps_collective_algorithm_name(wide), "hierarchical");
}
END_TEST

static const char *library_file(const char *algorithms)
{
    g_autofree char *text =
        g_strdup_printf("[accelerator]\nname = x\nmemory = 1 GiB\n"
                        "[level node]\nsize = 16\nbandwidth = 10 GB/s\nlatency = 1 us\n"
                        "[collectives]\nalgorithms = %s\nstart = 2: 10 us, 6: 20 us, 8: 40 us\n"
                        "[protocol quick]\nlatency = 0\nbandwidth = 4 GB/s\ngrain = 1 kB\n"
                        "[protocol broad]\nlatency = 50 us\nbandwidth = 20 GB/s\ngrain = 0\n",
                        algorithms);
    return ps_test_file("library.topo", text);
}

/* Start, latency, bound and grain of the protocol that is faster. */
START_TEST(the_library_costs)
{
    g_auto(Net) net = open_net(library_file("ring"));
    const struct {
        guint n;
        double bytes, time_us;
        const char *protocol;
    } cases[] = {
        /* 6 steps of 1 us, each as if of 1 kB at 4 GB/s; between 2 and 6 ranks. */
        {4, 400, 15 + 6 * (1 + 0.25), "quick"},
        {4, 4e4, 15 + 6 * (1 + 2.5), "quick"},
        /* The link is slower than the protocol. */
        {4, 4e6, 15 + 50 + 6 * (1 + 100), "broad"},
        {8, 800, 40 + 14 * (1 + 0.25), "quick"},
        {16, 1600, 40 + 30 * (1 + 0.25), "quick"}, /* beyond the last start */
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsCollective) collective =
            make(&net, PS_ALL_REDUCE, cases[i].n, cases[i].bytes, PS_AUTO);
        ck_assert_str_eq(ps_collective_algorithm_name(collective), "ring");
        ck_assert_str_eq(collective->protocol->name, cases[i].protocol);
        ck_assert_double_eq_tol(collective->time_s * 1e6, cases[i].time_us, 1e-9);
        gint64 end_ps = run(&net, collective, NULL).ends_ps[0];
        ck_assert_int_le(ABS(end_ps - ps_seconds_to_ps(collective->time_s)), 2);
    }
    /* A kind that none of its algorithms does is done all the same. */
    g_autoptr(PsCollective) other = make(&net, PS_ALL_TO_ALL, 4, 1e9, PS_AUTO);
    ck_assert_str_eq(ps_collective_algorithm_name(other), "pairwise");
}
END_TEST

START_TEST(refusals_say_why)
{
    g_auto(Net) net = open_net("node:8 300GB/s cluster:64 25GB/s 80GiB");
    const guint ranks[] = {0, 1, 2};
    const struct {
        PsCollectiveKind kind;
        const char *algorithm, *message;
    } cases[] = {
        {PS_ALL_REDUCE, "rings", "unknown algorithm \"rings\" (did you mean ring?)"},
        {PS_ALL_TO_ALL, "ring", "ring does no all-to-all (expected pairwise, bruck)"},
        {PS_BROADCAST, "pairwise", "pairwise does no broadcast (expected ring, tree)"},
        {PS_ALL_GATHER, "halving-doubling",
         "halving-doubling cannot serve 3 ranks (expected a power of two)"},
        {PS_ALL_REDUCE, "hierarchical",
         "hierarchical cannot serve 3 ranks on 1 node (expected two nodes or more with the same "
         "number of ranks, two or more)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const PsCollectiveCall call = {cases[i].kind, ranks, 3, 1e6};
        g_autoptr(GError) error = NULL;
        ck_assert_ptr_null(ps_collective_new(net.network, &call, cases[i].algorithm, &error));
        ps_assert_error(error, PS_ERROR_USAGE, cases[i].message);
    }
    const char *path = library_file("ring, tre");
    g_auto(Net) wrong = open_net(path);
    const PsCollectiveCall call = {PS_ALL_REDUCE, ranks, 3, 1e6};
    g_autoptr(GError) error = NULL;
    ck_assert_ptr_null(ps_collective_new(wrong.network, &call, PS_AUTO, &error));
    g_autofree char *expected =
        g_strdup_printf("%s:9: algorithms: unknown algorithm \"tre\" (did you mean tree?)", path);
    ps_assert_error(error, PS_ERROR_INPUT, expected);
}
END_TEST

/* Each to each is too much at some size: that is said, and auto does without. */
START_TEST(pairwise_has_a_limit)
{
    enum { RANKS = 4097 };
    g_auto(Net) net = open_net("flat:5000 25GB/s 80GiB");
    guint ranks[RANKS];
    for (guint i = 0; i < RANKS; i++) {
        ranks[i] = i;
    }
    const PsCollectiveCall call = {PS_ALL_TO_ALL, ranks, RANKS, 1e9};
    g_autoptr(GError) error = NULL;
    ck_assert_ptr_null(ps_collective_new(net.network, &call, "pairwise", &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "pairwise cannot serve 4097 ranks (expected at most 4096, which send 16773120 "
                    "messages)");
    g_autoptr(PsCollective) collective = ps_collective_new(net.network, &call, PS_AUTO, &error);
    ps_assert_no_error(error);
    ck_assert_str_eq(ps_collective_algorithm_name(collective), "bruck");
}
END_TEST

/* ---- measured ------------------------------------------------------------------------------- */

static const char *const measured_columns[] = {"n_gpus", "size_bytes", "time_s",
                                               "bus_bandwidth_GB_per_s", NULL};

typedef struct {
    Net net;
    guint n_rows;
    double worst;
} Measured;

static gboolean compare_row(const PsCsvRow *row, gpointer user_data, GError **error)
{
    Measured *measured = user_data;
    gint64 n, bytes;
    double time_s, bus_gb_per_s;
    ck_assert(ps_csv_get_int(row, 0, "n_gpus", 2, 8, &n, error));
    ck_assert(ps_csv_get_int(row, 1, "size_bytes", 1, G_MAXINT64, &bytes, error));
    ck_assert(ps_csv_get_double(row, 2, "time_s", &time_s, error));
    ck_assert(ps_csv_get_double(row, 3, "bus_bandwidth_GB_per_s", &bus_gb_per_s, error));
    g_autoptr(PsCollective) collective =
        make(&measured->net, PS_ALL_REDUCE, (guint)n, (double)bytes, PS_AUTO);
    double bus = bytes * ps_collective_bus_factor(PS_ALL_REDUCE, (guint)n) / time_s / 1e9;
    ck_assert_double_eq_tol(bus / bus_gb_per_s, 1, 1e-3); /* printed digits */
    measured->worst = MAX(measured->worst, fabs(collective->time_s / time_s - 1));
    measured->n_rows++;
    return TRUE;
}

/* The shipped node takes the times that were measured in one, within 10 % everywhere. */
START_TEST(a100_node_as_measured)
{
    const char *path = ps_test_data("measured/allreduce-a100-one-node.csv");
    if (path == NULL) {
        return;
    }
    Measured measured = {.net = open_net("topologies/a100-node.topo")};
    g_autoptr(GError) error = NULL;
    ck_assert(ps_csv_read(path, measured_columns, compare_row, &measured, &error));
    ps_assert_no_error(error);
    net_clear(&measured.net);
    ck_assert_uint_eq(measured.n_rows, 77);
    ck_assert_double_lt(measured.worst, 0.0915); /* README.md of topologies says 9.1 % */
}
END_TEST

PS_TEST_MAIN("collective", closed_forms_to_the_picosecond, hierarchical_form, bytes_are_conserved,
             the_table_is_sound, bus_factors, alone_as_foretold, rings_contend,
             the_slowest_hop_decides, groups_in_lock_step, auto_is_the_fastest, the_library_costs,
             refusals_say_why, pairwise_has_a_limit, a100_node_as_measured)
