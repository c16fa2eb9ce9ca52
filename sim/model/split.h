/* How a TMPC's time divides into forward, backward and recompute where the profile does not say. */
#pragma once

#include "sim/model/profile.h"

/* Fills in what is NAN among forward_s, backward_s and recompute_s of the TMPCs of one layer and
 * degree, and workspace_bytes, from time_s, recomputes and memory_fixed_bytes:
 *
 * - A TMPC that recomputes is compared with its plain partner, the fastest of the set that does
 * not: the difference of their times is the recompute, which is a forward pass again. So forward =
 * recompute = p_recompute - p_plain, of several the largest, for the partner as well.
 * - Without a partner, or where that difference is negative or above p_plain: the usual ratio
 *   forward : backward = 1 : 2 (one matrix product forward, two backward), and the forward again
 * for the recompute. Plain: p/3, 2p/3. Recomputing: p/4, p/2, p/4.
 * - Given parts stay; the rest goes to the open ones in the same ratio.
 * - What b holds beyond the partner's b lives from the recompute to the end of the backward only.
 *
 * The parts sum to time_s. Returns NULL, or what is wrong with the given parts of TMPC *index
 * (caller frees): they exceed time_s, or all are given and do not sum to it (1e-9 relative), or the
 * weight gradient exceeds the backward. */
char *ps_split_times(PsTmpcSet *set, guint *index);
