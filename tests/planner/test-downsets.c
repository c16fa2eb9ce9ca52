#include "planner/search/downsets.h"
#include "tests/harness/harness.h"
#include "tests/oracle/random-profile.h"

static gboolean closed(const PsProfile *profile, guint set)
{
    for (guint e = 0; e < profile->n_edges; e++) {
        if ((set >> profile->edges[e].source & 1) && !(set >> profile->edges[e].target & 1)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* The subsets that are closed, found by looking at all 2^n of them. */
START_TEST(finds_every_closed_subset_once)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("finds_every_closed_subset_once"));
    for (guint round = 0; round < 60; round++) {
        PsRandomProfile wanted = {.n_layers = (guint)g_rand_int_range(random, 1, 11),
                                  .edge_probability = g_rand_double(random),
                                  .most_tmpcs = 1,
                                  .devices = 1,
                                  .microbatches = 1,
                                  .memory_bytes = 1,
                                  .bandwidth_bytes_per_s = 1};
        g_autoptr(PsProfile) profile = ps_random_profile(random, &wanted);
        g_autoptr(PsDownsets) downsets = ps_downsets_new(profile, 100000);
        guint expected = 0;
        for (guint set = 0; set < 1u << profile->n_layers; set++) {
            expected += closed(profile, set);
        }
        ck_assert_uint_eq(downsets->n_downsets, expected);
        g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
        for (guint i = 0; i < downsets->n_downsets; i++) {
            guint set = (guint)*ps_downset(downsets, i);
            ck_assert(closed(profile, set));
            ck_assert(g_hash_table_add(seen, GUINT_TO_POINTER(set)));
            for (guint c = downsets->first_cover[i]; c < downsets->first_cover[i + 1]; c++) {
                const PsCover *cover = &downsets->covers[c];
                ck_assert_uint_gt(cover->next, i);
                ck_assert_uint_eq((guint)*ps_downset(downsets, cover->next),
                                  set | 1u << cover->layer);
            }
        }
    }
}
END_TEST

/* n independent layers have 2^n downsets. */
START_TEST(gives_up_on_an_explosion)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    PsRandomProfile wanted = {.n_layers = 40,
                              .most_tmpcs = 1,
                              .devices = 1,
                              .microbatches = 1,
                              .memory_bytes = 1,
                              .bandwidth_bytes_per_s = 1};
    g_autoptr(PsProfile) profile = ps_random_profile(random, &wanted);
    ck_assert_ptr_null(ps_downsets_new(profile, 1000));
}
END_TEST

/* Along one order: n + 1 closed sets, each one layer larger than the one before. */
START_TEST(chains_are_closed_too)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(ps_test_seed("chains_are_closed_too"));
    for (guint round = 0; round < 60; round++) {
        PsRandomProfile wanted = {.n_layers = (guint)g_rand_int_range(random, 1, 30),
                                  .edge_probability = g_rand_double(random),
                                  .most_tmpcs = 1,
                                  .devices = 1,
                                  .microbatches = 1,
                                  .memory_bytes = 1,
                                  .bandwidth_bytes_per_s = 1};
        g_autoptr(PsProfile) profile = ps_random_profile(random, &wanted);
        g_autoptr(PsDownsets) chain = ps_downsets_chain(profile);
        ck_assert_uint_eq(chain->n_downsets, profile->n_layers + 1);
        guint before = 0;
        for (guint i = 1; i < chain->n_downsets; i++) {
            guint set = (guint)*ps_downset(chain, i);
            ck_assert(closed(profile, set));
            ck_assert_uint_eq(chain->first_cover[i] - chain->first_cover[i - 1], 1);
            ck_assert_uint_eq(set, before | 1u << chain->covers[chain->first_cover[i - 1]].layer);
            before = set;
        }
    }
}
END_TEST

/* Published counts: 43 for bert32, 17914 for gnmt, 242 for resnet50. */
START_TEST(counts_those_of_published_profiles)
{
    static const struct {
        const char *name;
        guint n_downsets;
    } cases[] = {{"bert32-a100", 43},
                 {"bert48-a100", 59},
                 {"bert96-a100", 107},
                 {"resnet50-v100", 242},
                 {"gnmt", 17914}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name = g_strdup_printf("profiles/%s.json", cases[i].name);
        const char *path = ps_test_data(name);
        if (path == NULL) {
            return;
        }
        g_autoptr(GError) error = NULL;
        g_autoptr(PsProfile) profile = ps_profile_load(path, "s", &error);
        ps_assert_no_error(error);
        g_autoptr(PsDownsets) downsets = ps_downsets_new(profile, 20000);
        ck_assert_uint_eq(downsets->n_downsets, cases[i].n_downsets);
    }
}
END_TEST

PS_TEST_MAIN("downsets", finds_every_closed_subset_once, gives_up_on_an_explosion,
             chains_are_closed_too, counts_those_of_published_profiles)
