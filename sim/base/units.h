/* Quantities with units, as people write them: "80 GiB", "25 GB/s", "200 Gbit/s", "3 us", "5%".
 *
 * A number is decimal (digits, optional fraction and exponent, no sign, hex, inf or nan), then
 * optional blanks, then a unit of the dimension. A bare number is refused except 0. Decimal
 * prefixes are powers of 1000 (kB, MB, GB, TB), binary ones of 1024 (KiB, MiB, GiB, TiB). */
#pragma once

#include <glib.h>

typedef enum {
    PS_BYTES,       /* B kB MB GB TB KiB MiB GiB TiB -> bytes */
    PS_BYTES_PER_S, /* the byte units with /s, and bit/s kbit/s Mbit/s Gbit/s Tbit/s -> bytes/s */
    PS_SECONDS,     /* ps ns us ms s min h -> seconds */
    PS_FLOP_PER_S,  /* FLOP/s with prefix G, T, P -> FLOP/s */
    PS_PER_SECOND,  /* /s /min /h -> times per second */
    PS_RATIO,       /* % -> fraction (5% is 0.05) */
    PS_N_DIMENSIONS
} PsDimension;

/* Parses all of text. On failure *value is untouched and the error (USAGE) names the text, what is
 * wrong with it and an example of the right form; callers with a location re-wrap the message. */
gboolean ps_quantity_parse(PsDimension dimension, const char *text, double *value,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A whole number from min to max (inclusive), digits only. */
gboolean ps_count_parse(const char *text, guint64 min, guint64 max, guint64 *value,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A plain decimal from min to max (inclusive), in the grammar above without a unit. */
gboolean ps_number_parse(const char *text, double min, double max, double *value,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Short text for people, about four significant digits: "8 GiB", "25 GB/s", "41.52 ms", "5.0%".
 * Bytes take a binary prefix, rates and times a decimal one. Caller frees. */
char *ps_quantity_format(PsDimension dimension, double value);

/* A share as a percentage of two significant digits, rounded up: "0.095 %", "12 %". For bounds,
 * which must not look better than they are. Caller frees. */
char *ps_percent_up(double share);

/* A quantity of four significant digits that is no less: what takes that much, fits. Caller frees.
 */
char *ps_quantity_format_up(PsDimension dimension, double value);

/* End of the unsigned decimal number (the grammar above) that text begins with, or NULL. */
const char *ps_decimal_skip(const char *text);

/* Shortest decimal text that reads back as the same double ("C" locale). Caller frees. */
char *ps_double_format(double value);

/* Seconds as exact picoseconds with 12 decimals, "1.000000000001": writes into buffer (at least
 * PS_SECONDS_TEXT bytes), returns the length. */
#define PS_SECONDS_TEXT 32
gsize ps_picoseconds_format(gint64 time_ps, char *buffer);

/* The reverse, exact: a non-negative decimal of seconds with at most 12 decimals that count
 * (further ones must be zero). FALSE where text is anything else. */
gboolean ps_picoseconds_parse(const char *text, gint64 *time_ps) G_GNUC_WARN_UNUSED_RESULT;

/* The one crossing from analytic seconds to the engine's clock: nearest picosecond. Aborts the
 * program on NaN, negative or out-of-range input: callers have checked their inputs. */
gint64 ps_seconds_to_ps(double seconds);
double ps_ps_to_seconds(gint64 time_ps);

/* How columns of times are written: the unit in which the largest of them reads well, and the
 * printf conversion of a double with which it takes at most six characters (ten where it is a
 * million seconds or more). */
typedef struct {
    const char *unit; /* "s", "ms" or "us" */
    double unit_s;
    const char *format;
} PsTimeScale;
PsTimeScale ps_time_scale(double largest_s);
