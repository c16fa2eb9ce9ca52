#include "sim/topo/topology.h"

#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/topo/topo-read.h"

/* Beyond these a number is a slip; within them no sum or quotient overflows. */
#define MAX_BYTES 1e18
#define MAX_FLOP_PER_S 1e24
#define MAX_LATENCY_S 1e3

const char *const ps_precision_names[PS_N_PRECISIONS + 1] = {"fp32", "tf32", "fp16",
                                                             "bf16", "fp8",  NULL};
const char *const ps_topology_peak_keys[PS_N_PRECISIONS] = {"peak_fp32", "peak_tf32", "peak_fp16",
                                                            "peak_bf16", "peak_fp8"};

void ps_topology_free(PsTopology *topology)
{
    if (topology == NULL) {
        return;
    }
    for (guint i = 0; i < topology->n_levels; i++) {
        g_free(topology->levels[i].name);
    }
    g_free(topology->levels);
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

/* ---- what must hold ---------------------------------------------------------------------------
 */

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
        return g_strdup_printf("%u devices around groups of %u (expected a larger multiple of %u)",
                               size, inner->size, inner->size);
    }
    return NULL;
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
    if (fault == NULL && !in_range(level->bandwidth_bytes_per_s, 1, MAX_BYTES)) {
        *key = "bandwidth";
        fault = g_strdup("out of range (expected 1 B/s to 1e18 B/s)");
    }
    if (fault == NULL && !in_range(level->latency_s, 0, MAX_LATENCY_S)) {
        *key = "latency";
        fault = g_strdup("out of range (expected 0 s to 1000 s)");
    }
    return fault;
}

char *ps_topology_accelerator_fault(const PsAccelerator *accelerator, const char **key)
{
    if (accelerator->name == NULL || *accelerator->name == '\0') {
        *key = "name";
        return g_strdup("empty (expected the accelerator's name)");
    }
    if (!in_range(accelerator->memory_bytes, 1, MAX_BYTES)) {
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

/* ---- asking -----------------------------------------------------------------------------------
 */

char *ps_topology_text(const PsTopology *topology)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < topology->n_levels; i++) {
        const PsTopologyLevel *level = &topology->levels[i];
        g_autofree char *bandwidth = ps_double_format(level->bandwidth_bytes_per_s);
        g_autofree char *latency = ps_double_format(level->latency_s);
        g_string_append_printf(text, "%s:%u %sB/s ", level->name, level->size, bandwidth);
        if (level->latency_s > 0) {
            g_string_append_printf(text, "%ss ", latency);
        }
    }
    g_autofree char *memory = ps_double_format(topology->accelerator.memory_bytes);
    g_string_append_printf(text, "%sB", memory);
    return g_string_free(text, FALSE);
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
    ps_error(error, PS_ERROR_USAGE, "topology %s has %u devices (expected at least %u)",
             topology->name, ps_topology_devices(topology), n_devices);
    return NULL;
}
