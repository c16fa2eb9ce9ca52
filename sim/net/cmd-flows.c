#include "sim/base/csv.h"
#include "sim/cli/options.h"
#include "sim/net/flow-file.h"
#include "sim/net/transfers.h"

static gboolean run(int argc, char **argv, GError **error);

const PsCommand ps_command_flows = {
    .name = "flows",
    .usage = "--topology T FLOWS.csv [-o OUT.csv]",
    .summary = "say when messages arrive that share a cluster's links",
    .details =
        "Reads messages (columns start_s, source, destination, bytes; devices are ranks),\n"
        "sends each along its route, and writes when it has arrived (columns index, end_s;\n"
        "rows as in FLOWS.csv, counted from 0). All share the links at max-min fair rates;\n"
        "a message loads its links once its latency is over.\n\n"
        "Examples:\n"
        "  pipersim flows --topology dgx-a100 flows.csv -o ends.csv\n"
        "  pipersim flows --topology \"node:8 99GB/s all:64 25GB/s shared 80GiB\" flows.csv\n"
        "  pipersim flows --topology links:cluster.csv - <flows.csv\n",
    .run = run,
};

static gboolean write_ends(const char *path, const gint64 *ends_ps, guint n, GError **error)
{
    g_autoptr(PsOutput) output = ps_output_open(path, error);
    if (output == NULL) {
        return FALSE;
    }
    g_autoptr(PsCsvWriter) writer = ps_csv_writer_new(output);
    ps_csv_text(writer, "index");
    ps_csv_text(writer, "end_s");
    ps_csv_end_row(writer);
    for (guint i = 0; i < n; i++) {
        ps_csv_int(writer, i);
        ps_csv_time(writer, ends_ps[i]);
        ps_csv_end_row(writer);
    }
    ps_csv_flush(writer);
    return ps_output_commit(output, error);
}

static gboolean run(int argc, char **argv, GError **error)
{
    g_autofree char *topology_text = NULL, *out = NULL;
    const GOptionEntry entries[] = {
        {"topology", 0, 0, G_OPTION_ARG_STRING, &topology_text,
         ".topo file, name, one line or links:FILE.csv", "T"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &out,
         "Where to write (default -, standard output)", "OUT.csv"},
        G_OPTION_ENTRY_NULL,
    };
    const GOptionEntry *const groups[] = {entries, NULL};
    g_auto(GStrv) arguments = NULL;
    if (!ps_options_parse(&ps_command_flows, groups, argc, argv, 1, 1, &arguments, error)) {
        return FALSE;
    }
    if (topology_text == NULL) {
        ps_error(error, PS_ERROR_USAGE, "--topology is missing (expected %s)",
                 ps_command_flows.usage);
        return FALSE;
    }
    g_autoptr(PsTopology) topology = ps_topology_load(topology_text, error);
    if (topology == NULL) {
        return FALSE;
    }
    g_autoptr(GArray) rows = ps_flow_file_read(arguments[0], ps_topology_devices(topology), error);
    if (rows == NULL) {
        return FALSE;
    }
    g_autoptr(PsNetwork) network = ps_network_new(topology);
    g_autofree gint64 *ends_ps = g_new(gint64, MAX(rows->len, 1));
    return ps_transfers_run(network, rows, arguments[0], ends_ps, error) &&
           write_ends(out != NULL ? out : "-", ends_ps, rows->len, error);
}
