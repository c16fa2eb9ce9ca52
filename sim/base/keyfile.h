/* Key files ("[group]", "key = value", "# comment") over GKeyFile, which silently keeps the last of
 * doubled keys and merges doubled groups: both are refused here, and every error has its line. */
#pragma once

#include <glib.h>
#include "sim/base/units.h"

typedef struct PsKeyFile PsKeyFile;

PsKeyFile *ps_key_file_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
PsKeyFile *ps_key_file_parse(const char *path, const char *text, gsize length,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_key_file_free(PsKeyFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsKeyFile, ps_key_file_free)

const char *const *ps_key_file_groups(PsKeyFile *file); /* NULL-terminated, in file order */
gboolean ps_key_file_has(PsKeyFile *file, const char *group, const char *key);

/* Getters mark the key as used; a missing key is an error at the group's line. */
const char *ps_key_file_string(PsKeyFile *file, const char *group, const char *key,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean ps_key_file_quantity(PsKeyFile *file, const char *group, const char *key,
                              PsDimension dimension, double *value,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean ps_key_file_count(PsKeyFile *file, const char *group, const char *key, guint64 min,
                           guint64 max, guint64 *value, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The line of a key, 0 where it is not there. */
guint ps_key_file_line(PsKeyFile *file, const char *group, const char *key);

/* Error at the place of a key (or of the group, with key NULL). */
void ps_key_file_error(PsKeyFile *file, const char *group, const char *key, GError **error,
                       const char *format, ...) G_GNUC_PRINTF(5, 6);

/* Refuses the first key that no getter asked for, and groups without a used key. */
gboolean ps_key_file_all_used(PsKeyFile *file, GError **error) G_GNUC_WARN_UNUSED_RESULT;
