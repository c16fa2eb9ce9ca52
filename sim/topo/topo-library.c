/* What a .topo file says about the library that runs collectives. */
#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/topo/topo-read.h"

#define GROUP "collectives"
#define PROTOCOL_PREFIX "protocol "
#define START_FORM "RANKS: TIME pairs such as \"2: 40 us, 8: 60 us\", ranks ascending"

/* Values of a list between commas, without blanks around them. Caller frees with g_strfreev. */
static char **split_list(const char *text)
{
    char **values = g_strsplit(text, ",", -1);
    for (char **value = values; *value != NULL; value++) {
        g_strstrip(*value);
    }
    return values;
}

static gboolean parse_start(const char *text, guint after, PsStart *start)
{
    g_auto(GStrv) parts = g_strsplit(text, ":", 2);
    guint64 n_ranks;
    if (g_strv_length(parts) != 2 ||
        !ps_count_parse(g_strstrip(parts[0]), after + 1, PS_TOPOLOGY_MAX_DEVICES, &n_ranks, NULL) ||
        !ps_quantity_parse(PS_SECONDS, g_strstrip(parts[1]), &start->start_s, NULL)) {
        return FALSE;
    }
    start->n_ranks = (guint)n_ranks;
    return ps_topology_latency_fits(start->start_s);
}

static gboolean read_starts(PsKeyFile *file, PsLibrary *library, GError **error)
{
    const char *text = ps_key_file_string(file, GROUP, "start", error);
    if (text == NULL) {
        return FALSE;
    }
    g_auto(GStrv) pairs = split_list(text);
    library->starts = g_new0(PsStart, MAX(g_strv_length(pairs), 1));
    for (char **pair = pairs; *pair != NULL; pair++) {
        guint n = library->n_starts++;
        guint after = n > 0 ? library->starts[n - 1].n_ranks : 1;
        if (!parse_start(*pair, after, &library->starts[n])) {
            ps_key_file_error(file, GROUP, "start", error, "\"%s\" (expected " START_FORM ")",
                              *pair);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean read_collectives(PsKeyFile *file, PsLibrary *library, GError **error)
{
    if (ps_key_file_has(file, GROUP, "start") && !read_starts(file, library, error)) {
        return FALSE;
    }
    if (ps_key_file_has(file, GROUP, "algorithms")) {
        const char *text = ps_key_file_string(file, GROUP, "algorithms", error);
        library->algorithms = text != NULL ? split_list(text) : NULL;
        library->algorithms_line = ps_key_file_line(file, GROUP, "algorithms");
        return text != NULL;
    }
    return TRUE;
}

static gboolean read_protocol(PsKeyFile *file, const char *group, PsLibrary *library,
                              GError **error)
{
    library->protocols = g_renew(PsProtocol, library->protocols, library->n_protocols + 1);
    PsProtocol *protocol = &library->protocols[library->n_protocols++];
    *protocol = (PsProtocol){.name = g_strstrip(g_strdup(group + strlen(PROTOCOL_PREFIX)))};
    if (!ps_key_file_quantity(file, group, "latency", PS_SECONDS, &protocol->latency_s, error) ||
        !ps_key_file_quantity(file, group, "bandwidth", PS_BYTES_PER_S,
                              &protocol->bandwidth_bytes_per_s, error) ||
        !ps_key_file_quantity(file, group, "grain", PS_BYTES, &protocol->grain_bytes, error)) {
        return FALSE;
    }
    if (!ps_topology_latency_fits(protocol->latency_s)) {
        ps_key_file_error(file, group, "latency", error, PS_LATENCY_FAULT);
        return FALSE;
    }
    if (!ps_topology_bandwidth_fits(protocol->bandwidth_bytes_per_s)) {
        ps_key_file_error(file, group, "bandwidth", error, PS_BANDWIDTH_FAULT);
        return FALSE;
    }
    if (protocol->grain_bytes > PS_MAX_BYTES) {
        ps_key_file_error(file, group, "grain", error, "out of range (expected 0 B to 1e18 B)");
        return FALSE;
    }
    return TRUE;
}

gboolean ps_topology_read_library(PsKeyFile *file, PsLibrary *library, GError **error)
{
    const char *const *groups = ps_key_file_groups(file);
    for (guint i = 0; groups[i] != NULL; i++) {
        gboolean sound = TRUE;
        if (g_str_equal(groups[i], GROUP)) {
            sound = read_collectives(file, library, error);
        } else if (g_str_has_prefix(groups[i], PROTOCOL_PREFIX)) {
            sound = read_protocol(file, groups[i], library, error);
        }
        if (!sound) {
            return FALSE;
        }
    }
    return TRUE;
}
