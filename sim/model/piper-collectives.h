/* The member `collectives` of a TMPC: what its devices exchange among themselves while they run the
 * layer, as part of its time.
 *
 *     "collectives": [{"pass": "forward", "kind": "all-reduce", "bytes": 33554432, "time": 0.0004,
 *                      "count": 2}]
 *
 * pass: forward, backward or recompute; kind: see ps_tmpc_collective_kinds; bytes: of one rank's
 * buffer, as in sim/coll; time: what each of them takes of the pass's time, in the unit of the
 * file's times; count: how many, one after another (1 where it is left out). */
#pragma once

#include "sim/base/json.h"
#include "sim/model/profile.h"

/* At the TMPC's object, which has the member. Errors go to the reader. */
void ps_piper_read_collectives(PsJsonReader *reader, double unit_s, guint degree, PsTmpc *tmpc);

/* Why the collectives do not fit into their passes' times, which are known by now; NULL: they do.
 * Caller frees. */
char *ps_piper_collectives_fault(const PsTmpc *tmpc);
