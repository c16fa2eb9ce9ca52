#include "sim/base/suggest.h"
#include "tests/harness/harness.h"

static const char *const schedules[] = {"gpipe", "1f1b", "interleaved", "zero-bubble", NULL};

START_TEST(finds_typing_slips)
{
    static const struct {
        const char *word, *closest;
    } cases[] = {
        {"gpipe", "gpipe"},            /* none wrong */
        {"gpip", "gpipe"},             /* one missing */
        {"gppie", "gpipe"},            /* swapped neighbours are one slip, and 5/3 allows one */
        {"GPipe", "gpipe"},            /* case alone is always a slip */
        {"1b1f", NULL},                /* two swaps, but 4/3 allows one */
        {"interleved", "interleaved"}, /* one missing */
        {"interlaevd", "interleaved"}, /* a swap and one missing: two of ten */
        {"zerobuble", "zero-bubble"},  /* two missing */
        {"zero", NULL},                /* too far */
        {"", NULL},
        {"xyz", NULL},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *closest = ps_suggest(cases[i].word, schedules);
        ck_assert_pstr_eq(closest, cases[i].closest);
    }
}
END_TEST

START_TEST(takes_the_closest)
{
    static const char *const names[] = {"latency", "latencies", "late", NULL};
    ck_assert_str_eq(ps_suggest("latencie", names), "latencies");
    ck_assert_str_eq(ps_suggest("latenc", names), "latency");
}
END_TEST

START_TEST(says_it_in_words)
{
    static const char *const one[] = {"table", NULL};
    static const char *const two[] = {"table", "csv", NULL};
    static const char *const none[] = {NULL};
    static const struct {
        const char *word;
        const char *const *candidates;
        const char *text;
    } cases[] = {
        {"gpip", schedules, " (did you mean gpipe?)"},
        {"x", schedules, " (expected gpipe, 1f1b, interleaved or zero-bubble)"},
        {"x", one, " (expected table)"},
        {"x", two, " (expected table or csv)"},
        {"x", none, " (expected none)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = ps_suggest_text(cases[i].word, cases[i].candidates);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

PS_TEST_MAIN("suggest", finds_typing_slips, takes_the_closest, says_it_in_words)
