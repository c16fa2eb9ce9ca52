#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/cli/options.h"
#include "sim/schedule/schedule-csv.h"

#define MOST_CELLS 100000000 /* forwards in a file: a gigabyte of text */

static gboolean run(int argc, char **argv, GError **error);

const PsCommand ps_command_schedule = {
    .name = "schedule",
    .usage = "[--schedule S --stages P --microbatches M] [options]",
    .summary = "write a schedule as CSV for PyTorch, check one, or list them",
    .details =
        "Writes one batch of S in the form of PyTorch's pipelining package: a row per rank, cells\n"
        "<stage><ACTION><microbatch> with F, B, I (input gradient), W (weight gradient). Where S "
        "is\n"
        "a file (FILE.csv), it is checked - every stage on one rank, every microbatch once, no\n"
        "deadlock with sends and receives in order - and its computations are written.\n"
        "`pipersim replay --schedule FILE.csv` replays one. Without options: the schedules there\n"
        "are.\n\n"
        "Example:\n"
        "  pipersim schedule --schedule zb-h1 --stages 4 --microbatches 8 -o zb-h1.csv\n",
    .run = run,
};

typedef struct {
    char *schedule, *stages, *microbatches, *chunks, *output, *format_text;
} Options;

static void options_clear(Options *options)
{
    g_free(options->schedule);
    g_free(options->stages);
    g_free(options->microbatches);
    g_free(options->chunks);
    g_free(options->output);
    g_free(options->format_text);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static gboolean list_schedules(const Options *options, GError **error)
{
    static const PsColumn columns[] = {{"schedule", "schedule", FALSE},
                                       {"chunks", "chunks", FALSE},
                                       {"flush", "flush", FALSE},
                                       {"summary", "what it does", FALSE}};
    PsFormat format = PS_FORMAT_TABLE;
    if (options->format_text != NULL && !ps_format_parse(options->format_text, &format, error)) {
        return FALSE;
    }
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    g_autoptr(PsTable) table = ps_table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; ps_schedules[i] != NULL; i++) {
        const PsSchedule *schedule = ps_schedules[i];
        g_autofree char *chunks =
            schedule->min_chunks == schedule->max_chunks
                ? g_strdup_printf("%u", schedule->min_chunks)
                : g_strdup_printf("%u-%u", schedule->min_chunks, schedule->max_chunks);
        ps_table_cell(table, schedule->name, NULL);
        ps_table_cell(table, chunks, NULL);
        ps_table_cell(table, ps_schedule_flushes(schedule) ? "batch" : "none", NULL);
        ps_table_cell(table, schedule->summary, NULL);
    }
    ps_table_print(table, format, output);
    return ps_output_commit(output, error);
}

/* A count that a named schedule needs and a file brings along. */
static gboolean get_count(const char *option, const char *text, guint of_file, guint64 most,
                          guint *count, GError **error)
{
    guint64 value = of_file;
    if (text != NULL && of_file != 0) {
        ps_error(error, PS_ERROR_USAGE, "the file says the number of %s (expected no --%s)", option,
                 option);
        return FALSE;
    }
    if (text == NULL && of_file == 0) {
        ps_error(error, PS_ERROR_USAGE, "the number of %s is missing (expected --%s)", option,
                 option);
        return FALSE;
    }
    if (text != NULL && !ps_count_parse(text, 1, most, &value, error)) {
        g_prefix_error(error, "--%s: ", option);
        return FALSE;
    }
    *count = (guint)value;
    return TRUE;
}

static gboolean write_schedule(const Options *options, const PsSchedule *schedule, GError **error)
{
    guint n_stages, batch;
    guint64 chunks = schedule->min_chunks;
    if (!get_count("stages", options->stages, schedule->n_stages, 10000, &n_stages, error) ||
        !get_count("microbatches", options->microbatches, schedule->batch, 1000000, &batch,
                   error)) {
        return FALSE;
    }
    if (options->chunks != NULL && !ps_count_parse(options->chunks, 1, 1024, &chunks, error)) {
        g_prefix_error(error, "--chunks: ");
        return FALSE;
    }
    if (!ps_schedule_check_chunks(schedule, (guint)chunks, error)) {
        return FALSE;
    }
    double cells = (double)n_stages * batch * (double)chunks;
    if (cells > MOST_CELLS) {
        ps_error(error, PS_ERROR_USAGE,
                 "stages, microbatches and chunks make %.3g forwards (expected at most %d)", cells,
                 MOST_CELLS);
        return FALSE;
    }
    const char *path = options->output != NULL ? options->output : "-";
    g_autoptr(PsOutput) output = ps_output_open(path, error);
    if (output == NULL) {
        return FALSE;
    }
    ps_schedule_write(schedule, n_stages, (guint)chunks, batch, output);
    return ps_output_commit(output, error);
}

static gboolean check_use(const Options *options, GError **error)
{
    gboolean lists = options->schedule == NULL;
    const char *unused = !lists && options->format_text != NULL   ? "format"
                         : lists && options->stages != NULL       ? "stages"
                         : lists && options->microbatches != NULL ? "microbatches"
                         : lists && options->chunks != NULL       ? "chunks"
                         : lists && options->output != NULL       ? "output"
                                                                  : NULL;
    if (unused != NULL) {
        ps_error(error, PS_ERROR_USAGE, "--%s is of no use %s", unused,
                 lists ? "without a schedule (expected --schedule S as well)"
                       : "with a schedule (expected it without --schedule)");
    }
    return unused == NULL;
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_auto(Options) options = {0};
    const GOptionEntry entries[] = {
        {"schedule", 0, 0, G_OPTION_ARG_FILENAME, &options.schedule, "Its name, or a file",
         "NAME|FILE.csv"},
        {"stages", 0, 0, G_OPTION_ARG_STRING, &options.stages, "Ranks of the pipeline", "P"},
        {"microbatches", 0, 0, G_OPTION_ARG_STRING, &options.microbatches, "Microbatches per batch",
         "M"},
        {"chunks", 0, 0, G_OPTION_ARG_STRING, &options.chunks,
         "Parts of the model on each rank, for schedules that interleave (default 2)", "V"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
         "Write there (default standard output)", "FILE.csv"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &options.format_text,
         "Of the list of schedules (default table)", "table|csv|json"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {entries, NULL};
    g_auto(GStrv) arguments = NULL;
    if (!ps_options_parse(&ps_command_schedule, groups, argc, argv, 0, 0, &arguments, error)) {
        return FALSE;
    }
    if (!check_use(&options, error)) {
        return FALSE;
    }
    if (options.schedule == NULL) {
        return list_schedules(&options, error);
    }
    if (!ps_schedule_is_file(options.schedule)) {
        const PsSchedule *schedule = ps_schedule_find(options.schedule, error);
        return schedule != NULL && write_schedule(&options, schedule, error);
    }
    g_autoptr(PsSchedule) schedule = ps_schedule_read(options.schedule, error);
    return schedule != NULL && write_schedule(&options, schedule, error);
}
