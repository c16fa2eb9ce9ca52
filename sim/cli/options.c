#include "sim/cli/options.h"

#include <string.h>

#include "sim/base/suggest.h"
#include "sim/base/table.h"

/* The long names of all entries, for suggestions. Borrowed strings; caller frees the list. */
static const char **long_names(const GOptionEntry *const *groups)
{
    GPtrArray *names = g_ptr_array_new();
    for (; *groups != NULL; groups++) {
        for (const GOptionEntry *entry = *groups; entry->long_name != NULL; entry++) {
            g_ptr_array_add(names, (gpointer)entry->long_name);
        }
    }
    g_ptr_array_add(names, NULL);
    return (const char **)g_ptr_array_free(names, FALSE);
}

/* GLib says "Unknown option --foo" and no more. */
static void explain_unknown(const GOptionEntry *const *groups, char **argv, const GError *cause,
                            GError **error)
{
    const char *dashes = strstr(cause->message, "--");
    g_autofree const char **names = long_names(groups);
    const char *close = dashes != NULL ? ps_suggest(dashes + 2, names) : NULL;
    for (char **argument = argv; close == NULL && *argument != NULL; argument++) {
        const char *equals = strchr(*argument, '=');
        if (g_str_has_prefix(*argument, "--") && equals != NULL) {
            g_autofree char *bare = g_strndup(*argument + 2, (gsize)(equals - *argument - 2));
            close = strstr(cause->message, bare) != NULL ? ps_suggest(bare, names) : NULL;
        }
    }
    const char *message = cause->message;
    g_autofree char *lower = g_strdup_printf("%c%s", g_ascii_tolower(message[0]), message + 1);
    if (close != NULL) {
        ps_error(error, PS_ERROR_USAGE, "%s (did you mean --%s?)", lower, close);
    } else {
        ps_error(error, PS_ERROR_USAGE, "%s (--help lists the options)", lower);
    }
}

static gboolean check_positional(const PsCommand *command, guint n, guint min, guint max,
                                 GError **error)
{
    if (n >= min && n <= max) {
        return TRUE;
    }
    ps_error(error, PS_ERROR_USAGE, "%s argument%s (expected: pipersim %s %s)",
             n < min ? "a missing" : "too many", n < min ? "" : "s", command->name, command->usage);
    return FALSE;
}

/* "  --option=ARG      what it does", with what it does wrapped beside the option. */
static void print_option(PsOutput *output, const char *line)
{
    const char *gap = strstr(line + 2, "  ");
    gsize column = gap != NULL ? (gsize)(gap - line) + strspn(gap, " ") : 0;
    if (column == 0 || column > PS_TABLE_WIDTH / 2 || line[column] == '\0') {
        ps_output_printf(output, "%s\n", line);
        return;
    }
    g_autofree char *wrapped = ps_wrap(line + column, PS_TABLE_WIDTH - (guint)column);
    g_auto(GStrv) pieces = g_strsplit(wrapped, "\n", -1);
    ps_output_printf(output, "%.*s%s\n", (int)column, line, pieces[0]);
    for (char **piece = pieces + 1; *piece != NULL; piece++) {
        ps_output_printf(output, "%*s%s\n", (int)column, "", *piece);
    }
}

/* Paragraphs of running text are wrapped anew; those with indented lines are left as they are. */
static void print_details(PsOutput *output, const char *details)
{
    g_auto(GStrv) paragraphs = g_strsplit(details, "\n\n", -1);
    for (char **paragraph = paragraphs; *paragraph != NULL; paragraph++) {
        g_strchomp(*paragraph);
        gboolean as_it_is = **paragraph == ' ' || strstr(*paragraph, "\n ") != NULL;
        g_autofree char *wrapped =
            as_it_is ? g_strdup(*paragraph)
                     : ps_wrap(g_strdelimit(*paragraph, "\n", ' '), PS_TABLE_WIDTH);
        ps_output_printf(output, "\n%s\n", wrapped);
    }
}

static gboolean print_help(const PsCommand *command, GOptionContext *context, GError **error)
{
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    ps_output_printf(output, "Usage: pipersim %s %s\n", command->name, command->usage);
    g_autofree char *summary = g_strdup(command->summary);
    summary[0] = g_ascii_toupper(summary[0]);
    ps_output_printf(output, "%s.\n\nOptions:\n", summary);
    /* GLib's own usage paragraph would name the program wrongly; the options come after it. */
    g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        if (g_str_has_prefix(*line, "  -")) {
            print_option(output, *line);
        }
    }
    print_details(output, command->details);
    return ps_output_commit(output, error);
}

gboolean ps_options_parse(const PsCommand *command, const GOptionEntry *const *groups, int argc,
                          char **argv, guint min_positional, guint max_positional,
                          char ***positional, GError **error)
{
    gboolean help = FALSE;
    const GOptionEntry help_entry[] = {
        {"help", 'h', 0, G_OPTION_ARG_NONE, &help, "Print this and stop", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_option_context_set_help_enabled(context, FALSE);
    for (const GOptionEntry *const *group = groups; *group != NULL; group++) {
        g_option_context_add_main_entries(context, *group, NULL);
    }
    g_option_context_add_main_entries(context, help_entry, NULL);

    g_auto(GStrv) arguments = g_new0(char *, argc + 1);
    for (int i = 0; i < argc; i++) {
        arguments[i] = g_strdup(argv[i]);
    }
    g_autoptr(GError) cause = NULL;
    if (!g_option_context_parse_strv(context, &arguments, &cause)) {
        if (cause->domain == PS_ERROR) {
            g_propagate_error(error, g_steal_pointer(&cause));
        } else if (cause->code == G_OPTION_ERROR_UNKNOWN_OPTION) {
            explain_unknown(groups, argv, cause, error);
        } else {
            ps_error(error, PS_ERROR_USAGE, "%s", cause->message);
        }
        return FALSE;
    }
    if (help) {
        (void)!print_help(command, context, error);
        return FALSE;
    }
    /* parse_strv leaves the program's name and, where it was given, the "--" separator. */
    guint skip = 1 + (arguments[0] != NULL && arguments[1] != NULL && !strcmp(arguments[1], "--"));
    guint n = g_strv_length(arguments) - skip;
    if (!check_positional(command, n, min_positional, max_positional, error)) {
        return FALSE;
    }
    *positional = g_strdupv(arguments + skip);
    return TRUE;
}
