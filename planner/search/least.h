/* The layout of least largest load: bisection over the threshold of the search, which ends with a
 * certificate. */
#pragma once

#include "planner/search/search.h"

/* The layout of least largest load in the subspace (NULL: the whole space), ties broken as above,
 * or NULL where nothing fits. Proven: no layout there has a smaller largest load, in the costs'
 * quanta. `floor` (may be NULL) is a load that the caller knows none to be below. */
PsLayout *ps_search_best(PsSearch *search, const PsSubspace *subspace, const PsThreshold *floor);

/* The same, but any layout of that load, with ties as they come. */
PsLayout *ps_search_least(PsSearch *search, const PsSubspace *subspace, const PsThreshold *floor);
