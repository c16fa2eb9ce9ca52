#include "sim/base/units.h"
#include "sim/topo/level-kind.h"
#include "sim/topo/topo-read.h"

static void append_level_text(const PsTopologyLevel *level, GString *text)
{
    gboolean shared = level->shared_bytes_per_s > 0;
    const PsKind *kind = ps_level_kind(level);
    g_autofree char *bandwidth =
        ps_double_format(shared ? level->shared_bytes_per_s : level->bandwidth_bytes_per_s);
    g_autofree char *latency = ps_double_format(level->latency_s);
    g_string_append_printf(text, "%s:%u %sB/s ", level->name, level->size, bandwidth);
    if (level->latency_s > 0) {
        g_string_append_printf(text, "%ss ", latency);
    }
    if (shared) {
        g_string_append(text, PS_WORD_SHARED " ");
    }
    if (level->kind != PS_LEVEL_SWITCH) {
        g_string_append(text, kind->name);
        for (guint i = 0; i < PS_MAX_KIND_KEYS && kind->keys[i].key != NULL; i++) {
            g_autofree char *value = kind->keys[i].format(level);
            g_string_append_printf(text, "%c%s", i == 0 ? '=' : ',', value);
        }
        g_string_append_c(text, ' ');
    }
}

char *ps_topology_text(const PsTopology *topology)
{
    if (topology->links != NULL) {
        return g_strconcat(PS_LINKS_PREFIX, topology->path, NULL);
    }
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < topology->n_levels; i++) {
        append_level_text(&topology->levels[i], text);
    }
    g_autofree char *memory = ps_double_format(topology->accelerator.memory_bytes);
    g_string_append_printf(text, "%sB", memory);
    return g_string_free(text, FALSE);
}
