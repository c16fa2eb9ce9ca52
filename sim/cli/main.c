#include <locale.h>
#include <signal.h>
#include <string.h>

#include "sim/base/interrupt.h"
#include "sim/base/log.h"
#include "sim/base/output.h"
#include "sim/base/suggest.h"
#include "sim/base/table.h"
#include "sim/base/text.h"
#include "sim/cli/command.h"

#define PS_COMMAND(name) extern const PsCommand ps_command_##name;
#include "sim/cli/commands.def"
#undef PS_COMMAND

static const PsCommand *const commands[] = {
#define PS_COMMAND(name) &ps_command_##name,
#include "sim/cli/commands.def"
#undef PS_COMMAND
};

static const int exit_status[] = {
    [PS_ERROR_INPUT] = 1,
    [PS_ERROR_IO] = 1,
    [PS_ERROR_USAGE] = 2,
    [PS_ERROR_NEGATIVE] = 3,
    [PS_ERROR_STUCK] = 3,
};

static gboolean print(const char *text, GError **error)
{
    g_autoptr(PsOutput) output = ps_output_open("-", error);
    if (output == NULL) {
        return FALSE;
    }
    ps_output_puts(output, text);
    return ps_output_commit(output, error);
}

static gboolean print_help(GError **error)
{
    g_autoptr(GString) text = g_string_new(
        "pipersim judges a parallel training plan before a cluster is booked: it plans\n"
        "pipeline stages, tensor and data parallelism and recompute for the profile of a\n"
        "model, replays the plan event by event, and checks the estimate against what\n"
        "happened.\n\n"
        "Usage: pipersim COMMAND [options]   (pipersim COMMAND --help tells more)\n\n");
    for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
        g_string_append_printf(text, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    g_string_append(
        text, "\nExample:\n"
              "  pipersim validate planner/profiles/gpt3-13b-a100.json \\\n"
              "      --topology dgx-a100 --devices 64 -o run\n"
              "  pipersim plot run -o gantt.svg\n\n"
              "Exit status: 0 fine, 1 wrong input or I/O failure, 2 wrong usage, 3 it ran and\n"
              "the answer is no (nothing fits, deadlock, out of tolerance).\n");
    return print(text->str, error);
}

static const PsCommand *find_command(const char *name, GError **error)
{
    const char *names[G_N_ELEMENTS(commands) + 1] = {NULL};
    for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
        names[i] = commands[i]->name;
    }
    g_autofree char *hint = ps_suggest_text(name, names);
    ps_error(error, PS_ERROR_USAGE, "unknown command '%s'%s", name, hint);
    return NULL;
}

static gboolean run(int argc, char **argv, GError **error)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        return print_help(error);
    }
    if (strcmp(name, "--version") == 0) {
        return print("pipersim " PS_VERSION "\n", error);
    }
    const PsCommand *command = find_command(name, error);
    if (command == NULL) {
        return FALSE;
    }
    if (command->run(argc - 1, argv + 1, error)) {
        return TRUE;
    }
    if (*error != NULL && (*error)->code == PS_ERROR_USAGE) {
        g_prefix_error(error, "%s: ", name);
    }
    return FALSE;
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C");
    /* A closed pipe, or a file beyond the shell's limit, is then an ordinary write error. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    ps_interrupt_install();
    ps_log_install();
    g_autoptr(GError) error = NULL;
    if (run(argc, argv, &error) || error == NULL) {
        return 0;
    }
    g_assert(error->domain == PS_ERROR);
    g_autofree char *line = ps_printable(error->message); /* prefixes may quote inputs as well */
    g_autofree char *lines =
        error->code == PS_ERROR_STUCK ? ps_break_list(line) : g_steal_pointer(&line);
    g_printerr("%s%s\n", error->code == PS_ERROR_USAGE ? "pipersim: " : "", lines);
    return exit_status[error->code];
}
