#include "sim/base/empty-folders.h"

#include <string.h>
#include <unistd.h>

void ps_remove_empty_folders(char *path, gsize n_stays)
{
    for (char *end = path + strlen(path); end > path + n_stays; end = strrchr(path, '/')) {
        *end = '\0';
        rmdir(path); /* fails, as do the next ones, where it is not empty */
    }
}
