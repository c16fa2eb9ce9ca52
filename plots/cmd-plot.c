#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "plots/chart.h"
#include "plots/gantt.h"
#include "plots/stage-list.h"
#include "sim/base/units.h"
#include "sim/cli/options.h"

static gboolean run(int argc, char **argv, GError **error);

const PsCommand ps_command_plot = {
    .name = "plot",
    .usage = "DIR|FILE.csv -o PICTURE [options]",
    .summary = "draw a run as a Gantt chart, or a CSV file as lines",
    .details =
        "Of a run folder: what every stage replica did, with its bubble and peak memory, and\n"
        "above them the data loader if there is one. Without --from and --to a long run is drawn\n"
        "twice: whole, and in detail from the middle of the measuring window.\n"
        "Of a CSV file with a header: column --y against column --x, one line per value of\n"
        "--series and of other columns that differ. Names may leave out the unit: bandwidth\n"
        "finds bandwidth_bytes_per_s.\n\n"
        "Examples:\n"
        "  pipersim plot run -o gantt.svg --from 1.5s --to 1.6s --stages 0-3,7\n"
        "  pipersim plot sweep.csv --x bandwidth --y replayed_tps --series memory \\\n"
        "      -o chart.pdf\n",
    .run = run,
};

typedef struct {
    char *output;
    char *from, *to, *stages;
    char *x, *y, *series;
} Options;

static void options_clear(Options *options)
{
    g_free(options->output);
    g_free(options->from);
    g_free(options->to);
    g_free(options->stages);
    g_free(options->x);
    g_free(options->y);
    g_free(options->series);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* A time within the run; *time_ps stays where text is NULL. */
static gboolean parse_time(const char *option, const char *text, gint64 end_ps, gint64 *time_ps,
                           GError **error)
{
    double time_s;
    if (text == NULL) {
        return TRUE;
    }
    if (!ps_quantity_parse(PS_SECONDS, text, &time_s, error)) {
        g_prefix_error(error, "--%s: ", option);
        return FALSE;
    }
    if (time_s > ps_ps_to_seconds(end_ps)) {
        g_autofree char *end = ps_quantity_format(PS_SECONDS, ps_ps_to_seconds(end_ps));
        ps_error(error, PS_ERROR_USAGE,
                 "--%s: '%s' is after the end of the run (expected at most %s)", option, text, end);
        return FALSE;
    }
    *time_ps = MIN(ps_seconds_to_ps(time_s), end_ps);
    return TRUE;
}

static gboolean parse_view(const Options *options, const PsRunSummary *summary, PsGanttView *view,
                           GError **error)
{
    gint64 end_ps = summary->makespan_ps;
    if (!parse_time("from", options->from, end_ps, &view->from_ps, error) ||
        !parse_time("to", options->to, end_ps, &view->to_ps, error)) {
        return FALSE;
    }
    if (MAX(view->from_ps, 0) >= (view->to_ps < 0 ? end_ps : view->to_ps)) {
        ps_error(error, PS_ERROR_USAGE,
                 "--from and --to leave nothing to show (expected from < to)");
        return FALSE;
    }
    return TRUE;
}

static PsCanvas *draw_gantt(const char *folder, const Options *options, PsCanvasFormat format,
                            GError **error)
{
    g_autoptr(PsRun) loaded = ps_run_load(folder, PS_RUN_OPS | PS_RUN_LOADS, error);
    PsGanttView view = {-1, -1, NULL};
    if (loaded == NULL || !parse_view(options, loaded->summary, &view, error)) {
        return NULL;
    }
    g_autofree gboolean *stages = NULL;
    if (options->stages != NULL) {
        stages = ps_stage_list_parse(options->stages, loaded->summary->n_stages, error);
        if (stages == NULL) {
            g_prefix_error(error, "--stages: ");
            return NULL;
        }
        view.stages = stages;
    }
    return ps_gantt_draw(loaded, &view, format, error);
}

static PsCanvas *draw_chart(const char *path, const Options *options, PsCanvasFormat format,
                            GError **error)
{
    if (options->x == NULL || options->y == NULL) {
        ps_error(error, PS_ERROR_USAGE,
                 "--%s is missing (expected --x and --y with names of columns of %s)",
                 options->x == NULL ? "x" : "y", path);
        return NULL;
    }
    g_autoptr(PsDataTable) table = ps_data_table_load(path, error);
    PsChartColumns columns = {options->x, options->y, options->series};
    return table != NULL ? ps_chart_draw(table, &columns, format, error) : NULL;
}

/* Options that belong to the other kind of picture are refused. */
static gboolean check_kind(const Options *options, gboolean is_run, GError **error)
{
    const struct {
        const char *name, *value;
        gboolean for_run;
    } kinds[] = {
        {"from", options->from, TRUE},     {"to", options->to, TRUE},
        {"stages", options->stages, TRUE}, {"x", options->x, FALSE},
        {"y", options->y, FALSE},          {"series", options->series, FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (kinds[i].value != NULL && kinds[i].for_run != is_run) {
            ps_error(error, PS_ERROR_USAGE, "--%s is for %s only (expected %s)", kinds[i].name,
                     is_run ? "CSV files" : "run folders",
                     is_run ? "--from, --to or --stages" : "--x, --y or --series");
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_auto(Options) options = {0};
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
         "Write the picture there; its suffix says how", "FILE.svg|png|pdf"},
        {"from", 0, 0, G_OPTION_ARG_STRING, &options.from, "Run: from this time on", "TIME"},
        {"to", 0, 0, G_OPTION_ARG_STRING, &options.to, "Run: up to this time", "TIME"},
        {"stages", 0, 0, G_OPTION_ARG_STRING, &options.stages, "Run: these only, as 0-3,7", "LIST"},
        {"x", 0, 0, G_OPTION_ARG_STRING, &options.x, "CSV: column along the page", "COLUMN"},
        {"y", 0, 0, G_OPTION_ARG_STRING, &options.y, "CSV: column up the page", "COLUMN"},
        {"series", 0, 0, G_OPTION_ARG_STRING, &options.series, "CSV: column that tells lines apart",
         "COLUMN"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {entries, NULL};
    g_auto(GStrv) arguments = NULL;
    PsCanvasFormat format;
    if (!ps_options_parse(&ps_command_plot, groups, argc, argv, 1, 1, &arguments, error)) {
        return FALSE;
    }
    if (options.output == NULL) {
        ps_error(error, PS_ERROR_USAGE, "--output is missing (expected -o FILE.svg, .png or .pdf)");
        return FALSE;
    }
    gboolean is_run = g_file_test(arguments[0], G_FILE_TEST_IS_DIR);
    if (!is_run && strcmp(arguments[0], "-") != 0 && g_access(arguments[0], R_OK) != 0) {
        ps_error(error, PS_ERROR_IO, "%s: cannot read: %s", arguments[0], g_strerror(errno));
        return FALSE;
    }
    if (!ps_canvas_format(options.output, &format, error) || !check_kind(&options, is_run, error)) {
        return FALSE;
    }
    g_autoptr(PsCanvas) canvas =
        (is_run ? draw_gantt : draw_chart)(arguments[0], &options, format, error);
    return canvas != NULL && ps_canvas_save(canvas, options.output, error);
}
