/* Removal of folders in which nothing is; apart, since signal handlers need it. */
#pragma once

#include <glib.h>

/* Removes the folder and those above it, as far as they are empty, but not what the first n_stays
 * bytes of the path name. Changes path. May be called in a signal handler. */
void ps_remove_empty_folders(char *path, gsize n_stays);
