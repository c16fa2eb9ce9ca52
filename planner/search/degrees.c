#include "planner/search/degrees.h"

const char *const ps_degrees_names[PS_N_DEGREES + 1] = {"any", "nested", "uniform", NULL};

static guint any_shapes(guint n_divisors)
{
    (void)n_divisors;
    return 1;
}

static guint any_next(guint shape, const guint *divisors, guint next)
{
    (void)divisors;
    (void)next;
    return shape;
}

static guint uniform_shapes(guint n_divisors)
{
    return 1 + n_divisors;
}

static guint uniform_next(guint shape, const guint *divisors, guint next)
{
    (void)divisors;
    return shape == 0 || shape == 1 + next ? 1 + next : PS_NO_SHAPE;
}

/* Shape 1 + 3·i + way: the last d is divisors[i], and so far d was level, rose or fell. */
enum { LEVEL, RISING, FALLING, N_WAYS };

static guint nested_shapes(guint n_divisors)
{
    return 1 + N_WAYS * n_divisors;
}

static guint nested_next(guint shape, const guint *divisors, guint next)
{
    if (shape == 0) {
        return 1 + N_WAYS * next + LEVEL;
    }
    guint last = (shape - 1) / N_WAYS, way = (shape - 1) % N_WAYS;
    if (next == last) {
        return shape;
    }
    guint new_way = divisors[next] > divisors[last] ? RISING : FALLING;
    guint large = MAX(divisors[next], divisors[last]), small = MIN(divisors[next], divisors[last]);
    if (large % small != 0 || (way != LEVEL && way != new_way)) {
        return PS_NO_SHAPE;
    }
    return 1 + N_WAYS * next + new_way;
}

/* What may follow a rising sequence are the last d and its multiples, a falling one the last d and
 * its divisors, a level one both; what may follow a multiple while rising, or a divisor while
 * falling, is among these. */
static gboolean nested_covers(guint wide, guint narrow, const guint *divisors)
{
    if (wide == 0 || narrow == 0) {
        return wide == 0;
    }
    guint from = divisors[(wide - 1) / N_WAYS], to = divisors[(narrow - 1) / N_WAYS];
    guint way = (wide - 1) % N_WAYS, other = (narrow - 1) % N_WAYS;
    if (way != LEVEL && way != other) {
        return FALSE;
    }
    return other == LEVEL ? from == to : other == RISING ? to % from == 0 : from % to == 0;
}

static gboolean same_covers(guint wide, guint narrow, const guint *divisors)
{
    (void)divisors;
    return wide == narrow;
}

static const struct {
    guint (*n_shapes)(guint n_divisors);
    guint (*next)(guint shape, const guint *divisors, guint next);
    gboolean (*covers)(guint wide, guint narrow, const guint *divisors);
} classes[PS_N_DEGREES] = {
    [PS_DEGREES_ANY] = {any_shapes, any_next, same_covers},
    [PS_DEGREES_NESTED] = {nested_shapes, nested_next, nested_covers},
    [PS_DEGREES_UNIFORM] = {uniform_shapes, uniform_next, same_covers},
};

guint ps_degrees_n_shapes(PsDegrees degrees, guint n_divisors)
{
    return classes[degrees].n_shapes(n_divisors);
}

guint ps_degrees_next(PsDegrees degrees, guint shape, const guint *divisors, guint next)
{
    return classes[degrees].next(shape, divisors, next);
}

gboolean ps_degrees_covers(PsDegrees degrees, guint wide, guint narrow, const guint *divisors)
{
    return classes[degrees].covers(wide, narrow, divisors);
}
