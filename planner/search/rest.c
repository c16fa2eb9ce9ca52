#include "planner/search/rest.h"

typedef __int128 Wide;

/* What one search has shown: it holds for demands that ask no less. */
typedef struct {
    PsThreshold threshold;
    guint devices;
    PsDegrees degrees;
    guint *least_devices; /* [n_downsets]: of the layers outside each */
    guint *windows;       /* [n_downsets]: least of its layouts */
} Lesson;

/* Searches ask for neighbours of what they asked last. */
#define MOST_LESSONS 64

struct PsRest {
    const PsCosts *costs;
    const PsDownsets *downsets;
    PsStageSolver *solver;
    PsStageWalk *walk;
    Wide *work;         /* [n_downsets]: least device-time of the layers outside */
    GPtrArray *lessons; /* Lesson */
};

/* Device-time that a layer takes at the least: t·p, whatever the degree. */
static Wide least_work(const PsCosts *costs, guint layer)
{
    Wide least = -1;
    for (guint t = 0; t < costs->n_degrees; t++) {
        const PsLayerCost *cost = ps_layer_cost(costs, layer, t);
        Wide work = (Wide)costs->degrees[t] * cost->min_time;
        if (cost->n_tmpcs > 0 && (least < 0 || work < least)) {
            least = work;
        }
    }
    return least;
}

static void lesson_free(gpointer data)
{
    Lesson *lesson = data;
    g_free(lesson->least_devices);
    g_free(lesson->windows);
    g_free(lesson);
}

PsRest *ps_rest_new(const PsCosts *costs, const PsDownsets *downsets, PsStageSolver *solver)
{
    PsRest *rest = g_new0(PsRest, 1);
    *rest = (PsRest){costs,
                     downsets,
                     solver,
                     ps_stage_walk_new(costs, downsets),
                     g_new0(Wide, downsets->n_downsets),
                     g_ptr_array_new_with_free_func(lesson_free)};
    for (guint i = 0; i < downsets->n_downsets; i++) {
        for (guint v = 0; v < costs->profile->n_layers; v++) {
            if (!ps_set_has(ps_downset(downsets, i), v)) {
                rest->work[i] += least_work(costs, v);
            }
        }
    }
    return rest;
}

void ps_rest_free(PsRest *rest)
{
    if (rest == NULL) {
        return;
    }
    ps_stage_walk_free(rest->walk);
    g_free(rest->work);
    g_ptr_array_unref(rest->lessons);
    g_free(rest);
}

void ps_rest_take_over(PsRest *rest, PsRest *from)
{
    while (from->lessons->len > 0) {
        g_ptr_array_add(rest->lessons, g_ptr_array_steal_index(from->lessons, 0));
    }
}

gint64 ps_rest_least_load(const PsRest *rest, guint devices)
{
    return (gint64)(rest->work[0] / devices);
}

/* ---- a lesson ------------------------------------------------------------------------------- */

/* The fewest devices of a stage of this degree and of all before it, below `most`; else `most`.
 * `before` of them are those before it. */
static guint least_with(const PsRest *rest, const PsDemand *demand, PsStageRun *run,
                        const PsStageSums *sums, guint window, guint before, guint most)
{
    const PsCosts *costs = rest->costs;
    for (guint i = ps_stage_least_divisor(costs, sums, demand->caps); i < costs->n_divisors; i++) {
        guint d = costs->divisors[i];
        guint64 devices = (guint64)d * costs->degrees[run->degree] + before;
        if (devices >= most) {
            return most;
        }
        run->data_parallel = d;
        run->in_flight = ps_in_flight_on(window, d);
        gint64 cap = demand->caps[i];
        if (run->in_flight <= costs->most_in_flight &&
            ps_stage_load_within(rest->solver, run, sums, cap) <= cap) {
            return (guint)devices;
        }
    }
    return most;
}

/* The fewest devices of the layers outside a downset, below `most`; else `most`. The larger
 * downsets have theirs. */
static guint least_outside(const PsRest *rest, const PsDemand *demand, const guint *least_devices,
                           guint lower, guint window, guint most)
{
    if (most == 0) {
        return 0;
    }
    PsStageRun run = {.lower = lower};
    const PsStageSums *sums;
    PsCandidates candidates = ps_candidates_begin(rest->solver, rest->walk, demand->caps, lower);
    while (ps_candidates_next(&candidates, &run, &sums)) {
        most = least_with(rest, demand, &run, sums, window, least_devices[run.upper], most);
    }
    return most;
}

void ps_rest_learn(PsRest *rest, const PsFronts *fronts, const PsDemand *demand)
{
    guint n = rest->downsets->n_downsets, none = demand->devices + 1;
    Lesson *lesson = g_new0(Lesson, 1);
    *lesson = (Lesson){demand->threshold, demand->devices, demand->degrees, g_new0(guint, n),
                       g_new0(guint, n)};
    for (guint i = n - 1; i-- > 0;) {
        guint taken;
        ps_fronts_least(fronts, i, &lesson->windows[i], &taken);
        guint most = none - MIN(taken, none);
        guint least =
            least_outside(rest, demand, lesson->least_devices, i, lesson->windows[i], most);
        lesson->least_devices[i] = least < most ? least : none;
    }
    if (rest->lessons->len == MOST_LESSONS) {
        g_ptr_array_remove_index(rest->lessons, 0);
    }
    g_ptr_array_add(rest->lessons, lesson);
}

/* ---- what a layout may take ----------------------------------------------------------------- */

/* Whether all loads within a are within b. */
static gboolean is_within(PsThreshold a, PsThreshold b)
{
    Wide left = (Wide)a.numerator * b.denominator, right = (Wide)b.numerator * a.denominator;
    return left < right || (left == right && (a.strict || !b.strict));
}

/* The lesson of least threshold that holds for the demand, or NULL. */
static const Lesson *find_lesson(const PsRest *rest, const PsDemand *demand)
{
    const Lesson *best = NULL;
    for (guint i = 0; i < rest->lessons->len; i++) {
        const Lesson *lesson = rest->lessons->pdata[i];
        if (is_within(demand->threshold, lesson->threshold) && demand->devices <= lesson->devices &&
            demand->degrees >= lesson->degrees &&
            (best == NULL || is_within(lesson->threshold, best->threshold))) {
            best = lesson;
        }
    }
    return best;
}

/* Rounded up; more than there are where it cannot be done. */
static Wide devices_for_work(Wide work, const PsDemand *demand)
{
    PsThreshold threshold = demand->threshold;
    if (work == 0) {
        return 0;
    }
    return threshold.numerator == 0
               ? (Wide)demand->devices + 1
               : (work * threshold.denominator + threshold.numerator - 1) / threshold.numerator;
}

void ps_rest_most_devices(const PsRest *rest, const PsDemand *demand, guint *most_devices)
{
    const Lesson *lesson = find_lesson(rest, demand);
    guint n = rest->downsets->n_downsets;
    for (guint i = 0; i < n; i++) {
        Wide need = MAX(devices_for_work(rest->work[i], demand), i + 1 < n ? 1 : 0);
        if (lesson != NULL) {
            need = MAX(need, lesson->least_devices[i]);
        }
        most_devices[i] = need > demand->devices ? 0 : demand->devices - (guint)need;
    }
}

const guint *ps_rest_windows(const PsRest *rest, const PsDemand *demand)
{
    const Lesson *lesson = find_lesson(rest, demand);
    return lesson != NULL ? lesson->windows : NULL;
}
