/* `check`: agrees with figures from elsewhere, measures traces by a road of its own, and refuses
 * records that cannot be true together. */
#include <math.h>
#include <string.h>

#include "planner/check/check.h"
#include "planner/check/pace.h"
#include "planner/rehearse.h"
#include "sim/base/error.h"
#include "tests/harness/harness.h"
#include "tests/oracle/random-profile.h"

#define RECORDS (PS_RUN_OPS | PS_RUN_MEMORY)

static PsReplaySettings settings_for(const char *assume)
{
    PsReplaySettings settings;
    g_autoptr(GError) error = NULL;
    ps_replay_settings_init(&settings);
    ck_assert(ps_replay_settings_set(&settings, "assume", assume, &error));
    return settings;
}

/* ---- published plans ------------------------------------------------------------------------ */

/* The published planner's own plans for bert32 at 25 * 2^30 B/s, N = 1920. The replayed times are
 * those of an independent replay (a longest-path relaxation without events). */
static const struct {
    const char *plan;
    double estimate_s, replayed_s;
    const char *replayable, *why;
} published[] = {
    {"32-devices-8GiB", 0.04151545044, 0.0498534110689, "optimistic",
     "(d = 4 of stage 1 and d = 3 of stage 2: neither divides the other; d turns at stage 12, from "
     "1 to 4)"},
    {"64-devices-8GiB", 0.02020055029, 0.0249490278092, "optimistic",
     "(d = 16 of stage 0 and d = 6 of stage 1: neither divides the other; d turns at stage 9, from "
     "2 "
     "to 5)"},
    {"32-devices-2GiB", 0.0665495, 0.0665495, "exact", "are nested"},
    {"64-devices-80GiB", 0.01565017802, 0.01565017802, "exact", "are nested"},
};

START_TEST(agrees_with_an_independent_replay)
{
    const char *profile = ps_test_data("profiles/bert32-a100.json");
    for (guint i = 0; profile != NULL && i < G_N_ELEMENTS(published); i++) {
        g_autofree char *name =
            g_strdup_printf("plans/piper-bert32-a100-%s.json", published[i].plan);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsPlanInput) input =
            ps_plan_input_load(ps_test_data(name), profile, NULL, &error);
        ps_assert_no_error(error);
        input->plan->setting.bandwidth_bytes_per_s = 25 * 0x1p30;
        input->plan->setting.microbatches = 1920;
        PsReplaySettings settings = settings_for("piper");
        g_autoptr(PsRun) run = ps_replay_plan(input, &settings, NULL, RECORDS, &error);
        ps_assert_no_error(error);
        g_autoptr(PsCheck) check = ps_check_run(run, 0.05, &error);
        ps_assert_no_error(error);
        ck_assert_double_eq_tol(check->estimate_tps_s / published[i].estimate_s, 1, 1e-9);
        ck_assert_double_eq_tol(check->simulated_tps_s / published[i].replayed_s, 1, 1e-9);
        gboolean exact = g_str_equal(published[i].replayable, "exact");
        ck_assert_int_eq(check->exact, exact);
        ck_assert_int_eq(check->passed, exact);
        ck_assert_msg(strstr(check->reason, published[i].why) != NULL, "%s", check->reason);
    }
}
END_TEST

/* Degrees forced into a class whose estimate a run reaches, and left free: then a run is never
 * faster than the estimate. */
static const struct {
    PsDegrees degrees;
    PsInFlight in_flight;
    gboolean exact;
} classes[] = {
    {PS_DEGREES_NESTED, PS_IN_FLIGHT_PIPER, TRUE},
    {PS_DEGREES_UNIFORM, PS_IN_FLIGHT_PIPER, TRUE},
    {PS_DEGREES_ANY, PS_IN_FLIGHT_SUFFICIENT, TRUE},
    {PS_DEGREES_ANY, PS_IN_FLIGHT_PIPER, FALSE},
};

static void replay_class(const PsProfile *profile, guint devices, double memory_gib, guint class)
{
    PsSetting setting = {devices, memory_gib * 0x1p30, 25 * 0x1p30, 240, classes[class].in_flight};
    PsPlannerOptions options = {.degrees = classes[class].degrees};
    PsReplaySettings settings = settings_for("piper");
    g_autoptr(GError) error = NULL;
    g_autoptr(PsRehearsal) rehearsal =
        ps_rehearse(profile, &setting, &options, &settings, NULL, 1e-9, &error);
    if (rehearsal == NULL) {
        ck_assert_int_eq(error->code, PS_ERROR_NEGATIVE); /* nothing fits */
        return;
    }
    const PsCheck *check = rehearsal->check;
    ck_assert_msg(check->relative_error > -1e-9 &&
                      (!classes[class].exact || check->relative_error < 1e-9),
                  "%s, %u devices, class %u: off by %g", profile->path, devices, class,
                  check->relative_error);
    ck_assert_int_eq(check->exact, classes[class].exact || ps_plan_is_nested(rehearsal->plan));
}

START_TEST(plans_of_real_profiles_replay_at_their_estimate)
{
    static const struct {
        const char *name, *unit;
        double memory_gib;
    } profiles[] = {{"bert32-a100", "s", 8}, {"bert48-a100", "s", 16}, {"resnet50-v100", "ms", 4}};
    static const guint devices[] = {1, 4, 8, 24, 32, 60};
    for (guint i = 0; i < G_N_ELEMENTS(profiles); i++) {
        g_autofree char *name = g_strdup_printf("profiles/%s.json", profiles[i].name);
        const char *path = ps_test_data(name);
        if (path == NULL) {
            return;
        }
        g_autoptr(GError) error = NULL;
        g_autoptr(PsProfile) profile = ps_profile_load(path, profiles[i].unit, &error);
        ps_assert_no_error(error);
        for (guint j = 0; j < G_N_ELEMENTS(devices); j++) {
            for (guint class = 0; class < G_N_ELEMENTS(classes); class ++) {
                replay_class(profile, devices[j], profiles[i].memory_gib, class);
            }
        }
    }
}
END_TEST

/* ---- a second road through trace.csv -------------------------------------------------------- */

/* What a reader who only has the CSV text can tell; nothing is shared with the program. */
typedef struct {
    double makespan_s;
    double busy_s[16];        /* compute stream of each stage's busiest lane, in the window */
    guint most_in_flight[16]; /* microbatches of one lane between forward start and backward end */
} Road;

typedef struct {
    double time_s;
    int change;
} Change;

static gint by_time_ends_first(gconstpointer a, gconstpointer b)
{
    const Change *x = a, *y = b;
    if (x->time_s != y->time_s) {
        return x->time_s < y->time_s ? -1 : 1;
    }
    return x->change - y->change;
}

static guint most_at_once(GArray *changes)
{
    g_array_sort(changes, by_time_ends_first);
    int now = 0, most = 0;
    for (guint i = 0; i < changes->len; i++) {
        now += g_array_index(changes, Change, i).change;
        most = MAX(most, now);
    }
    return (guint)most;
}

static void add_change(GArray **lanes, guint lane, double time_s, int change)
{
    if (lanes[lane] == NULL) {
        lanes[lane] = g_array_new(FALSE, FALSE, sizeof(Change));
    }
    Change one = {time_s, change};
    g_array_append_val(lanes[lane], one);
}

static Road walk(const char *path, double window_start_s, double window_end_s)
{
    g_autofree char *text = NULL;
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    ck_assert_str_eq(lines[0], "lane,stage,replica,rank,stream,kind,microbatch,chunk,start_s,end_s,"
                               "bytes,peer");
    Road road = {0};
    GArray *lanes[64] = {NULL};
    guint stage_of[64];
    double busy_s[64] = {0};
    for (guint i = 1; lines[i] != NULL && *lines[i] != '\0'; i++) {
        g_auto(GStrv) fields = g_strsplit(lines[i], ",", -1);
        guint lane = (guint)atoi(fields[0]);
        double start_s = atof(fields[8]), end_s = atof(fields[9]);
        stage_of[lane] = (guint)atoi(fields[1]);
        road.makespan_s = fmax(road.makespan_s, end_s);
        if (g_str_equal(fields[4], "compute")) {
            busy_s[lane] += fmax(0, fmin(end_s, window_end_s) - fmax(start_s, window_start_s));
        }
        if (g_str_equal(fields[5], "forward")) {
            add_change(lanes, lane, start_s, 1);
        } else if (g_str_equal(fields[5], "backward")) {
            add_change(lanes, lane, end_s, -1);
        }
    }
    for (guint lane = 0; lane < 64 && lanes[lane] != NULL; lane++) {
        guint stage = stage_of[lane];
        road.busy_s[stage] = fmax(road.busy_s[stage], busy_s[lane]);
        road.most_in_flight[stage] = MAX(road.most_in_flight[stage], most_at_once(lanes[lane]));
        g_array_unref(lanes[lane]);
    }
    return road;
}

static PsProfile *chain(GRand *random)
{
    PsRandomProfile wanted = {
        .n_layers = (guint)g_rand_int_range(random, 2, 7),
        .edge_probability = 0.2,
        .chain = TRUE,
        .most_tmpcs = 2,
        .same_weights = TRUE,
        .devices = (guint)g_rand_int_range(random, 1, 9),
        .microbatches = 12,
        .memory_bytes = g_rand_int_range(random, 900, 6000) * 1e6,
        .bandwidth_bytes_per_s = 1e10,
    };
    return ps_random_profile(random, &wanted);
}

/* A rehearsal of a random profile, into a folder; NULL where nothing fits. */
static PsRehearsal *rehearse(GRand *random, PsProfile **profile, const char **folder)
{
    *profile = chain(random);
    PsSetting setting = {(*profile)->devices, (*profile)->memory_bytes,
                         (*profile)->bandwidth_bytes_per_s, (*profile)->microbatches};
    PsReplaySettings settings = settings_for(g_rand_boolean(random) ? "piper" : "real");
    *folder = ps_test_folder();
    g_autoptr(GError) error = NULL;
    PsRehearsal *rehearsal =
        ps_rehearse(*profile, &setting, NULL, &settings, *folder, 0.05, &error);
    ck_assert_msg(rehearsal != NULL || error->code == PS_ERROR_NEGATIVE, "%s",
                  error != NULL ? error->message : "");
    return rehearsal;
}

START_TEST(traces_are_honest)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("traces_are_honest"));
    guint met = 0;
    while (met < 60) {
        g_autoptr(PsProfile) profile = NULL;
        const char *folder;
        g_autoptr(PsRehearsal) rehearsal = rehearse(random, &profile, &folder);
        if (rehearsal == NULL) {
            continue;
        }
        met++;
        const PsRunSummary *summary = rehearsal->run->summary;
        double start_s = (double)summary->window_start_ps * 1e-12;
        double end_s = (double)summary->window_end_ps * 1e-12;
        g_autofree char *path = g_build_filename(folder, "trace.csv", NULL);
        Road road = walk(path, start_s, end_s);
        ck_assert_double_eq_tol(road.makespan_s, (double)summary->makespan_ps * 1e-12, 1e-9);
        for (guint i = 0; i < summary->n_stages; i++) {
            const PsRunStage *stage = &summary->stages[i];
            ck_assert_double_eq_tol(1 - road.busy_s[i] / (end_s - start_s), stage->bubble_share,
                                    1e-9);
            ck_assert_double_eq_tol(road.busy_s[i] / (double)summary->window_microbatches,
                                    stage->busy_s_per_microbatch, 1e-9);
            /* Peak memory: a for each microbatch in flight, and b, of which the second weight
             * version is only there where the schedule streams on. */
            double a = 0, b = 0, w = 0, forward_s = 0, backward_s = 0;
            const PsStage *planned = &rehearsal->plan->stages[i];
            for (guint j = 0; j < planned->n_layers; j++) {
                const PsTmpc *tmpc = ps_stage_tmpc(planned, profile, j);
                a += tmpc->memory_per_microbatch_bytes;
                b += tmpc->memory_fixed_bytes;
                w += tmpc->weight_bytes;
                forward_s += tmpc->forward_s;
                backward_s += tmpc->backward_s;
                b -= tmpc->workspace_bytes; /* comes and goes: never more than b in all */
            }
            if (forward_s == 0 || backward_s == 0) {
                continue; /* leaves no rows to count by */
            }
            double versions = fmin(w, b - fmin(w, b));
            gboolean streams = g_str_equal(g_hash_table_lookup(summary->settings, "flush"), "none");
            double least = a * road.most_in_flight[i] + b - (streams ? 0 : versions);
            ck_assert_double_ge(stage->peak_memory_bytes, least - 1);
            double passing = stage->peak_category_bytes[PS_MEMORY_WORKSPACE] +
                             stage->peak_category_bytes[PS_MEMORY_BUFFERS];
            ck_assert_double_le(stage->peak_memory_bytes, least + passing + 1);
        }
    }
}
END_TEST

/* Runs of hours to days: their picoseconds are more than a double counts, from 9007 s on. A stage
 * that has next to nothing to do is busy for a share of which 1 - share keeps few digits. */
START_TEST(long_runs_are_accepted)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("long_runs_are_accepted"));
    guint met = 0;
    while (met < 60) {
        PsRandomProfile wanted = {.n_layers = 2 + met % 3,
                                  .chain = TRUE,
                                  .most_tmpcs = 1,
                                  .devices = 4,
                                  .microbatches = 60,
                                  .memory_bytes = 1e12,
                                  .bandwidth_bytes_per_s = 7e9};
        g_autoptr(PsProfile) profile = ps_random_profile(random, &wanted);
        for (guint i = 0; i < profile->n_layers; i++) {
            PsTmpc *tmpc = &profile->layers[i].sets[0].tmpcs[0];
            gboolean idle = i == 0 && met % 4 == 0;
            tmpc->forward_s = g_rand_double_range(random, 50, 1000) * (idle ? 1e-8 : 1);
            tmpc->backward_s = g_rand_double_range(random, 50, 1000) * (idle ? 1e-8 : 1);
            tmpc->recompute_s = 0;
            tmpc->time_s = tmpc->forward_s + tmpc->backward_s;
            tmpc->memory_fixed_bytes = 0.6e12; /* two layers do not fit together */
        }
        PsSetting setting = {4, 1e12, 7e9, 60};
        PsPlannerOptions options = {.restrictions.forbid_data_parallel = TRUE};
        PsReplaySettings settings = settings_for(g_rand_boolean(random) ? "piper" : "real");
        g_autoptr(GError) error = NULL;
        g_autoptr(PsRehearsal) rehearsal =
            ps_rehearse(profile, &setting, &options, &settings, ps_test_folder(), 0.05, &error);
        ps_assert_no_error(error);
        met += rehearsal->run->summary->window_end_ps > G_GINT64_CONSTANT(1) << 53;
    }
}
END_TEST

/* ---- records that cannot be true ------------------------------------------------------------ */

START_TEST(refuses_a_changed_row)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("refuses_a_changed_row"));
    g_autoptr(PsProfile) profile = NULL;
    const char *folder;
    g_autoptr(PsRehearsal) rehearsal = NULL;
    while (rehearsal == NULL) {
        g_clear_pointer(&profile, ps_profile_free);
        rehearsal = rehearse(random, &profile, &folder);
    }
    static const char *const files[] = {"trace.csv", "memory.csv"};
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(folder, files[i], NULL);
        g_autofree char *text = NULL;
        gsize length;
        ck_assert(g_file_get_contents(path, &text, &length, NULL));
        /* A digit of a number, anywhere behind the header. */
        gsize header = (gsize)(strchr(text, '\n') - text);
        for (guint round = 0; round < 200; round++) {
            gsize at = (gsize)g_rand_int_range(random, (gint32)header, (gint32)length);
            if (!g_ascii_isdigit(text[at])) {
                continue;
            }
            char old = text[at];
            text[at] = old == '9' ? '0' : (char)(old + 1);
            ck_assert(g_file_set_contents(path, text, (gssize)length, NULL));
            text[at] = old;
            g_autoptr(GError) error = NULL;
            g_autoptr(PsRun) run = ps_run_load(folder, RECORDS, &error);
            ck_assert_msg(run == NULL, "%s: byte %zu was changed unnoticed", files[i], at);
        }
        ck_assert(g_file_set_contents(path, text, (gssize)length, NULL));
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(PsRun) run = ps_run_load(folder, RECORDS, &error);
    ps_assert_no_error(error);
}
END_TEST

/* Ways to falsify a run whose files carry no SHA-256, as one from elsewhere would; each returns
 * what the message must say. */
static PsTraceOp *find_op(PsRun *run, PsOpKind kind, guint skip)
{
    for (guint i = 0; i < run->ops->len; i++) {
        PsTraceOp *op = &g_array_index(run->ops, PsTraceOp, i);
        if (op->kind == kind && skip-- == 0) {
            return op;
        }
    }
    ck_abort_msg("no such op");
}

static const char *stretch(PsRun *run)
{
    find_op(run, PS_OP_FORWARD, 0)->end_ps += 10000000000;
    return "starts this before the one before it";
}

static const char *repeat(PsRun *run)
{
    const PsTraceOp *first = find_op(run, PS_OP_FORWARD, 0);
    guint other = 1;
    while (find_op(run, PS_OP_FORWARD, other)->lane != first->lane) {
        other++;
    }
    find_op(run, PS_OP_FORWARD, other)->microbatch = first->microbatch;
    return "a second forward of microbatch";
}

static const char *lose(PsRun *run)
{
    find_op(run, PS_OP_BACKWARD, 1)->kind = PS_OP_RECOMPUTE;
    return "ends without the backward of microbatch";
}

static const char *reverse(PsRun *run)
{
    PsTraceOp *forward = find_op(run, PS_OP_FORWARD, 0);
    forward->kind = PS_OP_BACKWARD;
    return "before its forward has ended";
}

static const char *stray(PsRun *run)
{
    find_op(run, PS_OP_FORWARD, 0)->microbatch = 1000000;
    return "runs microbatch 1000000 (expected one of";
}

static const char *append(PsRun *run)
{
    PsTraceOp op = *find_op(run, PS_OP_BACKWARD, 0);
    op.kind = PS_OP_RESYNC;
    op.microbatch = -1;
    op.stream = PS_STREAM_COLLECTIVE;
    op.start_ps = op.end_ps = run->summary->makespan_ps;
    g_array_append_val(run->ops, op);
    return "the number of ops is";
}

static const char *drop_transfer(PsRun *run)
{
    for (guint i = 0; i < run->ops->len; i++) {
        if (g_array_index(run->ops, PsTraceOp, i).kind == PS_OP_RECEIVE) {
            g_array_remove_index(run->ops, i);
            run->summary->n_ops--;
            return "not every microbatch has the same number of them";
        }
    }
    ck_abort_msg("no transfer");
}

static const char *mislabel_transfer(PsRun *run)
{
    find_op(run, PS_OP_SEND, 4)->microbatch++;
    return "not every microbatch has the same number of them";
}

static const char *flatter(PsRun *run)
{
    run->summary->estimate_tps_s *= 1.1;
    return "estimate_tps_s is";
}

static const char *promise(PsRun *run)
{
    run->summary->tps_s *= 0.99;
    return "tps_s is";
}

static const char *hide_memory(PsRun *run)
{
    for (guint i = 0; i < run->memory->len; i++) {
        g_array_index(run->memory, PsTraceMemory, i).bytes *= 0.9;
    }
    return "peak_memory_bytes is";
}

static const char *negative_memory(PsRun *run)
{
    g_array_index(run->memory, PsTraceMemory, 3).bytes = -1;
    return "holds -1 bytes";
}

/* Two samples on one server, one on another. */
static void add_loads(PsRun *run)
{
    const PsTraceLoad loads[] = {{0, 0, 0, 500}, {1, 1, 0, 600}, {0, 2, 500, 900}};
    run->loads = g_array_new(FALSE, FALSE, sizeof(PsTraceLoad));
    g_array_append_vals(run->loads, loads, G_N_ELEMENTS(loads));
}

static const char *hurry_the_loader(PsRun *run)
{
    g_array_index(run->loads, PsTraceLoad, 2).start_ps--;
    return "loader.csv:4: server 0 starts this before the one before it has ended";
}

static const char *load_again(PsRun *run)
{
    g_array_index(run->loads, PsTraceLoad, 2).sample = 1;
    return "loader.csv:4: sample 1 a second time";
}

START_TEST(refuses_records_that_cannot_be_true)
{
    static const char *(*const ways[])(PsRun * run) = {
        stretch, repeat, lose,    reverse,     drop_transfer,   mislabel_transfer, flatter,
        stray,   append, promise, hide_memory, negative_memory, hurry_the_loader,  load_again};
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    g_autoptr(PsProfile) profile = chain(random);
    g_autoptr(GError) error = NULL;
    PsSetting setting = {4, 1e12, 1e10, 12};
    g_autoptr(PsPlan) plan = ps_planner_plan(
        profile, &setting, &(PsPlannerOptions){.restrictions = {.forbid_data_parallel = TRUE}},
        &error);
    ps_assert_no_error(error);
    PsPlanInput input = {.profile = profile, .plan = plan};
    PsReplaySettings settings = settings_for("real");
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autoptr(PsRun) run = ps_replay_plan(&input, &settings, NULL, RECORDS, &error);
        ps_assert_no_error(error);
        run->folder = g_strdup("run");
        add_loads(run);
        g_autoptr(PsCheck) sound = ps_check_run(run, 0.05, &error);
        ps_assert_no_error(error);
        const char *expected = ways[i](run);
        g_autoptr(PsCheck) check = ps_check_run(run, 0.05, &error);
        ck_assert_msg(check == NULL, "falsification %u passed (expected: %s)", i, expected);
        ck_assert_msg(strstr(error->message, expected) != NULL, "%s (expected: %s)", error->message,
                      expected);
        ck_assert_int_eq(error->code, PS_ERROR_INPUT);
        g_clear_error(&error);
    }
}
END_TEST

/* ---- kinds ---------------------------------------------------------------------------------- */

/* What replays of today do not do stands for what they do in the same way: the planner's terms stay
 * what they are. */
START_TEST(kinds_count_for_their_term)
{
    static const PsOpKind others[][2] = {
        {PS_OP_RESYNC, PS_OP_ALL_GATHER},
        {PS_OP_RESYNC, PS_OP_REDUCE_SCATTER},
        {PS_OP_RECOMPUTE, PS_OP_OPTIMIZER},
        {PS_OP_RECOMPUTE, PS_OP_TENSOR},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("kinds_count_for_their_term"));
    guint n_renamed[G_N_ELEMENTS(others)] = {0};
    for (guint trial = 0; trial < 40; trial++) {
        g_autoptr(PsProfile) profile = NULL;
        const char *folder;
        g_autoptr(PsRehearsal) rehearsal = rehearse(random, &profile, &folder);
        for (guint i = 0; rehearsal != NULL && i < G_N_ELEMENTS(others); i++) {
            g_autoptr(GError) error = NULL;
            g_autoptr(PsRun) run = ps_run_load(folder, RECORDS, &error);
            ps_assert_no_error(error);
            for (guint row = 0; row < run->ops->len; row++) {
                PsTraceOp *op = &g_array_index(run->ops, PsTraceOp, row);
                if (op->kind == others[i][0]) {
                    op->kind = others[i][1];
                    n_renamed[i]++;
                }
            }
            g_autoptr(PsCheck) check = ps_check_run(run, 1, &error);
            ps_assert_no_error(error);
            for (guint k = 0; k < check->n_stages; k++) {
                const PsCheckFigures *same = &rehearsal->check->stages[k].replay;
                ck_assert_mem_eq(&check->stages[k].replay, same, sizeof *same);
            }
        }
    }
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        ck_assert_uint_gt(n_renamed[i], 0);
    }
}
END_TEST

/* ---- verdicts ------------------------------------------------------------------------------- */

START_TEST(judges_by_tolerance_and_memory)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(6);
    g_autoptr(PsProfile) profile = chain(random);
    g_autoptr(GError) error = NULL;
    PsSetting setting = {4, 1e12, 1e10, 12};
    PsReplaySettings settings = settings_for("real");
    g_autoptr(PsRehearsal) wide = ps_rehearse(profile, &setting, NULL, &settings, NULL, 10, &error);
    ps_assert_no_error(error);
    ck_assert(wide->check->passed);
    g_autoptr(PsRehearsal) tight = ps_rehearse(profile, &setting, NULL, &settings, NULL, 0, &error);
    ps_assert_no_error(error);
    ck_assert_int_eq(tight->check->passed, fabs(tight->check->relative_error) <= 0);
    PsPlanInput input = {.profile = profile, .plan = wide->plan};
    wide->plan->setting.memory_bytes = wide->check->stages[0].replay.memory_bytes * 0.99;
    g_autoptr(PsRun) run = ps_replay_plan(&input, &settings, NULL, RECORDS, &error);
    ps_assert_no_error(error);
    g_autoptr(PsCheck) full = ps_check_run(run, 10, &error);
    ps_assert_no_error(error);
    ck_assert(!full->passed);
    ck_assert(strstr(full->verdict, "out of memory: stage 0 peaks at") != NULL);
    ck_assert(!ps_check_result(full, &error));
    ps_assert_error(error, PS_ERROR_NEGATIVE, full->verdict);
}
END_TEST

/* Nothing is said of a run that did not come to its end. */
START_TEST(refuses_interrupted_runs)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    g_autoptr(PsProfile) profile = chain(random);
    GError *error = NULL;
    PsSetting setting = {4, 1e12, 1e10, 12};
    PsReplaySettings settings = settings_for("real");
    const char *folder = ps_test_folder();
    g_autoptr(PsRehearsal) rehearsal =
        ps_rehearse(profile, &setting, NULL, &settings, folder, 10, &error);
    ps_assert_no_error(error);
    g_autoptr(PsRun) run = ps_run_load(folder, PS_RUN_EVERYTHING, &error);
    ps_assert_no_error(error);
    run->summary->partial = TRUE;
    run->summary->makespan_ps = 1500000000000;
    g_autofree char *message = g_strdup_printf(
        "%s: the run was interrupted after 1.5 s (expected a complete one)", folder);
    ck_assert_ptr_null(ps_check_run(run, 10, &error));
    ps_assert_error(error, PS_ERROR_INPUT, message);
    g_clear_pointer(&run->folder, g_free);
    ck_assert_ptr_null(ps_check_run(run, 10, &error));
    ps_assert_error(error, PS_ERROR_INPUT,
                    "the run was interrupted after 1.5 s (expected a complete one)");
}
END_TEST

/* ---- runs that do not settle ---------------------------------------------------------------- */

/* By hand: complete at 1, 4, 2, (with the one before, so at 4), 6 and 5; in order at 1, 4, 4, 4, 6
 * and 6; batches of two at 4, 4 and 6. */
START_TEST(paces_by_hand)
{
    static const gint64 ends_ps[] = {1, 4, 2, -1, 6, 5};
    static const struct {
        gint64 from_ps, to_ps;
        PsPace pace;
    } cases[] = {{0, 6, {6, 6, 3, 0, 4}},
                 {1, 6, {5, 5, 2, 0, 2}},
                 {1, 5, {4, 3, 1, 0, 0}},
                 {4, 5, {1, 0, 1, 0, 0}},
                 {5, 6, {1, 2, 0, 0, 0}}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PsRunSummary summary = {.window_start_ps = cases[i].from_ps,
                                .window_end_ps = cases[i].to_ps,
                                .setting.microbatches = 2};
        PsPace pace = ps_pace_measure(&summary, ends_ps, G_N_ELEMENTS(ends_ps));
        ck_assert_int_eq(pace.completed, cases[i].pace.completed);
        ck_assert_int_eq(pace.completed_in_order, cases[i].pace.completed_in_order);
        ck_assert_int_eq(pace.n_batches, cases[i].pace.n_batches);
        ck_assert_int_eq(pace.least_batch_ps, cases[i].pace.least_batch_ps);
        ck_assert_int_eq(pace.most_batch_ps, cases[i].pace.most_batch_ps);
    }
}
END_TEST

/* The sample profile on two stages of two replicas, with a disturbance. */
static PsRun *disturbed_run(const char *assume, PsDisturbanceKind kind, const char *text,
                            const char *seed)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsProfile) profile = ps_profile_load("traces/four-stages.json", NULL, &error);
    ps_assert_no_error(error);
    PsSetting setting = {profile->devices, profile->memory_bytes, profile->bandwidth_bytes_per_s,
                         profile->microbatches};
    g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, NULL, &error);
    ps_assert_no_error(error);
    ck_assert_uint_eq(plan->n_stages, 2);
    ck_assert_uint_eq(plan->stages[0].data_parallel, 2);
    const char *texts[PS_N_DISTURBANCES] = {[PS_DISTURBANCE_SEED] = seed};
    texts[kind] = text;
    g_autoptr(PsDisturbance) disturbance = ps_disturbance_new(texts, &error);
    ps_assert_no_error(error);
    PsReplaySettings settings = settings_for(assume);
    settings.disturbance = disturbance;
    PsPlanInput input = {.profile = profile, .plan = plan};
    PsRun *run = ps_replay_plan(&input, &settings, NULL, RECORDS, &error);
    ps_assert_no_error(error);
    return run;
}

/* Amortised resync makes no replica wait for another. A microbatch takes stage 0 of either 6 ms of
 * computing, 0.4 ms of transfers and 1 ms of resync; where it is slower by half, 9 + 0.4 + 1 =
 * 10.4. All have done every other microbatch then: 5.2 ms each. The other replica does 10.4 / 7.4
 * as many. What a microbatch takes the stage to compute on average: 9 ms 1 / 10.4 of the time, 6 ms
 * 1 / 7.4 of it, divided by d = 2. */
START_TEST(replicas_drift_apart)
{
    g_autoptr(PsRun) run = disturbed_run("piper", PS_DISTURBANCE_SLOW, "rank=0 factor=1.5", NULL);
    ck_assert(!run->summary->steady);
    g_autoptr(GError) error = NULL;
    g_autoptr(PsCheck) check = ps_check_run(run, 0.05, &error);
    ps_assert_no_error(error);
    const double pace_s[] = {check->simulated_tps_s, check->least_tps_s, check->most_tps_s};
    for (guint i = 0; i < G_N_ELEMENTS(pace_s); i++) {
        ck_assert_double_eq_tol(pace_s[i], 5.2e-3, 1e-11);
    }
    double rates[] = {1 / 10.4, 1 / 7.4};
    double compute_s = 1e-3 * (9 * rates[0] + 6 * rates[1]) / (rates[0] + rates[1]) / 2;
    ck_assert_double_eq_tol(check->stages[0].replay.compute_s, compute_s, 1e-3 * compute_s);
    ck_assert_double_eq_tol(check->stages[1].replay.compute_s, 3e-3, 1e-3 * 3e-3);
    gint64 gained = (gint64)((double)run->summary->window_microbatches / 2 * (10.4 / 7.4 - 1));
    g_autofree char *expected =
        g_strdup_printf("the fastest gains on the slowest %" G_GINT64_FORMAT, gained / 10);
    ck_assert_msg(strstr(check->unsettled, expected) != NULL, "%s (expected: %s.)",
                  check->unsettled, expected);
    ck_assert(!check->passed);
}
END_TEST

/* A replica so slow that no block of the search ever ends: 6 s of computing and 1.4 ms of the rest
 * for every second microbatch. */
START_TEST(the_slowest_sets_the_pace)
{
    g_autoptr(PsRun) run = disturbed_run("piper", PS_DISTURBANCE_SLOW, "rank=0 factor=1000", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(PsCheck) check = ps_check_run(run, 0.05, &error);
    ps_assert_no_error(error);
    ck_assert_int_gt(check->n_batches, 1);
    ck_assert_double_eq_tol(check->least_tps_s, 3.0007, 1e-9);
    ck_assert_double_eq_tol(check->simulated_tps_s, 3.0007, 0.05);
}
END_TEST

/* Nobody waits for an amortised resync. At 50 MB/s a share takes the stages of the sample 20 ms, on
 * a stream of its own; computing takes 6 ms. A microbatch is complete when its gradients are
 * reduced: two replicas, so 10 ms each. Lanes run ahead, and yet a microbatch takes them 3 ms of
 * computing per replica. */
START_TEST(lanes_run_ahead_of_amortised_resync)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsProfile) profile = ps_profile_load("traces/four-stages.json", NULL, &error);
    ps_assert_no_error(error);
    PsSetting setting = {profile->devices, profile->memory_bytes, 1e9, profile->microbatches};
    g_autoptr(PsPlan) plan = ps_planner_plan(profile, &setting, NULL, &error);
    ps_assert_no_error(error);
    setting.bandwidth_bytes_per_s = 50e6;
    ps_plan_change_setting(plan, profile, &setting);
    PsReplaySettings settings = settings_for("real");
    ck_assert(ps_replay_settings_set(&settings, "flush", "none", &error));
    ck_assert(ps_replay_settings_set(&settings, "resync", "amortised", &error));
    PsPlanInput input = {.profile = profile, .plan = plan};
    g_autoptr(PsRun) run = ps_replay_plan(&input, &settings, NULL, RECORDS, &error);
    ps_assert_no_error(error);
    g_autoptr(PsCheck) check = ps_check_run(run, 0.05, &error);
    ps_assert_no_error(error);
    const double pace_s[] = {check->simulated_tps_s, check->least_tps_s, check->most_tps_s};
    for (guint i = 0; i < G_N_ELEMENTS(pace_s); i++) {
        ck_assert_double_eq_tol(pace_s[i], 10e-3, 1e-11);
    }
    for (guint i = 0; i < 2; i++) {
        ck_assert_double_eq_tol(check->stages[i].replay.compute_s, 3e-3, 1e-3 * 3e-3);
        ck_assert_double_eq_tol(check->stages[i].replay.resync_s, 10e-3, 1e-3 * 10e-3);
    }
    ck_assert_ptr_nonnull(strstr(check->unsettled, "The amortised resync sets the pace"));
}
END_TEST

/* The batches of a run that flushes, by a road of its own: from the last end in one to the last end
 * in the next. */
static void batch_range(const PsRun *run, double *least_s, double *most_s)
{
    gint64 batch = run->summary->setting.microbatches;
    g_autofree gint64 *ends = g_new0(gint64, run->summary->microbatches_simulated / batch);
    for (guint i = 0; i < run->ops->len; i++) {
        const PsTraceOp *op = &g_array_index(run->ops, PsTraceOp, i);
        if (op->kind == PS_OP_FORWARD || op->kind == PS_OP_BACKWARD) {
            gint64 *end = &ends[op->microbatch / batch];
            *end = MAX(*end, op->end_ps);
        }
    }
    *least_s = G_MAXDOUBLE;
    *most_s = 0;
    for (gint64 i = 1; i < run->summary->microbatches_simulated / batch; i++) {
        double length_s = (double)(ends[i] - ends[i - 1]) * 1e-12 / (double)batch;
        if (ends[i - 1] >= run->summary->window_start_ps &&
            ends[i] <= run->summary->window_end_ps) {
            *least_s = fmin(*least_s, length_s);
            *most_s = fmax(*most_s, length_s);
        }
    }
}

/* Most draws of a gamma distribution of such a spread are nothing: such ops leave no row. */
START_TEST(ops_of_no_length_are_no_fault)
{
    for (guint seed = 1; seed <= 10; seed++) {
        g_autofree char *text = g_strdup_printf("%u", seed);
        g_autoptr(PsRun) run = disturbed_run("real", PS_DISTURBANCE_JITTER, "gamma 1000%", text);
        g_autoptr(GError) error = NULL;
        g_autoptr(PsCheck) check = ps_check_run(run, 0.05, &error);
        ps_assert_no_error(error);
        double least_s, most_s;
        batch_range(run, &least_s, &most_s);
        ck_assert_double_eq_tol(check->least_tps_s, least_s, 1e-12);
        ck_assert_double_eq_tol(check->most_tps_s, most_s, 1e-12);
        ck_assert(least_s <= check->simulated_tps_s && check->simulated_tps_s <= most_s);
        ck_assert_ptr_nonnull(strstr(check->unsettled, "took no time and left no row"));
    }
}
END_TEST

/* What is not settled is not beyond doubt: lost rows, and figures that do not follow. */
START_TEST(unsettled_runs_can_be_refused)
{
    static const struct {
        gint64 rows, microbatches;
        double pace;
        const char *message;
    } cases[] = {{0, 0, 1, NULL},
                 {1, 0, 1, "the number of ops is"},
                 {0, 9, 1, "the number of microbatches completed in the window is"},
                 {0, 0, 0.999, "tps_s is"}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(PsRun) run = disturbed_run("real", PS_DISTURBANCE_JITTER, "gamma 300%", NULL);
        run->folder = g_strdup("run");
        g_array_set_size(run->ops, run->ops->len - (guint)cases[i].rows);
        run->summary->window_microbatches += cases[i].microbatches; /* a batch has 8 */
        run->summary->tps_s *= cases[i].pace;
        g_autoptr(GError) error = NULL;
        g_autoptr(PsCheck) check = ps_check_run(run, 0.05, &error);
        ck_assert_int_eq(check != NULL, cases[i].message == NULL);
        ck_assert_msg(check != NULL || strstr(error->message, cases[i].message) != NULL, "%s",
                      error != NULL ? error->message : "");
    }
}
END_TEST

PS_TEST_MAIN("check", agrees_with_an_independent_replay,
             plans_of_real_profiles_replay_at_their_estimate, traces_are_honest,
             long_runs_are_accepted, refuses_a_changed_row, refuses_records_that_cannot_be_true,
             kinds_count_for_their_term, judges_by_tolerance_and_memory, refuses_interrupted_runs,
             paces_by_hand, replicas_drift_apart, the_slowest_sets_the_pace,
             lanes_run_ahead_of_amortised_resync, ops_of_no_length_are_no_fault,
             unsettled_runs_can_be_refused)
