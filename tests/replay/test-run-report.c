#include "sim/replay/run-report.h"
#include "tests/harness/harness.h"

/* What is printed of a run without a period. Caller frees. */
static char *report_of(gint64 microbatches)
{
    g_autoptr(PsRun) run = ps_run_new(1);
    PsRunSummary *summary = run->summary;
    ps_run_summary_add_setting(summary, "start", "steady");
    summary->stages[0].data_parallel = summary->stages[0].tensor_parallel = 1;
    summary->stages[0].layers = g_strdup("0");
    run->links = ps_run_links_new();
    summary->setting.microbatches = 8;
    summary->microbatches_simulated = microbatches;
    summary->window_microbatches = 100;
    summary->tps_s = summary->estimate_tps_s = 1;
    summary->makespan_ps = 1;
    const char *path = ps_test_file("report", "");
    g_autoptr(PsOutput) output = ps_output_open(path, NULL);
    ps_run_report(run, PS_FORMAT_TABLE, output);
    ck_assert(ps_output_commit(output, NULL));
    gsize length;
    return ps_read_file(path, &length, NULL);
}

/* A part of a batch, and more batches than four digits count. */
START_TEST(batches_are_counted_whole)
{
    static const struct {
        gint64 microbatches;
        const char *text;
    } cases[] = {{21, " 2.625 batches"}, {8000, " 1000 batches"}, {218496, " 27312 batches"}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *report = report_of(cases[i].microbatches);
        ck_assert_msg(strstr(report, cases[i].text) != NULL, "%s", report);
    }
}
END_TEST

PS_TEST_MAIN("run-report", batches_are_counted_whole)
