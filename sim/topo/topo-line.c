/* The one-line form: "node:8 300GB/s 2us cluster:64 25GB/s 5us 80GiB". */
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/output.h"
#include "sim/base/units.h"
#include "sim/topo/topo-read.h"

#define FORM "NAME:SIZE BANDWIDTH [LATENCY] for each level from the inside out, then MEMORY"

/* Words not taken yet. */
typedef struct {
    const char *line;
    char **next;
} Words;

static gboolean refuse(const Words *words, const char *what, GError **error)
{
    ps_error(error, PS_ERROR_USAGE, "topology \"%s\": %s", words->line, what);
    return FALSE;
}

static gboolean take_quantity(Words *words, const char *meaning, PsDimension dimension,
                              double *value, GError **error)
{
    if (*words->next == NULL) {
        g_autofree char *missing =
            g_strdup_printf("the %s is missing (expected " FORM ")", meaning);
        return refuse(words, missing, error);
    }
    g_autoptr(GError) wrong = NULL;
    if (!ps_quantity_parse(dimension, *words->next, value, &wrong)) {
        g_autofree char *what = g_strdup_printf("%s %s", meaning, wrong->message);
        return refuse(words, what, error);
    }
    words->next++;
    return TRUE;
}

static gboolean take_level(Words *words, PsTopology *topology, GError **error)
{
    PsTopologyLevel *level = ps_topology_add_level(topology);
    const char *colon = strchr(*words->next, ':');
    level->name = g_strndup(*words->next, (gsize)(colon - *words->next));
    guint64 size = 0;
    g_autoptr(GError) wrong = NULL;
    if (!ps_count_parse(colon + 1, 1, PS_TOPOLOGY_MAX_DEVICES, &size, &wrong)) {
        g_autofree char *what = g_strdup_printf("size %s", wrong->message);
        return refuse(words, what, error);
    }
    level->size = (guint)size;
    words->next++;
    if (!take_quantity(words, "bandwidth", PS_BYTES_PER_S, &level->bandwidth_bytes_per_s, error)) {
        return FALSE;
    }
    /* The last word is the memory; a word before it that begins no level is a latency. */
    gboolean latency =
        words->next[0] != NULL && words->next[1] != NULL && strchr(words->next[0], ':') == NULL;
    if (latency && !take_quantity(words, "latency", PS_SECONDS, &level->latency_s, error)) {
        return FALSE;
    }
    const char *key;
    g_autofree char *fault = ps_topology_level_fault(topology, topology->n_levels - 1, &key);
    g_autofree char *what =
        g_strdup_printf("%s%s%s", key, *key != '\0' ? ": " : "", fault != NULL ? fault : "");
    return fault == NULL || refuse(words, what, error);
}

static gboolean take_memory(Words *words, PsAccelerator *accelerator, GError **error)
{
    if (!take_quantity(words, "memory", PS_BYTES, &accelerator->memory_bytes, error)) {
        return FALSE;
    }
    accelerator->name = g_strdup("accelerator");
    const char *key;
    g_autofree char *fault = ps_topology_accelerator_fault(accelerator, &key);
    if (fault == NULL && *words->next == NULL) {
        return TRUE;
    }
    g_autofree char *what = fault != NULL ? g_strdup_printf("%s: %s", key, fault)
                                          : g_strdup_printf("\"%s\" follows the memory (expected "
                                                            "the end)",
                                                            *words->next);
    return refuse(words, what, error);
}

PsTopology *ps_topology_parse_line(const char *line, GError **error)
{
    g_auto(GStrv) split = g_strsplit_set(line, " \t\n", -1);
    g_autofree char **full = g_new0(char *, g_strv_length(split) + 1);
    gsize n = 0;
    for (gsize i = 0; split[i] != NULL; i++) {
        if (*split[i] != '\0') {
            full[n++] = split[i];
        }
    }
    g_autoptr(PsTopology) topology = g_new0(PsTopology, 1);
    topology->name = g_strdup(line);
    topology->path = g_strdup(line);
    topology->sha256 = ps_sha256(line, strlen(line));
    Words words = {line, full};
    while (*words.next != NULL && strchr(*words.next, ':') != NULL) {
        if (!take_level(&words, topology, error)) {
            return NULL;
        }
    }
    if (topology->n_levels == 0) {
        refuse(&words, "no level (expected " FORM ")", error);
        return NULL;
    }
    return take_memory(&words, &topology->accelerator, error) ? g_steal_pointer(&topology) : NULL;
}
