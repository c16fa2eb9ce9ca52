#include "sim/base/units.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "sim/base/digits.h"
#include "sim/base/error.h"
#include "sim/base/suggest.h"

/* A unit is times/over of the base unit: both are exact, so 3 us is 3/1e6 and correctly rounded,
 * which 3*1e-6 would not always be. Units that are shown run from small to large. */
typedef struct {
    PsDimension dimension;
    const char *text;
    double times, over;
    gboolean shown; /* ps_quantity_format may pick it */
} Unit;

#define KIB 1024.0
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)
#define TIB (KIB * GIB)

static const Unit units[] = {
    {PS_BYTES, "B", 1, 1, TRUE},
    {PS_BYTES, "kB", 1e3, 1, FALSE},
    {PS_BYTES, "MB", 1e6, 1, FALSE},
    {PS_BYTES, "GB", 1e9, 1, FALSE},
    {PS_BYTES, "TB", 1e12, 1, FALSE},
    {PS_BYTES, "KiB", KIB, 1, TRUE},
    {PS_BYTES, "MiB", MIB, 1, TRUE},
    {PS_BYTES, "GiB", GIB, 1, TRUE},
    {PS_BYTES, "TiB", TIB, 1, TRUE},
    {PS_BYTES_PER_S, "B/s", 1, 1, TRUE},
    {PS_BYTES_PER_S, "kB/s", 1e3, 1, TRUE},
    {PS_BYTES_PER_S, "MB/s", 1e6, 1, TRUE},
    {PS_BYTES_PER_S, "GB/s", 1e9, 1, TRUE},
    {PS_BYTES_PER_S, "TB/s", 1e12, 1, TRUE},
    {PS_BYTES_PER_S, "KiB/s", KIB, 1, FALSE},
    {PS_BYTES_PER_S, "MiB/s", MIB, 1, FALSE},
    {PS_BYTES_PER_S, "GiB/s", GIB, 1, FALSE},
    {PS_BYTES_PER_S, "TiB/s", TIB, 1, FALSE},
    {PS_BYTES_PER_S, "bit/s", 1, 8, FALSE},
    {PS_BYTES_PER_S, "kbit/s", 1e3, 8, FALSE},
    {PS_BYTES_PER_S, "Mbit/s", 1e6, 8, FALSE},
    {PS_BYTES_PER_S, "Gbit/s", 1e9, 8, FALSE},
    {PS_BYTES_PER_S, "Tbit/s", 1e12, 8, FALSE},
    {PS_SECONDS, "ps", 1, 1e12, TRUE},
    {PS_SECONDS, "ns", 1, 1e9, TRUE},
    {PS_SECONDS, "us", 1, 1e6, TRUE},
    {PS_SECONDS, "ms", 1, 1e3, TRUE},
    {PS_SECONDS, "s", 1, 1, TRUE},
    {PS_SECONDS, "min", 60, 1, FALSE},
    {PS_SECONDS, "h", 3600, 1, FALSE},
    {PS_FLOP_PER_S, "FLOP/s", 1, 1, TRUE},
    {PS_FLOP_PER_S, "GFLOP/s", 1e9, 1, TRUE},
    {PS_FLOP_PER_S, "TFLOP/s", 1e12, 1, TRUE},
    {PS_FLOP_PER_S, "PFLOP/s", 1e15, 1, TRUE},
    {PS_PER_SECOND, "/s", 1, 1, TRUE},
    {PS_PER_SECOND, "/min", 1, 60, FALSE},
    {PS_PER_SECOND, "/h", 1, 3600, FALSE},
    {PS_RATIO, "%", 1, 100, TRUE},
};

static const char *const expectations[PS_N_DIMENSIONS] = {
    [PS_BYTES] = "a size with a unit, like 80 GiB",
    [PS_BYTES_PER_S] = "a rate with a unit, like 25 GB/s or 200 Gbit/s",
    [PS_SECONDS] = "a time with a unit, like 3 us",
    [PS_FLOP_PER_S] = "a rate with a unit, like 312 TFLOP/s",
    [PS_PER_SECOND] = "a rate with a unit, like 120/s",
    [PS_RATIO] = "a percentage, like 5%",
};

/* Usual spellings that are too far from ours for an edit distance, by how they end. */
static const struct {
    const char *ending, *ours;
} spellings[] = {
    {"bps", "bit/s"}, {"b/s", "bit/s"},    {"bits/s", "bit/s"},
    {"Bps", "B/s"},   {"FLOPS", "FLOP/s"}, {"FLOPs", "FLOP/s"},
    {"sec", "s"},     {"\302\265s", "us"}, {"\316\274s", "us"},
};

static const Unit *find_unit(PsDimension dimension, const char *text)
{
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        if (units[i].dimension == dimension && strcmp(units[i].text, text) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

static const Unit *respell(PsDimension dimension, const char *text)
{
    for (gsize i = 0; i < G_N_ELEMENTS(spellings); i++) {
        if (g_str_has_suffix(text, spellings[i].ending)) {
            gsize kept = strlen(text) - strlen(spellings[i].ending);
            g_autofree char *ours = g_strdup_printf("%.*s%s", (int)kept, text, spellings[i].ours);
            const Unit *unit = find_unit(dimension, ours);
            if (unit != NULL) {
                return unit;
            }
        }
    }
    return NULL;
}

static const char *similar_unit(PsDimension dimension, const char *text)
{
    const Unit *unit = respell(dimension, text);
    if (unit != NULL) {
        return unit->text;
    }
    const char *candidates[G_N_ELEMENTS(units) + 1] = {NULL};
    gsize n = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        if (units[i].dimension == dimension) {
            candidates[n++] = units[i].text;
        }
    }
    return ps_suggest(text, candidates);
}

/* What is wrong with a unit that is not one of ours. Caller frees. */
static char *unit_complaint(PsDimension dimension, const char *text)
{
    if (*text == '\0') {
        return g_strdup("the unit is missing");
    }
    g_autofree char *per_second = g_strconcat(text, "/s", NULL);
    if (find_unit(dimension, per_second) != NULL) {
        return g_strdup_printf("\"/s\" is missing after \"%s\"", text);
    }
    const char *similar = similar_unit(dimension, text);
    return similar != NULL ? g_strdup_printf("unknown unit \"%s\", did you mean %s?", text, similar)
                           : g_strdup_printf("unknown unit \"%s\"", text);
}

static const char *skip_digits(const char *text)
{
    while (g_ascii_isdigit(*text)) {
        text++;
    }
    return text;
}

const char *ps_decimal_skip(const char *text)
{
    const char *end = skip_digits(text);
    if (end == text) {
        return NULL;
    }
    if (end[0] == '.' && g_ascii_isdigit(end[1])) {
        end = skip_digits(end + 1);
    }
    if (*end == 'e' || *end == 'E') {
        const char *digits = end + (end[1] == '+' || end[1] == '-' ? 2 : 1);
        end = g_ascii_isdigit(*digits) ? skip_digits(digits) : end;
    }
    return end;
}

/* What is wrong with a text that does not begin with a number of 0 or more. */
static void refuse_number(PsDimension dimension, const char *text, GError **error)
{
    gboolean negative = *text == '-' && ps_decimal_skip(text + 1) != NULL;
    ps_error(error, PS_ERROR_USAGE, "\"%s\": %s (expected %s%s)", text,
             negative ? "the number is negative" : "not a number with a unit",
             negative ? "0 or more: " : "", expectations[dimension]);
}

gboolean ps_quantity_parse(PsDimension dimension, const char *text, double *value, GError **error)
{
    g_autofree char *complaint = NULL;
    const char *end = ps_decimal_skip(text);
    if (end == NULL || *end == '.') {
        refuse_number(dimension, text, error);
        return FALSE;
    }
    const char *unit_text = end + strspn(end, " \t");
    double number = g_ascii_strtod(text, NULL);
    const Unit *unit = find_unit(dimension, unit_text);
    double parsed = unit != NULL ? number * unit->times / unit->over : number;
    if (unit == NULL && !(number == 0 && *end == '\0')) {
        complaint = unit_complaint(dimension, unit_text);
    } else if (!isfinite(parsed)) {
        complaint = g_strdup("the number is too large");
    } else {
        *value = parsed;
        return TRUE;
    }
    ps_error(error, PS_ERROR_USAGE, "\"%s\": %s (expected %s)", text, complaint,
             expectations[dimension]);
    return FALSE;
}

static char *count_range(guint64 min, guint64 max)
{
    return max == G_MAXUINT64
               ? g_strdup_printf("of at least %" G_GUINT64_FORMAT, min)
               : g_strdup_printf("from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, min, max);
}

gboolean ps_count_parse(const char *text, guint64 min, guint64 max, guint64 *value, GError **error)
{
    const char *complaint = "not a whole number";
    if (*text != '\0' && *skip_digits(text) == '\0') {
        errno = 0;
        guint64 parsed = g_ascii_strtoull(text, NULL, 10);
        if (errno == 0 && parsed >= min && parsed <= max) {
            *value = parsed;
            return TRUE;
        }
        complaint = "out of range";
    }
    g_autofree char *range = count_range(min, max);
    ps_error(error, PS_ERROR_USAGE, "\"%s\": %s (expected a whole number %s)", text, complaint,
             range);
    return FALSE;
}

gboolean ps_number_parse(const char *text, double min, double max, double *value, GError **error)
{
    const char *end = ps_decimal_skip(text);
    double parsed = end != NULL ? g_ascii_strtod(text, NULL) : 0;
    gboolean number = end != NULL && *end == '\0';
    if (number && parsed >= min && parsed <= max) {
        *value = parsed;
        return TRUE;
    }
    g_autofree char *from = ps_double_format(min), *to = ps_double_format(max);
    ps_error(error, PS_ERROR_USAGE, "\"%s\": %s (expected a number from %s to %s)", text,
             number ? "out of range" : "not a number", from, to);
    return FALSE;
}

/* Largest shown unit that the value, rounded to four digits, fills at least once. */
static const Unit *fitting_unit(PsDimension dimension, double value)
{
    const Unit *best = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        const Unit *unit = &units[i];
        if (unit->dimension == dimension && unit->shown &&
            (best == NULL || fabs(value) * unit->over / unit->times >= 0.99995)) {
            best = unit;
        }
    }
    return best;
}

/* The next number of so many significant digits that is no less, but for the rounding of value. */
static double round_up(double value, guint digits)
{
    if (value <= 0) {
        return value;
    }
    double step = pow(10, floor(log10(value)) + 1 - digits);
    return ceil(value / step - 1e-9) * step;
}

static char *format_quantity(PsDimension dimension, double value, gboolean up)
{
    const Unit *unit = value == 0 && dimension == PS_SECONDS ? find_unit(PS_SECONDS, "s")
                                                             : fitting_unit(dimension, value);
    double scaled = value * unit->over / unit->times;
    scaled = up ? round_up(scaled, 4) : scaled;
    gboolean ratio = dimension == PS_RATIO;
    const char *format = ratio && (scaled == 0 || fabs(scaled) >= 0.1) ? "%.1f"
                         : ratio                                       ? "%.2g"
                         : fabs(scaled) >= 9999.5                      ? "%.0f"
                                                                       : "%.4g";
    char number[G_ASCII_DTOSTR_BUF_SIZE + 310]; /* room for %.0f of the largest double */
    g_ascii_formatd(number, sizeof number, format, scaled);
    return g_strconcat(number, g_ascii_isalpha(*unit->text) ? " " : "", unit->text, NULL);
}

char *ps_quantity_format(PsDimension dimension, double value)
{
    return format_quantity(dimension, value, FALSE);
}

char *ps_quantity_format_up(PsDimension dimension, double value)
{
    return format_quantity(dimension, value, TRUE);
}

char *ps_percent_up(double share)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    /* Less is of no interest to anybody. */
    g_ascii_formatd(number, sizeof number, "%.3g", fmax(round_up(100 * share, 2), 0.001));
    return g_strconcat(number, " %", NULL);
}

char *ps_double_format(double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (value == rint(value) && fabs(value) <= 0x1p53) {
        return g_strdup(g_ascii_formatd(text, sizeof text, "%.0f", value));
    }
    static const char *const formats[] = {"%.15g", "%.16g", "%.17g"};
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_ascii_formatd(text, sizeof text, formats[i], value);
        if (g_ascii_strtod(text, NULL) == value) {
            break;
        }
    }
    /* Beyond 2^53 a double must not look like an integer, which our JSON reader would refuse. */
    return g_strconcat(text, strpbrk(text, ".en") == NULL ? ".0" : "", NULL);
}

#define PS_PER_S G_GUINT64_CONSTANT(1000000000000)
#define DECIMALS 12

gsize ps_picoseconds_format(gint64 time_ps, char *buffer)
{
    guint64 rest_ps = time_ps < 0 ? -(guint64)time_ps : (guint64)time_ps;
    guint64 us = rest_ps / 1000000;
    char *at = buffer;
    if (time_ps < 0) {
        *at++ = '-';
    }
    at += ps_digits_put(at, us / 1000000);
    *at = '.';
    ps_digits_put_six(at + 1, (guint)(us % 1000000));
    ps_digits_put_six(at + 7, (guint)(rest_ps % 1000000));
    at[13] = '\0';
    return (gsize)(at + 13 - buffer);
}

gboolean ps_picoseconds_parse(const char *text, gint64 *time_ps)
{
    guint64 parsed = 0;
    const char *c = text;
    for (; g_ascii_isdigit(*c); c++) {
        parsed = parsed * 10 + (guint64)(*c - '0');
        if (parsed > G_MAXINT64 / PS_PER_S) {
            return FALSE;
        }
    }
    if (c == text || (c[0] == '.' && !g_ascii_isdigit(c[1]))) {
        return FALSE;
    }
    c += *c == '.';
    for (int i = 0; i < DECIMALS; i++) {
        parsed = parsed * 10 + (guint64)(g_ascii_isdigit(*c) ? *c++ - '0' : 0);
    }
    c += strspn(c, "0");
    if (*c != '\0' || parsed > G_MAXINT64) {
        return FALSE;
    }
    *time_ps = (gint64)parsed;
    return TRUE;
}

gint64 ps_seconds_to_ps(double seconds)
{
    double time_ps = seconds * (double)PS_PER_S;
    if (!(time_ps >= 0 && time_ps < 0x1p63)) {
        g_error("%g s is not a time the clock can hold", seconds);
    }
    return llrint(time_ps);
}

double ps_ps_to_seconds(gint64 time_ps)
{
    return (double)time_ps / (double)PS_PER_S;
}

PsTimeScale ps_time_scale(double largest_s)
{
    static const struct {
        const char *name;
        double factor;
    } time_units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};
    static const struct {
        double below; /* so that it is not rounded up to one more digit */
        const char *format;
    } formats[] = {{99.9995, "%.3f"}, {999.995, "%.2f"}, {9999.95, "%.1f"}, {999999.5, "%.0f"}};
    guint i = 0, k = 0;
    while (i + 1 < G_N_ELEMENTS(time_units) && largest_s < time_units[i].factor) {
        i++;
    }
    double largest = largest_s / time_units[i].factor;
    while (k < G_N_ELEMENTS(formats) && largest >= formats[k].below) {
        k++;
    }
    return (PsTimeScale){time_units[i].name, time_units[i].factor,
                         k < G_N_ELEMENTS(formats) ? formats[k].format : "%.4g"};
}
