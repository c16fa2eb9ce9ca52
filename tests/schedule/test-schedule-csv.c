#include <string.h>

#include "sim/base/error.h"
#include "sim/schedule/actions.h"
#include "sim/schedule/schedule-csv.h"
#include "tests/harness/harness.h"

/* ---- writing and reading -------------------------------------------------------------------- */

static char *write_text(const PsSchedule *schedule, guint n_stages, guint chunks, guint batch,
                        const char *name)
{
    g_autoptr(GError) error = NULL;
    char *path = g_build_filename(ps_test_folder(), name, NULL);
    g_autoptr(PsOutput) output = ps_output_open(path, &error);
    ps_assert_no_error(error);
    ps_schedule_write(schedule, n_stages, chunks, batch, output);
    ck_assert(ps_output_commit(output, &error));
    return path;
}

static void check_same_steps(const PsSchedule *a, const PsSchedule *b, const PsLaneShape *lane)
{
    g_autoptr(GArray) left = ps_schedule_list(a, lane), right = ps_schedule_list(b, lane);
    ck_assert_uint_eq(left->len, right->len);
    for (guint i = 0; i < left->len; i++) {
        const PsStep *one = &g_array_index(left, PsStep, i);
        const PsStep *other = &g_array_index(right, PsStep, i);
        ck_assert(one->kind == other->kind && one->chunk == other->chunk &&
                  one->index == other->index);
    }
}

/* Every schedule comes back from its file as it was, and passes the checks of files. */
START_TEST(what_is_written_is_read)
{
    for (guint i = 0; ps_schedules[i] != NULL; i++) {
        const PsSchedule *schedule = ps_schedules[i];
        guint v = schedule->min_chunks;
        for (guint p = 1; p <= 4; p++) {
            for (guint m = 1; m <= 9; m += p) {
                g_autoptr(GError) error = NULL;
                g_autofree char *path = write_text(schedule, p, v, m, "schedule.csv");
                g_autoptr(PsSchedule) read = ps_schedule_read(path, &error);
                ps_assert_no_error(error);
                ck_assert_uint_eq(read->n_stages, p);
                ck_assert_uint_eq(read->batch, m);
                ck_assert(ps_schedule_check_chunks(read, v, &error));
                for (guint stage = 0; stage < p; stage++) {
                    const PsLaneShape lane = {stage, p, v, m, p - stage};
                    for (guint chunk = 0; chunk < v; chunk++) {
                        ck_assert_uint_eq(ps_schedule_place(read, &lane, chunk),
                                          ps_schedule_place(schedule, &lane, chunk));
                    }
                    if (ps_schedule_flushes(schedule)) {
                        check_same_steps(read, schedule, &lane);
                    }
                }
            }
        }
    }
}
END_TEST

/* PyTorch's own spelling: compute-only with gaps, lowered, overlapped, sharded. */
START_TEST(reads_pytorch)
{
    static const struct {
        const char *text, *again;
    } files[] = {
        {"0F0,0F1,,,0B0,0B1\n,1F0,1F1,1B0,1B1,\n", "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n"},
        {" 0F0 ,0I0,  0W0\n1F0,1B0\n", "0F0,0I0,0W0\n1F0,1B0\n"},
        {"0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n"
         "1RECV_F0,1F0,1B0,1SEND_B0\n",
         "0F0,0B0\n1F0,1B0\n"},
        {"0F0,3F0,3B0,(0F1;0B0)OVERLAP_F_B,3F1,3B1,0B1\n1F0,2F0,2B0,1B0,1F1,2F1, 2B1,1B1\n",
         NULL}, /* 0B0 waits for 1B0, 1F1 for 0F1: fine either way */
    };
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autoptr(GError) error = NULL;
        const char *path = ps_test_file("torch.csv", files[i].text);
        g_autoptr(PsSchedule) schedule = ps_schedule_read(path, &error);
        ps_assert_no_error(error);
        if (files[i].again != NULL) {
            g_autofree char *written = write_text(schedule, schedule->n_stages,
                                                  schedule->min_chunks, schedule->batch, "out.csv");
            gsize length;
            g_autofree char *text = ps_read_file(written, &length, &error);
            ck_assert_str_eq(text, files[i].again);
        }
    }
}
END_TEST

/* ---- broken files --------------------------------------------------------------------------- */

#define EXPECTED                                                                                   \
    " (expected STAGE, then F, B, I, W, SEND_F, RECV_F, SEND_B or RECV_B and MICROBATCH, or "      \
    "UNSHARD, RESHARD or REDUCE_GRAD)"
#define OVERLAP_EXPECTED                                                                           \
    " (expected \"(\", a forward and a backward with \";\" between them, \")OVERLAP_F_B\")"

START_TEST(broken_files)
{
    static const struct {
        const char *text, *message; /* after the path */
        PsErrorCode code;
    } broken[] = {
        {"", ": the file is empty (expected rows)"},
        {"0F0,0B0,x\n", ":1: \"x\" is no action" EXPECTED},
        {"0F0,0B\n", ":1: \"0B\" is no action" EXPECTED},
        {"0F0,0B0\n1F0,1B0x\n", ":2: \"1B0x\" is no action" EXPECTED},
        {"0F0,F0\n", ":1: \"F0\" is no action" EXPECTED},
        {"0F0,0f0\n", ":1: \"0f0\" is no action" EXPECTED},
        {"0F0,0UNSHARD1\n", ":1: \"0UNSHARD1\" is no action" EXPECTED},
        {"0F99999999999\n", ":1: \"0F99999999999\" is no action" EXPECTED},
        {"-1F0\n", ":1: \"-1F0\" is no action" EXPECTED},
        {"(0F0;0B0)\n", ":1: \"(0F0;0B0)\" is no overlap" OVERLAP_EXPECTED},
        {"(0F0)OVERLAP_F_B\n", ":1: \"(0F0)OVERLAP_F_B\" is no overlap" OVERLAP_EXPECTED},
        {"(0F0;0F1)OVERLAP_F_B\n", ":1: \"(0F0;0F1)OVERLAP_F_B\" is no overlap" OVERLAP_EXPECTED},
        {"(0F0;0B0;0W0)OVERLAP_F_B\n",
         ":1: \"(0F0;0B0;0W0)OVERLAP_F_B\" is no overlap" OVERLAP_EXPECTED},
        {"0F900000,0B900000\n", ": 2 actions are too few for stages 0 to 0 and microbatches 0 to "
                                "900000 (expected every microbatch forward and backward on every "
                                "stage)"},
        {"0F0,0B0,1F0,1B0\n1F0,1B0\n",
         ":2: stage 1 is on rank 0 as well (expected one rank for each stage)"},
        {"0F0,0B0,1F0,1B0\n2F0,2B0\n",
         ":2: rank 1 has 1 stage, rank 0 has 2 (expected as many on each, at least one)"},
        {"0F0,0F0,0B0,0B0\n", ":1: 0F0 comes a second time (expected once)"},
        {"0B0,0F0\n", ":1: 0B0 comes before its forward (expected after it)"},
        {"0F0,0W0,0I0\n", ":1: 0W0 comes before its input gradient (expected after it)"},
        {"0F0,0B0,0W0\n", ":1: 0W0 comes a second time (expected once)"},
        {"0F0,0B0,0I0,0W0\n", ":1: 0I0 comes a second time (expected once)"},
        {"0F0,0I0,0W0,0B0\n", ":1: 0B0 comes a second time (expected once)"},
        {"0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1F1\n", ":2: 1F1 comes a second time (expected once)"},
        {"0F0,0I0,0F1,0B1\n", ":1: 0W0 is missing (expected every microbatch on every stage)"},
        {"0F0,0B0,,0F1,0F2,0I2,0W2\n",
         ":1: 0B1 is missing (expected every microbatch on every stage)"},
        {"0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0\n",
         ":1: 0RECV_B0 is missing (expected every microbatch on every stage)"},
        {"0F0,0SEND_F0,0SEND_F0,0B0\n1F0,1B0\n",
         ":1: 0SEND_F0 comes a second time (expected once)"},
        {"0F0,0SEND_B0,0B0\n1F0,1B0\n", ":1: 0SEND_B0 has no other rank to go to or come from "
                                        "(expected transfers between ranks only)"},
        {"0F0,1F0,0SEND_F0,1B0,0B0\n", ":1: 0SEND_F0 has no other rank to go to or come from "
                                       "(expected transfers between ranks only)"},
        {"0UNSHARD,0F0,0RESHARD,0B0\n", ":1: 0B0 comes while the parameters of the stage are "
                                        "resharded (expected UNSHARD before it)"},
        {"0F0,0REDUCE_GRAD,0B0\n",
         ":1: 0REDUCE_GRAD comes before the last gradient (expected after it)"},
        {"0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n",
         ":1: 0REDUCE_GRAD comes a second time (expected once)"},
        {"0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n",
         ": deadlock: rank 0 waits in 0B0 -> rank 1 waits in 1F1 -> rank 0", PS_ERROR_STUCK},
        /* Computations alone would do, but each rank sends first. */
        {"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
         "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
         ": deadlock: rank 0 waits in 0SEND_F1 -> rank 1 waits in 1SEND_B0 -> rank 0",
         PS_ERROR_STUCK},
    };
    for (guint i = 0; i < G_N_ELEMENTS(broken); i++) {
        GError *error = NULL;
        const char *path = ps_test_file("broken.csv", broken[i].text);
        g_autoptr(PsSchedule) schedule = ps_schedule_read(path, &error);
        ck_assert_ptr_null(schedule);
        g_autofree char *message = g_strconcat(path, broken[i].message, NULL);
        ps_assert_error(error, (gint)broken[i].code, message);
    }
}
END_TEST

/* ---- deadlocks by a second road ------------------------------------------------------------- */

/* A lowered schedule: PyTorch's way of adding transfers, a send and its receive whenever a
 * computation has ended, so that all ranks agree on one order. */
static PsActions *lower(const PsSchedule *schedule, guint p, guint v, guint m)
{
    PsActions *actions = g_new0(PsActions, 1);
    guint n_stages = p * v;
    *actions = (PsActions){.path = g_strdup("lowered.csv"),
                           .n_ranks = p,
                           .n_stages = n_stages,
                           .n_microbatches = m,
                           .ranks = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref),
                           .lines = g_array_new(FALSE, TRUE, sizeof(guint)),
                           .rank_of = g_new0(guint, n_stages),
                           .transfers = TRUE};
    g_array_set_size(actions->lines, p);
    g_autoptr(GPtrArray) lists = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    g_autofree guint *next = g_new0(guint, p);
    g_autofree gboolean *done = g_new0(gboolean, 2 * n_stages * m);
    for (guint rank = 0; rank < p; rank++) {
        const PsLaneShape lane = {rank, p, v, m, p - rank};
        g_ptr_array_add(lists, ps_schedule_list(schedule, &lane));
        g_ptr_array_add(actions->ranks, g_array_new(FALSE, FALSE, sizeof(PsAction)));
        for (guint chunk = 0; chunk < v; chunk++) {
            actions->rank_of[ps_schedule_place(schedule, &lane, chunk)] = rank;
        }
    }
    for (gboolean moved = TRUE; moved;) {
        moved = FALSE;
        for (guint rank = 0; rank < p; rank++) {
            const GArray *steps = lists->pdata[rank];
            if (next[rank] == steps->len) {
                continue;
            }
            const PsStep *step = &g_array_index(steps, PsStep, next[rank]);
            const PsLaneShape lane = {rank, p, v, m, p - rank};
            guint stage = ps_schedule_place(schedule, &lane, step->chunk), n = (guint)step->index;
            gboolean forward = step->kind == PS_STEP_FORWARD;
            guint flow = forward ? 0 : n_stages * m, end = forward ? n_stages - 1 : 0;
            guint before = forward ? stage - 1 : stage + 1, after = forward ? stage + 1 : stage - 1;
            if (step->kind != PS_STEP_WEIGHT && stage != (forward ? 0 : n_stages - 1) &&
                !done[flow + before * m + n]) {
                continue;
            }
            PsAction action = {(PsActionKind)step->kind, stage, n};
            g_array_append_val(actions->ranks->pdata[rank], action);
            next[rank]++;
            moved = TRUE;
            if (step->kind == PS_STEP_WEIGHT) {
                continue;
            }
            done[flow + stage * m + n] = TRUE;
            if (stage != end && actions->rank_of[after] != rank) {
                PsAction send = {forward ? PS_ACTION_SEND_F : PS_ACTION_SEND_B, stage, n};
                PsAction receive = {forward ? PS_ACTION_RECV_F : PS_ACTION_RECV_B, after, n};
                g_array_append_val(actions->ranks->pdata[rank], send);
                g_array_append_val(actions->ranks->pdata[actions->rank_of[after]], receive);
            }
        }
    }
    return actions;
}

/* A graph of actions, a send and its receive being one node, with an arc from each to the next of
 * its queue and to what needs its data: free of deadlock if and only if free of cycles (Kahn). */
typedef struct {
    GArray *arcs; /* pairs of nodes */
    guint n_stages, m;
} Graph;

static guint node_of(const Graph *graph, PsActionKind kind, guint stage, guint n)
{
    if (kind == PS_ACTION_RECV_F) {
        return node_of(graph, PS_ACTION_SEND_F, stage - 1, n);
    }
    if (kind == PS_ACTION_RECV_B) {
        return node_of(graph, PS_ACTION_SEND_B, stage + 1, n);
    }
    if (kind == PS_ACTION_INPUT) {
        kind = PS_ACTION_BACKWARD;
    }
    return (kind * graph->n_stages + stage) * graph->m + n;
}

static void add_arc(Graph *graph, guint from, guint to)
{
    guint arc[2] = {from, to};
    g_array_append_vals(graph->arcs, arc, 2);
}

static void add_needs(Graph *graph, const PsActions *actions, const PsAction *action)
{
    guint here = node_of(graph, action->kind, action->stage, action->microbatch);
    guint stage = action->stage, n = action->microbatch;
    gboolean forward = action->kind == PS_ACTION_FORWARD;
    if (action->kind == PS_ACTION_SEND_F || action->kind == PS_ACTION_SEND_B) {
        gboolean sends_forward = action->kind == PS_ACTION_SEND_F;
        add_arc(graph,
                node_of(graph, sends_forward ? PS_ACTION_FORWARD : PS_ACTION_BACKWARD, stage, n),
                here);
    } else if (action->kind <= PS_ACTION_INPUT && stage != (forward ? 0 : graph->n_stages - 1)) {
        guint source = forward ? stage - 1 : stage + 1;
        gboolean crosses = actions->rank_of[source] != actions->rank_of[stage];
        PsActionKind computes = forward ? PS_ACTION_FORWARD : PS_ACTION_BACKWARD;
        PsActionKind sends = forward ? PS_ACTION_SEND_F : PS_ACTION_SEND_B;
        add_arc(graph, node_of(graph, crosses ? sends : computes, source, n), here);
    }
}

static gboolean has_cycle(const Graph *graph)
{
    guint n_nodes = PS_N_ACTIONS * graph->n_stages * graph->m, n_left = n_nodes;
    g_autofree guint *n_before = g_new0(guint, n_nodes);
    g_autofree gboolean *gone = g_new0(gboolean, n_nodes);
    for (guint i = 1; i < graph->arcs->len; i += 2) {
        n_before[g_array_index(graph->arcs, guint, i)]++;
    }
    for (guint before = n_left + 1; before != n_left;) {
        before = n_left;
        for (guint node = 0; node < n_nodes; node++) {
            if (gone[node] || n_before[node] > 0) {
                continue;
            }
            gone[node] = TRUE;
            n_left--;
            for (guint i = 0; i < graph->arcs->len; i += 2) {
                if (g_array_index(graph->arcs, guint, i) == node) {
                    n_before[g_array_index(graph->arcs, guint, i + 1)]--;
                }
            }
        }
    }
    return n_left > 0;
}

static gboolean deadlocks(const PsActions *actions)
{
    Graph graph = {g_array_new(FALSE, FALSE, sizeof(guint)), actions->n_stages,
                   actions->n_microbatches};
    for (guint rank = 0; rank < actions->n_ranks; rank++) {
        const GArray *list = ps_actions_of(actions, rank);
        const PsAction *last[2] = {NULL, NULL};
        for (guint i = 0; i < list->len; i++) {
            const PsAction *action = &g_array_index(list, PsAction, i);
            const PsAction **before = &last[action->kind >= PS_ACTION_SEND_F];
            if (*before != NULL) {
                add_arc(&graph,
                        node_of(&graph, (*before)->kind, (*before)->stage, (*before)->microbatch),
                        node_of(&graph, action->kind, action->stage, action->microbatch));
            }
            *before = action;
            add_needs(&graph, actions, action);
        }
    }
    gboolean cycle = has_cycle(&graph);
    g_array_unref(graph.arcs);
    return cycle;
}

START_TEST(finds_deadlocks)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("finds_deadlocks"));
    static const char *const names[] = {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"};
    guint n_deadlocks = 0, n_fine = 0;
    for (guint trial = 0; trial < 400; trial++) {
        const PsSchedule *schedule = ps_schedule_find(names[trial % 5], NULL);
        guint p = (guint)g_rand_int_range(rand, 2, 5), m = (guint)g_rand_int_range(rand, 1, 6);
        g_autoptr(PsActions) actions = lower(schedule, p, schedule->min_chunks, m);
        for (gint swaps = g_rand_int_range(rand, 0, 4); swaps > 0; swaps--) {
            GArray *list = actions->ranks->pdata[g_rand_int_range(rand, 0, (gint)p)];
            gint at = g_rand_int_range(rand, 0, (gint)list->len - 1);
            PsAction *pair = &g_array_index(list, PsAction, at), first = pair[0];
            pair[0] = pair[1];
            pair[1] = first;
        }
        GError *error = NULL;
        gboolean fine = ps_actions_run(actions, &error);
        ck_assert_int_eq(fine, !deadlocks(actions));
        ck_assert(fine || g_str_has_prefix(error->message, "lowered.csv: deadlock: rank "));
        n_fine += fine;
        n_deadlocks += !fine;
        g_clear_error(&error);
    }
    ck_assert_uint_gt(n_deadlocks, 20);
    ck_assert_uint_gt(n_fine, 100);
}
END_TEST

PS_TEST_MAIN("schedule-csv", what_is_written_is_read, reads_pytorch, broken_files, finds_deadlocks)
