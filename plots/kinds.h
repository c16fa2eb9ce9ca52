/* What a Gantt chart tells apart: the kinds of ops, then the preparation of samples by a data
 * loader. */
#pragma once

#include "sim/trace/trace.h"

enum { PS_KIND_LOAD = PS_N_OPS, PS_N_KINDS };
typedef guint PsKind; /* a PsOpKind, or PS_KIND_LOAD */
