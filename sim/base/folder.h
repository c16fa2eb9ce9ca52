/* Folders that outputs go into: made with those above them, and removed again, as far as they are
 * empty, where nothing has come of it. A signal that ends the program removes them as well. */
#pragma once

#include <glib.h>

typedef struct PsFolder PsFolder;

/* Makes what is missing of the path; what is there stays whatever happens. */
PsFolder *ps_folder_make(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* What was made is to stay. */
void ps_folder_keep(PsFolder *folder);
void ps_folder_free(PsFolder *folder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsFolder, ps_folder_free)
