#include <math.h>
#include <string.h>
#include "sim/base/json.h"
#include "sim/base/units.h"

typedef struct {
    char closer;
    gboolean empty;
    gboolean broken; /* into lines; an array is not, until it holds an object or an array */
} Level;

struct PsJsonWriter {
    PsOutput *output;
    GArray *levels; /* Level, the innermost last */
};

PsJsonWriter *ps_json_writer_new(PsOutput *output)
{
    PsJsonWriter *writer = g_new0(PsJsonWriter, 1);
    writer->output = output;
    writer->levels = g_array_new(FALSE, FALSE, sizeof(Level));
    return writer;
}

static void new_line(PsJsonWriter *writer)
{
    ps_output_printf(writer->output, "\n%*s", 2 * (int)writer->levels->len, "");
}

static Level *innermost(PsJsonWriter *writer)
{
    guint depth = writer->levels->len;
    return depth > 0 ? &g_array_index(writer->levels, Level, depth - 1) : NULL;
}

/* JSON wants UTF-8 and escapes for control characters; file names may hold anything. */
static void put_quoted(PsJsonWriter *writer, const char *value)
{
    g_autofree char *valid = g_utf8_make_valid(value, -1);
    GString *text = g_string_new("\"");
    for (const char *c = valid; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            g_string_append_c(text, '\\');
        }
        if ((guchar)*c < 0x20) {
            g_string_append_printf(text, "\\u%04x", *c);
        } else {
            g_string_append_c(text, *c);
        }
    }
    g_string_append_c(text, '"');
    ps_output_write(writer->output, text->str, text->len);
    g_string_free(text, TRUE);
}

/* What stands before a value: comma, line break, key. */
static void put_start(PsJsonWriter *writer, const char *key, gboolean nested)
{
    Level *level = innermost(writer);
    if (level != NULL) {
        level->broken |= nested;
        ps_output_puts(writer->output, level->empty ? "" : level->broken ? "," : ", ");
        if (level->broken) {
            new_line(writer);
        }
        level->empty = FALSE;
    }
    if (key != NULL) {
        put_quoted(writer, key);
        ps_output_puts(writer->output, ": ");
    }
}

static void begin(PsJsonWriter *writer, const char *key, const char *opener, Level level)
{
    put_start(writer, key, TRUE);
    ps_output_puts(writer->output, opener);
    g_array_append_val(writer->levels, level);
}

static void end(PsJsonWriter *writer)
{
    Level level = *innermost(writer);
    g_array_set_size(writer->levels, writer->levels->len - 1);
    if (level.broken && !level.empty) {
        new_line(writer);
    }
    ps_output_write(writer->output, &level.closer, 1);
}

void ps_json_begin_object(PsJsonWriter *writer, const char *key)
{
    begin(writer, key, "{", (Level){.closer = '}', .empty = TRUE, .broken = TRUE});
}

void ps_json_end_object(PsJsonWriter *writer)
{
    end(writer);
}

void ps_json_begin_array(PsJsonWriter *writer, const char *key)
{
    begin(writer, key, "[", (Level){.closer = ']', .empty = TRUE, .broken = FALSE});
}

void ps_json_end_array(PsJsonWriter *writer)
{
    end(writer);
}

static void put_bare(PsJsonWriter *writer, const char *key, const char *text)
{
    put_start(writer, key, FALSE);
    ps_output_puts(writer->output, text);
}

void ps_json_put_string(PsJsonWriter *writer, const char *key, const char *value)
{
    if (value == NULL) {
        put_bare(writer, key, "null");
        return;
    }
    put_start(writer, key, FALSE);
    put_quoted(writer, value);
}

void ps_json_put_double(PsJsonWriter *writer, const char *key, double value)
{
    g_autofree char *text = isfinite(value) ? ps_double_format(value) : g_strdup("null");
    put_bare(writer, key, text);
}

void ps_json_put_int(PsJsonWriter *writer, const char *key, gint64 value)
{
    put_start(writer, key, FALSE);
    ps_output_printf(writer->output, "%" G_GINT64_FORMAT, value);
}

void ps_json_put_number_text(PsJsonWriter *writer, const char *key, const char *text)
{
    put_bare(writer, key, text);
}

void ps_json_put_boolean(PsJsonWriter *writer, const char *key, gboolean value)
{
    put_bare(writer, key, value ? "true" : "false");
}

void ps_json_writer_free(PsJsonWriter *writer)
{
    ps_output_puts(writer->output, "\n");
    g_array_unref(writer->levels);
    g_free(writer);
}
