#include "planner/search/contraction.h"
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

static PsProfile *sparse_profile(GRand *random, guint most_layers)
{
    PsRandomProfile wanted = {.n_layers = (guint)g_rand_int_range(random, 1, (gint)most_layers + 1),
                              .edge_probability = g_rand_double_range(random, 0, 0.3),
                              .most_tmpcs = 1,
                              .devices = 1,
                              .microbatches = 1,
                              .memory_bytes = 1,
                              .bandwidth_bytes_per_s = 1};
    return ps_random_profile(random, &wanted);
}

/* Layers that are in the group or that paths from it lead to, by one step after another. */
static gboolean path_comes_back(const PsProfile *profile, const guint *group_of, guint group)
{
    g_autofree gboolean *left = g_new0(gboolean, profile->n_layers); /* reached outside of it */
    gboolean back = FALSE;
    for (guint v = 0; v < profile->n_layers; v++) { /* in topological order */
        for (guint e = 0; e < profile->n_edges; e++) {
            const PsEdge *edge = &profile->edges[e];
            if (edge->target == v && (left[edge->source] || group_of[edge->source] == group)) {
                gboolean inside = group_of[v] == group;
                back |= inside && left[edge->source];
                left[v] |= !inside;
            }
        }
    }
    return back;
}

START_TEST(no_path_leaves_a_group_and_comes_back)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("no_path_leaves_a_group_and_comes_back"));
    for (guint round = 0; round < 60; round++) {
        g_autoptr(PsProfile) profile = sparse_profile(random, 30);
        g_autoptr(PsContraction) contraction = ps_contraction_new(profile);
        for (guint n = 1; n <= profile->n_layers; n++) {
            g_autofree guint *group_of = ps_contraction_groups(contraction, n);
            guint n_groups = 0;
            for (guint group = 0; group < profile->n_layers; group++) {
                n_groups += group_of[group] == group;
                ck_assert(!path_comes_back(profile, group_of, group));
            }
            ck_assert_uint_eq(n_groups, n);
            for (guint v = 0; v < profile->n_layers; v++) {
                ck_assert_uint_eq(group_of[group_of[v]], group_of[v]);
            }
        }
    }
}
END_TEST

/* Groups that are in the set in part. */
static guint count_open(const PsProfile *profile, const guint *group_of, guint set)
{
    guint n = 0;
    for (guint group = 0; group < profile->n_layers; group++) {
        guint layers = 0;
        for (guint v = 0; v < profile->n_layers; v++) {
            layers |= group_of[v] == group ? 1u << v : 0;
        }
        n += (set & layers) != 0 && (set & layers) != layers;
    }
    return n;
}

/* Closed sets, each reached from the empty one by layers one at a time, none but the n + 1 along
 * the order with more than one group in part; and every set of whole groups that is closed. */
START_TEST(contracted_graphs_keep_whole_groups)
{
    g_autoptr(GRand) random =
        g_rand_new_with_seed(ps_test_seed("contracted_graphs_keep_whole_groups"));
    for (guint round = 0; round < 60; round++) {
        g_autoptr(PsProfile) profile = sparse_profile(random, 12);
        guint n = profile->n_layers, n_scattered = 0, n_whole = 0, n_closed = 0;
        g_autoptr(PsContraction) contraction = ps_contraction_new(profile);
        g_autofree guint *group_of =
            ps_contraction_groups(contraction, (guint)g_rand_int_range(random, 1, (gint)n + 1));
        g_autoptr(PsDownsets) downsets = ps_downsets_contracted(profile, group_of, 100000);
        for (guint i = 0; i < downsets->n_downsets; i++) {
            guint set = (guint)*ps_downset(downsets, i),
                  n_open = count_open(profile, group_of, set);
            ck_assert(closed(profile, set));
            n_scattered += n_open > 1;
            n_whole += n_open == 0;
            ck_assert(i + 1 == downsets->n_downsets ||
                      downsets->first_cover[i] < downsets->first_cover[i + 1]);
            for (guint c = downsets->first_cover[i]; c < downsets->first_cover[i + 1]; c++) {
                const PsCover *cover = &downsets->covers[c];
                ck_assert_uint_gt(cover->next, i);
                ck_assert_uint_eq((guint)*ps_downset(downsets, cover->next),
                                  set | 1u << cover->layer);
                ck_assert(!ps_set_has(ps_downset(downsets, i), cover->layer));
            }
        }
        for (guint set = 0; set < 1u << n; set++) {
            n_closed += closed(profile, set) && count_open(profile, group_of, set) == 0;
        }
        ck_assert_uint_eq(n_whole, n_closed);
        ck_assert_uint_le(n_scattered, n - 1);
        ck_assert_ptr_null(ps_downsets_contracted(profile, group_of, downsets->n_downsets - 1));
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
             no_path_leaves_a_group_and_comes_back, contracted_graphs_keep_whole_groups,
             counts_those_of_published_profiles)
