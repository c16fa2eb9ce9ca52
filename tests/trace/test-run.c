#include <glib/gstdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/replay/replay-plan.h"
#include "sim/trace/run-writer.h"
#include "sim/trace/summary.h"
#include "tests/harness/harness.h"

/* ---- round trip ----------------------------------------------------------------------------- */

static PsRunSummary *make_summary(void)
{
    PsRunSummary *summary = ps_run_summary_new(2);
    summary->version = g_strdup("0.1");
    ps_run_summary_add_setting(summary, "schedule", "1f1b");
    ps_run_summary_add_setting(summary, "note", "a, \"b\"\nc");
    summary->setting = (PsSetting){5, 8e9, 25e9, 12};
    summary->plan_path = g_strdup("plan.json");
    summary->plan_sha256 = g_strnfill(64, 'a');
    summary->profile_path = g_strdup("profile.json");
    summary->profile_sha256 = g_strnfill(64, 'b');
    summary->time_unit_s = 1e-3;
    summary->estimate_tps_s = 0.1;
    summary->nested = TRUE;
    summary->tps_s = 1.0 / 3;
    summary->makespan_ps = 4095999999999999;
    summary->window_start_ps = 1;
    summary->window_end_ps = 123456789012345;
    summary->window_microbatches = 48;
    summary->microbatches_simulated = 96;
    summary->steady_after_microbatches = 72;
    summary->steady = TRUE;
    for (guint i = 0; i < 2; i++) {
        PsRunStage *stage = &summary->stages[i];
        stage->data_parallel = i == 0 ? 2 : 1;
        stage->tensor_parallel = i == 0 ? 2 : 1;
        stage->first_lane = i == 0 ? 0 : 2;
        stage->layers = g_strdup(i == 0 ? "0-2, 4" : "3");
        stage->estimate = (PsStageEstimate){3, 0.1, 0.2, 0.3, 0.6, 1e9 / 3};
        stage->busy_s_per_microbatch = 0.7;
        stage->compute_s_per_microbatch = 0.11;
        stage->edge_s_per_microbatch = 0.12;
        stage->resync_s_per_microbatch = 0.13;
        stage->bubble_share = 0.25;
        stage->peak_memory_bytes = 15;
        for (guint k = 0; k < PS_N_MEMORY; k++) {
            stage->peak_category_bytes[k] = k + 1;
        }
        stage->peak_stash_microbatches = 2.5;
    }
    return summary;
}

static PsTraceOp random_op(GRand *rand)
{
    PsTraceOp op = {0};
    op.lane = (guint)g_rand_int_range(rand, 0, 3);
    op.stage = op.lane < 2 ? 0 : 1;
    op.replica = op.lane < 2 ? op.lane : 0;
    op.rank = op.lane * 2;
    op.stream = (PsStreamKind)g_rand_int_range(rand, 0, PS_N_STREAMS);
    op.kind = (PsOpKind)g_rand_int_range(rand, 0, PS_N_OPS);
    op.microbatch = g_rand_int_range(rand, -1, 1000);
    op.chunk = (guint)g_rand_int_range(rand, 0, 3);
    op.start_ps = (gint64)(g_rand_double(rand) * 2e15);
    op.end_ps = op.start_ps + (gint64)(g_rand_double(rand) * 2e15);
    op.bytes = g_rand_boolean(rand) ? g_rand_double_range(rand, 0, 1e12) : g_rand_int(rand);
    op.peer = op.kind == PS_OP_SEND || op.kind == PS_OP_RECEIVE ? g_rand_int_range(rand, 0, 3) : -1;
    return op;
}

static gboolean same_op(const PsTraceOp *a, const PsTraceOp *b)
{
    return a->lane == b->lane && a->stage == b->stage && a->replica == b->replica &&
           a->rank == b->rank && a->stream == b->stream && a->kind == b->kind &&
           a->microbatch == b->microbatch && a->chunk == b->chunk && a->start_ps == b->start_ps &&
           a->end_ps == b->end_ps && a->bytes == b->bytes && a->peer == b->peer;
}

static void compare_stages(const PsRunStage *a, const PsRunStage *b)
{
    ck_assert_uint_eq(a->data_parallel, b->data_parallel);
    ck_assert_uint_eq(a->tensor_parallel, b->tensor_parallel);
    ck_assert_uint_eq(a->first_lane, b->first_lane);
    ck_assert_str_eq(a->layers, b->layers);
    ck_assert_uint_eq(a->estimate.in_flight, b->estimate.in_flight);
    ck_assert_double_eq(a->estimate.compute_s, b->estimate.compute_s);
    ck_assert_double_eq(a->estimate.edge_s, b->estimate.edge_s);
    ck_assert_double_eq(a->estimate.resync_s, b->estimate.resync_s);
    ck_assert_double_eq(a->estimate.tps_s, b->estimate.tps_s);
    ck_assert_double_eq(a->estimate.memory_bytes, b->estimate.memory_bytes);
    ck_assert_double_eq(a->busy_s_per_microbatch, b->busy_s_per_microbatch);
    ck_assert_double_eq(a->compute_s_per_microbatch, b->compute_s_per_microbatch);
    ck_assert_double_eq(a->edge_s_per_microbatch, b->edge_s_per_microbatch);
    ck_assert_double_eq(a->resync_s_per_microbatch, b->resync_s_per_microbatch);
    ck_assert_double_eq(a->bubble_share, b->bubble_share);
    ck_assert_double_eq(a->peak_memory_bytes, b->peak_memory_bytes);
    ck_assert_double_eq(a->peak_stash_microbatches, b->peak_stash_microbatches);
    for (guint k = 0; k < PS_N_MEMORY; k++) {
        ck_assert_double_eq(a->peak_category_bytes[k], b->peak_category_bytes[k]);
    }
}

static void compare_summaries(const PsRunSummary *a, const PsRunSummary *b)
{
    ck_assert_str_eq(a->version, b->version);
    ck_assert_uint_eq(a->n_settings_in_order, b->n_settings_in_order);
    for (guint i = 0; i < a->n_settings_in_order; i++) {
        ck_assert_str_eq(a->setting_names[i], b->setting_names[i]);
        ck_assert_str_eq(g_hash_table_lookup(a->settings, a->setting_names[i]),
                         g_hash_table_lookup(b->settings, a->setting_names[i]));
    }
    ck_assert_uint_eq(a->setting.devices, b->setting.devices);
    ck_assert_double_eq(a->setting.memory_bytes, b->setting.memory_bytes);
    ck_assert_double_eq(a->setting.bandwidth_bytes_per_s, b->setting.bandwidth_bytes_per_s);
    ck_assert_uint_eq(a->setting.microbatches, b->setting.microbatches);
    ck_assert_str_eq(a->plan_path, b->plan_path);
    ck_assert_str_eq(a->plan_sha256, b->plan_sha256);
    ck_assert_str_eq(a->profile_path, b->profile_path);
    ck_assert_str_eq(a->profile_sha256, b->profile_sha256);
    ck_assert_pstr_eq(a->trace_sha256, b->trace_sha256);
    ck_assert_pstr_eq(a->memory_sha256, b->memory_sha256);
    ck_assert_pstr_eq(a->loader_sha256, b->loader_sha256);
    ck_assert_pstr_eq(a->links_sha256, b->links_sha256);
    ck_assert_double_eq(a->time_unit_s, b->time_unit_s);
    ck_assert_double_eq(a->estimate_tps_s, b->estimate_tps_s);
    ck_assert_int_eq(a->nested, b->nested);
    ck_assert_int_eq(a->partial, b->partial);
    ck_assert_uint_eq(a->stops->len, b->stops->len);
    for (guint i = 0; i < a->stops->len; i++) {
        ck_assert_uint_eq(g_array_index(a->stops, PsRunStop, i).lane,
                          g_array_index(b->stops, PsRunStop, i).lane);
        ck_assert_int_eq(g_array_index(a->stops, PsRunStop, i).at_ps,
                         g_array_index(b->stops, PsRunStop, i).at_ps);
    }
    ck_assert_double_eq(a->tps_s, b->tps_s);
    ck_assert_int_eq(a->makespan_ps, b->makespan_ps);
    ck_assert_int_eq(a->window_start_ps, b->window_start_ps);
    ck_assert_int_eq(a->window_end_ps, b->window_end_ps);
    ck_assert_int_eq(a->window_microbatches, b->window_microbatches);
    ck_assert_int_eq(a->microbatches_simulated, b->microbatches_simulated);
    ck_assert_int_eq(a->steady_after_microbatches, b->steady_after_microbatches);
    ck_assert_int_eq(a->n_ops, b->n_ops);
    ck_assert_int_eq(a->steady, b->steady);
    ck_assert_uint_eq(a->n_stages, b->n_stages);
    for (guint i = 0; i < a->n_stages; i++) {
        compare_stages(&a->stages[i], &b->stages[i]);
    }
}

/* Loads and links, random and as read back. */
static void put_loads(GRand *rand, PsRunWriter *writer, PsTraceLoad *loads, guint n)
{
    const PsTraceSink *sink = ps_run_writer_sink(writer);
    for (guint i = 0; i < n; i++) {
        loads[i] = (PsTraceLoad){(guint)g_rand_int_range(rand, 0, 9), i, i * 1000,
                                 i * 1000 + g_rand_int_range(rand, 0, 5000)};
        sink->load(&loads[i], sink->user_data);
    }
}

static void put_links(GRand *rand, PsRunWriter *writer, PsRunLink *links, guint n)
{
    static char *const names[] = {"node 0 to switch 1", "a \"b\", c", "übertragung"};
    for (guint i = 0; i < n; i++) {
        links[i] = (PsRunLink){.link = 3 * i + (guint)g_rand_int_range(rand, 0, 3),
                               .name = names[i % G_N_ELEMENTS(names)],
                               .capacity_bytes_per_s = g_rand_double_range(rand, 1, 1e12),
                               .busy_ps = g_rand_int_range(rand, 0, G_MAXINT32),
                               .moved_bytes = g_rand_double_range(rand, 0, 1e13),
                               .peak_flows = (guint)g_rand_int_range(rand, 1, 100)};
    }
    ps_run_writer_set_links(writer, links, n);
}

static void compare_links(const GArray *got, const PsRunLink *links, guint n)
{
    ck_assert_uint_eq(got->len, n);
    for (guint i = 0; i < n; i++) {
        const PsRunLink *link = &g_array_index(got, PsRunLink, i);
        ck_assert_uint_eq(link->link, links[i].link);
        ck_assert_str_eq(link->name, links[i].name);
        ck_assert_double_eq(link->capacity_bytes_per_s, links[i].capacity_bytes_per_s);
        ck_assert_int_eq(link->busy_ps, links[i].busy_ps);
        ck_assert_double_eq(link->moved_bytes, links[i].moved_bytes);
        ck_assert_uint_eq(link->peak_flows, links[i].peak_flows);
    }
}

START_TEST(what_is_written_is_read)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("what_is_written_is_read"));
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(ps_test_folder(), "deep", "run", NULL);
    g_autoptr(PsRunSummary) summary = make_summary();
    g_autoptr(PsRunWriter) writer = ps_run_writer_new(folder, &error);
    ps_assert_no_error(error);
    const PsTraceSink *sink = ps_run_writer_sink(writer);
    g_autofree PsTraceOp *ops = g_new0(PsTraceOp, 5000);
    for (guint i = 0; i < 5000; i++) {
        ops[i] = random_op(rand);
        sink->op(&ops[i], sink->user_data);
    }
    const PsTraceMemory change = {17, 2, 1, PS_MEMORY_WEIGHT_VERSIONS, 0.1};
    sink->memory(&change, sink->user_data);
    summary->n_ops = 5000;
    PsTraceLoad loads[300];
    PsRunLink links[40];
    put_loads(rand, writer, loads, G_N_ELEMENTS(loads));
    put_links(rand, writer, links, G_N_ELEMENTS(links));
    ck_assert(ps_run_writer_finish(writer, summary, &error));
    g_autoptr(PsRun) run = ps_run_load(folder, PS_RUN_EVERYTHING, &error);
    ps_assert_no_error(error);
    compare_summaries(run->summary, summary);
    ck_assert_uint_eq(run->ops->len, 5000);
    for (guint i = 0; i < 5000; i++) {
        ck_assert(same_op(&g_array_index(run->ops, PsTraceOp, i), &ops[i]));
    }
    ck_assert_uint_eq(run->memory->len, 1);
    const PsTraceMemory *back = &g_array_index(run->memory, PsTraceMemory, 0);
    ck_assert(back->time_ps == 17 && back->lane == 2 && back->stage == 1 &&
              back->category == PS_MEMORY_WEIGHT_VERSIONS && back->bytes == 0.1);
    ck_assert_uint_eq(run->loads->len, G_N_ELEMENTS(loads));
    for (guint i = 0; i < G_N_ELEMENTS(loads); i++) {
        const PsTraceLoad *load = &g_array_index(run->loads, PsTraceLoad, i);
        ck_assert(load->server == loads[i].server && load->sample == loads[i].sample &&
                  load->start_ps == loads[i].start_ps && load->end_ps == loads[i].end_ps);
    }
    compare_links(run->links, links, G_N_ELEMENTS(links));
}
END_TEST

static char *text_of_file(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text = NULL;
    (void)!g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

static void write_run(const char *folder, gboolean more)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsRunSummary) summary = make_summary();
    g_autoptr(PsRunWriter) writer = ps_run_writer_new(folder, &error);
    ps_assert_no_error(error);
    if (more) {
        const PsTraceSink *sink = ps_run_writer_sink(writer);
        const PsTraceLoad load = {7, 3, 1000000000000, 1500000000000};
        const PsRunLink link = {4, (char *)"uplink", 1e9, 250000000000, 2.5e8, 2};
        sink->load(&load, sink->user_data);
        ps_run_writer_set_links(writer, &link, 1);
        summary->makespan_ps = 2000000000000;
        summary->window_end_ps = summary->makespan_ps;
    }
    ck_assert(ps_run_writer_finish(writer, summary, &error));
}

/* loader.csv and links.csv are there if there is something in them, and do not outlive their run.
 */
START_TEST(some_files_are_for_some_runs)
{
    const char *folder = ps_test_folder();
    g_autoptr(GError) error = NULL;
    write_run(folder, TRUE);
    g_autofree char *loader = text_of_file(folder, "loader.csv");
    g_autofree char *links = text_of_file(folder, "links.csv");
    ck_assert_str_eq(loader, "server,sample,start_s,end_s\n7,3,1.000000000000,1.500000000000\n");
    /* 2.5e8 of the 2e9 bytes that 1e9 bytes/s could carry in 2 s. */
    ck_assert_str_eq(links,
                     "link,name,capacity_bytes_per_s,busy_s,moved_bytes,utilisation,peak_flows\n"
                     "4,uplink,1000000000,0.250000000000,250000000,0.125,2\n");
    write_run(folder, FALSE);
    ck_assert_ptr_null(text_of_file(folder, "loader.csv"));
    ck_assert_ptr_null(text_of_file(folder, "links.csv"));
    g_autoptr(PsRun) run = ps_run_load(folder, PS_RUN_EVERYTHING, &error);
    ps_assert_no_error(error);
    ck_assert_uint_eq(run->loads->len, 0);
    ck_assert_uint_eq(run->links->len, 0);
    ck_assert_ptr_null(run->summary->loader_sha256);
}
END_TEST

/* Files that no summary vouches for, as someone may put them beside a run. */
START_TEST(wrong_loads_and_links)
{
    static const struct {
        const char *name, *row, *message;
    } wrong[] = {
        {"loader.csv", "0,0,1,0.5", "column end_s: 0.5 is before start_s 1"},
        {"loader.csv", "0,0,1,2.5",
         "column end_s: 2.5 is after the run's end (makespan_s in summary.json)"},
        {"loader.csv", "0,-1,1,2",
         "column sample: \"-1\" is out of range (expected a whole number from 0 to "
         "9223372036854775807)"},
        {"loader.csv", "1048576,0,1,2",
         "column server: \"1048576\" is out of range (expected a whole number from 0 to 1048575)"},
        {"links.csv", "3,x,1e9,1,1e9,0.5,1", "column link: 3 after 3 (expected ascending numbers)"},
        {"links.csv", "4,x,0,1,1e9,0.5,1", "column capacity_bytes_per_s: 0 (expected more)"},
        {"links.csv", "4,x,1e9,1,1e9,0.51,1",
         "column utilisation: 0.51 (expected 0.5: moved_bytes per capacity and makespan)"},
        {"links.csv", "4,x,1e9,2.1,1e9,0.5,1",
         "column busy_s: 2.1 is after the run's end (makespan_s in summary.json)"},
        {"links.csv", "4,x,1e9,1,1e9,0.5,0",
         "column peak_flows: \"0\" is out of range (expected a whole number from 1 to 4294967295)"},
    };
    const char *folder = ps_test_folder();
    write_run(folder, TRUE);
    g_autofree char *summary = text_of_file(folder, "summary.json");
    g_autoptr(GRegex) regex =
        g_regex_new(",\\s*\"(loader|links)_sha256\": \"[0-9a-f]*\"", 0, 0, NULL);
    g_autofree char *silent = g_regex_replace_literal(regex, summary, -1, 0, "", 0, NULL);
    g_autofree char *path = g_build_filename(folder, "summary.json", NULL);
    ck_assert(g_file_set_contents(path, silent, -1, NULL));
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        static const char *const right[] = {
            "server,sample,start_s,end_s\n0,7,0,2\n",
            "link,name,capacity_bytes_per_s,busy_s,moved_bytes,utilisation,peak_flows\n"
            "3,x,1e9,2,1e9,0.5,1\n"};
        GError *error = NULL;
        gboolean links = g_str_equal(wrong[i].name, "links.csv");
        g_autofree char *file = g_build_filename(folder, wrong[i].name, NULL);
        g_autofree char *text = g_strconcat(right[links], wrong[i].row, "\n", NULL);
        g_autofree char *message = g_strdup_printf("%s:3: %s", file, wrong[i].message);
        ck_assert(g_file_set_contents(file, text, -1, NULL));
        ck_assert_ptr_null(ps_run_load(folder, PS_RUN_EVERYTHING, &error));
        ps_assert_error(error, PS_ERROR_INPUT, message);
        ck_assert(g_file_set_contents(file, right[links], -1, NULL));
        g_autoptr(PsRun) run = ps_run_load(folder, PS_RUN_EVERYTHING, &error);
        ps_assert_no_error(error);
    }
}
END_TEST

/* Files that the summary vouches for. */
START_TEST(lost_and_changed_files)
{
    static const char *const names[] = {"loader.csv", "links.csv"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        const char *folder = ps_test_folder();
        GError *error = NULL;
        write_run(folder, TRUE);
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        g_autofree char *text = text_of_file(folder, names[i]);
        g_autofree char *longer = g_strconcat(text, "\n", NULL);
        ck_assert(g_file_set_contents(path, longer, -1, NULL));
        ck_assert_ptr_null(ps_run_load(folder, PS_RUN_EVERYTHING, &error));
        ck_assert(strstr(error->message, "changed since the run") != NULL);
        g_clear_error(&error);
        ck_assert_int_eq(g_unlink(path), 0);
        g_autofree char *message =
            g_strdup_printf("%s: cannot read: No such file or directory", path);
        ck_assert_ptr_null(ps_run_load(folder, PS_RUN_EVERYTHING, &error));
        ps_assert_error(error, PS_ERROR_IO, message);
    }
}
END_TEST

static void write_summary(const PsRunSummary *summary, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsOutput) output = ps_output_open(path, &error);
    ps_assert_no_error(error);
    ps_run_summary_write(summary, output);
    ck_assert(ps_output_commit(output, &error));
    ps_assert_no_error(error);
}

/* A run that was interrupted says so; others are silent about it. */
START_TEST(partial_runs_say_so)
{
    for (guint partial = 0; partial < 2; partial++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(PsRunSummary) summary = make_summary();
        const char *folder = ps_test_folder();
        g_autofree char *path = g_build_filename(folder, "summary.json", NULL);
        summary->partial = partial;
        write_summary(summary, path);
        g_autofree char *text = text_of_file(folder, "summary.json");
        ck_assert_int_eq(strstr(text, "\"partial\": true") != NULL, partial);
        ck_assert_int_eq(strstr(text, "partial") != NULL, partial);
        g_autoptr(PsRunSummary) read = ps_run_summary_read(path, &error);
        ps_assert_no_error(error);
        compare_summaries(read, summary);
    }
}
END_TEST

/* So does one in which devices stopped. */
START_TEST(stops_are_written_and_read)
{
    const PsRunStop stops[] = {{0, 0}, {2, 123456789012345}};
    for (guint n = 0; n <= G_N_ELEMENTS(stops); n++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(PsRunSummary) summary = make_summary();
        const char *folder = ps_test_folder();
        g_autofree char *path = g_build_filename(folder, "summary.json", NULL);
        g_array_append_vals(summary->stops, stops, n);
        write_summary(summary, path);
        g_autofree char *text = text_of_file(folder, "summary.json");
        ck_assert_int_eq(strstr(text, "stopped") != NULL, n > 0);
        g_autoptr(PsRunSummary) read = ps_run_summary_read(path, &error);
        ps_assert_no_error(error);
        compare_summaries(read, summary);
    }
}
END_TEST

/* Up to what the clock holds, a picosecond is not lost on the way. */
START_TEST(long_times_are_exact)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("long_times_are_exact"));
    g_autofree char *path = g_build_filename(ps_test_folder(), "summary.json", NULL);
    for (guint round = 0; round < 200; round++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(PsRunSummary) summary = make_summary();
        summary->window_start_ps = (gint64)(g_rand_double(rand) * 3e18) | 1;
        summary->window_end_ps = summary->window_start_ps + (gint64)(g_rand_double(rand) * 3e18);
        summary->makespan_ps = summary->window_end_ps + (gint64)(g_rand_double(rand) * 2.9e18);
        const PsRunStop stop = {1, summary->window_start_ps};
        g_array_append_val(summary->stops, stop);
        write_summary(summary, path);
        g_autoptr(PsRunSummary) read = ps_run_summary_read(path, &error);
        ps_assert_no_error(error);
        compare_summaries(read, summary);
    }
}
END_TEST

/* As JSON writers spell doubles. */
START_TEST(times_may_be_plain_doubles)
{
    static const struct {
        const char *text;
        gint64 time_ps;
    } cases[] = {
        {"0", 0},
        {"5", 5000000000000},
        {"1e-12", 1},
        {"2.5E-3", 2500000000},
        {"0.0123456789014", 12345678901},
        {"1.2340000000005e2", 123400000000050},
    };
    const char *folder = ps_test_folder();
    g_autofree char *path = g_build_filename(folder, "summary.json", NULL);
    g_autoptr(PsRunSummary) summary = make_summary();
    write_summary(summary, path);
    g_autofree char *text = text_of_file(folder, "summary.json");
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) older = g_string_new(text);
        g_autofree char *start = g_strconcat("\"window_start_s\": ", cases[i].text, NULL);
        ck_assert_uint_eq(g_string_replace(older, "\"window_start_s\": 0.000000000001", start, 0),
                          1);
        ck_assert(g_file_set_contents(path, older->str, -1, NULL));
        g_autoptr(PsRunSummary) read = ps_run_summary_read(path, &error);
        ps_assert_no_error(error);
        ck_assert_int_eq(read->window_start_ps, cases[i].time_ps);
    }
}
END_TEST

/* A summary that knows nothing of a category has none of it. */
START_TEST(categories_may_be_missing)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsRunSummary) summary = make_summary();
    g_autofree char *path = g_build_filename(ps_test_folder(), "summary.json", NULL);
    write_summary(summary, path);
    g_autofree char *text = NULL;
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    g_autoptr(GRegex) regex = g_regex_new("\"(gradients|optimizer)\": [0-9]+,\\s*", 0, 0, NULL);
    g_autofree char *older = g_regex_replace_literal(regex, text, -1, 0, "", 0, NULL);
    ck_assert(g_file_set_contents(path, older, -1, NULL));
    g_autoptr(PsRunSummary) read = ps_run_summary_read(path, &error);
    ps_assert_no_error(error);
    for (guint i = 0; i < PS_N_MEMORY; i++) {
        gboolean missing = i == PS_MEMORY_GRADIENTS || i == PS_MEMORY_OPTIMIZER;
        ck_assert_double_eq(read->stages[1].peak_category_bytes[i], missing ? 0 : i + 1);
    }
}
END_TEST

/* Every kind of record has a name of its own. */
START_TEST(names_are_complete)
{
    const struct {
        const char *const *names;
        guint n;
    } tables[] = {
        {ps_op_names, PS_N_OPS}, {ps_stream_names, PS_N_STREAMS}, {ps_memory_names, PS_N_MEMORY}};
    for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
        ck_assert_ptr_null(tables[i].names[tables[i].n]);
        for (guint k = 0; k < tables[i].n; k++) {
            ck_assert_ptr_nonnull(tables[i].names[k]);
            for (guint other = 0; other < k; other++) {
                ck_assert_str_ne(tables[i].names[k], tables[i].names[other]);
            }
        }
    }
}
END_TEST

#define N_RUN_FILES 5

/* The files of a run that has all of them, where nothing else is in the folder. */
static void read_files(const char *folder, char *texts[N_RUN_FILES])
{
    static const char *const names[] = {"trace.csv", "memory.csv", "loader.csv", "links.csv",
                                        "summary.json"};
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    guint n = 0;
    while (g_dir_read_name(dir) != NULL) {
        n++;
    }
    ck_assert_uint_eq(n, N_RUN_FILES);
    for (guint i = 0; i < N_RUN_FILES; i++) {
        texts[i] = text_of_file(folder, names[i]);
        ck_assert_ptr_nonnull(texts[i]);
    }
}

static void give_up_run(const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsRunWriter) writer = ps_run_writer_new(folder, &error);
    ps_assert_no_error(error);
    const PsTraceMemory change = {17, 2, 1, PS_MEMORY_WEIGHT_VERSIONS, 0.1};
    const PsTraceSink *sink = ps_run_writer_sink(writer);
    sink->memory(&change, sink->user_data);
}

/* A run that did not end leaves an older one as it was. */
START_TEST(unfinished_runs_change_nothing)
{
    const char *folder = ps_test_folder();
    char *before[N_RUN_FILES], *after[N_RUN_FILES];
    write_run(folder, TRUE);
    read_files(folder, before);
    give_up_run(folder);
    read_files(folder, after);
    for (guint i = 0; i < N_RUN_FILES; i++) {
        ck_assert_str_eq(before[i], after[i]);
        g_free(before[i]);
        g_free(after[i]);
    }
}
END_TEST

/* One that stops between its files, here because one of them cannot take its place, leaves no
 * summary: neither its own nor the older one's. */
START_TEST(half_replaced_runs_are_refused)
{
    const char *folder = ps_test_folder();
    GError *error = NULL;
    write_run(folder, TRUE);
    g_autoptr(PsRunSummary) summary = make_summary();
    PsRunWriter *writer = ps_run_writer_new(folder, &error);
    ps_assert_no_error(error);
    g_autofree char *memory = g_build_filename(folder, "memory.csv", NULL);
    ck_assert_int_eq(g_unlink(memory), 0);
    ck_assert_int_eq(g_mkdir(memory, 0777), 0);
    ck_assert(!ps_run_writer_finish(writer, summary, &error));
    g_autofree char *refusal = g_strdup_printf("%s: cannot write: Is a directory", memory);
    ps_assert_error(error, PS_ERROR_IO, refusal);
    error = NULL;
    ps_run_writer_free(writer);
    g_autofree char *missing =
        g_strdup_printf("%s/summary.json: cannot read: No such file or directory", folder);
    ck_assert_ptr_null(ps_run_load(folder, PS_RUN_EVERYTHING, &error));
    ps_assert_error(error, PS_ERROR_IO, missing);
}
END_TEST

/* A run that did not end leaves none of its files, and of the folders made for it none. */
START_TEST(unfinished_runs_leave_nothing)
{
    g_autoptr(GError) error = NULL;
    const char *folder = ps_test_folder();
    g_autofree char *above = g_build_filename(folder, "deep", NULL);
    g_autofree char *inside = g_build_filename(above, "er", "run", NULL);
    PsRunWriter *writer = ps_run_writer_new(inside, &error);
    ps_assert_no_error(error);
    ck_assert(g_file_test(inside, G_FILE_TEST_IS_DIR));
    ps_run_writer_free(writer);
    ck_assert(!g_file_test(above, G_FILE_TEST_EXISTS));
    ck_assert(g_file_test(folder, G_FILE_TEST_IS_DIR));
}
END_TEST

/* ---- broken folders ------------------------------------------------------------------------- */

#define TRACE "trace.csv"
#define MEMORY "memory.csv"
#define SUMMARY "summary.json"

/* One change to one file of the sample run, and what the reader says after "FOLDER/FILE". */
static const struct {
    const char *file;
    const char *from, *to; /* the first occurrence; to NULL: the file is removed */
    const char *message;   /* its beginning, where a SHA-256 follows */
} broken[] = {
    {TRACE, "compute,forward", "computer,forward",
     ":2: column stream: unknown name \"computer\" (did you mean compute?)"},
    {TRACE, "compute,forward", "compute,backwards",
     ":2: column kind: unknown name \"backwards\" (did you mean backward?)"},
    {TRACE, "\n0,0,0,0,", "\n4,0,0,0,",
     ":2: column lane: \"4\" is out of range (expected a whole number from 0 to 3)"},
    {TRACE, "\n0,0,0,0,", "\n,0,0,0,",
     ":2: column lane: \"\" is not a whole number (expected a whole number from 0 to 3)"},
    {TRACE, "\n0,0,0,0,", "\n0,1,0,0,", ":2: column stage: 1 (expected 0 for lane 0)"},
    {TRACE, "\n0,0,0,0,", "\n0,0,2,0,", ":2: column replica: 2 (expected 0 for lane 0)"},
    {TRACE, "\n0,0,0,0,", "\n0,0,0,3,", ":2: column rank: 3 (expected 0 for lane 0)"},
    {TRACE, "forward,0,0,0.000000000000", "forward,0,0,0.002000000000",
     ":2: column end_s: 0.001000000000 is before start_s 0.002000000000"},
    {TRACE, "0.001000000000,0,-1", "9.001000000000,0,-1",
     ":2: column end_s: 9.001000000000 is after the run's end (makespan_s in summary.json)"},
    {TRACE, "0.001000000000,0,-1", "soon,0,-1",
     ":2: column end_s: \"soon\" is not a time (expected seconds with at most 12 decimals)"},
    {TRACE, "0.001000000000,0,-1", "0.001000000000,0,2",
     ":2: column peer: 2 (expected -1: not a transfer)"},
    {TRACE, "200000,1\n", "200000,-1\n",
     ":3: column peer: -1 (a transfer has a lane at its other end)"},
    {TRACE, "200000,1\n", "-200000,1\n",
     ":3: column bytes: -200000 is negative (expected 0 or more)"},
    {TRACE, "forward,0,0", "forward,0.5,0",
     ":2: column microbatch: \"0.5\" is not a whole number (expected a whole number from -1 to "
     "9223372036854775807)"},
    {TRACE, "0,-1\n", "0\n", ":2: the row has 11 fields (expected 12)"},
    {TRACE, "lane,stage", "lane,stag", ":1: unknown column \"stag\" (did you mean stage?)"},
    {TRACE, "0.001000000000,0,-1", "0.001000000001,0,-1",
     ": changed since the run: its SHA-256 is not the one in summary.json (expected "},
    {TRACE, "", NULL, ": cannot read: No such file or directory"},
    {MEMORY, "stash", "cache",
     ":5: column category: unknown name \"cache\" (expected weights, weight versions, "
     "gradients, optimizer, state, stash, workspace or buffers)"},
    {MEMORY, "0.000000000000,0,0", "0.000000000000,0,1",
     ":2: column stage: 1 (expected 0 for lane 0)"},
    {MEMORY, "0.000000000000,0,0", "7.000000000000,0,0",
     ":2: column time_s: 7.000000000000 is after the run's end (makespan_s in summary.json)"},
    {MEMORY, "weights,1000000", "weights,1000001",
     ": changed since the run: its SHA-256 is not the one in summary.json (expected "},
    {SUMMARY, "pipersim-run/1", "pipersim-run/2",
     ": $.schema: \"pipersim-run/2\" (expected \"pipersim-run/1\")"},
    {SUMMARY, "\"nested\"", "\"nestled\"", ": $.nestled: unknown key (did you mean nested?)"},
    {SUMMARY, "\"steady\"", "\"x\"",
     ": $.results.x: unknown key (expected tps_s, makespan_s, window_start_s, window_end_s, "
     "window_microbatches, microbatches_simulated, steady_after_microbatches, trace_rows or "
     "steady)"},
    {SUMMARY, "\"trace_rows\": ", "\"trace_rows\": 1", NULL},
    {SUMMARY, "\"stages\": [", "\"stages\": [], \"stage\": [",
     ": $.stage: unknown key (did you mean stages?)"},
    {SUMMARY, "\"window_start_s\": 0", "\"window_start_s\": 5",
     ": $.results.window_end_s: the window is not within the run (expected start <= end <= "
     "makespan)"},
    {SUMMARY, "\"data_parallel\": 1", "\"data_parallel\": 0",
     ": $.stages[0].data_parallel: is 0 (expected a whole number from 1 to 16777216)"},
    {SUMMARY, "\"trace_sha256\": \"", "\"trace_sha256\": \"x",
     ": $.trace_sha256: not a SHA-256 (expected 64 hexadecimal digits)"},
    {SUMMARY, "\"results\": {", "\"stopped\": [{\"lane\": 4, \"at_s\": 0}], \"results\": {",
     ": $.stopped[0].lane: is 4 (expected a whole number from 0 to 3)"},
    {SUMMARY, "\"results\": {", "\"stopped\": [{\"lane\": 1, \"at_s\": 9}], \"results\": {",
     ": $.stopped[0].at_s: is after the end of the run (expected at most makespan_s)"},
    {SUMMARY, "\"results\": {",
     "\"stopped\": [{\"lane\": 1, \"at_s\": 0}, {\"lane\": 1, \"at_s\": 0}], \"results\": {",
     ": $.stopped[1].lane: 1 is not after the one before it (expected lanes in order)"},
    {SUMMARY, "\"bubble_share\": ", "\"bubble_share\": 1e999, \"b\": ",
     ":65: the number is too large (expected a finite number)"},
    {SUMMARY, "", NULL, ": cannot read: No such file or directory"},
};

static char *read_sample(const char *file)
{
    g_autofree char *path = g_build_filename("traces", "sample-1f1b", file, NULL);
    char *text;
    ck_assert_msg(g_file_get_contents(path, &text, NULL, NULL), "%s is not here", path);
    return text;
}

/* Copies the sample run with one change; the folder's path. */
static const char *break_sample(const char *file, const char *from, const char *to)
{
    static const char *const files[] = {TRACE, MEMORY, SUMMARY};
    const char *folder = ps_test_folder();
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *text = read_sample(files[i]);
        g_autoptr(GString) changed = g_string_new(text);
        gboolean here = g_str_equal(files[i], file);
        if (here && to == NULL) {
            continue;
        }
        if (here) {
            ck_assert_msg(strstr(text, from) != NULL, "nothing to change: %s", from);
            g_string_replace(changed, from, to, 1);
        }
        g_autofree char *path = g_build_filename(folder, files[i], NULL);
        ck_assert(g_file_set_contents(path, changed->str, (gssize)changed->len, NULL));
    }
    return folder;
}

START_TEST(broken_folders_are_refused)
{
    for (guint i = 0; i < G_N_ELEMENTS(broken); i++) {
        g_autoptr(GError) error = NULL;
        const char *folder = break_sample(broken[i].file, broken[i].from, broken[i].to);
        g_autoptr(PsRun) run = ps_run_load(folder, PS_RUN_OPS | PS_RUN_MEMORY, &error);
        ck_assert_msg(run == NULL && error != NULL, "accepted: %s -> %s", broken[i].from,
                      broken[i].to);
        g_autofree char *expected =
            broken[i].message != NULL
                ? g_strdup_printf("%s/%s%s", folder, broken[i].file, broken[i].message)
                : g_strdup_printf("%s/%s: 160 rows (expected 1160: trace_rows in summary.json)",
                                  folder, TRACE);
        gsize length = g_str_has_suffix(expected, "(expected ") ? strlen(expected) : G_MAXSIZE;
        g_autofree char *message = g_strndup(error->message, MIN(length, strlen(error->message)));
        ck_assert_str_eq(message, expected);
    }
}
END_TEST

/* ---- the sample ----------------------------------------------------------------------------- */

static char *without_version(const char *text)
{
    g_autoptr(GRegex) regex = g_regex_new("\"version\": \"[^\"]*\"", 0, 0, NULL);
    return g_regex_replace_literal(regex, text, -1, 0, "", 0, NULL);
}

/* The folder in traces/ is what its command writes today, but for the program's version. */
START_TEST(sample_is_up_to_date)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(PsPlanInput) input =
        ps_plan_input_load("traces/four-stages-plan.json", NULL, NULL, &error);
    ps_assert_no_error(error);
    const PsReplayChoices choices = {.start = "cold"};
    PsReplaySettings settings;
    ck_assert(ps_replay_settings_choose(&settings, &choices, &error));
    const char *folder = ps_test_folder();
    g_autoptr(PsRun) run = ps_replay_plan(input, &settings, folder, 0, &error);
    ps_assert_no_error(error);
    ck_assert_str_eq(run->folder, folder);
    static const char *const files[] = {TRACE, MEMORY, SUMMARY};
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(folder, files[i], NULL);
        g_autofree char *kept_text = read_sample(files[i]), *text = NULL;
        ck_assert(g_file_get_contents(path, &text, NULL, NULL));
        g_autofree char *kept = without_version(kept_text), *now = without_version(text);
        ck_assert_str_eq(kept, now);
    }
}
END_TEST

PS_TEST_MAIN("run", what_is_written_is_read, partial_runs_say_so, stops_are_written_and_read,
             unfinished_runs_change_nothing, half_replaced_runs_are_refused,
             some_files_are_for_some_runs, wrong_loads_and_links, lost_and_changed_files,
             long_times_are_exact, times_may_be_plain_doubles, categories_may_be_missing,
             names_are_complete, unfinished_runs_leave_nothing, broken_folders_are_refused,
             sample_is_up_to_date)
