/* A layer graph contracted to fewer and fewer groups of layers, for graphs with more downsets than
 * can be searched: the lightest group is taken together with the lightest one that it can be,
 * neighbours before strangers, so that groups come out alike. No path leaves a group and comes
 * back: the contracted graph has no cycles. */
#pragma once

#include "sim/model/profile.h"

typedef struct PsContraction PsContraction;

PsContraction *ps_contraction_new(const PsProfile *profile);
void ps_contraction_free(PsContraction *contraction);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsContraction, ps_contraction_free)

/* The group of each layer, [n_layers], when there are n_groups from 1 to n_layers. Groups are named
 * by one of their layers. Caller frees. */
guint *ps_contraction_groups(const PsContraction *contraction, guint n_groups);
