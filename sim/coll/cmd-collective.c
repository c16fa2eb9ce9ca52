#include <math.h>
#include <string.h>

#include "sim/base/table.h"
#include "sim/base/units.h"
#include "sim/cli/options.h"
#include "sim/coll/collective.h"
#include "sim/coll/rank-list.h"

#define MOST_BYTES 1e15

static gboolean run(int argc, char **argv, GError **error);

const PsCommand ps_command_collective = {
    .name = "collective",
    .usage = "--topology T --kind KIND --ranks LIST --bytes SIZE",
    .summary = "say what a cluster's links give a collective",
    .details =
        "Prints, for each size, the algorithm and protocol that are fastest there (or those\n"
        "asked for), the time, and the bandwidths that nccl-tests print: that of the\n"
        "algorithm is bytes / time, that of the bus is what each rank must send at least /\n"
        "time. Bytes are those of one rank's larger buffer. The links carry nothing else.\n"
        "Sizes double from the first to the last.\n\n"
        "Kinds and their algorithms:\n"
        "  all-reduce       ring, tree (double binary), halving-doubling, hierarchical\n"
        "                   (rings inside the nodes, then across)\n"
        "  reduce-scatter   ring, halving-doubling\n"
        "  all-gather       ring, halving-doubling\n"
        "  all-to-all       pairwise (up to 4096 ranks), bruck\n"
        "  broadcast        ring, tree; from the first rank\n\n"
        "Examples:\n"
        "  pipersim collective --topology a100-node --kind all-reduce --ranks 0-7 \\\n"
        "      --bytes 1MiB..1GiB\n"
        "  pipersim collective --topology \"node:8 300GB/s cluster:64 25GB/s 5us 80GiB\" \\\n"
        "      --kind all-to-all --ranks 0-63 --bytes 64MiB --format json\n"
        "  pipersim collective --topology links:cluster.csv --kind broadcast \\\n"
        "      --ranks 0,4,8 --bytes 1GiB --algorithm tree\n",
    .run = run,
};

typedef struct {
    char *topology, *kind, *ranks, *bytes, *algorithm, *format;
} Options;

static void options_clear(Options *options)
{
    g_free(options->topology);
    g_free(options->kind);
    g_free(options->ranks);
    g_free(options->bytes);
    g_free(options->algorithm);
    g_free(options->format);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static gboolean require(const char *option, const char *value, GError **error)
{
    if (value == NULL) {
        ps_error(error, PS_ERROR_USAGE, "--%s is missing (expected %s)", option,
                 ps_command_collective.usage);
    }
    return value != NULL;
}

static gboolean parse_size(const char *text, double *bytes, GError **error)
{
    if (!ps_quantity_parse(PS_BYTES, text, bytes, error)) {
        g_prefix_error(error, "--bytes: ");
        return FALSE;
    }
    if (*bytes < 1 || *bytes > MOST_BYTES) {
        ps_error(error, PS_ERROR_USAGE, "--bytes: \"%s\": out of range (expected 1 B to 1000 TB)",
                 text);
        return FALSE;
    }
    return TRUE;
}

/* "1MiB..1GiB", or one size. */
static gboolean parse_sizes(const char *text, double *first_bytes, double *last_bytes,
                            GError **error)
{
    const char *dots = strstr(text, "..");
    g_autofree char *first = dots != NULL ? g_strndup(text, (gsize)(dots - text)) : g_strdup(text);
    if (!parse_size(first, first_bytes, error) ||
        !parse_size(dots != NULL ? dots + 2 : first, last_bytes, error)) {
        return FALSE;
    }
    if (*last_bytes < *first_bytes) {
        ps_error(error, PS_ERROR_USAGE, "--bytes: \"%s\": runs backwards (expected LEAST..MOST)",
                 text);
        return FALSE;
    }
    return TRUE;
}

static const PsColumn columns[] = {
    {"bytes", "bytes", TRUE},
    {"algorithm", "algorithm", FALSE},
    {"protocol", "protocol", FALSE},
    {"time_s", "time", TRUE},
    {"algorithm_bandwidth_bytes_per_s", "algorithm GB/s", TRUE},
    {"bus_bandwidth_bytes_per_s", "bus GB/s", TRUE},
};

static void add_row(PsTable *table, const PsCollectiveCall *call, const PsCollective *collective)
{
    const PsProtocol *protocol = collective->protocol;
    double rate_bytes_per_s = call->bytes / collective->time_s;
    double bus_bytes_per_s = rate_bytes_per_s * ps_collective_bus_factor(call->kind, call->n_ranks);
    g_autofree char *bytes = ps_double_format(call->bytes);
    g_autofree char *time = ps_quantity_format(PS_SECONDS, collective->time_s);
    g_autofree char *time_s = ps_double_format(collective->time_s);
    ps_table_cell(table, bytes, bytes);
    ps_table_cell(table, ps_collective_algorithm_name(collective), NULL);
    ps_table_cell(table, protocol != NULL ? protocol->name : "",
                  protocol != NULL ? protocol->name : "");
    ps_table_cell(table, time, time_s);
    g_autofree char *rate = ps_double_format(rate_bytes_per_s);
    g_autofree char *rate_shown = g_strdup_printf("%.2f", rate_bytes_per_s / 1e9);
    ps_table_cell(table, rate_shown, rate);
    g_autofree char *bus = ps_double_format(bus_bytes_per_s);
    g_autofree char *bus_shown = g_strdup_printf("%.2f", bus_bytes_per_s / 1e9);
    ps_table_cell(table, bus_shown, bus);
}

static gboolean fill(PsTable *table, PsNetwork *network, PsCollectiveCall call, double last_bytes,
                     const char *algorithm, GError **error)
{
    guint n_sizes = 1 + (guint)log2(last_bytes / call.bytes);
    g_autoptr(PsProgress) progress =
        ps_progress_new("collective", (guint64)n_sizes * PS_COLLECTIVE_STEPS);
    call.progress = progress;
    for (; call.bytes <= last_bytes; call.bytes *= 2) {
        g_autoptr(PsCollective) collective = ps_collective_new(network, &call, algorithm, error);
        if (collective == NULL) {
            return FALSE;
        }
        add_row(table, &call, collective);
    }
    return TRUE;
}

static gboolean print(const Options *options, PsFormat format, GError **error)
{
    PsCollectiveCall call = {0};
    double last_bytes;
    if (!ps_collective_kind_parse(options->kind, &call.kind, error)) {
        g_prefix_error(error, "--kind: ");
        return FALSE;
    }
    g_autoptr(PsTopology) topology = ps_topology_load(options->topology, error);
    if (topology == NULL || !parse_sizes(options->bytes, &call.bytes, &last_bytes, error)) {
        return FALSE;
    }
    g_autoptr(GArray) ranks =
        ps_rank_list_parse(options->ranks, ps_topology_devices(topology), error);
    if (ranks == NULL) {
        g_prefix_error(error, "--ranks: ");
        return FALSE;
    }
    if (ranks->len < 2) {
        ps_error(error, PS_ERROR_USAGE, "--ranks: one rank (expected two or more)");
        return FALSE;
    }
    call.ranks = (const guint *)(gpointer)ranks->data;
    call.n_ranks = ranks->len;
    g_autoptr(PsNetwork) network = ps_network_new(topology);
    g_autoptr(PsTable) table = ps_table_new(columns, G_N_ELEMENTS(columns));
    const char *algorithm = options->algorithm != NULL ? options->algorithm : PS_AUTO;
    if (!fill(table, network, call, last_bytes, algorithm, error)) {
        return FALSE;
    }
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    ps_table_print(table, format, output);
    return ps_output_commit(output, error);
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_auto(Options) options = {0};
    const GOptionEntry entries[] = {
        {"topology", 0, 0, G_OPTION_ARG_STRING, &options.topology,
         ".topo file, name, one line or links:FILE.csv", "T"},
        {"kind", 0, 0, G_OPTION_ARG_STRING, &options.kind, "Which collective", "KIND"},
        {"ranks", 0, 0, G_OPTION_ARG_STRING, &options.ranks, "Devices, such as 0-7 or 0,8,16",
         "LIST"},
        {"bytes", 0, 0, G_OPTION_ARG_STRING, &options.bytes, "One size, or a range by doubling",
         "SIZE[..SIZE]"},
        {"algorithm", 0, 0, G_OPTION_ARG_STRING, &options.algorithm,
         "Which algorithm (default auto: the fastest)", "A"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &options.format, "What to print (default table)",
         "table|csv|json"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {entries, NULL};
    g_auto(GStrv) arguments = NULL;
    PsFormat format = PS_FORMAT_TABLE;
    if (!ps_options_parse(&ps_command_collective, groups, argc, argv, 0, 0, &arguments, error) ||
        !require("topology", options.topology, error) || !require("kind", options.kind, error) ||
        !require("ranks", options.ranks, error) || !require("bytes", options.bytes, error) ||
        (options.format != NULL && !ps_format_parse(options.format, &format, error))) {
        return FALSE;
    }
    return print(&options, format, error);
}
