/* Decimal digits, two at a time: most of the time of writing large tables goes into them. */
#pragma once

#include <glib.h>
#include <string.h>

#define PS_MOST_DIGITS 20 /* of a guint64 */

/* The two digits of a number below 100. */
static inline void ps_digits_put_pair(char *at, guint value)
{
    static const char pairs[] = "0001020304050607080910111213141516171819"
                                "2021222324252627282930313233343536373839"
                                "4041424344454647484950515253545556575859"
                                "6061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    memcpy(at, pairs + 2 * value, 2);
}

/* Six digits of a number below 1,000,000. */
static inline void ps_digits_put_six(char *at, guint value)
{
    ps_digits_put_pair(at, value / 10000);
    ps_digits_put_pair(at + 2, value / 100 % 100);
    ps_digits_put_pair(at + 4, value % 100);
}

static inline guint ps_digits_count(guint64 value)
{
    guint n = 1;
    for (; value >= 10000; value /= 10000) {
        n += 4;
    }
    return n + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* As many as there are, without leading zeros; returns how many. */
static inline guint ps_digits_put(char *at, guint64 value)
{
    guint n = ps_digits_count(value);
    char *end = at + n;
    for (; value >= 100; value /= 100) {
        end -= 2;
        ps_digits_put_pair(end, (guint)(value % 100));
    }
    if (value >= 10) {
        ps_digits_put_pair(end - 2, (guint)value);
    } else {
        end[-1] = (char)('0' + value);
    }
    return n;
}
