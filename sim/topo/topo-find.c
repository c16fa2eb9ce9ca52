/* Which topology a text means. */
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/topo/topo-read.h"

#define SUFFIX ".topo"

/* Folders with shipped topologies: the user's own; of the source tree that the program was built in
 * (TREE/build/VARIANT/pipersim); of its installation (PREFIX/bin/pipersim). Caller frees. */
static char **search_folders(void)
{
    GPtrArray *folders = g_ptr_array_new();
    const char *own = g_getenv("PIPERSIM_TOPOLOGIES");
    if (own != NULL && *own != '\0') {
        g_ptr_array_add(folders, g_strdup(own));
    }
    g_autofree char *executable = g_file_read_link("/proc/self/exe", NULL);
    if (executable != NULL) {
        g_autofree char *folder = g_path_get_dirname(executable);
        g_ptr_array_add(folders, g_canonicalize_filename("../../topologies", folder));
        g_ptr_array_add(folders, g_canonicalize_filename("../share/pipersim/topologies", folder));
    }
    g_ptr_array_add(folders, NULL);
    return (char **)g_ptr_array_free(folders, FALSE);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char **ps_topology_names(void)
{
    g_auto(GStrv) folders = search_folders();
    GPtrArray *names = g_ptr_array_new();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; folders[i] != NULL; i++) {
        g_autoptr(GDir) dir = g_dir_open(folders[i], 0, NULL);
        const char *file;
        while (dir != NULL && (file = g_dir_read_name(dir)) != NULL) {
            g_autofree char *name = g_strdup(file);
            if (g_str_has_suffix(file, SUFFIX)) {
                name[strlen(name) - strlen(SUFFIX)] = '\0';
                if (g_hash_table_add(seen, name)) {
                    g_ptr_array_add(names, g_steal_pointer(&name));
                }
            }
        }
    }
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(names, FALSE);
}

static PsTopology *load_named(const char *name, GError **error)
{
    g_auto(GStrv) folders = search_folders();
    g_autofree char *file = g_strconcat(name, SUFFIX, NULL);
    for (gsize i = 0; folders[i] != NULL; i++) {
        g_autofree char *path = g_build_filename(folders[i], file, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
            return ps_topology_read_file(path, error);
        }
    }
    g_auto(GStrv) names = ps_topology_names();
    const char *closest = ps_suggest(name, (const char *const *)names);
    g_autofree char *hint =
        closest != NULL ? g_strdup_printf(", did you mean %s?", closest) : g_strdup("");
    g_autofree char *known = g_strjoinv(", ", names);
    ps_error(
        error, PS_ERROR_USAGE,
        "unknown topology \"%s\"%s (expected %s, the path of a .topo file, or one line such as "
        "\"flat:64 25GB/s 80GiB\")",
        name, hint, known);
    return NULL;
}

/* "flat:64 25GB/s 80GiB": the first word has a colon and is no path. */
static gboolean is_line(const char *text)
{
    text += strspn(text, " \t");
    gsize first_word = strcspn(text, " \t");
    return memchr(text, ':', first_word) != NULL && memchr(text, '/', first_word) == NULL &&
           !g_str_has_suffix(text, SUFFIX);
}

PsTopology *ps_topology_load(const char *text, GError **error)
{
    if (g_str_has_prefix(text, PS_LINKS_PREFIX)) {
        return ps_topology_read_links(text + strlen(PS_LINKS_PREFIX), error);
    }
    if (is_line(text)) {
        return ps_topology_parse_line(text, error);
    }
    if (strchr(text, '/') != NULL || g_str_has_suffix(text, SUFFIX)) {
        return ps_topology_read_file(text, error);
    }
    return load_named(text, error);
}
