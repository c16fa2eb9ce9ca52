#include "sim/base/error.h"

#include "sim/base/text.h"

G_DEFINE_QUARK(ps_error, ps_error)

G_GNUC_PRINTF(4, 0)
static void set_error(GError **error, PsErrorCode code, const char *place, const char *format,
                      va_list args)
{
    g_autofree char *message = g_strdup_vprintf(format, args);
    g_autofree char *whole = g_strconcat(place, message, NULL);
    g_autofree char *line = ps_printable(whole); /* inputs are quoted in it */
    g_set_error_literal(error, PS_ERROR, code, line);
}

void ps_error_at(GError **error, const char *path, guint line, const char *format, ...)
{
    g_autofree char *place =
        line > 0 ? g_strdup_printf("%s:%u: ", path, line) : g_strdup_printf("%s: ", path);
    va_list args;
    va_start(args, format);
    set_error(error, PS_ERROR_INPUT, place, format, args);
    va_end(args);
}

void ps_error(GError **error, PsErrorCode code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_error(error, code, "", format, args);
    va_end(args);
}
