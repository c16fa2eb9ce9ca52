/* The part of a model that repeats. */
#pragma once

#include "sim/model/profile.h"

/* The inner layers: the longest run, in topological order, of layers whose names are the same up to
 * a number at the end ("block", "transformer 7"); of equal runs the first. All layers where no two
 * neighbours share a name. */
typedef struct {
    guint first, n; /* indices into profile->layers */
} PsInnerLayers;

PsInnerLayers ps_inner_layers(const PsProfile *profile);
