#include "sim/base/fields.h"

#include <string.h>

#include "sim/base/error.h"
#include "sim/base/suggest.h"

static guint find_field(const PsField *fields, guint n, const char *name, GError **error)
{
    g_autofree const char **names = g_new0(const char *, n + 1);
    for (guint i = 0; i < n; i++) {
        names[i] = fields[i].name;
        if (g_str_equal(name, names[i])) {
            return i;
        }
    }
    g_autofree char *suggestion = ps_suggest_text(name, names);
    ps_error(error, PS_ERROR_USAGE, "unknown field \"%s\"%s", name, suggestion);
    return n;
}

static gboolean parse_quantity(const PsField *field, const char *text, double *value,
                               GError **error)
{
    double parsed;
    if (!ps_quantity_parse(field->dimension, text, &parsed, error)) {
        return FALSE;
    }
    if (parsed < field->min || parsed > field->max) {
        g_autofree char *min = ps_quantity_format(field->dimension, field->min);
        g_autofree char *max = ps_quantity_format(field->dimension, field->max);
        ps_error(error, PS_ERROR_USAGE, "\"%s\": out of range (expected %s to %s)", text, min, max);
        return FALSE;
    }
    *value = parsed;
    return TRUE;
}

static gboolean parse_value(const PsField *field, const char *text, double *value, GError **error)
{
    guint64 count;
    switch (field->kind) {
    case PS_FIELD_COUNT:
        if (!ps_count_parse(text, (guint64)field->min, (guint64)field->max, &count, error)) {
            return FALSE;
        }
        *value = (double)count;
        return TRUE;
    case PS_FIELD_NUMBER:
        return ps_number_parse(text, field->min, field->max, value, error);
    case PS_FIELD_QUANTITY:
        return parse_quantity(field, text, value, error);
    case PS_FIELD_TEXT:
        break;
    }
    if (*text == '\0') {
        ps_error(error, PS_ERROR_USAGE, "empty (expected a value after =)");
        return FALSE;
    }
    return TRUE;
}

static gboolean parse_word(const char *word, const PsField *fields, guint n, PsFieldValue *values,
                           GError **error)
{
    const char *equals = strchr(word, '=');
    if (equals == NULL) {
        ps_error(error, PS_ERROR_USAGE, "\"%s\" has no value (expected NAME=VALUE)", word);
        return FALSE;
    }
    g_autofree char *name = g_strndup(word, (gsize)(equals - word));
    guint i = find_field(fields, n, name, error);
    if (i == n) {
        return FALSE;
    }
    if (values[i].given) {
        ps_error(error, PS_ERROR_USAGE, "%s is given twice (expected once)", name);
        return FALSE;
    }
    values[i].given = TRUE;
    values[i].text = g_strdup(equals + 1);
    if (!parse_value(&fields[i], equals + 1, &values[i].number, error)) {
        g_prefix_error(error, "%s: ", name);
        return FALSE;
    }
    return TRUE;
}

gboolean ps_fields_parse(const char *text, const PsField *fields, guint n, PsFieldValue *values,
                         GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(text, " \t", -1);
    for (guint i = 0; words[i] != NULL; i++) {
        if (*words[i] != '\0' && !parse_word(words[i], fields, n, values, error)) {
            return FALSE;
        }
    }
    for (guint i = 0; i < n; i++) {
        if (fields[i].example != NULL && !values[i].given) {
            ps_error(error, PS_ERROR_USAGE, "%s is missing (expected a field such as %s=%s)",
                     fields[i].name, fields[i].name, fields[i].example);
            return FALSE;
        }
    }
    return TRUE;
}

char *ps_fields_text(const PsField *fields, guint n, const PsFieldValue *values)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < n; i++) {
        if (values[i].given) {
            g_string_append_printf(text, "%s%s=%s", text->len > 0 ? " " : "", fields[i].name,
                                   values[i].text);
        }
    }
    return g_string_free(text, FALSE);
}

void ps_fields_clear(PsFieldValue *values, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_free(values[i].text);
        values[i] = (PsFieldValue){0};
    }
}
