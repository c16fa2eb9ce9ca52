#include "sim/replay/steady.h"

typedef struct {
    gint64 per_block;
    gint64 offset; /* of its first entry in a block's vector */
} Row;

typedef struct {
    gint64 *times_ps; /* [n_entries] */
    gint64 n_filled;
} Block;

struct PsSteady {
    Row *rows;
    gint64 n_entries;
    gint64 max_blocks;
    GQueue open;      /* Block: n_complete, n_complete + 1, ... */
    GPtrArray *spare; /* Block */
    Block *checkpoint;
    gint64 checkpoint_block;
    gint64 n_complete;
};

static void free_block(gpointer data)
{
    Block *block = data;
    if (block != NULL) {
        g_free(block->times_ps);
        g_free(block);
    }
}

PsSteady *ps_steady_new(const gint64 *per_block, guint n_rows, gint64 max_blocks)
{
    PsSteady *steady = g_new0(PsSteady, 1);
    steady->rows = g_new(Row, MAX(n_rows, 1));
    for (guint i = 0; i < n_rows; i++) {
        steady->rows[i] = (Row){per_block[i], steady->n_entries};
        steady->n_entries += per_block[i];
    }
    steady->max_blocks = max_blocks;
    steady->spare = g_ptr_array_new_with_free_func(free_block);
    g_queue_init(&steady->open);
    steady->checkpoint_block = -1;
    return steady;
}

void ps_steady_free(PsSteady *steady)
{
    if (steady != NULL) {
        g_queue_clear_full(&steady->open, free_block);
        g_ptr_array_unref(steady->spare);
        free_block(steady->checkpoint);
        g_free(steady->rows);
        g_free(steady);
    }
}

gint64 ps_steady_n_blocks(const PsSteady *steady)
{
    return steady->n_complete;
}

gint64 ps_steady_checkpoint_block(const PsSteady *steady)
{
    return steady->checkpoint_block;
}

static Block *new_block(PsSteady *steady)
{
    Block *block;
    if (steady->spare->len > 0) {
        block = g_ptr_array_steal_index_fast(steady->spare, steady->spare->len - 1);
    } else {
        block = g_new(Block, 1);
        block->times_ps = g_new(gint64, steady->n_entries);
    }
    block->n_filled = 0;
    return block;
}

static gboolean repeats(const PsSteady *steady, const Block *block)
{
    const gint64 *now_ps = block->times_ps, *then_ps = steady->checkpoint->times_ps;
    gint64 shift_ps = now_ps[0] - then_ps[0];
    for (gint64 i = 1; i < steady->n_entries; i++) {
        if (now_ps[i] - then_ps[i] != shift_ps) {
            return FALSE;
        }
    }
    return TRUE;
}

static PsSteadyVerdict complete(PsSteady *steady)
{
    Block *block = g_queue_pop_head(&steady->open);
    gint64 count = ++steady->n_complete;
    if (steady->checkpoint != NULL && repeats(steady, block)) {
        g_ptr_array_add(steady->spare, block);
        return PS_STEADY_FOUND;
    }
    if (count == steady->max_blocks) {
        g_ptr_array_add(steady->spare, block);
        return PS_STEADY_GIVE_UP;
    }
    gboolean power_of_two = (count & (count - 1)) == 0;
    Block *spare = power_of_two ? steady->checkpoint : block;
    if (spare != NULL) {
        g_ptr_array_add(steady->spare, spare);
    }
    if (!power_of_two) {
        return PS_STEADY_GO_ON;
    }
    steady->checkpoint = block;
    steady->checkpoint_block = count - 1;
    return PS_STEADY_CHECKPOINT;
}

PsSteadyVerdict ps_steady_record(PsSteady *steady, guint row, gint64 index, gint64 time_ps)
{
    const Row *place = &steady->rows[row];
    gint64 number = index / place->per_block;
    while (steady->n_complete + (gint64)steady->open.length <= number) {
        g_queue_push_tail(&steady->open, new_block(steady));
    }
    Block *block = g_queue_peek_nth(&steady->open, (guint)(number - steady->n_complete));
    block->times_ps[place->offset + index % place->per_block] = time_ps;
    return ++block->n_filled == steady->n_entries ? complete(steady) : PS_STEADY_GO_ON;
}
