/* Places of stages on levels: against trying all places, and by hand. */
#include "sim/plan/place.h"
#include "tests/harness/harness.h"

static const PsLevels structures[] = {
    {2, {{2, 4}, {16, 1}}},         {2, {{3, 4}, {18, 1}}},
    {2, {{4, 2}, {16, 1}}},         {2, {{8, 2}, {16, 1}}},
    {3, {{2, 8}, {4, 4}, {16, 1}}}, {3, {{2, 8}, {6, 4}, {18, 1}}},
    {3, {{4, 9}, {8, 3}, {16, 1}}}, {4, {{1, 9}, {2, 8}, {8, 7}, {16, 6}}},
};

/* ---- levels, from their definition ---------------------------------------------------------- */

static guint span(const PsLevels *levels, guint one, guint other)
{
    for (guint i = 0; i < levels->n; i++) {
        if (one / levels->level[i].size == other / levels->level[i].size) {
            return i;
        }
    }
    return levels->n - 1;
}

static gboolean hold(const PsLevels *levels, guint first, guint d, guint t)
{
    for (guint i = 0; i + 1 < levels->n; i++) {
        if (levels->level[i].size >= t) {
            for (guint r = 0; r < d; r++) {
                guint size = levels->level[i].size, group = first + r * t;
                if (group / size != (group + t - 1) / size) {
                    return FALSE;
                }
            }
            return TRUE;
        }
    }
    return TRUE;
}

START_TEST(groups_are_held_as_defined)
{
    for (guint s = 0; s < G_N_ELEMENTS(structures); s++) {
        const PsLevels *levels = &structures[s];
        for (guint first = 0; first < 40; first++) {
            for (guint other = 0; other < 16; other++) {
                ck_assert_uint_eq(ps_levels_span(levels, first % 16, other),
                                  span(levels, first % 16, other));
            }
            for (guint d = 1; d < 12; d++) {
                for (guint t = 1; t < 10; t++) {
                    ck_assert_int_eq(ps_levels_hold(levels, first, d, t),
                                     hold(levels, first, d, t));
                }
            }
        }
    }
}
END_TEST

/* Groups of 4 in one of 16: up to 4 devices lie in one group and need no border, 5 to 16 need one
 * of a group of 4. */
START_TEST(borders_are_those_of_the_groups_inside)
{
    const PsLevels levels = {2, {{4, 2}, {16, 1}}};
    const guint expected[] = {0, 1, 2, 3, 4, 8, 8, 8, 8, 12, 12, 12, 12, 16, 16, 16, 16};
    for (guint devices = 1; devices < G_N_ELEMENTS(expected); devices++) {
        ck_assert_uint_eq(ps_levels_border(&levels, devices), expected[devices]);
    }
    ck_assert_uint_eq(ps_levels_up_to(&levels, 4).n, 1);
    ck_assert_uint_eq(ps_levels_up_to(&levels, 5).n, 2);
}
END_TEST

/* ---- by hand -------------------------------------------------------------------------------- */

static double by_level(guint stage, PsCrossing crossing, gpointer user_data)
{
    const double *weights = user_data; /* enter, leave, resync of every stage */
    weights += 3 * stage;
    return 1 + weights[0] * crossing.enter + weights[1] * crossing.leave +
           weights[2] * crossing.resync;
}

/* Groups of 4. A stage of 2 devices before one of t = 4: the latter fills the last group, the
 * former ends the group before it, so together they take 6 devices, from device 2 of the two groups
 * on. The other way round the stage of 2 ends the last group, and that of 4 cannot begin in it: it
 * leaves the two devices between them idle and takes the first group, 8 in all. */
START_TEST(a_tensor_group_waits_for_its_own_group)
{
    const PsLevels levels = {2, {{4, 2}, {16, 1}}};
    const PsStageDegrees rising[] = {{1, 2}, {1, 4}}, falling[] = {{1, 4}, {1, 2}};
    double none[6] = {0};
    guint first[2];
    ck_assert_uint_eq(ps_place(&levels, 8, rising, 2, by_level, none, first), 6);
    ck_assert_uint_eq(first[0], 2);
    ck_assert_uint_eq(first[1], 4);
    ck_assert_uint_eq(ps_place(&levels, 8, falling, 2, by_level, none, first), 8);
    ck_assert_uint_eq(first[0], 0);
    ck_assert_uint_eq(first[1], 6);
    ck_assert_uint_eq(ps_place(&levels, 7, falling, 2, by_level, none, first), 0);
}
END_TEST

/* Three stages of 2 devices on groups of 4. Only the border between the first two is dear, so these
 * share a group, and the last one has another to itself: no device is idle between them. With a
 * dear border between the last two it is these that share one, behind the first. And a stage of 3
 * in the middle that resyncs dearly lies in one group, for which the two devices behind it stay
 * idle. */
START_TEST(idle_devices_go_where_they_help)
{
    const PsLevels levels = {2, {{4, 2}, {16, 1}}};
    const PsStageDegrees twos[] = {{2, 1}, {2, 1}, {2, 1}};
    guint first[3];
    double early[] = {0, 9, 0, 9, 0, 0, 0, 0, 0};
    ck_assert_uint_eq(ps_place(&levels, 8, twos, 3, by_level, early, first), 8);
    ck_assert_uint_eq(first[0], 0);
    ck_assert_uint_eq(first[1], 2);
    ck_assert_uint_eq(first[2], 6);
    double late[] = {0, 0, 0, 0, 9, 0, 9, 0, 0};
    ck_assert_uint_eq(ps_place(&levels, 8, twos, 3, by_level, late, first), 6);
    ck_assert_uint_eq(first[0], 2);
    ck_assert_uint_eq(first[1], 4);
    ck_assert_uint_eq(first[2], 6);
    const PsStageDegrees three[] = {{2, 1}, {3, 1}, {2, 1}};
    double resync[] = {0, 0, 0, 0, 0, 9, 0, 0, 0};
    ck_assert_uint_eq(ps_place(&levels, 12, three, 3, by_level, resync, first), 9);
    ck_assert_uint_eq(first[0], 3);
    ck_assert_uint_eq(first[1], 5);
    ck_assert_uint_eq(first[2], 10);
}
END_TEST

/* ---- against all places --------------------------------------------------------------------- */

#define MOST_STAGES 5

typedef struct {
    const PsLevels *levels;
    guint devices, n_stages;
    PsStageDegrees stages[MOST_STAGES];
    double weights[3 * MOST_STAGES];
    double dearness[PS_MOST_LEVELS]; /* rises outwards */
    guint starts[MOST_STAGES];       /* from the end of the pipeline */
    /* The best so far. */
    gboolean any;
    double largest, squares;
    guint taken;
} Trial;

static double trial_load(guint stage, PsCrossing crossing, gpointer user_data)
{
    const Trial *trial = user_data;
    const double *weights = &trial->weights[3 * stage], *dearness = trial->dearness;
    return 1 + weights[0] * dearness[crossing.enter] + weights[1] * dearness[crossing.leave] +
           weights[2] * dearness[crossing.resync];
}

static guint last_of(const Trial *trial, guint stage)
{
    return trial->starts[stage] +
           trial->stages[stage].data_parallel * trial->stages[stage].tensor_parallel - 1;
}

static void judge(Trial *trial)
{
    double largest = 0, squares = 0;
    for (guint i = 0; i < trial->n_stages; i++) {
        PsCrossing crossing;
        crossing.resync = (guint8)span(trial->levels, trial->starts[i], last_of(trial, i));
        crossing.enter = crossing.leave = crossing.resync;
        if (i > 0) {
            crossing.enter = (guint8)span(trial->levels, trial->starts[i], last_of(trial, i - 1));
        }
        if (i + 1 < trial->n_stages) {
            crossing.leave = (guint8)span(trial->levels, trial->starts[i + 1], last_of(trial, i));
        }
        double load = trial_load(i, crossing, trial);
        largest = MAX(largest, load);
        squares += load * load;
    }
    guint taken = last_of(trial, 0) + 1;
    gboolean better = !trial->any || largest < trial->largest;
    if (!better && largest == trial->largest) {
        better = taken < trial->taken || (taken == trial->taken && squares < trial->squares);
    }
    if (better) {
        trial->any = TRUE;
        trial->largest = largest;
        trial->squares = squares;
        trial->taken = taken;
    }
}

/* Tries all places of the stages up to this one, the first in the pipeline being 0. */
static void try_all(Trial *trial, guint n_left, guint from)
{
    if (n_left == 0) {
        judge(trial);
        return;
    }
    guint stage = n_left - 1;
    const PsStageDegrees *degrees = &trial->stages[stage];
    for (guint start = from; start < trial->devices; start++) {
        trial->starts[stage] = start;
        if (last_of(trial, stage) < trial->devices &&
            hold(trial->levels, start, degrees->data_parallel, degrees->tensor_parallel)) {
            try_all(trial, stage, last_of(trial, stage) + 1);
        }
    }
}

START_TEST(no_place_is_better)
{
    GRand *random = g_rand_new_with_seed(ps_test_seed("no_place_is_better"));
    guint placed = 0, idle = 0;
    for (guint round = 0; round < 20000; round++) {
        Trial trial = {.levels = &structures[g_rand_int_range(random, 0, G_N_ELEMENTS(structures))],
                       .n_stages = (guint)g_rand_int_range(random, 1, MOST_STAGES + 1),
                       .devices = (guint)g_rand_int_range(random, 1, 17)};
        guint n_ranks = 0;
        for (guint i = 0; i < trial.n_stages; i++) {
            trial.stages[i] = (PsStageDegrees){(guint)g_rand_int_range(random, 1, 5),
                                               (guint)g_rand_int_range(random, 1, 5)};
            n_ranks += trial.stages[i].data_parallel * trial.stages[i].tensor_parallel;
        }
        for (guint i = 0; i < 3 * trial.n_stages; i++) {
            trial.weights[i] = g_rand_int_range(random, 0, 4);
        }
        for (guint i = 1; i < PS_MOST_LEVELS; i++) {
            trial.dearness[i] = trial.dearness[i - 1] + g_rand_int_range(random, 0, 3);
        }
        try_all(&trial, trial.n_stages, 0);
        guint first[MOST_STAGES];
        guint taken = ps_place(trial.levels, trial.devices, trial.stages, trial.n_stages,
                               trial_load, &trial, first);
        ck_assert_msg(taken == trial.taken, "round %u: %u, not %u devices", round, taken,
                      trial.taken);
        if (!trial.any) {
            continue;
        }
        placed++;
        idle += taken > n_ranks;
        /* Turned round and judged like any other, it must not be worse. */
        Trial again = trial;
        guint end = first[0] + taken;
        for (guint i = 0; i < trial.n_stages; i++) {
            again.starts[i] =
                end - first[i] - trial.stages[i].data_parallel * trial.stages[i].tensor_parallel;
        }
        again.any = FALSE;
        judge(&again);
        ck_assert_double_eq(again.largest, trial.largest);
        ck_assert_double_eq(again.squares, trial.squares);
    }
    ck_assert_uint_gt(placed, 3000);
    ck_assert_uint_gt(idle, 500);
    g_rand_free(random);
}
END_TEST

PS_TEST_MAIN("place", groups_are_held_as_defined, borders_are_those_of_the_groups_inside,
             a_tensor_group_waits_for_its_own_group, idle_devices_go_where_they_help,
             no_place_is_better)
