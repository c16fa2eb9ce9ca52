/* Replays over a network, buckets, sharded training, ways of communicating: against a flat network
 * where both must agree, closed forms and recurrences written out beside them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/coll/collective.h"
#include "sim/replay/fabric.h"
#include "tests/harness/harness.h"
#include "tests/oracle/pipelines.h"
#include "tests/oracle/recording.h"

/* Choices opened with a topology. */
static PsRecording record_over(const PsWorkload *workload, PsReplayChoices choices,
                               const char *topology)
{
    g_autoptr(GError) error = NULL;
    gboolean opened = ps_replay_choices_open(&choices, topology, &error);
    ps_assert_no_error(error);
    ck_assert(opened);
    PsRecording run = ps_record(workload, &choices);
    ps_topology_free(choices.topology);
    g_free(choices.topology_text);
    ps_disturbance_free(choices.disturbance);
    ps_loader_settings_free(choices.loader_settings);
    run.settings.topology = NULL;
    return run;
}

/* ---- links that act as one ------------------------------------------------------------------ */

typedef struct {
    PsSimulator *simulator;
    gint64 *ends_ps;
} Clock;

static void note_end(gpointer owner, guint64 number)
{
    Clock *clock = owner;
    clock->ends_ps[number] = ps_simulator_now(clock->simulator);
}

typedef struct {
    guint n, sources[8], destinations[8];
    double bytes;
} Message;

static Message random_message(GRand *rand, guint n_devices)
{
    guint width = 1u << g_rand_int_range(rand, 0, 4), groups = n_devices / width;
    guint from = (guint)g_rand_int_range(rand, 0, (gint32)groups);
    guint to = (from + (guint)g_rand_int_range(rand, 1, (gint32)groups)) % groups;
    Message message = {.n = width, .bytes = g_rand_int_range(rand, 1, 1000) * 1e6};
    for (guint i = 0; i < width; i++) {
        message.sources[i] = from * width + i;
        message.destinations[i] = to * width + i;
    }
    return message;
}

/* The same messages as flows over every link of their routes, none left out. */
static void run_all_links(const PsTopology *topology, const Message *messages, guint n,
                          gint64 *ends_ps)
{
    g_autoptr(PsNetwork) network = ps_network_new(topology);
    g_autoptr(PsSimulator) simulator = ps_simulator_new();
    g_autoptr(PsFlows) flows =
        ps_flows_new(simulator, ps_network_capacities(network), ps_network_links(network), 0);
    Clock clock = {simulator, ends_ps};
    g_autoptr(GArray) route = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint i = 0; i < n; i++) {
        g_autoptr(GArray) loads = g_array_new(FALSE, FALSE, sizeof(PsFairLoad));
        double longest_s = 0, latency_s;
        for (guint k = 0; k < messages[i].n; k++) {
            ck_assert(ps_network_route(network, messages[i].sources[k], messages[i].destinations[k],
                                       route, &latency_s, NULL));
            longest_s = fmax(longest_s, latency_s);
            for (guint hop = 0; hop < route->len; hop++) {
                PsFairLoad load = {g_array_index(route, guint, hop), 1};
                g_array_append_val(loads, load);
            }
        }
        const PsFlowSpec spec = {.loads = (const PsFairLoad *)(gpointer)loads->data,
                                 .n_loads = loads->len,
                                 .bytes = messages[i].bytes,
                                 .latency_s = longest_s,
                                 .ended = note_end,
                                 .owner = &clock,
                                 .data = i};
        ps_flows_start(flows, &spec);
    }
    ps_simulator_run(simulator);
}

START_TEST(links_that_act_as_one)
{
    static const char *const topologies[] = {
        "flat:64 1GB/s 1GiB", "node:8 10GB/s 1us cluster:64 1GB/s 5us 1GiB",
        "node:8 4GB/s cluster:64 1GB/s 5us shared 1GiB", "node:8 4GB/s ring cluster:64 1GB/s 1GiB"};
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("links_that_act_as_one"));
    for (guint trial = 0; trial < 200; trial++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(PsTopology) topology = ps_topology_load(topologies[trial % 4], &error);
        ps_assert_no_error(error);
        guint n = (guint)g_rand_int_range(rand, 1, 30);
        Message messages[30];
        gint64 all_ps[30], some_ps[30];
        g_autoptr(PsFabric) fabric = ps_fabric_new(topology);
        g_autoptr(PsSimulator) simulator = ps_simulator_new();
        Clock clock = {simulator, some_ps};
        for (guint i = 0; i < n; i++) {
            guint number;
            messages[i] = random_message(rand, 64);
            const PsMessage message = {messages[i].sources, messages[i].destinations, messages[i].n,
                                       messages[i].bytes, 0};
            ck_assert(ps_fabric_add_message(fabric, &message, &number, NULL) && number == i);
        }
        ck_assert(ps_fabric_open(fabric, simulator, 0, NULL));
        for (guint i = 0; i < n; i++) {
            ps_fabric_start(fabric, i, note_end, &clock, i);
        }
        ps_simulator_run(simulator);
        run_all_links(topology, messages, n, all_ps);
        for (guint i = 0; i < n; i++) {
            ck_assert_int_le(ABS(all_ps[i] - some_ps[i]), 1 + all_ps[i] / 1000000000);
        }
        g_autoptr(GArray) links = ps_fabric_links(fabric);
        ck_assert_uint_le(ps_fabric_deciders(fabric), links->len);
    }
}
END_TEST

/* ---- a network on which nobody shares anything ---------------------------------------------- */

/* Borders with one length at both ends, and bytes to match at 1 GB/s; no collectives. */
static PsWorkload *unshared_workload(GRand *rand)
{
    PsWorkload *workload = ps_random_workload(rand, FALSE);
    guint t = (guint)g_rand_int_range(rand, 1, 5), n = 0;
    for (guint i = 0; i < workload->n_stages; i++) {
        workload->stages[i].tensor_parallel = t;
        workload->stages[i].resync_s = workload->stages[i].resync_bytes = 0;
    }
    for (guint i = 0; i < workload->n_borders; i++) {
        PsWorkBorder *border = &workload->borders[i];
        border->target_s = border->source_s += 1e-9; /* on a network nothing is instant */
        border->source_bytes = border->target_bytes = border->source_s * 1e9;
        if (border->target == border->source + 1) {
            workload->borders[n++] = *border;
        }
    }
    workload->n_borders = n;
    ck_assert(ps_workload_finish(workload, NULL));
    return workload;
}

static int compare_ops(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(PsTraceOp));
}

/* A lane has one send and one receive under way at a time, so on one switch each has its adapter to
 * itself: the same rows as on the flat network, whatever the way of communicating. */
START_TEST(unshared_is_flat)
{
    static char *const modes[][3] = {{"overlap", NULL, NULL},
                                     {"overlap", NULL, "single"},
                                     {"blocking", NULL, NULL},
                                     {"overlap", "eager", NULL}};
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("unshared_is_flat"));
    guint n_compared = 0;
    for (guint trial = 0; trial < 120; trial++) {
        g_autoptr(PsWorkload) workload = unshared_workload(rand);
        PsReplayChoices choices = {.start = "cold",
                                   .network = "flat",
                                   .communication = modes[trial % 4][0],
                                   .messages = modes[trial % 4][1],
                                   .streams = modes[trial % 4][2]};
        g_auto(PsRecording) flat = {0};
        if (!ps_try_record(workload, &choices, &flat)) {
            continue; /* waits for itself, on any network */
        }
        if (choices.messages != NULL) {
            /* A receiver takes in several messages at once, which then share its adapter. */
            g_auto(PsRecording) shared = {0};
            choices.network = "topology";
            shared = record_over(workload, choices, "flat:200 1GB/s 1GiB");
            ck_assert_int_ge(shared.result->makespan_ps, flat.result->makespan_ps);
            continue;
        }
        choices.network = "topology";
        g_auto(PsRecording) over = record_over(workload, choices, "flat:200 1GB/s 1GiB");
        ck_assert_uint_eq(flat.ops->len, over.ops->len);
        qsort(flat.ops->data, flat.ops->len, sizeof(PsTraceOp), compare_ops);
        qsort(over.ops->data, over.ops->len, sizeof(PsTraceOp), compare_ops);
        ck_assert_mem_eq(flat.ops->data, over.ops->data, flat.ops->len * sizeof(PsTraceOp));
        n_compared++;
    }
    ck_assert_uint_gt(n_compared, 50);
}
END_TEST

/* Two replicas of one device each behind a shared adapter send at once: each at half its rate. What
 * they send crosses the adapter whole. */
START_TEST(shared_adapters)
{
    g_autoptr(PsWorkload) workload = ps_workload_new(2, 1, 2);
    for (guint i = 0; i < 2; i++) {
        workload->stages[i] = (PsWorkStage){.data_parallel = 2,
                                            .tensor_parallel = 1,
                                            .in_flight = 2 - i,
                                            .forward_s = 1,
                                            .backward_s = 2};
    }
    workload->borders[0] = (PsWorkBorder){.source = 0,
                                          .target = 1,
                                          .source_bytes = 1e9,
                                          .target_bytes = 1e9,
                                          .source_s = 1,
                                          .target_s = 1};
    ck_assert(ps_workload_finish(workload, NULL));
    const PsReplayChoices choices = {.start = "cold", .network = "topology"};
    g_auto(PsRecording) own = record_over(workload, choices, "node:2 10GB/s cluster:4 1GB/s 1GiB");
    g_auto(PsRecording) shared =
        record_over(workload, choices, "node:2 10GB/s cluster:4 1GB/s shared 1GiB");
    /* Forward 1, activations 1 (or 2), forward 1, backward 2, gradients 1 (or 2), backward 2. */
    ck_assert_int_eq(own.result->makespan_ps, ps_seconds_to_ps(8));
    ck_assert_int_eq(shared.result->makespan_ps, ps_seconds_to_ps(10));
    double across = 0;
    for (guint i = 0; i < shared.result->links->len; i++) {
        const PsRunLink *link = &g_array_index(shared.result->links, PsRunLink, i);
        if (g_str_has_prefix(link->name, "node/0>cluster")) {
            across += link->moved_bytes;
            ck_assert_int_eq(link->busy_ps, ps_seconds_to_ps(2));
            ck_assert_uint_eq(link->peak_flows, 2);
        }
    }
    ck_assert_double_eq(across, 2e9);
}
END_TEST

/* ---- ways of communicating, by hand --------------------------------------------------------- */

/* Two stages, forward 1 s, backward 1 s, transfers 1 s each way. */
static PsWorkload *two_stages(guint microbatches)
{
    PsWorkload *workload = ps_chain_new(2, microbatches, 1, 1);
    workload->borders[0] = (PsWorkBorder){.source = 0,
                                          .target = 1,
                                          .source_bytes = 1,
                                          .target_bytes = 1,
                                          .source_s = 1,
                                          .target_s = 1};
    return workload;
}

/* 1F1B with two microbatches. Overlap: F0 0-1, F1 1-2 on stage 0; sends 1-2 and 2-3; stage 1: F0
 * 2-3, B0 3-4, F1 4-5, B1 5-6; gradients 4-5 and 6-7; stage 0: B0 5-6, B1 7-8.
 * Blocking: stage 0 sends until 2, F1 2-3; stage 1: F0 2-3, B0 3-4, then both ways 4-5; F1 5-6, B1
 * 6-7, gradients 7-8, stage 0: B1 8-9.
 * Serial: each end is busy with the transfer and it is there when the step ends. Stage 0: F0 0-2,
 * F1 2-4; stage 1 (receive, forward; backward, send): 2-4, 4-6, 6-8, 8-10; stage 0 B1: 10-12. */
START_TEST(one_after_another_or_at_once)
{
    static const struct {
        char *communication;
        gint64 makespan_s;
    } cases[] = {{"overlap", 8}, {"blocking", 9}, {"serial", 12}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsWorkload) workload = two_stages(2);
        const PsReplayChoices choices = {.start = "cold", .communication = cases[i].communication};
        g_auto(PsRecording) run = ps_record(workload, &choices);
        ck_assert_int_eq(run.result->makespan_ps, ps_seconds_to_ps((double)cases[i].makespan_s));
    }
}
END_TEST

/* The file has stage 0 wait for the first gradients before it sends the second activations. On one
 * stream: F0 0-1, F1 1-2, activations 1-2, stage 1: F0 2-3, B0 3-4, gradients 4-5, only then
 * activations 5-6; stage 0: B0 5-6; stage 1: F1 6-7, B1 7-8, gradients 8-9; stage 0: B1 9-10. With
 * streams of their own, each way, nothing waits: 8 s as above. */
START_TEST(head_of_the_line)
{
    const char *path =
        ps_test_file("line.csv", "0F0,0SEND_F0,0F1,0RECV_B0,0SEND_F1,0B0,0RECV_B1,0B1\n"
                                 "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,"
                                 "1SEND_B1\n");
    static const struct {
        char *streams;
        double makespan_s;
    } cases[] = {{NULL, 10}, {"single", 10}, {"split", 8}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsWorkload) workload = two_stages(2);
        PsReplayChoices choices = {
            .start = "cold", .schedule = (char *)path, .streams = cases[i].streams};
        g_autoptr(GError) error = NULL;
        gboolean opened = ps_replay_choices_open(&choices, NULL, &error);
        ps_assert_no_error(error);
        ck_assert(opened);
        g_auto(PsRecording) run = ps_record(workload, &choices);
        ck_assert_int_eq(run.result->makespan_ps, ps_seconds_to_ps(cases[i].makespan_s));
        ps_schedule_free(choices.file);
    }
}
END_TEST

/* Eager messages wait for fewer things, so nothing gets later; overheads make nothing earlier, and
 * without them all is as before. */
START_TEST(waiting_for_less_is_never_slower)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("waiting_for_less"));
    for (guint trial = 0; trial < 100; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, TRUE);
        const PsReplayChoices plain = {.start = "cold"},
                              eager = {.start = "cold", .messages = "eager"};
        const PsReplayChoices late = {
            .start = "cold", .launch_overhead = "3us", .hop_overhead = "5us"};
        g_auto(PsRecording) first = ps_record(workload, &plain);
        g_auto(PsRecording) second = ps_record(workload, &eager);
        g_auto(PsRecording) third = ps_record(workload, &late);
        ck_assert_int_le(second.result->makespan_ps, first.result->makespan_ps);
        ck_assert_int_gt(third.result->makespan_ps, first.result->makespan_ps);
    }
}
END_TEST

/* ---- the end of a batch --------------------------------------------------------------------- */

#define REPLICAS 4

/* One stage of REPLICAS lanes with t ranks each, m microbatches per lane. */
typedef struct {
    guint m, t, n_layers;
    double forward_s, backward_s;
    PsWorkLayer layers[6];
    double weights_bytes;
} OneStage;

static OneStage random_stage(GRand *rand)
{
    OneStage stage = {.m = (guint)g_rand_int_range(rand, 1, 6),
                      .t = (guint)g_rand_int_range(rand, 1, 3),
                      .n_layers = (guint)g_rand_int_range(rand, 1, 7),
                      .forward_s = g_rand_int_range(rand, 1, 1000) * 1e-3};
    for (guint i = 0; i < stage.n_layers; i++) {
        stage.layers[i] = (PsWorkLayer){{0, g_rand_int_range(rand, 1, 1000) * 1e-3, 0},
                                        g_rand_int_range(rand, 1, 1000) * 1e6};
        stage.backward_s += stage.layers[i].pass_s[PS_PASS_BACKWARD];
        stage.weights_bytes += stage.layers[i].weights_bytes;
    }
    return stage;
}

static PsWorkload *workload_of(const OneStage *stage)
{
    PsWorkload *workload = ps_workload_new(1, 0, REPLICAS * stage->m);
    double moved_bytes = 4.0 * (REPLICAS - 1) / REPLICAS * stage->weights_bytes;
    *workload->stages = (PsWorkStage){
        .data_parallel = REPLICAS,
        .tensor_parallel = stage->t,
        .in_flight = 1,
        .forward_s = stage->forward_s,
        .backward_s = stage->backward_s,
        .resync_bytes = moved_bytes,
        .resync_s = moved_bytes / 1e9,
        .gradient_bytes = stage->weights_bytes,
        .weights_bytes = stage->weights_bytes,
        .gradients_bytes = stage->weights_bytes,
        .optimizer_bytes = 6 * stage->weights_bytes,
        .n_layers = stage->n_layers,
        .layers = g_memdup2(stage->layers, stage->n_layers * sizeof *stage->layers),
    };
    ck_assert(ps_workload_finish(workload, NULL));
    return workload;
}

#define TOPOLOGY "node:4 10GB/s 2us cluster:16 1GB/s 7us 1GiB"

/* What one collective takes on the network when it is alone, in lock step for every rank index. */
static double alone_s(const OneStage *stage, PsCollectiveKind kind, double bytes)
{
    guint ranks[REPLICAS * 2];
    for (guint i = 0; i < stage->t; i++) {
        for (guint k = 0; k < REPLICAS; k++) {
            ranks[i * REPLICAS + k] = k * stage->t + i;
        }
    }
    g_autoptr(PsTopology) topology = ps_topology_load(TOPOLOGY, NULL);
    g_autoptr(PsNetwork) network = ps_network_new(topology);
    const PsCollectiveCall call = {kind, ranks, REPLICAS, bytes, stage->t};
    g_autoptr(PsCollective) collective = ps_collective_new(network, &call, PS_AUTO, NULL);
    return collective->time_s;
}

static void check_end(const PsRecording *run, double end_s)
{
    /* Each of its parts is rounded to picoseconds. */
    ck_assert_int_le(ABS(run->result->makespan_ps - ps_seconds_to_ps(end_s)), 50);
}

/* After the last backward: reduce, apply, share out again. ZeRO-1 applies 1 / d of it. */
START_TEST(after_the_last_backward)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("after_the_last_backward"));
    for (guint trial = 0; trial < 30; trial++) {
        OneStage stage = random_stage(rand);
        g_autoptr(PsWorkload) workload = workload_of(&stage);
        double work_s = stage.m * (stage.forward_s + stage.backward_s);
        double apply_s = stage.weights_bytes / 100e9;
        const PsReplayChoices plain = {
            .start = "cold", .network = "topology", .optimizer = "100GB/s"};
        PsReplayChoices shared = plain;
        shared.sharding = "zero1";
        g_auto(PsRecording) one = record_over(workload, plain, TOPOLOGY);
        check_end(&one, work_s + alone_s(&stage, PS_ALL_REDUCE, stage.weights_bytes) + apply_s);
        g_auto(PsRecording) two = record_over(workload, shared, TOPOLOGY);
        check_end(&two, work_s + alone_s(&stage, PS_REDUCE_SCATTER, stage.weights_bytes) +
                            apply_s / REPLICAS +
                            alone_s(&stage, PS_ALL_GATHER, stage.weights_bytes));
        /* On the flat network a server takes 4 (d - 1) w / d bytes at B, half of that each way. */
        PsReplayChoices flat = shared;
        flat.network = "flat";
        g_auto(PsRecording) three = ps_record(workload, &flat);
        check_end(&three, work_s + workload->stages->resync_s + apply_s / REPLICAS);
    }
}
END_TEST

/* Buckets, from the last layer on, each when its layers are through with the last backward and the
 * one before it is reduced. */
START_TEST(buckets_overlap_the_last_backward)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("buckets"));
    for (guint trial = 0; trial < 60; trial++) {
        OneStage stage = random_stage(rand);
        g_autoptr(PsWorkload) workload = workload_of(&stage);
        double limit_bytes = g_rand_int_range(rand, 1, 2000) * 1e6;
        g_autofree char *limit = g_strdup_printf("%.0f MB", limit_bytes / 1e6);
        const PsReplayChoices choices = {.start = "cold", .network = "topology", .bucket = limit};
        g_auto(PsRecording) run = record_over(workload, choices, TOPOLOGY);
        double last_s = stage.m * (stage.forward_s + stage.backward_s) - stage.backward_s;
        double ready_s = last_s, free_s = 0, bytes = 0;
        for (guint i = stage.n_layers; i-- > 0;) {
            ready_s += stage.layers[i].pass_s[PS_PASS_BACKWARD];
            bytes += stage.layers[i].weights_bytes;
            if (bytes >= limit_bytes || i == 0) {
                free_s = fmax(free_s, ready_s) + alone_s(&stage, PS_ALL_REDUCE, bytes);
                bytes = 0;
            }
        }
        check_end(&run, free_s);
    }
}
END_TEST

/* ZeRO-2: gradients are scattered after every backward, one after another on the collective stream;
 * then weights are shared out. ZeRO-3: weights come together before every step, those of the next
 * one already during this one. */
START_TEST(sharded_steps)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("sharded_steps"));
    for (guint trial = 0; trial < 60; trial++) {
        OneStage stage = random_stage(rand);
        gboolean gathers = trial % 2;
        g_autoptr(PsWorkload) workload = workload_of(&stage);
        const PsReplayChoices choices = {
            .start = "cold", .network = "topology", .sharding = gathers ? "zero3" : "zero2"};
        g_auto(PsRecording) run = record_over(workload, choices, TOPOLOGY);
        double gather_s = alone_s(&stage, PS_ALL_GATHER, stage.weights_bytes);
        double scatter_s = alone_s(&stage, PS_REDUCE_SCATTER, stage.weights_bytes);
        double free_s = gathers ? gather_s : 0, weights_s = free_s, end_s = 0;
        for (guint step = 0; step < 2 * stage.m; step++) {
            double start_s = fmax(end_s, weights_s);
            gboolean backward = step % 2;
            end_s = start_s + (backward ? stage.backward_s : stage.forward_s);
            if (gathers && step + 1 < 2 * stage.m) {
                free_s = weights_s = fmax(free_s, start_s) + gather_s;
            }
            if (backward) {
                free_s = fmax(free_s, end_s) + scatter_s;
            }
        }
        check_end(&run, fmax(end_s, free_s) + (gathers ? 0 : gather_s));
        /* Memory: 1 / d of what is shared out, and what passes through. */
        double w = stage.weights_bytes, d = REPLICAS;
        const double *held = run.result->stages[0].peak_category_bytes;
        ck_assert_double_eq(held[PS_MEMORY_WEIGHTS], gathers ? w / d : w);
        ck_assert_double_eq(held[PS_MEMORY_GRADIENTS], w / d);
        ck_assert_double_eq(held[PS_MEMORY_OPTIMIZER], 6 * w / d);
        ck_assert_double_ge(held[PS_MEMORY_BUFFERS], w);
    }
}
END_TEST

/* ---- tensor-parallel collectives ------------------------------------------------------------ */

/* What profiles may say is what there is. */
START_TEST(kinds_are_known)
{
    for (guint i = 0; i <= PS_N_COLLECTIVE_KINDS; i++) {
        ck_assert_int_eq(g_strcmp0(ps_tmpc_collective_kinds[i], ps_collective_kind_names[i]), 0);
    }
}
END_TEST

/* Layers' collectives take their place in the passes: where each takes as long on the network as
 * the layer's time has room for, nothing changes; else each pass is longer by the difference.
 * Buckets become ready behind their layers' collectives. */
START_TEST(collectives_of_layers)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("collectives_of_layers"));
    for (guint trial = 0; trial < 40; trial++) {
        OneStage stage = random_stage(rand);
        stage.t = 2;
        double bytes = g_rand_int_range(rand, 1, 100) * 1e6;
        guint ranks[] = {0, 1};
        g_autoptr(PsTopology) topology = ps_topology_load(TOPOLOGY, NULL);
        g_autoptr(PsNetwork) network = ps_network_new(topology);
        const PsCollectiveCall call = {PS_ALL_REDUCE, ranks, 2, bytes, 1};
        g_autoptr(PsCollective) one = ps_collective_new(network, &call, PS_AUTO, NULL);
        double room_s = trial % 2 ? one->time_s : one->time_s * g_rand_double(rand);
        const PsTmpcCollective collectives[] = {
            {PS_PASS_FORWARD, "all-reduce", bytes, room_s, 2},
            {PS_PASS_BACKWARD, "all-reduce", bytes, room_s, 1},
        };
        g_autoptr(PsWorkload) workload = workload_of(&stage);
        double longer_s = 0;
        for (guint i = 0; i < stage.n_layers; i++) {
            PsWorkLayer *layer = &workload->stages->layers[i];
            layer->pass_s[PS_PASS_FORWARD] = 2 * room_s + g_rand_int_range(rand, 0, 9) * 1e-3;
            layer->pass_s[PS_PASS_BACKWARD] += room_s;
            workload->stages->backward_s += room_s;
            layer->n_collectives = G_N_ELEMENTS(collectives);
            layer->collectives = collectives;
            longer_s += 3 * (one->time_s - room_s);
        }
        workload->stages->forward_s = 0;
        for (guint i = 0; i < stage.n_layers; i++) {
            workload->stages->forward_s += workload->stages->layers[i].pass_s[PS_PASS_FORWARD];
        }
        double step_s = workload->stages->forward_s + workload->stages->backward_s + longer_s;
        const PsReplayChoices choices = {.start = "cold", .network = "topology"};
        g_auto(PsRecording) run = record_over(workload, choices, TOPOLOGY);
        double reduce_s = alone_s(&stage, PS_ALL_REDUCE, stage.weights_bytes);
        ck_assert_int_le(
            ABS(run.result->makespan_ps - ps_seconds_to_ps(stage.m * step_s + reduce_s)), 1000);
        guint n_tensor = 0;
        for (guint i = 0; i < run.ops->len; i++) {
            n_tensor += g_array_index(run.ops, PsTraceOp, i).kind == PS_OP_TENSOR;
        }
        ck_assert_uint_eq(n_tensor, REPLICAS * stage.m * 3 * stage.n_layers);
        PsReplayChoices bucketed = choices;
        bucketed.bucket = "1B"; /* one for each layer */
        g_auto(PsRecording) early = record_over(workload, bucketed, TOPOLOGY);
        double ready_s = stage.m * step_s, free_s = 0;
        for (guint i = 0; i < stage.n_layers; i++) {
            ready_s -= workload->stages->layers[i].pass_s[PS_PASS_BACKWARD] - room_s + one->time_s;
        }
        for (guint i = stage.n_layers; i-- > 0;) {
            const PsWorkLayer *layer = &workload->stages->layers[i];
            ready_s += layer->pass_s[PS_PASS_BACKWARD] - room_s + one->time_s;
            free_s = fmax(free_s, ready_s) + alone_s(&stage, PS_ALL_REDUCE, layer->weights_bytes);
        }
        /* The early ones share links with the collectives of the layers before. */
        ck_assert_int_ge(early.result->makespan_ps, ps_seconds_to_ps(free_s) - 1000);
        ck_assert_int_le(early.result->makespan_ps,
                         run.result->makespan_ps + 1000 +
                             ps_seconds_to_ps(alone_s(&stage, PS_ALL_REDUCE, 1) * 6));
    }
}
END_TEST

/* ---- disturbances and the loader ------------------------------------------------------------ */

/* All devices slower by one factor: all computations longer by it. */
START_TEST(slow_devices)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("slow_devices"));
    for (guint trial = 0; trial < 40; trial++) {
        g_autoptr(PsWorkload) workload = ps_random_workload(rand, FALSE);
        const PsWorkStage *last = &workload->stages[workload->n_stages - 1];
        g_autoptr(GString) slow = g_string_new(NULL);
        for (guint i = 0; i < last->first_rank + last->data_parallel * last->tensor_parallel; i++) {
            g_string_append_printf(slow, "rank=%u factor=3; ", i);
        }
        g_string_truncate(slow, slow->len - 2);
        PsReplayChoices choices = {.start = "cold"};
        choices.disturbances[PS_DISTURBANCE_SLOW] = slow->str;
        g_auto(PsRecording) disturbed = record_over(workload, choices, NULL);
        for (guint i = 0; i < workload->n_stages; i++) {
            workload->stages[i].forward_s *= 3;
            workload->stages[i].backward_s *= 3;
            workload->stages[i].recompute_s *= 3;
        }
        const PsReplayChoices plain = {.start = "cold"};
        g_auto(PsRecording) same = ps_record(workload, &plain);
        ck_assert_int_eq(disturbed.result->makespan_ps, same.result->makespan_ps);
    }
}
END_TEST

/* A lane that stops keeps everybody waiting, and what ended before it did is as without it. */
START_TEST(a_device_stops)
{
    g_autoptr(PsWorkload) workload = ps_chain_new(3, 8, 1, 2);
    PsReplayChoices choices = {.start = "cold"};
    const PsReplayChoices plain = choices;
    choices.disturbances[PS_DISTURBANCE_STOP] = "rank=1 at=5.5s";
    g_auto(PsRecording) whole = ps_record(workload, &plain);
    g_auto(PsRecording) part = record_over(workload, choices, NULL);
    ck_assert(part.result->partial);
    ck_assert_msg(g_str_has_prefix(part.result->standstill,
                                   "standstill at 8 s: lane 1 (stage 1, replica 0) has stopped; "
                                   "lane 0 (stage 0, replica 0) waits in backward of microbatch 0 "
                                   "for lane 1"),
                  "%s", part.result->standstill);
    ck_assert_uint_eq(part.result->stops->len, 1);
    ck_assert_uint_eq(g_array_index(part.result->stops, PsRunStop, 0).lane, 1);
    ck_assert_int_eq(g_array_index(part.result->stops, PsRunStop, 0).at_ps, ps_seconds_to_ps(5.5));
    for (guint i = 0; i < part.ops->len; i++) {
        const PsTraceOp *op = &g_array_index(part.ops, PsTraceOp, i);
        gboolean known = FALSE;
        for (guint k = 0; k < whole.ops->len && !known; k++) {
            known = memcmp(op, &g_array_index(whole.ops, PsTraceOp, k), sizeof *op) == 0;
        }
        ck_assert(known);
        ck_assert(op->lane != 1 || op->end_ps <= ps_seconds_to_ps(5.5));
    }
    for (guint k = 0; k < whole.ops->len; k++) {
        const PsTraceOp *op = &g_array_index(whole.ops, PsTraceOp, k);
        gboolean there = op->end_ps > ps_seconds_to_ps(5.5);
        for (guint i = 0; i < part.ops->len && !there; i++) {
            there = memcmp(op, &g_array_index(part.ops, PsTraceOp, i), sizeof *op) == 0;
        }
        ck_assert(there);
    }
}
END_TEST

/* A loader that is slower than the pipeline decides its pace, one that is faster costs nothing but
 * the first sample. */
START_TEST(the_loader_sets_the_pace)
{
    static const struct {
        const char *text;
        double per_sample_s;
    } cases[] = {{"servers=2 rate=0.1/s prefetch=4", 5},
                 {"servers=4 rate=0.1/s prefetch=9 serial=50%", 5},
                 {"servers=1 rate=100/s prefetch=1", 3},
                 {"servers=2 rate=0.1/s prefetch=4 replace=2:10", 3}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsWorkload) workload = ps_chain_new(3, 8, 1, 2);
        const PsReplayChoices choices = {.flush = "none", .loader = (char *)cases[i].text};
        g_auto(PsRecording) run = record_over(workload, choices, NULL);
        ck_assert(run.result->steady);
        ck_assert_double_eq_tol(run.result->tps_s, cases[i].per_sample_s, 1e-9);
    }
}
END_TEST

/* Every replica joins in every bucket of every batch, however long its computations take. */
START_TEST(buckets_bear_jitter)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("buckets_bear_jitter"));
    for (guint trial = 0; trial < 40; trial++) {
        OneStage stage = random_stage(rand);
        g_autoptr(PsWorkload) workload = workload_of(&stage);
        g_autofree char *seed = g_strdup_printf("%u", trial);
        PsReplayChoices choices = {.start = "cold", .bucket = "1B"};
        choices.disturbances[PS_DISTURBANCE_JITTER] = "lognormal 30%";
        choices.disturbances[PS_DISTURBANCE_SEED] = seed;
        g_auto(PsRecording) run = record_over(workload, choices, NULL);
        guint n_resyncs = 0;
        for (guint i = 0; i < run.ops->len; i++) {
            n_resyncs += g_array_index(run.ops, PsTraceOp, i).kind == PS_OP_RESYNC;
        }
        ck_assert_uint_eq(n_resyncs, REPLICAS * stage.n_layers);
    }
}
END_TEST

/* A stop in a run whose replicas do not wait for each other ends it all the same. */
START_TEST(a_stop_ends_what_it_does_not_hold_up)
{
    g_autoptr(PsWorkload) workload = ps_chain_new(2, 8, 1, 2);
    workload->stages[0].data_parallel = workload->stages[1].data_parallel = 2;
    ck_assert(ps_workload_finish(workload, NULL));
    PsReplayChoices choices = {.assume = "piper"};
    choices.disturbances[PS_DISTURBANCE_STOP] = "rank=0 at=50s";
    g_auto(PsRecording) run = record_over(workload, choices, NULL);
    ck_assert(run.result->partial);
    ck_assert_int_lt(run.result->makespan_ps, ps_seconds_to_ps(100));
}
END_TEST

/* Same seed, same rows; another seed, other rows. The mean of many computations is the plan's. */
START_TEST(jitter_is_seeded)
{
    g_autoptr(PsWorkload) workload = ps_chain_new(1, 4000, 1, 2);
    PsReplayChoices choices = {.start = "cold"};
    choices.disturbances[PS_DISTURBANCE_JITTER] = "gamma 20%";
    g_auto(PsRecording) first = record_over(workload, choices, NULL);
    g_auto(PsRecording) again = record_over(workload, choices, NULL);
    choices.disturbances[PS_DISTURBANCE_SEED] = "2";
    g_auto(PsRecording) other = record_over(workload, choices, NULL);
    ck_assert_uint_eq(first.ops->len, again.ops->len);
    ck_assert_mem_eq(first.ops->data, again.ops->data, first.ops->len * sizeof(PsTraceOp));
    ck_assert_int_ne(first.result->makespan_ps, other.result->makespan_ps);
    /* Six standard errors of the mean of 4000 sums of two. */
    double error_s = 0.2 * sqrt((1 + 4) / 4000.0);
    ck_assert_double_eq_tol(first.result->tps_s, 3, 6 * error_s);
}
END_TEST

PS_TEST_MAIN("network", links_that_act_as_one, unshared_is_flat, shared_adapters,
             one_after_another_or_at_once, head_of_the_line, waiting_for_less_is_never_slower,
             after_the_last_backward, buckets_overlap_the_last_backward, sharded_steps,
             kinds_are_known, collectives_of_layers, slow_devices, a_device_stops,
             the_loader_sets_the_pace, buckets_bear_jitter, a_stop_ends_what_it_does_not_hold_up,
             jitter_is_seeded)
