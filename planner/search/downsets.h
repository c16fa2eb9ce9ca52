/* The downsets of a layer graph: sets of layers closed under successors. Stages are differences of
 * two of them (Piper, NeurIPS 2021, section 4), so the planner's tables are indexed by them.
 *
 * Downset 0 is empty, the last one holds every layer; a downset comes after all its subsets (they
 * are ordered by size, then by the order in which they are found). */
#pragma once

#include "sim/model/profile.h"

typedef struct {
    guint layer; /* not in the downset, all its successors are */
    guint next;  /* index of the downset with it */
} PsCover;

typedef struct {
    guint n_downsets;
    guint n_words;      /* 64-bit words of a set */
    guint64 *sets;      /* [n_downsets][n_words], bit v = layer v */
    guint *first_cover; /* [n_downsets + 1]: covers of i are covers[first_cover[i] ..] */
    PsCover *covers;    /* by ascending layer within a downset */
} PsDownsets;

/* Enumerates them all; NULL where there are more than `limit`. */
PsDownsets *ps_downsets_new(const PsProfile *profile, guint limit);
/* Only those of a contracted graph: sets of whole groups, but for one group that is taken in from
 * its last layer on; and those along one order of the layers, which follows each branch to its end
 * before it begins the next. group_of: [n_layers], as ps_contraction_groups has it. NULL where
 * there are more than `limit`; with one group there are at most 2 n_layers. */
PsDownsets *ps_downsets_contracted(const PsProfile *profile, const guint *group_of, guint limit);
void ps_downsets_free(PsDownsets *downsets);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsDownsets, ps_downsets_free)

static inline const guint64 *ps_downset(const PsDownsets *downsets, guint index)
{
    return downsets->sets + (gsize)index * downsets->n_words;
}

static inline gboolean ps_set_has(const guint64 *set, guint layer)
{
    return set[layer / 64] >> (layer % 64) & 1;
}
