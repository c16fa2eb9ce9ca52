#include "sim/cli/options.h"

#include <string.h>

#include "sim/base/suggest.h"
#include "sim/base/table.h"

#define WIDEST_OPTION 32 /* that has what it does beside it */

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

/* GLib's messages begin with a capital letter. Caller frees. */
static char *in_our_case(const char *message)
{
    return g_strdup_printf("%c%s", g_ascii_tolower(message[0]), message + 1);
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
    g_autofree char *lower = in_our_case(cause->message);
    if (close != NULL) {
        ps_error(error, PS_ERROR_USAGE, "%s (did you mean --%s?)", lower, close);
    } else {
        ps_error(error, PS_ERROR_USAGE, "%s (--help lists the options)", lower);
    }
}

static const GOptionEntry *find_option(const GOptionEntry *const *groups, const char *long_name,
                                       gsize length, char short_name)
{
    for (; *groups != NULL; groups++) {
        for (const GOptionEntry *entry = *groups; entry->long_name != NULL; entry++) {
            if (long_name != NULL ? strlen(entry->long_name) == length &&
                                        strncmp(entry->long_name, long_name, length) == 0
                                  : entry->short_name == short_name) {
                return entry;
            }
        }
    }
    return NULL;
}

/* The option that an argument sets to a value; NULL where it sets none. *apart: the value is the
 * next argument. */
static const GOptionEntry *valued_option(const GOptionEntry *const *groups, const char *argument,
                                         gboolean *apart)
{
    if (g_str_has_prefix(argument, "--")) {
        gsize length = strcspn(argument + 2, "=");
        const GOptionEntry *entry = find_option(groups, argument + 2, length, '\0');
        *apart = argument[2 + length] == '\0';
        return entry != NULL && entry->arg != G_OPTION_ARG_NONE ? entry : NULL;
    }
    /* Short ones in a row, of which the last may have a value: "-qo FILE". */
    for (const char *c = argument + 1; *argument == '-' && *c != '\0'; c++) {
        const GOptionEntry *entry = find_option(groups, NULL, 0, *c);
        *apart = c[1] == '\0';
        if (entry != NULL && entry->arg != G_OPTION_ARG_NONE) {
            return entry;
        }
    }
    return NULL;
}

/* GLib keeps the last of several values. Lists may be given again. */
static gboolean refuse_repetition(const GOptionEntry *const *groups, char **argv, GError **error)
{
    g_autoptr(GHashTable) given = g_hash_table_new(NULL, NULL); /* entries */
    for (char **argument = argv + 1; *argument != NULL && !g_str_equal(*argument, "--");
         argument++) {
        gboolean apart = FALSE;
        const GOptionEntry *entry = valued_option(groups, *argument, &apart);
        if (entry == NULL) {
            continue;
        }
        gboolean list =
            entry->arg == G_OPTION_ARG_STRING_ARRAY || entry->arg == G_OPTION_ARG_FILENAME_ARRAY;
        if (!g_hash_table_add(given, (gpointer)entry) && !list) {
            ps_error(error, PS_ERROR_USAGE, "--%s is given twice (expected once)",
                     entry->long_name);
            return FALSE;
        }
        if (apart && argument[1] != NULL) {
            argument++;
        }
    }
    return TRUE;
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

/* Where "  --option=ARG      what it does" has its gap; the line's length if it has none. */
static gsize option_length(const char *line)
{
    const char *gap = strstr(line + 2, "  ");
    return gap != NULL ? (gsize)(gap - line) : strlen(line);
}

/* What an option does stands beside it, or below where the option is too long for that. */
static void print_option(PsOutput *output, const char *line, guint column)
{
    gsize length = option_length(line);
    const char *text = line + length + strspn(line + length, " ");
    g_autofree char *wrapped = ps_wrap(text, PS_TABLE_WIDTH - column);
    g_auto(GStrv) pieces = g_strsplit(wrapped, "\n", -1);
    gboolean beside = length + 2 <= column;
    ps_output_printf(output, "%.*s", (int)length, line);
    for (char **piece = pieces; *piece != NULL; piece++) {
        gboolean first = piece == pieces && beside;
        ps_output_printf(output, "%s%*s%s", first ? "" : "\n",
                         (int)(first ? column - length : column), "", *piece);
    }
    ps_output_puts(output, "\n");
}

/* GLib's own usage paragraph would name the program wrongly; the options come after it. */
static void print_options(PsOutput *output, GOptionContext *context)
{
    g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    gsize widest = 0;
    for (char **line = lines; *line != NULL; line++) {
        gsize length = g_str_has_prefix(*line, "  -") ? option_length(*line) : 0;
        widest = length <= WIDEST_OPTION ? MAX(widest, length) : widest;
    }
    for (char **line = lines; *line != NULL; line++) {
        if (g_str_has_prefix(*line, "  -")) {
            print_option(output, *line, (guint)widest + 2);
        }
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
    print_options(output, context);
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
            g_autofree char *lower = in_our_case(cause->message);
            ps_error(error, PS_ERROR_USAGE, "%s (--help lists the options)", lower);
        }
        return FALSE;
    }
    if (!refuse_repetition(groups, argv, error)) {
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
