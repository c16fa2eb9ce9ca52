#include "sim/base/csv.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "sim/base/digits.h"
#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

#define CHUNK_BYTES ((gsize)1 << 16)
static const char byte_order_mark[] = "\357\273\277";

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    const char *const *columns; /* NULL: no header */
    PsCsvRowFunc row_func;
    gpointer user_data;
    GError *error; /* the first one; libcsv cannot be stopped, so rows after it are ignored */

    guint line;         /* where the current row begins */
    guint row_newlines; /* inside its quoted fields */
    GString *bytes;     /* the row's fields, each with its NUL */
    GArray *starts;     /* gsize: where each field starts in bytes */
    GPtrArray *fields;  /* the row as handed out */
    guint *places;      /* of the file's i-th column in columns; NULL before the header */
} Reader;

static guint count_newlines(const char *text, gsize length)
{
    guint n = 0;
    const char *end = text + length;
    for (; (text = memchr(text, '\n', (gsize)(end - text))) != NULL; text++) {
        n++;
    }
    return n;
}

/* RFC 4180: spaces are part of a field. */
static int never_space(unsigned char c)
{
    (void)c;
    return 0;
}

static const char *field_text(const Reader *reader, guint i)
{
    return reader->bytes->str + g_array_index(reader->starts, gsize, i);
}

static void take_field(void *text, size_t length, void *user_data)
{
    Reader *reader = user_data;
    if (reader->error != NULL) {
        return;
    }
    if (!g_utf8_validate(text, (gssize)length, NULL)) {
        ps_error_at(&reader->error, reader->path, reader->line, "field %u is not valid UTF-8",
                    reader->starts->len + 1);
        return;
    }
    gsize start = reader->bytes->len;
    g_array_append_val(reader->starts, start);
    g_string_append_len(reader->bytes, text, (gssize)length + 1);
    reader->row_newlines += count_newlines(text, length);
}

static void take_header_name(Reader *reader, guint i)
{
    const char *name = field_text(reader, i);
    guint place = 0;
    while (reader->columns[place] != NULL && strcmp(reader->columns[place], name) != 0) {
        place++;
    }
    if (reader->columns[place] == NULL) {
        g_autofree char *hint = ps_suggest_text(name, reader->columns);
        ps_error_at(&reader->error, reader->path, reader->line, "unknown column \"%s\"%s", name,
                    hint);
        return;
    }
    for (guint k = 0; k < i; k++) {
        if (reader->places[k] == place) {
            ps_error_at(&reader->error, reader->path, reader->line,
                        "column \"%s\" appears twice (expected once)", name);
            return;
        }
    }
    reader->places[i] = place;
}

static void take_header(Reader *reader)
{
    guint n = reader->starts->len;
    guint n_columns = g_strv_length((char **)reader->columns);
    reader->places = g_new(guint, n);
    for (guint i = 0; i < n && reader->error == NULL; i++) {
        take_header_name(reader, i);
    }
    for (guint place = 0; place < n_columns && reader->error == NULL; place++) {
        guint i = 0;
        while (i < n && reader->places[i] != place) {
            i++;
        }
        if (i == n) {
            g_autofree char *all = g_strjoinv(",", (char **)reader->columns);
            ps_error_at(&reader->error, reader->path, reader->line,
                        "column \"%s\" is missing (expected %s)", reader->columns[place], all);
        }
    }
    g_ptr_array_set_size(reader->fields, (gint)n_columns);
}

static void hand_out_row(Reader *reader)
{
    guint n = reader->starts->len;
    if (reader->columns == NULL) {
        g_ptr_array_set_size(reader->fields, (gint)n);
    } else if (n != reader->fields->len) {
        g_autofree char *fields = ps_counted(n, "field");
        ps_error_at(&reader->error, reader->path, reader->line, "the row has %s (expected %u)",
                    fields, reader->fields->len);
        return;
    }
    for (guint i = 0; i < n; i++) {
        guint place = reader->places != NULL ? reader->places[i] : i;
        reader->fields->pdata[place] = (gpointer)field_text(reader, i);
    }
    PsCsvRow row = {reader->path, reader->line, (const char *const *)reader->fields->pdata, n};
    if (!reader->row_func(&row, reader->user_data, &reader->error) && reader->error == NULL) {
        ps_error_at(&reader->error, reader->path, reader->line, "the row was refused");
    }
}

/* Called at CR and at LF alike (CSV_REPALL_NL): an empty line, or the LF of a CRLF, has no fields,
 * but counts as a line. */
static void take_row_end(int terminator, void *user_data)
{
    Reader *reader = user_data;
    if (reader->error != NULL) {
        return;
    }
    if (reader->starts->len > 0) {
        if (reader->columns != NULL && reader->places == NULL) {
            take_header(reader);
        } else {
            hand_out_row(reader);
        }
    }
    reader->line += reader->row_newlines + (terminator == '\n');
    reader->row_newlines = 0;
    g_string_truncate(reader->bytes, 0);
    g_array_set_size(reader->starts, 0);
}

static void parse_chunk(Reader *reader, struct csv_parser *parser, guint first_line,
                        const char *text, gsize length)
{
    const char *nul = memchr(text, '\0', length);
    if (nul != NULL) {
        length = (gsize)(nul - text);
    }
    gsize parsed = csv_parse(parser, text, length, take_field, take_row_end, reader);
    if (reader->error != NULL) {
        return;
    }
    guint line = first_line + count_newlines(text, parsed);
    if (parsed < length) {
        ps_error_at(&reader->error, reader->path, line,
                    "misplaced quote (expected \"\" for a quote inside a quoted field)");
    } else if (nul != NULL) {
        ps_error_at(&reader->error, reader->path, line, "NUL byte (expected text)");
    }
}

static void parse_stream(Reader *reader, struct csv_parser *parser, FILE *stream)
{
    g_autofree char *chunk = g_malloc(CHUNK_BYTES);
    guint line = 1;
    gboolean first = TRUE, any = FALSE;
    gsize got;
    while (reader->error == NULL && (got = fread(chunk, 1, CHUNK_BYTES, stream)) > 0) {
        gsize mark = strlen(byte_order_mark);
        gsize skip = first && got >= mark && memcmp(chunk, byte_order_mark, mark) == 0 ? mark : 0;
        parse_chunk(reader, parser, line, chunk + skip, got - skip);
        line += count_newlines(chunk, got);
        any |= got > skip;
        first = FALSE;
    }
    if (reader->error == NULL && ferror(stream)) {
        ps_error(&reader->error, PS_ERROR_IO, "%s: cannot read: %s", reader->path,
                 g_strerror(errno));
    }
    if (reader->error == NULL && csv_fini(parser, take_field, take_row_end, reader) != 0) {
        ps_error_at(&reader->error, reader->path, reader->line,
                    "the file ends inside a quoted field (expected a closing quote)");
    }
    if (reader->error == NULL && (reader->columns != NULL ? reader->places == NULL : !any)) {
        ps_error_at(&reader->error, reader->path, 0, "the file is empty (expected %s)",
                    reader->columns != NULL ? "a header row" : "rows");
    }
}

static void read_stream(Reader *reader, FILE *stream)
{
    struct csv_parser parser;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL | CSV_REPALL_NL) != 0) {
        g_error("libcsv does not start");
    }
    csv_set_space_func(&parser, never_space);
    reader->line = 1;
    reader->bytes = g_string_new(NULL);
    reader->starts = g_array_new(FALSE, FALSE, sizeof(gsize));
    reader->fields = g_ptr_array_new();
    parse_stream(reader, &parser, stream);
    csv_free(&parser);
    g_string_free(reader->bytes, TRUE);
    g_array_unref(reader->starts);
    g_ptr_array_unref(reader->fields);
    g_free(reader->places);
}

gboolean ps_csv_read(const char *path, const char *const *columns, PsCsvRowFunc row_func,
                     gpointer user_data, GError **error)
{
    gboolean standard = strcmp(path, "-") == 0;
    FILE *stream = standard ? stdin : fopen(path, "re");
    if (stream == NULL) {
        ps_error(error, PS_ERROR_IO, "%s: cannot read: %s", path, g_strerror(errno));
        return FALSE;
    }
    Reader reader = {
        .path = path, .columns = columns, .row_func = row_func, .user_data = user_data};
    read_stream(&reader, stream);
    if (!standard) {
        fclose(stream);
    }
    if (reader.error != NULL) {
        g_propagate_error(error, reader.error);
        return FALSE;
    }
    return TRUE;
}

/* ---- fields ---------------------------------------------------------------------------------- */

void ps_csv_error(const PsCsvRow *row, const char *column, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    ps_error_at(error, row->path, row->line, "column %s: %s", column, message);
}

/* Up to 15 digits and nothing else: exact in a double, and most of what traces hold. */
static gboolean parse_digits(const char *text, gint64 *value)
{
    gint64 parsed = 0;
    guint n = 0;
    for (; n < 15 && g_ascii_isdigit(text[n]); n++) {
        parsed = 10 * parsed + (text[n] - '0');
    }
    *value = parsed;
    return n > 0 && text[n] == '\0';
}

gboolean ps_csv_get_double(const PsCsvRow *row, guint field, const char *column, double *value,
                           GError **error)
{
    const char *text = row->fields[field];
    gint64 whole;
    if (parse_digits(text, &whole)) {
        *value = (double)whole;
        return TRUE;
    }
    const char *end = ps_decimal_skip(text + (*text == '-'));
    double parsed = end != NULL && *end == '\0' ? g_ascii_strtod(text, NULL) : NAN;
    if (!isfinite(parsed)) {
        ps_csv_error(row, column, error, "\"%s\" is not a number (expected a finite decimal)",
                     text);
        return FALSE;
    }
    *value = parsed;
    return TRUE;
}

gboolean ps_csv_get_int(const PsCsvRow *row, guint field, const char *column, gint64 min,
                        gint64 max, gint64 *value, GError **error)
{
    const char *text = row->fields[field];
    gint64 parsed;
    if (parse_digits(text, &parsed) && parsed >= min && parsed <= max) {
        *value = parsed;
        return TRUE;
    }
    char *end = NULL;
    errno = 0;
    parsed = g_ascii_strtoll(text, &end, 10);
    gboolean whole = (g_ascii_isdigit(text[0]) || text[0] == '-') && *end == '\0' && end != text;
    if (!whole || errno != 0 || parsed < min || parsed > max) {
        ps_csv_error(row, column, error,
                     "\"%s\" is %s (expected a whole number from %" G_GINT64_FORMAT
                     " to %" G_GINT64_FORMAT ")",
                     text, whole ? "out of range" : "not a whole number", min, max);
        return FALSE;
    }
    *value = parsed;
    return TRUE;
}

gboolean ps_csv_get_time(const PsCsvRow *row, guint field, const char *column, gint64 *time_ps,
                         GError **error)
{
    const char *text = row->fields[field];
    if (!ps_picoseconds_parse(text, time_ps)) {
        ps_csv_error(row, column, error,
                     "\"%s\" is not a time (expected seconds with at most 12 decimals)", text);
        return FALSE;
    }
    return TRUE;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct PsCsvWriter {
    PsOutput *output;
    char *buffer;
    gsize length, capacity;
    gsize row_start; /* in buffer */
    gboolean in_row;
};

PsCsvWriter *ps_csv_writer_new(PsOutput *output)
{
    PsCsvWriter *writer = g_new0(PsCsvWriter, 1);
    writer->output = output;
    writer->capacity = 2 * CHUNK_BYTES;
    writer->buffer = g_malloc(writer->capacity);
    return writer;
}

/* Where so many bytes of a new field go; the caller adds to length as many as it puts there. */
static char *begin_field(PsCsvWriter *writer, gsize most)
{
    if (writer->capacity - writer->length < most + 1) {
        writer->capacity = 2 * (writer->capacity + most);
        writer->buffer = g_realloc(writer->buffer, writer->capacity);
    }
    if (writer->in_row) {
        writer->buffer[writer->length++] = ',';
    }
    writer->in_row = TRUE;
    return writer->buffer + writer->length;
}

static gboolean is_special(char c)
{
    return c == ',' || c == '"' || c == '\r' || c == '\n';
}

void ps_csv_text(PsCsvWriter *writer, const char *text)
{
    gsize length = text != NULL ? strlen(text) : 0;
    char *at = begin_field(writer, 2 * length + 2);
    for (gsize i = 0; i < length; i++) {
        if (is_special(text[i])) {
            writer->length += csv_write(at, 2 * length + 2, text, length);
            return;
        }
        at[i] = text[i];
    }
    writer->length += length;
}

void ps_csv_int(PsCsvWriter *writer, gint64 value)
{
    char *at = begin_field(writer, 1 + PS_MOST_DIGITS);
    if (value < 0) {
        *at++ = '-';
        writer->length++;
    }
    writer->length += ps_digits_put(at, value < 0 ? -(guint64)value : (guint64)value);
}

void ps_csv_double(PsCsvWriter *writer, double value)
{
    /* Sizes are whole bytes as a rule. */
    if (value == rint(value) && fabs(value) <= 0x1p53) {
        ps_csv_int(writer, (gint64)value);
        return;
    }
    g_autofree char *text = isfinite(value) ? ps_double_format(value) : NULL;
    ps_csv_text(writer, text);
}

void ps_csv_time(PsCsvWriter *writer, gint64 time_ps)
{
    writer->length += ps_picoseconds_format(time_ps, begin_field(writer, PS_SECONDS_TEXT));
}

void ps_csv_end_row(PsCsvWriter *writer)
{
    /* A lone empty field would read as an empty line, which is no row. */
    const char *end = writer->length == writer->row_start ? "\"\"\n" : "\n";
    gsize length = strlen(end);
    writer->in_row = FALSE;
    memcpy(begin_field(writer, length), end, length);
    writer->length += length;
    writer->in_row = FALSE;
    if (writer->length >= CHUNK_BYTES) {
        ps_csv_flush(writer);
    }
    writer->row_start = writer->length;
}

void ps_csv_flush(PsCsvWriter *writer)
{
    if (writer->length > 0) { /* else the output may be committed already */
        ps_output_write(writer->output, writer->buffer, writer->length);
    }
    writer->length = 0;
    writer->row_start = 0;
}

void ps_csv_writer_free(PsCsvWriter *writer)
{
    ps_csv_flush(writer);
    g_free(writer->buffer);
    g_free(writer);
}
