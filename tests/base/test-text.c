#include "sim/base/error.h"
#include "sim/base/log.h"
#include "sim/base/text.h"
#include "tests/harness/harness.h"

START_TEST(counts_nouns)
{
    static const struct {
        guint64 n;
        const char *noun, *text;
    } cases[] = {
        {0, "device", "0 devices"},
        {1, "device", "1 device"},
        {2, "device", "2 devices"},
        {1, "microbatch", "1 microbatch"},
        {64, "microbatch", "64 microbatches"},
        {G_MAXUINT64, "row", "18446744073709551615 rows"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = ps_counted(cases[i].n, cases[i].noun);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(shows_control_characters)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"plain \"text\", 5%", "plain \"text\", 5%"},
        {"two\nlines\r\n", "two\\nlines\\r\\n"},
        {"\ttab\a\033[31mred\177", "\\ttab\\x07\\x1b[31mred\\x7f"},
        {"\302\233next \302\240 \303\251", "\\x9bnext \302\240 \303\251"}, /* U+009B; U+00A0, e' */
        {"\302", "\302"},
        {"latin \351", "latin \351"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *shown = ps_printable(cases[i].text);
        ck_assert_str_eq(shown, cases[i].shown);
    }
}
END_TEST

/* Every byte of every kind of message: nothing that a terminal obeys gets through. */
START_TEST(messages_are_one_line)
{
    char bytes[256];
    for (guint i = 0; i < 255; i++) {
        bytes[i] = (char)(i + 1);
    }
    bytes[255] = '\0';
    for (guint kind = 0; kind < 2; kind++) {
        g_autoptr(GError) error = NULL;
        if (kind == 0) {
            ps_error(&error, PS_ERROR_USAGE, "unknown %s", bytes);
        } else {
            ps_error_at(&error, bytes, 7, "wrong");
        }
        for (const char *c = error->message; *c != '\0'; c++) {
            ck_assert(!g_ascii_iscntrl(*c));
        }
    }
}
END_TEST

static void keep_message(const char *domain, GLogLevelFlags level, const char *message,
                         gpointer text)
{
    (void)domain, (void)level;
    g_string_append(text, message);
}

START_TEST(warnings_are_one_line)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_log_set_handler(PS_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, keep_message, text);
    ps_warning("file %s", "a\nb");
    ps_note("file %s", "\033c");
    ck_assert_str_eq(text->str, "warning: file a\\nbnote: file \\x1bc");
}
END_TEST

PS_TEST_MAIN("text", counts_nouns, shows_control_characters, messages_are_one_line,
             warnings_are_one_line)
