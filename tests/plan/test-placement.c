/* Placements: the device of each rank in closed form, and what must hold for any degrees. */
#include "sim/base/error.h"
#include "sim/plan/placement.h"
#include "tests/harness/harness.h"

/* With the same degrees everywhere, digits of a mixed-radix number: tensor index i of t, replica r
 * of d, stage s of p, each weighed by the product of the radices further inside. */
START_TEST(uniform_degrees_have_a_closed_form)
{
    const guint p = 3, d = 4, t = 2;
    const struct {
        const char *name;
        guint i, r, s; /* weights */
    } forms[] = {
        {"tensor,data,pipeline", 1, t, t * d}, {"tensor,pipeline,data", 1, t * p, t},
        {"data,tensor,pipeline", d, 1, d * t}, {"data,pipeline,tensor", d * p, 1, d},
        {"pipeline,tensor,data", p, p * t, 1}, {"pipeline,data,tensor", p * d, p, 1},
    };
    const PsStageDegrees stages[] = {{d, t}, {d, t}, {d, t}};
    ck_assert_uint_eq(G_N_ELEMENTS(forms), PS_N_PLACEMENTS);
    for (guint f = 0; f < G_N_ELEMENTS(forms); f++) {
        g_autoptr(GError) error = NULL;
        PsPlacement placement;
        ck_assert(ps_placement_parse(forms[f].name, &placement, &error));
        ck_assert_str_eq(ps_placement_names[placement], forms[f].name);
        g_autofree guint *devices = ps_placement_devices(placement, stages, p);
        for (guint rank = 0; rank < p * d * t; rank++) {
            guint i = rank % t, r = rank / t % d, s = rank / (t * d);
            ck_assert_uint_eq(devices[rank], i * forms[f].i + r * forms[f].r + s * forms[f].s);
        }
    }
}
END_TEST

/* Stages of 2x1, 1x2 and 3x1, ranks (stage.replica.index) 0.0.0 0.1.0 1.0.0 1.0.1 2.0.0 2.1.0
 * 2.2.0. Pipeline innermost, then data: index 0 of replica 0 of the three stages, of replica 1 of
 * the two that have it, of replica 2 of the last; then index 1, which stage 1 alone has. */
START_TEST(replicas_that_do_not_exist_are_skipped)
{
    const PsStageDegrees stages[] = {{2, 1}, {1, 2}, {3, 1}};
    const guint expected[] = {0, 3, 1, 6, 2, 4, 5};
    g_autofree guint *devices =
        ps_placement_devices(PS_PLACE_PIPELINE_DATA_TENSOR, stages, G_N_ELEMENTS(stages));
    for (guint rank = 0; rank < G_N_ELEMENTS(expected); rank++) {
        ck_assert_uint_eq(devices[rank], expected[rank]);
    }
}
END_TEST

/* The ranks of any degrees share out the devices 0, 1, ... one each; the default leaves them as
 * they are; and along the innermost way alone device numbers rise. */
START_TEST(any_placement_is_a_permutation)
{
    GRand *random = g_rand_new_with_seed(ps_test_seed("any_placement_is_a_permutation"));
    for (guint round = 0; round < 2000; round++) {
        PsStageDegrees stages[6];
        guint n_stages = g_rand_int_range(random, 1, 7), n = 0;
        for (guint s = 0; s < n_stages; s++) {
            stages[s] =
                (PsStageDegrees){g_rand_int_range(random, 1, 6), g_rand_int_range(random, 1, 5)};
            n += stages[s].data_parallel * stages[s].tensor_parallel;
        }
        PsPlacement placement = g_rand_int_range(random, 0, PS_N_PLACEMENTS);
        gboolean tensor_first = g_str_has_prefix(ps_placement_names[placement], "tensor");
        g_autofree guint *devices = ps_placement_devices(placement, stages, n_stages);
        g_autofree gboolean *taken = g_new0(gboolean, n);
        for (guint s = 0, rank = 0; s < n_stages; s++) {
            for (guint r = 0; r < stages[s].data_parallel; r++) {
                for (guint i = 0; i < stages[s].tensor_parallel; i++, rank++) {
                    ck_assert_uint_lt(devices[rank], n);
                    ck_assert(!taken[devices[rank]]);
                    taken[devices[rank]] = TRUE;
                    ck_assert(placement != PS_PLACE_TENSOR_DATA_PIPELINE || devices[rank] == rank);
                    ck_assert(!tensor_first || i == 0 || devices[rank] == devices[rank - 1] + 1);
                    ck_assert(i == 0 || devices[rank] > devices[rank - 1]);
                }
            }
        }
    }
    g_rand_free(random);
}
END_TEST

START_TEST(unknown_orders_are_refused)
{
    g_autoptr(GError) error = NULL;
    PsPlacement placement;
    ck_assert(!ps_placement_parse("tensor,data,pipelin", &placement, &error));
    ps_assert_error(error, PS_ERROR_USAGE,
                    "unknown placement 'tensor,data,pipelin' (did you mean tensor,data,pipeline?)");
    ck_assert(!ps_placement_parse("data", &placement, &error));
    ck_assert(g_error_matches(error, PS_ERROR, PS_ERROR_USAGE));
}
END_TEST

PS_TEST_MAIN("placement", uniform_degrees_have_a_closed_form,
             replicas_that_do_not_exist_are_skipped, any_placement_is_a_permutation,
             unknown_orders_are_refused)
