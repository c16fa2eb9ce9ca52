#include "sim/model/split.h"

#include <math.h>

#include "sim/base/units.h"

/* Relative slack between a whole and its given parts, which went through decimal text. */
#define TOLERANCE 1e-9

static double or_zero(double part)
{
    return isnan(part) ? 0 : part;
}

static char *given_fault(const PsTmpc *tmpc)
{
    double parts_s =
        or_zero(tmpc->forward_s) + or_zero(tmpc->backward_s) + or_zero(tmpc->recompute_s);
    double slack_s = TOLERANCE * tmpc->time_s;
    gboolean all_given =
        !isnan(tmpc->forward_s) && !isnan(tmpc->backward_s) && !isnan(tmpc->recompute_s);
    const char *relation = parts_s > tmpc->time_s + slack_s                ? "at most "
                           : all_given && parts_s < tmpc->time_s - slack_s ? ""
                                                                           : NULL;
    if (relation == NULL) {
        return NULL;
    }
    g_autofree char *parts = ps_double_format(parts_s);
    g_autofree char *whole = ps_double_format(tmpc->time_s);
    return g_strdup_printf("timeForward, timeBackward and timeRecompute sum to %s s "
                           "(expected %stimePerSample, %s s)",
                           parts, relation, whole);
}

/* The fastest TMPC that does not recompute. */
static PsTmpc *plain_partner(PsTmpcSet *set)
{
    PsTmpc *partner = NULL;
    for (guint i = 0; i < set->n_tmpcs; i++) {
        PsTmpc *tmpc = &set->tmpcs[i];
        if (!tmpc->recomputes && (partner == NULL || tmpc->time_s < partner->time_s)) {
            partner = tmpc;
        }
    }
    return partner;
}

/* Gives the rest of the time to the open parts, forward : backward : recompute = 1 : 2 : 1. */
static void share_rest(PsTmpc *tmpc)
{
    double rest_s = fmax(tmpc->time_s - or_zero(tmpc->forward_s) - or_zero(tmpc->backward_s) -
                             or_zero(tmpc->recompute_s),
                         0);
    double shares =
        !!isnan(tmpc->forward_s) + 2 * !!isnan(tmpc->backward_s) + !!isnan(tmpc->recompute_s);
    if (isnan(tmpc->recompute_s)) {
        gboolean as_forward = !isnan(tmpc->forward_s) && isnan(tmpc->backward_s);
        tmpc->recompute_s = as_forward ? fmin(tmpc->forward_s, rest_s) : rest_s / shares;
    }
    if (isnan(tmpc->forward_s)) {
        tmpc->forward_s = rest_s / shares;
    }
    tmpc->backward_s = fmax(tmpc->time_s - tmpc->forward_s - tmpc->recompute_s, 0);
}

static gboolean is_open(const PsTmpc *tmpc)
{
    return isnan(tmpc->forward_s) && isnan(tmpc->backward_s);
}

/* Settles recompute and forward where the plain partner tells them. */
static void compare_with_partner(PsTmpcSet *set, PsTmpc *partner)
{
    double forward_s = NAN;
    for (guint i = 0; i < set->n_tmpcs; i++) {
        PsTmpc *tmpc = &set->tmpcs[i];
        double difference_s = tmpc->time_s - partner->time_s;
        if (tmpc->recomputes && is_open(tmpc) && isnan(tmpc->recompute_s) && difference_s >= 0 &&
            difference_s <= partner->time_s) {
            tmpc->recompute_s = difference_s;
            forward_s = fmax(forward_s, difference_s); /* of a NAN and a number: the number */
        }
    }
    if (is_open(partner)) {
        partner->forward_s = forward_s;
    }
    share_rest(partner);
    for (guint i = 0; i < set->n_tmpcs; i++) {
        PsTmpc *tmpc = &set->tmpcs[i];
        if (!is_open(tmpc)) {
            continue;
        }
        if (tmpc->recomputes && !isnan(tmpc->recompute_s)) {
            tmpc->forward_s = fmin(partner->forward_s, tmpc->time_s - tmpc->recompute_s);
        } else if (!tmpc->recomputes && partner->time_s > 0) {
            tmpc->forward_s = partner->forward_s / partner->time_s * tmpc->time_s;
        }
    }
}

/* The weight gradient is a part of the backward. */
static char *weight_gradient_fault(const PsTmpc *tmpc)
{
    if (!(tmpc->weight_gradient_s > tmpc->backward_s + TOLERANCE * tmpc->time_s)) {
        return NULL;
    }
    g_autofree char *part = ps_double_format(tmpc->weight_gradient_s);
    g_autofree char *whole = ps_double_format(tmpc->backward_s);
    return g_strdup_printf("timeWeightGradient is %s s (expected at most the backward, %s s)", part,
                           whole);
}

char *ps_split_times(PsTmpcSet *set, guint *index)
{
    for (guint i = 0; i < set->n_tmpcs; i++) {
        PsTmpc *tmpc = &set->tmpcs[i];
        if (!tmpc->recomputes) {
            tmpc->recompute_s = 0;
        }
        char *fault = given_fault(tmpc);
        if (fault != NULL) {
            *index = i;
            return fault;
        }
    }
    PsTmpc *partner = plain_partner(set);
    if (partner != NULL) {
        compare_with_partner(set, partner);
    }
    for (guint i = 0; i < set->n_tmpcs; i++) {
        PsTmpc *tmpc = &set->tmpcs[i];
        share_rest(tmpc);
        char *fault = weight_gradient_fault(tmpc);
        if (fault != NULL) {
            *index = i;
            return fault;
        }
        if (tmpc->weight_gradient_s > tmpc->backward_s) {
            tmpc->weight_gradient_s = tmpc->backward_s;
        }
        if (tmpc->recomputes && partner != NULL) {
            tmpc->workspace_bytes = CLAMP(tmpc->memory_fixed_bytes - partner->memory_fixed_bytes, 0,
                                          tmpc->memory_fixed_bytes);
        }
    }
    return NULL;
}
