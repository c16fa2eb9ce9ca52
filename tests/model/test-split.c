/* The parts of a TMPC's time, against the ratios that the header states. */
#include <math.h>

#include "sim/model/split.h"
#include "tests/harness/harness.h"

#define OPEN NAN

/* A TMPC that recomputes or not, with what the file gives of f, b and r, and what must come out. */
typedef struct {
    gboolean recomputes;
    double time_s, given_f, given_b, given_r, f, b, r;
} Case;

static PsTmpc make_tmpc(const Case *given)
{
    return (PsTmpc){.recomputes = given->recomputes,
                    .time_s = given->time_s,
                    .forward_s = given->given_f,
                    .backward_s = given->given_b,
                    .recompute_s = given->given_r,
                    .weight_gradient_s = NAN};
}

static void check_set(const Case *cases, guint n)
{
    g_autofree PsTmpc *tmpcs = g_new0(PsTmpc, n);
    for (guint i = 0; i < n; i++) {
        tmpcs[i] = make_tmpc(&cases[i]);
    }
    PsTmpcSet set = {.degree = 1, .n_tmpcs = n, .tmpcs = tmpcs};
    guint index;
    g_autofree char *fault = ps_split_times(&set, &index);
    ck_assert_msg(fault == NULL, "unexpected: %s", fault);
    for (guint i = 0; i < n; i++) {
        ck_assert_double_eq_tol(tmpcs[i].forward_s, cases[i].f, 1e-12);
        ck_assert_double_eq_tol(tmpcs[i].backward_s, cases[i].b, 1e-12);
        ck_assert_double_eq_tol(tmpcs[i].recompute_s, cases[i].r, 1e-12);
    }
}

START_TEST(a_pair_tells_its_forward)
{
    const Case pair[] = {{FALSE, 3, OPEN, OPEN, OPEN, 1, 2, 0},
                         {TRUE, 4, OPEN, OPEN, OPEN, 1, 2, 1}};
    check_set(pair, 2);
    /* The order in the file does not matter. */
    const Case turned[] = {pair[1], pair[0]};
    check_set(turned, 2);
    /* A forward of nothing, and one that is all of the plain time, are the ends of the range. */
    const Case nothing[] = {{FALSE, 3, OPEN, OPEN, OPEN, 0, 3, 0},
                            {TRUE, 3, OPEN, OPEN, OPEN, 0, 3, 0}};
    check_set(nothing, 2);
    const Case all[] = {{FALSE, 3, OPEN, OPEN, OPEN, 3, 0, 0},
                        {TRUE, 6, OPEN, OPEN, OPEN, 3, 0, 3}};
    check_set(all, 2);
}
END_TEST

START_TEST(without_a_partner_the_usual_ratio)
{
    const Case plain[] = {{FALSE, 3, OPEN, OPEN, OPEN, 1, 2, 0}};
    check_set(plain, 1);
    const Case recomputing[] = {{TRUE, 4, OPEN, OPEN, OPEN, 1, 2, 1}};
    check_set(recomputing, 1);
    const Case free_of_time[] = {{FALSE, 0, OPEN, OPEN, OPEN, 0, 0, 0}};
    check_set(free_of_time, 1);
}
END_TEST

START_TEST(a_pair_that_tells_nothing_is_two_single_ones)
{
    const Case faster[] = {{FALSE, 3, OPEN, OPEN, OPEN, 1, 2, 0},
                           {TRUE, 2, OPEN, OPEN, OPEN, 0.5, 1, 0.5}};
    check_set(faster, 2);
    const Case far_slower[] = {{FALSE, 3, OPEN, OPEN, OPEN, 1, 2, 0},
                               {TRUE, 8, OPEN, OPEN, OPEN, 2, 4, 2}};
    check_set(far_slower, 2);
}
END_TEST

/* Full recompute shows the forward; a selective one recomputes less of the same forward; a slower
 * plain TMPC keeps the shares of the fastest. */
START_TEST(several_of_a_kind)
{
    const Case set[] = {{FALSE, 6, OPEN, OPEN, OPEN, 2, 4, 0},
                        {FALSE, 3, OPEN, OPEN, OPEN, 1, 2, 0},
                        {TRUE, 3.25, OPEN, OPEN, OPEN, 1, 2, 0.25},
                        {TRUE, 4, OPEN, OPEN, OPEN, 1, 2, 1}};
    check_set(set, 4);
}
END_TEST

START_TEST(given_parts_stay)
{
    const Case cases[] = {
        {FALSE, 3, 0.5, OPEN, OPEN, 0.5, 2.5, 0}, {FALSE, 3, OPEN, 1.5, OPEN, 1.5, 1.5, 0},
        {FALSE, 3, 1.25, 1.75, 0, 1.25, 1.75, 0}, {TRUE, 4, 1, 2, 1, 1, 2, 1},
        {TRUE, 4, 0.5, OPEN, OPEN, 0.5, 3, 0.5},  {TRUE, 4, OPEN, 3, OPEN, 0.5, 3, 0.5},
        {TRUE, 4, 1, 2.5, OPEN, 1, 2.5, 0.5},     {TRUE, 4, OPEN, OPEN, 1, 1, 2, 1},
        {TRUE, 4, 2, OPEN, 0.5, 2, 1.5, 0.5},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        check_set(&cases[i], 1);
    }
    /* What the partner's file gives counts for one that gives nothing. */
    const Case pair[] = {{FALSE, 3, 0.5, 2.5, OPEN, 0.5, 2.5, 0},
                         {TRUE, 4, OPEN, OPEN, OPEN, 0.5, 2.5, 1}};
    check_set(pair, 2);
}
END_TEST

START_TEST(parts_sum_to_the_whole)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(ps_test_seed("parts_sum_to_the_whole"));
    for (guint round = 0; round < 2000; round++) {
        PsTmpc tmpcs[4];
        guint n = (guint)g_rand_int_range(rand, 1, 5);
        for (guint i = 0; i < n; i++) {
            Case open = {g_rand_boolean(rand), g_rand_double(rand), OPEN, OPEN, OPEN, 0, 0, 0};
            tmpcs[i] = make_tmpc(&open);
            tmpcs[i].memory_fixed_bytes = g_rand_double(rand);
        }
        PsTmpcSet set = {.degree = 1, .n_tmpcs = n, .tmpcs = tmpcs};
        guint index;
        ck_assert_ptr_null(ps_split_times(&set, &index));
        for (guint i = 0; i < n; i++) {
            const PsTmpc *t = &tmpcs[i];
            ck_assert_double_ge(t->forward_s, 0);
            ck_assert_double_ge(t->backward_s, 0);
            ck_assert_double_ge(t->recompute_s, 0);
            ck_assert_double_eq_tol(t->forward_s + t->backward_s + t->recompute_s, t->time_s,
                                    2 * DBL_EPSILON * t->time_s);
            ck_assert(t->recomputes || t->recompute_s == 0);
            ck_assert(t->workspace_bytes >= 0 && t->workspace_bytes <= t->memory_fixed_bytes);
            ck_assert(isnan(t->weight_gradient_s));
        }
    }
}
END_TEST

START_TEST(workspace_is_what_the_partner_does_without)
{
    const struct {
        double plain, recomputing, workspace;
    } cases[] = {{32, 52, 20}, {52, 32, 0}, {0, 7, 7}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PsTmpc tmpcs[] = {make_tmpc(&(Case){FALSE, 3, OPEN, OPEN, OPEN, 0, 0, 0}),
                          make_tmpc(&(Case){TRUE, 4, OPEN, OPEN, OPEN, 0, 0, 0})};
        tmpcs[0].memory_fixed_bytes = cases[i].plain;
        tmpcs[1].memory_fixed_bytes = cases[i].recomputing;
        PsTmpcSet set = {.degree = 1, .n_tmpcs = 2, .tmpcs = tmpcs};
        guint index;
        ck_assert_ptr_null(ps_split_times(&set, &index));
        ck_assert_double_eq(tmpcs[0].workspace_bytes, 0);
        ck_assert_double_eq(tmpcs[1].workspace_bytes, cases[i].workspace);
    }
}
END_TEST

PS_TEST_MAIN("split", a_pair_tells_its_forward, without_a_partner_the_usual_ratio,
             a_pair_that_tells_nothing_is_two_single_ones, several_of_a_kind, given_parts_stay,
             parts_sum_to_the_whole, workspace_is_what_the_partner_does_without)
