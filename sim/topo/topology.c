#include "sim/topo/topology.h"

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/topo/topo-read.h"

const char *const ps_precision_names[PS_N_PRECISIONS + 1] = {"fp32", "tf32", "fp16",
                                                             "bf16", "fp8",  NULL};
const char *const ps_topology_peak_keys[PS_N_PRECISIONS] = {"peak_fp32", "peak_tf32", "peak_fp16",
                                                            "peak_bf16", "peak_fp8"};

void ps_library_clear(PsLibrary *library)
{
    for (guint i = 0; i < library->n_protocols; i++) {
        g_free(library->protocols[i].name);
    }
    g_free(library->protocols);
    g_free(library->starts);
    g_strfreev(library->algorithms);
}

void ps_link_list_free(PsLinkList *list)
{
    if (list != NULL) {
        g_strfreev(list->vertices);
        g_free(list->devices);
        g_free(list->links);
        g_free(list);
    }
}

void ps_topology_free(PsTopology *topology)
{
    if (topology == NULL) {
        return;
    }
    for (guint i = 0; i < topology->n_levels; i++) {
        g_free(topology->levels[i].name);
    }
    g_free(topology->levels);
    ps_link_list_free(topology->links);
    ps_library_clear(&topology->library);
    g_free(topology->accelerator.name);
    g_free(topology->name);
    g_free(topology->path);
    g_free(topology->sha256);
    g_free(topology);
}

PsTopologyLevel *ps_topology_add_level(PsTopology *topology)
{
    guint n = ++topology->n_levels;
    topology->levels = g_renew(PsTopologyLevel, topology->levels, n);
    topology->levels[n - 1] = (PsTopologyLevel){0};
    return &topology->levels[n - 1];
}

void ps_topology_set_bandwidth(PsTopology *topology, double bandwidth_bytes_per_s, gboolean shared)
{
    PsTopologyLevel *level = &topology->levels[topology->n_levels - 1];
    guint members = topology->n_levels > 1 ? level[-1].size : 1;
    level->shared_bytes_per_s = shared ? bandwidth_bytes_per_s : 0;
    level->bandwidth_bytes_per_s = shared ? bandwidth_bytes_per_s / members : bandwidth_bytes_per_s;
}

gboolean ps_topology_bandwidth_fits(double bandwidth_bytes_per_s)
{
    return bandwidth_bytes_per_s >= 1 && bandwidth_bytes_per_s <= PS_MAX_BYTES;
}

gboolean ps_topology_latency_fits(double latency_s)
{
    return latency_s >= 0 && latency_s <= PS_MAX_LATENCY_S;
}

guint ps_topology_devices(const PsTopology *topology)
{
    return topology->levels[topology->n_levels - 1].size;
}

const PsTopologyLevel *ps_topology_span_level(const PsTopology *topology, guint n_devices,
                                              GError **error)
{
    for (guint i = 0; i < topology->n_levels; i++) {
        if (topology->levels[i].size >= n_devices) {
            return &topology->levels[i];
        }
    }
    g_autofree char *devices = ps_counted(ps_topology_devices(topology), "device");
    ps_error(error, PS_ERROR_USAGE, "topology %s has %s (expected at least %u)", topology->name,
             devices, n_devices);
    return NULL;
}
