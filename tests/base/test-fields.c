#include "sim/base/error.h"
#include "sim/base/fields.h"
#include "tests/harness/harness.h"

enum { RANK, FACTOR, AT, SHARE, LINK, N };
static const PsField fields[N] = {
    [RANK] = {"rank", PS_FIELD_COUNT, "12", 0, 16777215},
    [FACTOR] = {"factor", PS_FIELD_NUMBER, NULL, 1, 1e6},
    [AT] = {"at", PS_FIELD_QUANTITY, NULL, 0, 7200, PS_SECONDS},
    [SHARE] = {"share", PS_FIELD_QUANTITY, NULL, 0.001, 1, PS_RATIO},
    [LINK] = {"link", PS_FIELD_TEXT},
};

START_TEST(reads_fields_in_any_order)
{
    PsFieldValue values[N] = {0};
    g_autoptr(GError) error = NULL;
    ck_assert(
        ps_fields_parse("\tat=1.5ms  link=A>B=C share=5% rank=12 ", fields, N, values, &error));
    ps_assert_no_error(error);
    ck_assert(values[RANK].given && values[RANK].number == 12);
    ck_assert(values[AT].given && values[AT].number == 1.5e-3);
    ck_assert(values[SHARE].given && values[SHARE].number == 0.05);
    ck_assert_str_eq(values[SHARE].text, "5%");
    ck_assert_str_eq(values[LINK].text, "A>B=C");
    ck_assert(!values[FACTOR].given);
    g_autofree char *text = ps_fields_text(fields, N, values);
    ck_assert_str_eq(text, "rank=12 at=1.5ms share=5% link=A>B=C");
    ps_fields_clear(values, N);
    ck_assert(!values[RANK].given && values[LINK].text == NULL);
}
END_TEST

START_TEST(refuses_other_fields)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "rank is missing (expected a field such as rank=12)"},
        {"factor=2", "rank is missing (expected a field such as rank=12)"},
        {"rank", "\"rank\" has no value (expected NAME=VALUE)"},
        {"rank = 1", "\"rank\" has no value (expected NAME=VALUE)"},
        {"=1", "unknown field \"\" (expected rank, factor, at, share or link)"},
        {"rnak=1", "unknown field \"rnak\" (did you mean rank?)"},
        {"speed=1", "unknown field \"speed\" (expected rank, factor, at, share or link)"},
        {"rank=1 rank=1", "rank is given twice (expected once)"},
        {"rank=", "rank: \"\": not a whole number (expected a whole number from 0 to 16777215)"},
        {"rank=16777216",
         "rank: \"16777216\": out of range (expected a whole number from 0 to 16777215)"},
        {"rank=1 factor=0.5",
         "factor: \"0.5\": out of range (expected a number from 1 to 1000000)"},
        {"rank=1 at=3h", "at: \"3h\": out of range (expected 0 s to 7200 s)"},
        {"rank=1 at=3", "at: \"3\": the unit is missing (expected a time with a unit, like 3 us)"},
        {"rank=1 share=0.01%", "share: \"0.01%\": out of range (expected 0.1% to 100.0%)"},
        {"rank=1 link=", "link: empty (expected a value after =)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PsFieldValue values[N] = {0};
        GError *error = NULL;
        ck_assert(!ps_fields_parse(cases[i].text, fields, N, values, &error));
        ps_assert_error(error, PS_ERROR_USAGE, cases[i].message);
        ps_fields_clear(values, N);
    }
}
END_TEST

PS_TEST_MAIN("fields", reads_fields_in_any_order, refuses_other_fields)
