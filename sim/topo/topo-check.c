/* What must hold of a topology. */
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/topo/level-kind.h"
#include "sim/topo/topo-read.h"

#define MAX_FLOP_PER_S 1e24

static gboolean in_range(double value, double min, double max)
{
    return value >= min && value <= max; /* not so for NAN */
}

static char *level_name_fault(const PsTopology *topology, guint index)
{
    const char *name = topology->levels[index].name;
    if (name == NULL || *name == '\0') {
        return g_strdup("a level has no name (expected one)");
    }
    for (const char *c = name; *c != '\0'; c++) {
        if (!g_ascii_isalnum(*c) && strchr("-_.", *c) == NULL) {
            return g_strdup("a level's name holds a strange character (expected letters, digits, "
                            "-, _ and .)");
        }
    }
    if (g_str_equal(name, "links")) {
        return g_strdup("a level is named links (expected another name: links:FILE is a list)");
    }
    for (guint i = 0; i < index; i++) {
        if (g_str_equal(topology->levels[i].name, name)) {
            return g_strdup_printf("two levels are named %s (expected distinct names)", name);
        }
    }
    return NULL;
}

static char *level_size_fault(const PsTopology *topology, guint index)
{
    guint size = topology->levels[index].size;
    if (size < 1 || size > PS_TOPOLOGY_MAX_DEVICES) {
        return g_strdup_printf("%u devices (expected 1 to %u)", size,
                               (guint)PS_TOPOLOGY_MAX_DEVICES);
    }
    const PsTopologyLevel *inner = index > 0 ? &topology->levels[index - 1] : NULL;
    if (inner != NULL && (size <= inner->size || size % inner->size != 0)) {
        g_autofree char *devices = ps_counted(size, "device");
        return g_strdup_printf("%s around groups of %u (expected a larger multiple of %u)", devices,
                               inner->size, inner->size);
    }
    return NULL;
}

/* Whether the level's adapters can be as they are said to be. */
static char *level_shared_fault(const PsTopology *topology, guint index)
{
    const PsTopologyLevel *level = &topology->levels[index];
    if (level->shared_bytes_per_s == 0) {
        return NULL;
    }
    if (index == 0) {
        return g_strdup("at the innermost level (expected a level inside whose devices share)");
    }
    if (ps_level_kind(level - 1)->up == NULL) {
        return g_strdup_printf("%s, a %s, has no switch to share an adapter (expected no)",
                               level[-1].name, ps_level_kind(level - 1)->name);
    }
    return NULL;
}

/* Faults of the whole level: the keys must be sound by themselves. */
static char *level_kind_fault(const PsTopology *topology, guint index, const char **key)
{
    const PsTopologyLevel *level = &topology->levels[index];
    *key = "shared";
    char *fault = level_shared_fault(topology, index);
    const PsKind *kind = ps_level_kind(level);
    if (fault == NULL && kind->fault != NULL) {
        PsPorts ports = ps_topology_ports(topology, index);
        fault = kind->fault(&ports, key);
    }
    return fault;
}

char *ps_topology_level_fault(const PsTopology *topology, guint index, const char **key)
{
    const PsTopologyLevel *level = &topology->levels[index];
    *key = "";
    char *fault = level_name_fault(topology, index);
    if (fault == NULL) {
        *key = "size";
        fault = level_size_fault(topology, index);
    }
    double bandwidth_bytes_per_s =
        level->shared_bytes_per_s != 0 ? level->shared_bytes_per_s : level->bandwidth_bytes_per_s;
    if (fault == NULL && !ps_topology_bandwidth_fits(bandwidth_bytes_per_s)) {
        *key = "bandwidth";
        fault = g_strdup(PS_BANDWIDTH_FAULT);
    }
    if (fault == NULL && !ps_topology_latency_fits(level->latency_s)) {
        *key = "latency";
        fault = g_strdup(PS_LATENCY_FAULT);
    }
    return fault != NULL ? fault : level_kind_fault(topology, index, key);
}

char *ps_topology_accelerator_fault(const PsAccelerator *accelerator, const char **key)
{
    if (accelerator->name == NULL || *accelerator->name == '\0') {
        *key = "name";
        return g_strdup("empty (expected the accelerator's name)");
    }
    if (!in_range(accelerator->memory_bytes, 1, PS_MAX_BYTES)) {
        *key = "memory";
        return g_strdup("out of range (expected 1 B to 1e18 B)");
    }
    for (guint i = 0; i < PS_N_PRECISIONS; i++) {
        if (!in_range(accelerator->peak_flop_per_s[i], 0, MAX_FLOP_PER_S)) {
            *key = ps_topology_peak_keys[i];
            return g_strdup("out of range (expected up to 1e12 TFLOP/s)");
        }
    }
    return NULL;
}

gboolean ps_topology_check(const PsTopology *topology, GError **error)
{
    const char *key;
    g_autofree char *fault = ps_topology_accelerator_fault(&topology->accelerator, &key);
    if (fault != NULL) {
        ps_error(error, PS_ERROR_INPUT, "accelerator: %s: %s", key, fault);
        return FALSE;
    }
    if (topology->n_levels == 0) {
        ps_error(error, PS_ERROR_INPUT, "no level (expected at least one)");
        return FALSE;
    }
    for (guint i = 0; i < topology->n_levels; i++) {
        g_autofree char *level_fault = ps_topology_level_fault(topology, i, &key);
        if (level_fault != NULL) {
            ps_error(error, PS_ERROR_INPUT, "level %u: %s%s%s", i, key, *key != '\0' ? ": " : "",
                     level_fault);
            return FALSE;
        }
    }
    return TRUE;
}
