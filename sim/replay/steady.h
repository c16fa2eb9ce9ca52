/* Finds out when a run repeats itself exactly.
 *
 * Ops are cut into blocks of L microbatches by index, and the start times of a block's ops are kept
 * as one vector x(b). If x(b) = x(c) + constant, every later block b + i repeats c + i with the
 * same shift, so b - c blocks are a period and the shift is its length:
 *
 * Every op starts at the latest of some earlier ops' ends: the one before it on its lane (a fixed
 * order), the deliveries it needs, the weights it needs. Lanes' orders do not depend on times, so
 * these predecessors are the same for op n + L as for n, moved by L. Let U be the ops of all blocks
 * after b. Which ops outside U precede one in U? A forward of n on a stage follows the backward of
 * n - y d, a batch's first ops follow the last batch's, weights come from as many batches back as
 * there are versions (ps_schedule_versions), and so do collectives that a backward waits for; all
 * else precedes with the same or a higher index, so lies in U. With L at least y d (and the batches
 * that matter) these all lie in block b: the times of U are a function of x(b), built from maxima
 * and sums, so it commutes with adding a constant.
 *
 * Transfers on streams of their own start in order of readiness, which depends on times, but on
 * times of U and b only: while a transfer of U from stage j to i becomes ready, no transfer of a
 * block before b is still to come on its two streams if L is at least y_j d_j + lcm(d_j, d_i). (Its
 * sender has done the backward of n - y_j d_j, hence of an earlier microbatch that it shares with
 * the receiving lane, so that lane has received all that came before.) Ties are broken by index,
 * not by the order of events, so the whole is again a function of x(b) that commutes with a shift.
 *
 * With blocking transfers, with one stream for both ways, and with the collectives of a stage, each
 * activity follows others in orders that schedules fix: the first case. A data loader begins sample
 * n once sample n - prefetch is taken and one of its servers has done an earlier one, at most
 * n_servers before; block b holds these if L is at least prefetch + n_servers, and the times at
 * which samples are ready are part of the vector.
 *
 * Over a network an activity's length depends on what shares its links, that is on the activities
 * of U, of b, and of those before that are still under way when one of b starts. None of them is
 * older than a block before b, by what was said of transfers. So two blocks are taken for one: L is
 * twice as large. How far a flow has come is counted from when its bottleneck had nothing to do
 * before, so that equal shifts give equal roundings; where a link never rests the counts start
 * again now and then, and the run may end without a period.
 *
 * Periods of several blocks are found by Brent's method (BIT 20, 1980): each block is compared with
 * a checkpoint that moves to blocks 1, 3, 7, 15, ... */
#pragma once

#include <glib.h>

typedef struct PsSteady PsSteady;

typedef enum {
    PS_STEADY_GO_ON,
    PS_STEADY_CHECKPOINT, /* the block just completed is the one to compare with from now on */
    PS_STEADY_FOUND,      /* it repeats the checkpoint's */
    PS_STEADY_GIVE_UP,    /* the last block allowed */
} PsSteadyVerdict;

/* Row r of a block holds per_block[r] times. After max_blocks (a power of two) the verdict is
 * GIVE_UP; the checkpoint is then half as old as the run. */
PsSteady *ps_steady_new(const gint64 *per_block, guint n_rows, gint64 max_blocks);
void ps_steady_free(PsSteady *steady);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsSteady, ps_steady_free)

/* Op `index` (0, 1, ...) of a row starts. Each is recorded once; blocks become complete in order.
 * GO_ON unless this completes a block. */
PsSteadyVerdict ps_steady_record(PsSteady *steady, guint row, gint64 index, gint64 time_ps);

gint64 ps_steady_n_blocks(const PsSteady *steady);         /* complete ones */
gint64 ps_steady_checkpoint_block(const PsSteady *steady); /* -1 where there is none yet */
