/* A subcommand: one static record beside the code it drives, one row in commands.def.
 *
 * Only cmd-*.c files and sim/cli/ print to standard output; everything below returns values. */
#pragma once

#include <glib.h>
#include "sim/base/error.h"

typedef struct {
    const char *name;    /* "plan" */
    const char *usage;   /* "PROFILE [options]", after the name */
    const char *summary; /* one line for the command list */
    const char *details; /* what --help adds: a paragraph and an example */
    /* argv[0] is the command's name. FALSE with a PS_ERROR ends the program with the exit status
     * of its code; PS_ERROR_NEGATIVE and _STUCK print their message as the answer. */
    gboolean (*run)(int argc, char **argv, GError **error);
} PsCommand;
