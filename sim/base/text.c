#include "sim/base/text.h"

#include <string.h>

char *ps_counted(guint64 n, const char *noun)
{
    const char *ending = n == 1 ? "" : g_str_has_suffix(noun, "ch") ? "es" : "s";
    return g_strdup_printf("%" G_GUINT64_FORMAT " %s%s", n, noun, ending);
}

/* Of the first character, in bytes; 0 where it is none. Those of U+0080 to U+009F are two in UTF-8;
 * a byte of another encoding is none. */
static gsize control_length(const unsigned char *text)
{
    if (*text < 0x20 || *text == 0x7f) {
        return 1;
    }
    return text[0] == 0xc2 && text[1] >= 0x80 && text[1] < 0xa0 ? 2 : 0;
}

char *ps_printable(const char *text)
{
    static const struct {
        char control, name;
    } names[] = {{'\n', 'n'}, {'\t', 't'}, {'\r', 'r'}};
    GString *line = g_string_new(NULL);
    while (*text != '\0') {
        gsize length = control_length((const unsigned char *)text);
        guint i = 0;
        while (i < G_N_ELEMENTS(names) && names[i].control != *text) {
            i++;
        }
        if (length == 0) {
            g_string_append_c(line, *text);
        } else if (i < G_N_ELEMENTS(names)) {
            g_string_append_printf(line, "\\%c", names[i].name);
        } else {
            g_string_append_printf(line, "\\x%02x", (unsigned char)text[length - 1]);
        }
        text += MAX(length, 1);
    }
    return g_string_free(line, FALSE);
}
