#include <string.h>

#include "sim/base/csv.h"
#include "sim/base/error.h"
#include "sim/schedule/actions.h"

const char *const ps_action_names[PS_N_ACTIONS] = {
    [PS_ACTION_FORWARD] = "F",
    [PS_ACTION_BACKWARD] = "B",
    [PS_ACTION_INPUT] = "I",
    [PS_ACTION_WEIGHT] = "W",
    [PS_ACTION_SEND_F] = "SEND_F",
    [PS_ACTION_RECV_F] = "RECV_F",
    [PS_ACTION_SEND_B] = "SEND_B",
    [PS_ACTION_RECV_B] = "RECV_B",
    [PS_ACTION_UNSHARD] = "UNSHARD",
    [PS_ACTION_RESHARD] = "RESHARD",
    [PS_ACTION_REDUCE_GRAD] = "REDUCE_GRAD",
};

#define OVERLAP "OVERLAP_F_B"
#define MOST 1000000 /* stages, microbatches */

char *ps_action_text(const PsAction *action)
{
    return action->kind >= PS_ACTION_UNSHARD
               ? g_strdup_printf("%u%s", action->stage, ps_action_names[action->kind])
               : g_strdup_printf("%u%s%u", action->stage, ps_action_names[action->kind],
                                 action->microbatch);
}

void ps_actions_free(PsActions *actions)
{
    if (actions != NULL) {
        g_free(actions->path);
        g_free(actions->sha256);
        g_free(actions->rank_of);
        g_ptr_array_unref(actions->ranks);
        g_array_unref(actions->lines);
        g_free(actions);
    }
}

/* A whole number below MOST; *text moves behind it. */
static gboolean take_number(const char **text, guint *number)
{
    const char *start = *text;
    *number = 0;
    for (; g_ascii_isdigit(**text); ++*text) {
        *number = *number * 10 + (guint)g_ascii_digit_value(**text);
        if (*number >= MOST) {
            return FALSE;
        }
    }
    return *text > start;
}

static gboolean parse_action(const char *text, PsAction *action)
{
    if (!take_number(&text, &action->stage)) {
        return FALSE;
    }
    gsize length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    for (guint kind = 0; kind < PS_N_ACTIONS; kind++) {
        if (strlen(ps_action_names[kind]) == length &&
            strncmp(text, ps_action_names[kind], length) == 0) {
            action->kind = kind;
            action->microbatch = 0;
            text += length;
            gboolean numbered = kind < PS_ACTION_UNSHARD;
            return (!numbered || take_number(&text, &action->microbatch)) && *text == '\0';
        }
    }
    return FALSE;
}

static gboolean add_action(const PsCsvRow *row, const char *text, GArray *actions, GError **error)
{
    PsAction action;
    g_autofree char *bare = g_strstrip(g_strdup(text));
    if (!parse_action(bare, &action)) {
        ps_error_at(error, row->path, row->line,
                    "\"%s\" is no action (expected STAGE, then F, B, I, W, SEND_F, RECV_F, SEND_B "
                    "or RECV_B and MICROBATCH, or UNSHARD, RESHARD or REDUCE_GRAD)",
                    bare);
        return FALSE;
    }
    g_array_append_val(actions, action);
    return TRUE;
}

/* "(2F1;5B3)OVERLAP_F_B": a forward and a backward, in whatever order. */
static gboolean add_overlap(const PsCsvRow *row, const char *cell, GArray *actions, GError **error)
{
    const char *close = strchr(cell, ')');
    guint first = actions->len;
    if (close != NULL && g_str_equal(close + 1, OVERLAP)) {
        g_autofree char *inside = g_strndup(cell + 1, (gsize)(close - cell - 1));
        g_auto(GStrv) parts = g_strsplit(inside, ";", -1);
        for (guint i = 0; parts[i] != NULL; i++) {
            if (!add_action(row, parts[i], actions, error)) {
                return FALSE;
            }
        }
    }
    guint n_forward = 0, n_backward = 0;
    for (guint i = first; i < actions->len; i++) {
        PsActionKind kind = g_array_index(actions, PsAction, i).kind;
        n_forward += kind == PS_ACTION_FORWARD;
        n_backward += kind == PS_ACTION_BACKWARD || kind == PS_ACTION_INPUT;
    }
    if (n_forward != 1 || n_backward != 1 || actions->len - first != 2) {
        ps_error_at(error, row->path, row->line,
                    "\"%s\" is no overlap (expected \"(\", a forward and a backward with \";\" "
                    "between them, \")" OVERLAP "\")",
                    cell);
        return FALSE;
    }
    return TRUE;
}

static gboolean read_row(const PsCsvRow *row, gpointer user_data, GError **error)
{
    PsActions *file = user_data;
    GArray *actions = g_array_new(FALSE, FALSE, sizeof(PsAction));
    g_ptr_array_add(file->ranks, actions);
    g_array_append_val(file->lines, row->line);
    for (guint i = 0; i < row->n_fields; i++) {
        g_autofree char *cell = g_strstrip(g_strdup(row->fields[i]));
        gboolean fine = *cell == '\0' || (*cell == '(' ? add_overlap(row, cell, actions, error)
                                                       : add_action(row, cell, actions, error));
        if (!fine) {
            return FALSE;
        }
    }
    return TRUE;
}

PsActions *ps_actions_read(const char *path, GError **error)
{
    gsize length;
    g_autofree char *text = ps_read_file(path, &length, error);
    if (text == NULL) {
        return NULL;
    }
    g_autoptr(PsActions) actions = g_new0(PsActions, 1);
    actions->path = g_strdup(path);
    actions->sha256 = ps_sha256(text, length);
    actions->ranks = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    actions->lines = g_array_new(FALSE, FALSE, sizeof(guint));
    if (!ps_csv_read(path, NULL, read_row, actions, error)) {
        return NULL;
    }
    actions->n_ranks = actions->ranks->len;
    return g_steal_pointer(&actions);
}
