/* .topo key files. */
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/keyfile.h"
#include "sim/base/output.h"
#include "sim/topo/topo-read.h"

#define LEVEL_PREFIX "level "

static gboolean read_accelerator(PsKeyFile *file, PsAccelerator *accelerator, GError **error)
{
    static const char group[] = "accelerator";
    const char *name = ps_key_file_string(file, group, "name", error);
    if (name == NULL ||
        !ps_key_file_quantity(file, group, "memory", PS_BYTES, &accelerator->memory_bytes, error)) {
        return FALSE;
    }
    accelerator->name = g_strdup(name);
    for (guint i = 0; i < PS_N_PRECISIONS; i++) {
        const char *key = ps_topology_peak_keys[i];
        if (ps_key_file_has(file, group, key) &&
            !ps_key_file_quantity(file, group, key, PS_FLOP_PER_S, &accelerator->peak_flop_per_s[i],
                                  error)) {
            return FALSE;
        }
    }
    const char *key;
    g_autofree char *fault = ps_topology_accelerator_fault(accelerator, &key);
    if (fault != NULL) {
        ps_key_file_error(file, group, key, error, "%s", fault);
    }
    return fault == NULL;
}

static gboolean read_level(PsKeyFile *file, const char *group, PsTopology *topology, GError **error)
{
    PsTopologyLevel *level = ps_topology_add_level(topology);
    level->name = g_strstrip(g_strdup(group + strlen(LEVEL_PREFIX)));
    guint64 size = 0;
    if (!ps_key_file_count(file, group, "size", 1, PS_TOPOLOGY_MAX_DEVICES, &size, error) ||
        !ps_key_file_quantity(file, group, "bandwidth", PS_BYTES_PER_S,
                              &level->bandwidth_bytes_per_s, error) ||
        !ps_key_file_quantity(file, group, "latency", PS_SECONDS, &level->latency_s, error)) {
        return FALSE;
    }
    level->size = (guint)size;
    const char *key;
    g_autofree char *fault = ps_topology_level_fault(topology, topology->n_levels - 1, &key);
    if (fault != NULL) {
        ps_key_file_error(file, group, *key != '\0' ? key : NULL, error, "%s", fault);
    }
    return fault == NULL;
}

static gboolean read_groups(PsKeyFile *file, PsTopology *topology, GError **error)
{
    if (!read_accelerator(file, &topology->accelerator, error)) {
        return FALSE;
    }
    const char *const *groups = ps_key_file_groups(file);
    for (guint i = 0; groups[i] != NULL; i++) {
        if (g_str_has_prefix(groups[i], LEVEL_PREFIX) &&
            !read_level(file, groups[i], topology, error)) {
            return FALSE;
        }
    }
    return ps_key_file_all_used(file, error);
}

PsTopology *ps_topology_read_file(const char *path, GError **error)
{
    gsize length = 0;
    g_autofree char *text = ps_read_file(path, &length, error);
    g_autoptr(PsKeyFile) file = text != NULL ? ps_key_file_parse(path, text, length, error) : NULL;
    if (file == NULL) {
        return NULL;
    }
    g_autoptr(PsTopology) topology = g_new0(PsTopology, 1);
    topology->path = g_strdup(path);
    topology->sha256 = ps_sha256(text, length);
    topology->name = g_path_get_basename(path);
    if (g_str_has_suffix(topology->name, ".topo")) {
        topology->name[strlen(topology->name) - strlen(".topo")] = '\0';
    }
    if (!read_groups(file, topology, error)) {
        return NULL;
    }
    if (topology->n_levels == 0) {
        ps_error_at(error, path, 0, "no level (expected at least one group [level NAME])");
        return NULL;
    }
    return g_steal_pointer(&topology);
}
