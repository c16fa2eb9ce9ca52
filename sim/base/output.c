#include "sim/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <glib/gstdio.h>
#include "sim/base/error.h"
#include "sim/base/interrupt.h"

#define MAX_FILE_BYTES ((gsize)1 << 30)
#define READ_BYTES ((gsize)1 << 16)

struct PsOutput {
    FILE *stream;
    char *path;       /* as the user wrote it, for messages */
    char *target;     /* the file that temporary becomes */
    char *temporary;  /* NULL when writing straight to a device, a pipe or standard output */
    guint handle;     /* of the temporary file, for signals */
    int failure;      /* errno of the first failed write */
    PsDigest *digest; /* may be NULL */
    gboolean settled;
};

static gboolean is_standard_stream(const char *path)
{
    return strcmp(path, "-") == 0;
}

static void io_error(GError **error, const char *path, const char *what, int code)
{
    ps_error(error, PS_ERROR_IO, "%s: cannot %s: %s", path, what, g_strerror(code));
}

/* Through symbolic links, so that the link stays and the file behind it is replaced. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);
    return real != NULL ? real : g_strdup(path);
}

static FILE *open_temporary(PsOutput *output)
{
    g_autofree char *folder = g_path_get_dirname(output->target);
    g_autofree char *name = g_path_get_basename(output->target);
    output->temporary = g_strdup_printf("%s/.%s.XXXXXX", folder, name);
    int fd = ps_interrupt_make_temporary(output->temporary, 0666, &output->handle);
    if (fd < 0) {
        g_clear_pointer(&output->temporary, g_free);
        return NULL;
    }
    return fdopen(fd, "w");
}

static FILE *open_stream(PsOutput *output)
{
    if (is_standard_stream(output->path)) {
        return stdout;
    }
    struct stat status;
    gboolean exists = stat(output->target, &status) == 0;
    gboolean folder = exists && S_ISDIR(status.st_mode);
    if (folder || *output->target == '\0') {
        errno = folder ? EISDIR : ENOENT;
        return NULL;
    }
    gboolean special = exists && !S_ISREG(status.st_mode);
    return special ? fopen(output->target, "we") : open_temporary(output);
}

PsOutput *ps_output_open(const char *path, GError **error)
{
    g_autoptr(PsOutput) output = g_new0(PsOutput, 1);
    output->path = g_strdup(path);
    output->target = resolve(path);
    output->stream = open_stream(output);
    if (output->stream == NULL) {
        io_error(error, path, "write", errno);
        return NULL;
    }
    return g_steal_pointer(&output);
}

void ps_output_digest(PsOutput *output, PsDigest *digest)
{
    output->digest = digest;
}

static void note_failure(PsOutput *output, gboolean failed)
{
    if (failed && output->failure == 0) {
        output->failure = errno != 0 ? errno : EIO;
    }
}

void ps_output_write(PsOutput *output, const char *data, gsize length)
{
    g_return_if_fail(output->stream != NULL);
    note_failure(output, fwrite(data, 1, length, output->stream) != length);
    if (output->digest != NULL) {
        ps_digest_add(output->digest, data, length);
    }
}

void ps_output_puts(PsOutput *output, const char *text)
{
    ps_output_write(output, text, strlen(text));
}

void ps_output_printf(PsOutput *output, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    ps_output_puts(output, text);
}

static void close_stream(PsOutput *output)
{
    if (output->stream != NULL && output->stream != stdout) {
        note_failure(output, fclose(output->stream) != 0);
    }
    output->stream = NULL;
}

gboolean ps_output_settle(PsOutput *output, GError **error)
{
    if (!output->settled) {
        g_return_val_if_fail(output->stream != NULL, FALSE);
        output->settled = TRUE;
        note_failure(output, fflush(output->stream) != 0);
        if (output->temporary != NULL && output->failure == 0) {
            note_failure(output, fsync(fileno(output->stream)) != 0);
        }
        close_stream(output);
    }
    if (output->failure != 0) {
        io_error(error, output->path, "write", output->failure);
    }
    return output->failure == 0;
}

gboolean ps_output_commit(PsOutput *output, GError **error)
{
    if (!ps_output_settle(output, error)) {
        return FALSE;
    }
    if (output->temporary != NULL && g_rename(output->temporary, output->target) != 0) {
        note_failure(output, TRUE);
        io_error(error, output->path, "write", output->failure);
        return FALSE;
    }
    if (output->temporary != NULL) {
        ps_interrupt_forget(output->handle);
    }
    g_clear_pointer(&output->temporary, g_free);
    return TRUE;
}

void ps_output_free(PsOutput *output)
{
    close_stream(output);
    if (output->temporary != NULL) {
        g_unlink(output->temporary);
        ps_interrupt_forget(output->handle);
    }
    g_free(output->temporary);
    g_free(output->target);
    g_free(output->path);
    g_free(output);
}

static char *read_stream(FILE *stream, const char *path, gsize *length, GError **error)
{
    GString *text = g_string_new(NULL);
    gsize got;
    do {
        gsize old = text->len;
        g_string_set_size(text, MIN(old + MAX(READ_BYTES, old), MAX_FILE_BYTES + 1));
        got = fread(text->str + old, 1, text->len - old, stream);
        g_string_set_size(text, old + got);
    } while (got > 0 && text->len <= MAX_FILE_BYTES);
    if (ferror(stream)) {
        io_error(error, path, "read", errno);
    } else if (text->len > MAX_FILE_BYTES) {
        ps_error_at(error, path, 0, "the file is too large (expected at most 1 GiB)");
    } else {
        *length = text->len;
        return g_string_free(text, FALSE);
    }
    g_string_free(text, TRUE);
    return NULL;
}

char *ps_read_file(const char *path, gsize *length, GError **error)
{
    if (is_standard_stream(path)) {
        return read_stream(stdin, path, length, error);
    }
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        io_error(error, path, "read", errno);
        return NULL;
    }
    char *text = read_stream(stream, path, length, error);
    fclose(stream);
    return text;
}

char *ps_sha256(const char *data, gsize length)
{
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)data, length);
}

char *ps_path_from(const char *folder, const char *path)
{
    if (g_path_is_absolute(path)) {
        return g_strdup(path);
    }
    g_autofree char *from = g_canonicalize_filename(folder, NULL);
    g_autofree char *to = g_canonicalize_filename(path, NULL);
    g_auto(GStrv) ups = g_strsplit(from + 1, "/", -1);
    g_auto(GStrv) downs = g_strsplit(to + 1, "/", -1);
    guint common = 0;
    while (ups[common] != NULL && downs[common] != NULL &&
           g_str_equal(ups[common], downs[common])) {
        common++;
    }
    GString *relative = g_string_new(NULL);
    for (char **up = ups + common; *up != NULL && **up != '\0'; up++) {
        g_string_append(relative, "../");
    }
    g_autofree char *rest = g_strjoinv("/", downs + common);
    return g_string_free(g_string_append(relative, rest), FALSE);
}
