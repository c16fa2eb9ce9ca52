#include "sim/base/folder.h"

#include <errno.h>
#include <string.h>

#include "sim/base/empty-folders.h"
#include "sim/base/error.h"
#include "sim/base/interrupt.h"

struct PsFolder {
    char *path;    /* canonical */
    gsize n_stays; /* bytes of it that name what was there before, or is to stay */
    guint handle;  /* for signals */
};

/* Bytes of the path up to the innermost folder that is there. */
static gsize length_there(const char *path)
{
    g_autofree char *folder = g_strdup(path);
    while (!g_file_test(folder, G_FILE_TEST_EXISTS)) {
        char *above = g_path_get_dirname(folder);
        g_free(folder);
        folder = above;
    }
    return strlen(folder);
}

PsFolder *ps_folder_make(const char *path, GError **error)
{
    g_autoptr(PsFolder) folder = g_new0(PsFolder, 1);
    folder->path = g_canonicalize_filename(path, NULL);
    folder->n_stays = length_there(folder->path);
    if (!ps_interrupt_make_folders(folder->path, folder->n_stays, &folder->handle)) {
        ps_error(error, PS_ERROR_IO, "%s: cannot make the folder: %s", path, g_strerror(errno));
        return NULL;
    }
    return g_steal_pointer(&folder);
}

void ps_folder_keep(PsFolder *folder)
{
    folder->n_stays = strlen(folder->path);
}

void ps_folder_free(PsFolder *folder)
{
    if (folder != NULL) {
        ps_remove_empty_folders(folder->path, folder->n_stays);
        ps_interrupt_forget(folder->handle);
        g_free(folder->path);
        g_free(folder);
    }
}
