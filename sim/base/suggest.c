#include "sim/base/suggest.h"

#include <string.h>

#define MAX_DISTANCE 3

/* Damerau-Levenshtein distance (swapped neighbours count 1), blind to case: a wrong case is always
 * a slip. The table is walked row by row; only the last two rows are needed. */
static guint edit_distance(const char *a, const char *b)
{
    gsize n = strlen(b);
    g_autofree guint *rows = g_new0(guint, 3 * (n + 1));
    guint *before = rows, *above = rows + n + 1, *row = rows + 2 * (n + 1);
    for (gsize j = 0; j <= n; j++) {
        row[j] = (guint)j;
    }
    for (gsize i = 1; a[i - 1] != '\0'; i++) {
        guint *reused = before;
        before = above;
        above = row;
        row = reused;
        row[0] = (guint)i;
        for (gsize j = 1; j <= n; j++) {
            char x = g_ascii_tolower(a[i - 1]), y = g_ascii_tolower(b[j - 1]);
            row[j] = MIN(MIN(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == g_ascii_tolower(b[j - 2]) &&
                y == g_ascii_tolower(a[i - 2])) {
                row[j] = MIN(row[j], before[j - 2] + 1);
            }
        }
    }
    return row[n];
}

const char *ps_suggest(const char *word, const char *const *candidates)
{
    gsize length = strlen(word);
    gsize limit = MIN(length / 3, MAX_DISTANCE);
    const char *best = NULL;
    for (gsize i = 0; candidates[i] != NULL; i++) {
        gsize other = strlen(candidates[i]);
        if (MAX(length, other) - MIN(length, other) > limit) {
            continue;
        }
        guint distance = edit_distance(word, candidates[i]);
        if (distance <= limit && (best == NULL || distance < limit)) {
            best = candidates[i];
            limit = distance;
        }
    }
    return best;
}

static char *list_text(const char *const *words)
{
    GString *text = g_string_new(NULL);
    for (gsize i = 0; words[i] != NULL; i++) {
        const char *separator = i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ";
        g_string_append_printf(text, "%s%s", separator, words[i]);
    }
    return g_string_free(text, FALSE);
}

char *ps_suggest_text(const char *word, const char *const *candidates)
{
    const char *closest = ps_suggest(word, candidates);
    if (closest != NULL) {
        return g_strdup_printf(" (did you mean %s?)", closest);
    }
    g_autofree char *list = list_text(candidates);
    return g_strdup_printf(" (expected %s)", *list != '\0' ? list : "none");
}
