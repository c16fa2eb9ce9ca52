/* Did-you-mean. */
#pragma once

#include <glib.h>

/* The closest of the NULL-terminated candidates by edit distance, or NULL where none is close
 * enough to be a typing slip (distance above a third of the word, or above 3). */
const char *ps_suggest(const char *word, const char *const *candidates);

/* " (did you mean NAME?)" or, without a close one, " (expected A, B or C)". Caller frees. */
char *ps_suggest_text(const char *word, const char *const *candidates);
