/* JSON over json-glib, read strictly. Duplicate keys, trailing garbage, comments and non-finite
 * numbers are refused; every error reads "file: $.nodes[3].id: what is wrong (expected ...)"
 * or, for syntax, "file:line: ...".
 *
 * A reader walks the document with a path. Errors are sticky: after the first one every getter
 * returns a harmless value (0, "", FALSE) and every enter "succeeds" on nothing, so that loaders
 * read straight through and check once, with ps_json_finish. Loops over ps_json_size see 0. */
#pragma once

#include <glib.h>
#include "sim/base/output.h"

typedef struct PsJsonReader PsJsonReader;

/* text need not outlive the call. path is for messages. NULL with error set on a syntax error. */
PsJsonReader *ps_json_parse(const char *path, const char *text, gsize length,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_json_reader_free(PsJsonReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsJsonReader, ps_json_reader_free)

/* Moves to a member or an element (an error where it is not there), and back to the parent. */
void ps_json_enter(PsJsonReader *reader, const char *key);
void ps_json_enter_index(PsJsonReader *reader, guint index);
void ps_json_leave(PsJsonReader *reader);

/* About the value at the current place. */
gboolean ps_json_is_object(PsJsonReader *reader);
gboolean ps_json_is_array(PsJsonReader *reader);
gboolean ps_json_has(PsJsonReader *reader, const char *key); /* current value must be an object */
guint ps_json_size(PsJsonReader *reader);                    /* of an array or an object */
const char *ps_json_key(PsJsonReader *reader, guint index);  /* index-th key, in file order */
void ps_json_expect_object(PsJsonReader *reader);
void ps_json_expect_array(PsJsonReader *reader);
/* Refuses keys of the current object that are not in the NULL-terminated list (did-you-mean). */
void ps_json_expect_keys(PsJsonReader *reader, const char *const *keys);

/* Value of a member of the current object; key NULL means the current value itself. Integers above
 * 2^53 are refused, not rounded. Strings belong to the reader. */
double ps_json_double(PsJsonReader *reader, const char *key, double min, double max);
gint64 ps_json_int(PsJsonReader *reader, const char *key, gint64 min, gint64 max);
gboolean ps_json_boolean(PsJsonReader *reader, const char *key);
const char *ps_json_string(PsJsonReader *reader, const char *key);
/* A number as it stands in the file, for digits that a double does not hold. Belongs to the reader.
 */
const char *ps_json_number_text(PsJsonReader *reader, const char *key);

/* Records an error at the current place (or its member key, if not NULL), unless there is one. */
void ps_json_fail(PsJsonReader *reader, const char *key, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
gboolean ps_json_failed(PsJsonReader *reader);
/* TRUE if no error so far; else moves it out. */
gboolean ps_json_finish(PsJsonReader *reader, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Writer. json-glib prints 17 digits for every double; this one prints the shortest text that reads
 * back the same. Two-space indent; arrays of scalars stay on one line. key is NULL inside arrays
 * and at the top. */
typedef struct PsJsonWriter PsJsonWriter;
PsJsonWriter *ps_json_writer_new(PsOutput *output);
void ps_json_begin_object(PsJsonWriter *writer, const char *key);
void ps_json_end_object(PsJsonWriter *writer);
void ps_json_begin_array(PsJsonWriter *writer, const char *key);
void ps_json_end_array(PsJsonWriter *writer);
void ps_json_put_string(PsJsonWriter *writer, const char *key, const char *value); /* NULL: null */
void ps_json_put_double(PsJsonWriter *writer, const char *key, double value); /* not finite: null */
void ps_json_put_int(PsJsonWriter *writer, const char *key, gint64 value);
/* text: a number as JSON spells it, put as it is. */
void ps_json_put_number_text(PsJsonWriter *writer, const char *key, const char *text);
void ps_json_put_boolean(PsJsonWriter *writer, const char *key, gboolean value);
/* Ends the document with a newline and frees. */
void ps_json_writer_free(PsJsonWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsJsonWriter, ps_json_writer_free)
