/* The table of algorithms. */
#pragma once

#include "sim/coll/algorithm.h"

#define PS_COLLECTIVE(name) extern const PsCollectiveAlgorithm ps_collective_##name;
#include "sim/coll/collectives.def"
#undef PS_COLLECTIVE

/* All algorithms, NULL-terminated, in the order of collectives.def. */
extern const PsCollectiveAlgorithm *const ps_collective_algorithms[];

/* Names of those that do a kind (of all for PS_N_COLLECTIVE_KINDS), NULL-terminated. Caller frees
 * with g_free. */
const char **ps_collective_algorithm_names(PsCollectiveKind kind);
