/* The one-line form: "node:8 300GB/s 2us cluster:64 25GB/s 5us shared 80GiB". */
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/output.h"
#include "sim/base/suggest.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/topo/level-kind.h"
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

static gboolean begins_level(const char *word)
{
    return strchr(word, ':') != NULL && strchr(word, '=') == NULL;
}

/* Values of the kind's keys, in their order. NULL, or what is wrong (caller frees). */
static char *parse_kind_values(PsTopologyLevel *level, const char *text)
{
    const PsKind *kind = ps_level_kind(level);
    guint n_keys = 0;
    while (n_keys < PS_MAX_KIND_KEYS && kind->keys[n_keys].key != NULL) {
        n_keys++;
    }
    g_auto(GStrv) values = g_strsplit(text, ",", -1);
    guint n_values = text[0] != '\0' ? g_strv_length(values) : 0;
    if (n_values != n_keys) {
        g_autofree char *given = ps_counted(n_values, "value");
        return g_strdup_printf("%s with %s (expected %u%s%s)", kind->name, given, n_keys,
                               n_keys > 0 ? " after =: " : "",
                               n_keys == 2   ? "LEAF,OVERSUBSCRIPTION"
                               : n_keys == 1 ? "DIMENSIONS"
                                             : "");
    }
    for (guint i = 0; i < n_keys; i++) {
        g_autofree char *fault = kind->keys[i].parse(level, values[i]);
        if (fault != NULL) {
            return g_strdup_printf("%s %s", kind->keys[i].key, fault);
        }
    }
    return NULL;
}

/* What the words of a level have said so far. */
typedef struct {
    gboolean shared;
    const char *kind; /* the word; NULL: none */
} LevelWords;

/* "shared", "ring", "torus=4x4": NULL, or what is wrong (caller frees). */
static char *parse_word(PsTopologyLevel *level, const char *word, LevelWords *said)
{
    if (g_str_equal(word, PS_WORD_SHARED)) {
        gboolean again = said->shared;
        said->shared = TRUE;
        return again ? g_strdup_printf("\"%s\" comes twice (expected once)", word) : NULL;
    }
    gsize name_length = strcspn(word, "=");
    g_autofree char *name = g_strndup(word, name_length);
    for (guint i = 0; ps_level_kind_names[i] != NULL; i++) {
        if (g_str_equal(name, ps_level_kind_names[i]) && said->kind != NULL) {
            return g_strdup_printf("\"%s\" after \"%s\" (expected one kind)", word, said->kind);
        }
        if (g_str_equal(name, ps_level_kind_names[i])) {
            level->kind = i;
            said->kind = word;
            return parse_kind_values(level, word + name_length + (word[name_length] == '='));
        }
    }
    const char *const known[] = {PS_WORD_SHARED, "switch", "fat-tree", "rail",
                                 "ring",         "torus",  NULL};
    g_autofree char *suggestion = ps_suggest_text(name, known);
    return g_strdup_printf("unknown word \"%s\"%s", word, suggestion);
}

/* Words that say how a level is built: they begin with a letter, quantities with a digit. */
static gboolean take_words(Words *words, PsTopologyLevel *level, gboolean *shared, GError **error)
{
    LevelWords said = {0};
    for (; *words->next != NULL && g_ascii_isalpha(**words->next) && !begins_level(*words->next);
         words->next++) {
        g_autofree char *fault = parse_word(level, *words->next, &said);
        if (fault != NULL) {
            return refuse(words, fault, error);
        }
    }
    *shared = said.shared;
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
    double bandwidth_bytes_per_s;
    if (!take_quantity(words, "bandwidth", PS_BYTES_PER_S, &bandwidth_bytes_per_s, error)) {
        return FALSE;
    }
    /* The last word is the memory; a quantity before it is a latency. */
    gboolean latency = words->next[0] != NULL && words->next[1] != NULL &&
                       !g_ascii_isalpha(*words->next[0]) && !begins_level(words->next[0]);
    gboolean shared = FALSE;
    if ((latency && !take_quantity(words, "latency", PS_SECONDS, &level->latency_s, error)) ||
        !take_words(words, level, &shared, error)) {
        return FALSE;
    }
    ps_topology_set_bandwidth(topology, bandwidth_bytes_per_s, shared);
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
    while (*words.next != NULL && begins_level(*words.next)) {
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
