/* Output files that appear whole or not at all: written beside the target under a temporary name,
 * then flushed, synced and renamed by ps_output_commit. "-" is standard output.
 *
 * A device or a pipe is written in place; behind a symbolic link, the file it names is replaced.
 * Programs that write to pipes ignore SIGPIPE, so that a closed one is an error like others.
 *
 * Errors are sticky: writers need not check each write; the first failure is reported by commit. */
#pragma once

#include <glib.h>
#include "sim/base/digest.h"

typedef struct PsOutput PsOutput;

PsOutput *ps_output_open(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* What is written from now on goes into the digest as well (NULL: no longer). Not owned. */
void ps_output_digest(PsOutput *output, PsDigest *digest);
void ps_output_write(PsOutput *output, const char *data, gsize length);
void ps_output_puts(PsOutput *output, const char *text);
void ps_output_printf(PsOutput *output, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Everything is written, so that only commit is left to do: for several files that are to appear
 * together. FALSE with error where that has failed. Nothing may be written after it. */
gboolean ps_output_settle(PsOutput *output, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Makes the file appear. On failure nothing is left behind. */
gboolean ps_output_commit(PsOutput *output, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Frees; without a commit the target keeps its old state. */
void ps_output_free(PsOutput *output);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsOutput, ps_output_free)

/* Whole file (or standard input for "-") into memory, NUL-terminated beyond *length. Caller frees
 * with g_free. Files over 1 GiB are refused. */
char *ps_read_file(const char *path, gsize *length, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* SHA-256 of bytes in hex. Caller frees. */
char *ps_sha256(const char *data, gsize length);

/* A path to the same file as `path`, seen from `folder`: "../models/p.json". Both are taken from
 * the current folder; an absolute path is returned as it is. Caller frees. */
char *ps_path_from(const char *folder, const char *path);
