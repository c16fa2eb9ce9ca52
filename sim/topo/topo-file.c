/* .topo key files. */
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/keyfile.h"
#include "sim/base/output.h"
#include "sim/base/suggest.h"
#include "sim/topo/level-kind.h"
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

/* A key that picks one of the NULL-terminated words; the first where the file lacks it. */
static gboolean read_word(PsKeyFile *file, const char *group, const char *key,
                          const char *const *words, guint *word, GError **error)
{
    *word = 0;
    if (!ps_key_file_has(file, group, key)) {
        return TRUE;
    }
    const char *text = ps_key_file_string(file, group, key, error);
    for (guint i = 0; text != NULL && words[i] != NULL; i++) {
        if (g_str_equal(text, words[i])) {
            *word = i;
            return TRUE;
        }
    }
    if (text != NULL) {
        g_autofree char *suggestion = ps_suggest_text(text, words);
        ps_key_file_error(file, group, key, error, "unknown word \"%s\"%s", text, suggestion);
    }
    return FALSE;
}

static gboolean read_kind(PsKeyFile *file, const char *group, PsTopologyLevel *level,
                          GError **error)
{
    guint kind;
    if (!read_word(file, group, "kind", ps_level_kind_names, &kind, error)) {
        return FALSE;
    }
    level->kind = kind;
    const PsKindKey *keys = ps_level_kind(level)->keys;
    for (guint i = 0; i < PS_MAX_KIND_KEYS && keys[i].key != NULL; i++) {
        const char *text = ps_key_file_string(file, group, keys[i].key, error);
        g_autofree char *fault = text != NULL ? keys[i].parse(level, text) : NULL;
        if (fault != NULL) {
            ps_key_file_error(file, group, keys[i].key, error, "%s", fault);
        }
        if (text == NULL || fault != NULL) {
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean read_level(PsKeyFile *file, const char *group, PsTopology *topology, GError **error)
{
    static const char *const no_or_yes[] = {"no", "yes", NULL};
    PsTopologyLevel *level = ps_topology_add_level(topology);
    level->name = g_strstrip(g_strdup(group + strlen(LEVEL_PREFIX)));
    guint64 size = 0;
    guint shared = 0;
    double bandwidth_bytes_per_s;
    if (!ps_key_file_count(file, group, "size", 1, PS_TOPOLOGY_MAX_DEVICES, &size, error) ||
        !ps_key_file_quantity(file, group, "bandwidth", PS_BYTES_PER_S, &bandwidth_bytes_per_s,
                              error) ||
        !ps_key_file_quantity(file, group, "latency", PS_SECONDS, &level->latency_s, error) ||
        !read_word(file, group, PS_WORD_SHARED, no_or_yes, &shared, error) ||
        !read_kind(file, group, level, error)) {
        return FALSE;
    }
    level->size = (guint)size;
    ps_topology_set_bandwidth(topology, bandwidth_bytes_per_s, shared == 1);
    const char *key;
    g_autofree char *fault = ps_topology_level_fault(topology, topology->n_levels - 1, &key);
    if (fault != NULL) {
        gboolean at_key = *key != '\0' && ps_key_file_has(file, group, key);
        ps_key_file_error(file, group, at_key ? key : NULL, error, "%s", fault);
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
    return ps_topology_read_library(file, &topology->library, error) &&
           ps_key_file_all_used(file, error);
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
