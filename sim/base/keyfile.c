#include "sim/base/keyfile.h"

#include <stdlib.h>
#include <string.h>
#include "sim/base/error.h"
#include "sim/base/output.h"
#include "sim/base/suggest.h"

/* A group header (key NULL) or a key of the file, in file order. */
typedef struct {
    char *group, *key;
    guint line;
} Entry;

struct PsKeyFile {
    char *path;
    GKeyFile *values;
    GPtrArray *groups;   /* names, NULL-terminated once loaded */
    GPtrArray *entries;  /* Entry */
    GHashTable *by_name; /* "group\nkey" or "group" -> Entry */
    GHashTable *asked;   /* group -> GPtrArray of the keys that were asked for, has included */
    GHashTable *used;    /* Entry set */
    GPtrArray *strings;  /* handed out */
};

static void entry_free(gpointer data)
{
    Entry *entry = data;
    g_free(entry->group);
    g_free(entry->key);
    g_free(entry);
}

static char *full_name(const char *group, const char *key)
{
    return key != NULL ? g_strconcat(group, "\n", key, NULL) : g_strdup(group);
}

static Entry *find_entry(PsKeyFile *file, const char *group, const char *key)
{
    g_autofree char *name = full_name(group, key);
    return g_hash_table_lookup(file->by_name, name);
}

/* ---- loading: GKeyFile knows the values; lines and doubles are ours -------------------------- */

static gboolean add_entry(PsKeyFile *file, guint line, const char *group, const char *key,
                          GError **error)
{
    const Entry *first = find_entry(file, group, key);
    if (first != NULL) {
        g_autofree char *name = key != NULL ? g_strdup(key) : g_strdup_printf("[%s]", group);
        ps_error_at(error, file->path, line, "%s appears twice (expected once; first on line %u)",
                    name, first->line);
        return FALSE;
    }
    Entry *entry = g_new0(Entry, 1);
    entry->group = g_strdup(group);
    entry->key = g_strdup(key);
    entry->line = line;
    g_ptr_array_add(file->entries, entry);
    g_hash_table_insert(file->by_name, full_name(group, key), entry);
    if (key == NULL) {
        g_ptr_array_add(file->groups, entry->group);
    }
    return TRUE;
}

/* text is one stripped line; it is cut up. *group is the current group, NULL before the first. */
static gboolean scan_line(PsKeyFile *file, guint line, char *text, const char **group,
                          GError **error)
{
    if (*text == '\0' || *text == '#') {
        return TRUE;
    }
    char *end = text + strlen(text) - 1;
    if (*text == '[' && *end == ']' && end > text + 1) {
        *end = '\0';
        if (!add_entry(file, line, text + 1, NULL, error)) {
            return FALSE;
        }
        *group = g_ptr_array_index(file->groups, file->groups->len - 1);
        return TRUE;
    }
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || *text == '[') {
        ps_error_at(error, file->path, line,
                    "\"%s\" cannot be read (expected [group], key = value or # comment)", text);
        return FALSE;
    }
    if (*group == NULL) {
        ps_error_at(error, file->path, line, "key before any group (expected [group] first)");
        return FALSE;
    }
    *equals = '\0';
    return add_entry(file, line, *group, g_strchomp(text), error);
}

static gboolean scan(PsKeyFile *file, const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    const char *group = NULL;
    for (guint i = 0; lines[i] != NULL; i++) {
        if (!scan_line(file, i + 1, g_strstrip(lines[i]), &group, error)) {
            return FALSE;
        }
    }
    if (group == NULL) {
        ps_error_at(error, file->path, 0, "the file is empty (expected a [group])");
        return FALSE;
    }
    return TRUE;
}

static gboolean check_text(const char *path, const char *text, gsize length, GError **error)
{
    const char *end;
    if (g_utf8_validate_len(text, length, &end)) {
        return TRUE;
    }
    guint line = 1;
    for (const char *c = text; c < end; c++) {
        line += *c == '\n';
    }
    ps_error_at(error, path, line, "not valid text (expected UTF-8 without NUL)");
    return FALSE;
}

PsKeyFile *ps_key_file_parse(const char *path, const char *text, gsize length, GError **error)
{
    if (!check_text(path, text, length, error)) {
        return NULL;
    }
    g_autoptr(PsKeyFile) file = g_new0(PsKeyFile, 1);
    file->path = g_strdup(path);
    file->values = g_key_file_new();
    file->groups = g_ptr_array_new();
    file->entries = g_ptr_array_new_with_free_func(entry_free);
    file->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    file->asked =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    file->used = g_hash_table_new(NULL, NULL);
    file->strings = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *copy = g_strndup(text, length);
    const char *start = copy + (g_str_has_prefix(copy, "\357\273\277") ? 3 : 0);
    if (!scan(file, start, error)) {
        return NULL;
    }
    g_ptr_array_add(file->groups, NULL);
    g_autoptr(GError) refused = NULL;
    if (!g_key_file_load_from_data(file->values, start, strlen(start), G_KEY_FILE_NONE, &refused)) {
        ps_error_at(error, path, 0, "%s", refused->message);
        return NULL;
    }
    return g_steal_pointer(&file);
}

PsKeyFile *ps_key_file_load(const char *path, GError **error)
{
    gsize length;
    g_autofree char *text = ps_read_file(path, &length, error);
    return text != NULL ? ps_key_file_parse(path, text, length, error) : NULL;
}

void ps_key_file_free(PsKeyFile *file)
{
    g_free(file->path);
    g_key_file_unref(file->values);
    g_ptr_array_unref(file->groups);
    g_ptr_array_unref(file->entries);
    g_hash_table_unref(file->by_name);
    g_hash_table_unref(file->asked);
    g_hash_table_unref(file->used);
    g_ptr_array_unref(file->strings);
    g_free(file);
}

/* ---- reading --------------------------------------------------------------------------------- */

const char *const *ps_key_file_groups(PsKeyFile *file)
{
    return (const char *const *)file->groups->pdata;
}

/* The keys asked for in a group, NULL-terminated; NULL if none ever was. */
static const char *const *asked_keys(PsKeyFile *file, const char *group)
{
    GPtrArray *keys = g_hash_table_lookup(file->asked, group);
    return keys != NULL ? (const char *const *)keys->pdata : NULL;
}

static void remember_asked(PsKeyFile *file, const char *group, const char *key)
{
    const char *const *known = asked_keys(file, group);
    if (known != NULL && g_strv_contains(known, key)) {
        return;
    }
    GPtrArray *keys = g_hash_table_lookup(file->asked, group);
    if (keys == NULL) {
        keys = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(keys, NULL);
        g_hash_table_insert(file->asked, g_strdup(group), keys);
    }
    g_ptr_array_insert(keys, (gint)keys->len - 1, g_strdup(key));
}

gboolean ps_key_file_has(PsKeyFile *file, const char *group, const char *key)
{
    remember_asked(file, group, key);
    return find_entry(file, group, key) != NULL;
}

guint ps_key_file_line(PsKeyFile *file, const char *group, const char *key)
{
    const Entry *entry = find_entry(file, group, key);
    return entry != NULL ? entry->line : 0;
}

void ps_key_file_error(PsKeyFile *file, const char *group, const char *key, GError **error,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    const Entry *entry = find_entry(file, group, key);
    if (entry == NULL) {
        entry = find_entry(file, group, NULL);
    }
    ps_error_at(error, file->path, entry != NULL ? entry->line : 0, "%s%s: %s",
                key != NULL ? "" : "group ", key != NULL ? key : group, message);
}

const char *ps_key_file_string(PsKeyFile *file, const char *group, const char *key, GError **error)
{
    remember_asked(file, group, key);
    Entry *entry = find_entry(file, group, key);
    if (entry == NULL) {
        ps_key_file_error(file, group, key, error, "missing in [%s]", group);
        return NULL;
    }
    g_hash_table_add(file->used, entry);
    g_autoptr(GError) refused = NULL;
    char *value = g_key_file_get_string(file->values, group, key, &refused);
    if (value == NULL) {
        ps_key_file_error(file, group, key, error, "%s", refused->message);
        return NULL;
    }
    g_ptr_array_add(file->strings, g_strchomp(value)); /* GKeyFile keeps blanks at the end */
    return value;
}

/* Gives a value's own error the place of its key. */
static gboolean place_error(PsKeyFile *file, const char *group, const char *key, GError *refused,
                            GError **error)
{
    if (refused == NULL) {
        return TRUE;
    }
    ps_key_file_error(file, group, key, error, "%s", refused->message);
    g_error_free(refused);
    return FALSE;
}

gboolean ps_key_file_quantity(PsKeyFile *file, const char *group, const char *key,
                              PsDimension dimension, double *value, GError **error)
{
    const char *text = ps_key_file_string(file, group, key, error);
    GError *refused = NULL;
    return text != NULL && (ps_quantity_parse(dimension, text, value, &refused) ||
                            place_error(file, group, key, refused, error));
}

gboolean ps_key_file_count(PsKeyFile *file, const char *group, const char *key, guint64 min,
                           guint64 max, guint64 *value, GError **error)
{
    const char *text = ps_key_file_string(file, group, key, error);
    GError *refused = NULL;
    return text != NULL && (ps_count_parse(text, min, max, value, &refused) ||
                            place_error(file, group, key, refused, error));
}

/* ---- what nobody asked for ------------------------------------------------------------------- */

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void refuse_group(PsKeyFile *file, const Entry *entry, GError **error)
{
    guint n;
    g_autofree const char **known = (const char **)g_hash_table_get_keys_as_array(file->asked, &n);
    qsort(known, n, sizeof *known, compare_names);
    g_autofree char *hint = ps_suggest_text(entry->group, known);
    ps_error_at(error, file->path, entry->line, "unknown group [%s]%s", entry->group, hint);
}

static void refuse_key(PsKeyFile *file, const Entry *entry, GError **error)
{
    const char *const *known = asked_keys(file, entry->group);
    if (g_strv_contains(known, entry->key)) {
        ps_key_file_error(file, entry->group, entry->key, error, "not used here");
        return;
    }
    g_autofree char *hint = ps_suggest_text(entry->key, known);
    ps_error_at(error, file->path, entry->line, "unknown key %s%s", entry->key, hint);
}

gboolean ps_key_file_all_used(PsKeyFile *file, GError **error)
{
    for (guint i = 0; i < file->entries->len; i++) {
        Entry *entry = g_ptr_array_index(file->entries, i);
        const Entry *next =
            i + 1 < file->entries->len ? g_ptr_array_index(file->entries, i + 1) : NULL;
        if (entry->key != NULL && g_hash_table_contains(file->used, entry)) {
            continue;
        }
        if (asked_keys(file, entry->group) == NULL) {
            refuse_group(file, entry, error);
        } else if (entry->key != NULL) {
            refuse_key(file, entry, error);
        } else if (next == NULL || next->key == NULL) {
            ps_key_file_error(file, entry->group, NULL, error, "empty (expected keys)");
        } else {
            continue;
        }
        return FALSE;
    }
    return TRUE;
}
