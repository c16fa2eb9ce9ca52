/* What searches learn about the devices that the rest of a layout needs must never cost a plan:
 * thresholds fall from plan to plan and rise again, in classes of degrees and on numbers of devices
 * as they come, each against the list of all plans. */
#include "planner/search/planning.h"
#include "sim/cli/setting-options.h"
#include "tests/harness/harness.h"
#include "tests/oracle/exhaustive.h"
#include "tests/oracle/random-levels.h"
#include "tests/oracle/random-profile.h"

/* What one learns serves it and those below it. */
static const struct {
    PsDegrees degrees;
    PsExhaustiveRules rules;
} classes[] = {
    {PS_DEGREES_ANY, {0}},
    {PS_DEGREES_NESTED, {.nested = TRUE}},
    {PS_DEGREES_UNIFORM, {.uniform = TRUE}},
};

/* Fewest devices of the plans that are no slower, 0 where there is none. The list is doubles. */
static guint fewest(const GArray *plans, double tps_s, guint devices)
{
    guint least = 0;
    for (guint i = 0; i < plans->len; i++) {
        const PsExhaustive *plan = &g_array_index(plans, PsExhaustive, i);
        if (plan->tps_s < tps_s && plan->devices <= devices &&
            (least == 0 || plan->devices < least)) {
            least = plan->devices;
        }
    }
    return least;
}

/* Holds a search against the list; returns whether there is a plan, and its load. */
static gboolean agrees(PsSearch *search, const PsPlanning *planning, const GArray *plans,
                       guint devices, PsThreshold threshold, PsThreshold *load)
{
    double tps_s = (double)threshold.numerator / (double)threshold.denominator *
                   planning->costs->time_quantum_s;
    guint expected = fewest(plans, tps_s * (1 + (threshold.strict ? -1e-12 : 1e-12)), devices);
    g_autoptr(PsLayout) layout = ps_search_within(search, NULL, threshold, FALSE);
    ck_assert_int_eq(layout != NULL, expected > 0);
    if (layout != NULL) {
        /* With levels the list has each plan at its fastest places only. */
        ck_assert(planning->costs->levels.n > 1 || layout->devices == expected);
        ps_search_learn(search);
        *load = ps_layout_load(layout);
    }
    return layout != NULL;
}

static void fall_and_rise(PsPlanning *planning, const GArray *plans, guint class, guint devices)
{
    PsSearch *search = ps_planning_search(planning, classes[class].degrees);
    PsThreshold load, loads[64];
    guint n = 0;
    ps_search_set_devices(search, devices);
    gboolean any = agrees(search, planning, plans, devices, PS_NO_THRESHOLD, &load);
    while (any && n < G_N_ELEMENTS(loads)) {
        loads[n++] = load;
        PsThreshold below = {load.numerator, load.denominator, TRUE};
        any = agrees(search, planning, plans, devices, below, &load);
    }
    while (n > 0) {
        ck_assert(agrees(search, planning, plans, devices, loads[--n], &load));
    }
}

START_TEST(lessons_cost_no_plan)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("lessons_cost_no_plan"));
    for (guint round = 0; round < 600; round++) {
        g_autoptr(PsProfile) profile = ps_random_small_profile(random);
        PsSetting setting = ps_setting_of_profile(profile);
        if (g_rand_boolean(random)) {
            ps_random_levels(random, &setting);
        }
        g_autoptr(PsPlanning) planning = ps_planning_new(profile, &setting, NULL);
        for (guint visit = 0; visit < 6; visit++) {
            guint class = (guint)g_rand_int_range(random, 0, G_N_ELEMENTS(classes));
            guint devices = setting.devices;
            if (planning->costs->levels.n == 1) {
                devices = (guint)g_rand_int_range(random, 1, (gint)devices + 1);
            }
            g_autoptr(GArray) plans = ps_exhaustive_all(profile, &setting, &classes[class].rules);
            fall_and_rise(planning, plans, class, devices);
        }
    }
}
END_TEST

PS_TEST_MAIN("rest", lessons_cost_no_plan)
