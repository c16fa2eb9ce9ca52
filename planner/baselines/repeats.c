#include "planner/baselines/repeats.h"

#include <string.h>

/* Length of the name without the number at its end. */
static gsize stem_length(const char *name)
{
    gsize length = strlen(name);
    while (length > 0 && g_ascii_isdigit(name[length - 1])) {
        length--;
    }
    return length;
}

static gboolean same_stem(const char *a, const char *b)
{
    gsize length = stem_length(a);
    return length == stem_length(b) && strncmp(a, b, length) == 0;
}

PsInnerLayers ps_inner_layers(const PsProfile *profile)
{
    PsInnerLayers longest = {0, 1};
    for (guint first = 0, end; first < profile->n_layers; first = end) {
        end = first + 1;
        while (end < profile->n_layers &&
               same_stem(profile->layers[first].name, profile->layers[end].name)) {
            end++;
        }
        if (end - first > longest.n) {
            longest = (PsInnerLayers){first, end - first};
        }
    }
    return longest.n > 1 ? longest : (PsInnerLayers){0, profile->n_layers};
}
