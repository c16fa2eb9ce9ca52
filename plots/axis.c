#include "plots/axis.h"

#include <math.h>
#include <string.h>

#define LOG_RATIO 10.0

/* ---- ticks ----------------------------------------------------------------------------------- */

static const double mantissas[] = {1, 2, 5};

/* Multiples of step in [min, max]; rounding may not cost the ends. */
static double first_multiple(double min, double step)
{
    return ceil(min / step - 1e-9);
}

static double n_multiples(double min, double max, double step)
{
    return floor(max / step + 1e-9) - first_multiple(min, step) + 1;
}

void ps_ticks_linear(double min, double max, double unit, guint most, PsTicks *ticks)
{
    g_assert(min < max && most >= 2 && most <= PS_MOST_TICKS);
    int power = (int)floor(log10((max - min) / unit / most)) - 1;
    guint mantissa = 0;
    double step = unit * pow(10, power);
    while (n_multiples(min, max, step) > most) {
        mantissa = (mantissa + 1) % G_N_ELEMENTS(mantissas);
        power += mantissa == 0;
        step = unit * mantissas[mantissa] * pow(10, power);
    }
    ticks->step = step;
    ticks->n = (guint)n_multiples(min, max, step);
    double first = first_multiple(min, step);
    for (guint i = 0; i < ticks->n; i++) {
        ticks->values[i] = (first + i) * step;
    }
}

/* Ticks at mantissa[j] * base^(i*stride), unless there are more than `most`. */
static gboolean try_log(double min, double max, double base, guint stride, guint n_mantissas,
                        guint most, PsTicks *ticks)
{
    const double slack = 1 + 1e-9;
    int first = (int)floor(log(min) / log(base) / stride) - 1;
    ticks->n = 0;
    ticks->step = 0;
    for (int i = first;; i++) {
        for (guint j = 0; j < n_mantissas; j++) {
            double value = mantissas[j] * pow(base, (double)i * stride);
            if (value > max * slack) {
                return TRUE;
            }
            if (value >= min / slack) {
                if (ticks->n == most) {
                    return FALSE;
                }
                ticks->values[ticks->n++] = value;
            }
        }
    }
}

void ps_ticks_log(double min, double max, gboolean binary, guint most, PsTicks *ticks)
{
    g_assert(min > 0 && min < max && most >= 2 && most <= PS_MOST_TICKS);
    if (!binary && try_log(min, max, 10, 1, G_N_ELEMENTS(mantissas), most, ticks)) {
        return;
    }
    for (guint stride = 1; !try_log(min, max, binary ? 2 : 10, stride, 1, most, ticks); stride++) {
    }
}

/* ---- axes ------------------------------------------------------------------------------------ */

static PsAxis widened(PsAxis axis)
{
    if (axis.logarithmic) {
        double room = pow(axis.max / axis.min, 0.04);
        return (PsAxis){axis.dimension, axis.min / room, axis.max * room, TRUE};
    }
    double room = (axis.max - axis.min) * 0.04;
    double magnitude = fmax(fabs(axis.min), fabs(axis.max));
    if (room <= magnitude * 1e-9) {
        room = magnitude > 0 ? magnitude * 0.04 : 1;
    }
    /* Nothing lies beyond 0. */
    double min = axis.min == 0 ? 0 : axis.min - room;
    double max = axis.max == 0 && min < 0 ? 0 : axis.max + room;
    return (PsAxis){axis.dimension, min, max, FALSE};
}

PsAxis ps_axis_fit(const double *values, gsize n, PsDimension dimension)
{
    double min = INFINITY, max = -INFINITY;
    for (gsize i = 0; i < n; i++) {
        if (isfinite(values[i])) {
            min = fmin(min, values[i]);
            max = fmax(max, values[i]);
        }
    }
    if (min > max) {
        min = max = 0;
    }
    gboolean logarithmic = min > 0 && max / min >= LOG_RATIO;
    if (!logarithmic && min > 0 && min < max / 2) {
        min = 0;
    } else if (!logarithmic && max < 0 && max > min / 2) {
        max = 0;
    }
    return widened((PsAxis){dimension, min, max, logarithmic});
}

double ps_axis_place(const PsAxis *axis, double value)
{
    return axis->logarithmic ? log(value / axis->min) / log(axis->max / axis->min)
                             : (value - axis->min) / (axis->max - axis->min);
}

/* The one unit of a linear axis: the one in which people write its largest value, with the blank
 * before it. Caller frees. */
static char *axis_unit(const PsAxis *axis)
{
    if (axis->dimension == PS_N_DIMENSIONS) {
        return g_strdup("");
    }
    double largest = fmax(fabs(axis->min), fabs(axis->max));
    g_autofree char *text = ps_quantity_format(axis->dimension, largest);
    return g_strdup(text + strcspn(text, " %/"));
}

static double unit_size(const PsAxis *axis, const char *unit)
{
    double size = 1;
    g_autofree char *one = g_strconcat("1", unit, NULL);
    if (axis->dimension != PS_N_DIMENSIONS &&
        !ps_quantity_parse(axis->dimension, one, &size, NULL)) {
        g_error("\"%s\" is written but not read as a unit", unit);
    }
    return size;
}

void ps_axis_ticks(const PsAxis *axis, guint most, PsTicks *ticks)
{
    if (axis->logarithmic) {
        ps_ticks_log(axis->min, axis->max, axis->dimension == PS_BYTES, most, ticks);
    } else {
        g_autofree char *unit = axis_unit(axis);
        ps_ticks_linear(axis->min, axis->max, unit_size(axis, unit), most, ticks);
    }
}

char *ps_axis_label(const PsAxis *axis, const PsTicks *ticks, double value)
{
    if (ticks->step == 0) {
        return axis->dimension == PS_N_DIMENSIONS ? g_strdup_printf("%.6g", value)
                                                  : ps_quantity_format(axis->dimension, value);
    }
    g_autofree char *unit = axis_unit(axis);
    double size = unit_size(axis, unit);
    int decimals = MAX(0, (int)ceil(-log10(ticks->step / size) - 1e-9));
    return g_strdup_printf("%.*f%s", decimals, value / size, unit);
}
