/* One-line texts of fields, "rank=12 factor=1.5": words NAME=VALUE between blanks, in any order. */
#pragma once

#include <glib.h>
#include "sim/base/units.h"

typedef enum {
    PS_FIELD_COUNT,    /* a whole number from min to max */
    PS_FIELD_NUMBER,   /* a decimal from min to max */
    PS_FIELD_QUANTITY, /* with a unit of its dimension, from min to max in the base unit */
    PS_FIELD_TEXT,
} PsFieldKind;

typedef struct {
    const char *name;
    PsFieldKind kind;
    const char *example; /* a value, for messages; of a field that must be there, else NULL */
    double min, max;
    PsDimension dimension;
} PsField;

typedef struct {
    gboolean given;
    double number; /* count, number or quantity */
    char *text;    /* as it was written */
} PsFieldValue;

/* Fills one value per field (n of them, zeroed before). Refused (USAGE): unknown names (did you
 * mean), a field that is given twice, words without "=", values out of range, and the lack of a
 * field with an example. On failure values may be filled in part; clear them in either case. */
gboolean ps_fields_parse(const char *text, const PsField *fields, guint n, PsFieldValue *values,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The fields that are given, in the order of the table: reads back as the same. Caller frees. */
char *ps_fields_text(const PsField *fields, guint n, const PsFieldValue *values);
void ps_fields_clear(PsFieldValue *values, guint n);
