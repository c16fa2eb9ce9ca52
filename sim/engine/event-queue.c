#include "sim/engine/event-queue.h"

#include <stdlib.h>

/* Two parts. Events of the near future, before `near_end`, are in a sorted run, or, where they came
 * after it was sorted, in a heap; both stay in the first-level cache. Later ones are in unsorted
 * buckets, found by the highest digit (base 2^DIGIT_BITS) in which their time differs from `base`;
 * when run and heap are empty the first bucket becomes the run, or, if it is longer than one chunk,
 * is spread over the buckets below (poured into the heap where there are none). A key moves at most
 * once per digit, always from one array to the end of another (the radix heap of Ahuja, Mehlhorn,
 * Orlin and Tarjan, 1990, with a small queue in front, which also takes events from the past).
 *
 * A key is 16 bytes: time in the upper word; priority, sequence and slot in the lower one, so that
 * one 128-bit comparison orders two events. The payload lies in the slot. */
#define PRIORITY_BITS 4
#define SLOT_BITS 26
#ifndef SEQUENCE_BITS
#define SEQUENCE_BITS (64 - PRIORITY_BITS - SLOT_BITS)
#endif
#define SLOT_MASK ((G_GUINT64_CONSTANT(1) << SLOT_BITS) - 1)
#define MAX_SEQUENCE ((G_GUINT64_CONSTANT(1) << SEQUENCE_BITS) - 1)
#define PRIORITY_SHIFT (SLOT_BITS + SEQUENCE_BITS)

#define DIGIT_BITS 4
#define N_DIGITS (1 << DIGIT_BITS)
#define N_LEVELS ((63 + DIGIT_BITS - 1) / DIGIT_BITS)
#define ARITY 4
#define CHUNK_KEYS 47
#define NO_CHUNK G_MAXUINT32

__extension__ typedef unsigned __int128 Key;

G_STATIC_ASSERT(PS_N_PRIORITIES == 1 << PRIORITY_BITS);

/* Odd generations are pending, even ones free or cancelled. */
typedef struct {
    guint64 data; /* of a free slot: the next free one */
    guint32 handler;
    guint32 generation;
} Slot;

/* Buckets are lists of chunks from one pool; only the first chunk of a list may be partly full. */
typedef struct {
    guint32 next;
    guint32 n_keys;
    Key keys[CHUNK_KEYS];
} Chunk;

typedef struct {
    guint32 first;
    guint32 n_chunks;
} Bucket;

struct PsEventQueue {
    Key run[CHUNK_KEYS]; /* latest first */
    gsize n_run;
    Key *near; /* heap */
    gsize n_near, near_capacity;
    guint64 near_end_ps;

    guint64 base_ps;
    guint32 used_levels;           /* bit per level with a used bucket */
    guint32 used_digits[N_LEVELS]; /* bit per used bucket */
    Bucket buckets[N_LEVELS][N_DIGITS];
    Chunk *chunks;
    guint32 n_chunks, chunk_capacity, free_chunk;

    Slot *slots;
    guint64 n_slots, slot_capacity, free_slot; /* free_slot: SLOT_MASK where there is none */

    gsize n_keys;
    gsize n_cancelled; /* keys whose event was cancelled: they leave when they come up */
    guint64 sequence;
};

static inline Slot *slot_of(const PsEventQueue *queue, Key key)
{
    return &queue->slots[(guint64)key & SLOT_MASK];
}

/* ---- slots -------------------------------------------------------------------------------- */

static guint64 take_slot(PsEventQueue *queue)
{
    guint64 slot = queue->free_slot;
    if (slot != SLOT_MASK) {
        queue->free_slot = queue->slots[slot].data;
        return slot;
    }
    if (queue->n_slots == queue->slot_capacity) {
        if (queue->n_slots == SLOT_MASK) {
            g_error("more than %" G_GUINT64_FORMAT " events are pending", SLOT_MASK);
        }
        queue->slot_capacity = CLAMP(queue->slot_capacity * 2, 64, SLOT_MASK);
        queue->slots = g_renew(Slot, queue->slots, queue->slot_capacity);
    }
    slot = queue->n_slots++;
    queue->slots[slot].generation = 0;
    return slot;
}

static inline void give_slot_back(PsEventQueue *queue, Key key)
{
    Slot *slot = slot_of(queue, key);
    slot->data = queue->free_slot;
    queue->free_slot = (guint64)key & SLOT_MASK;
}

/* ---- the run ------------------------------------------------------------------------------- */

/* Makes the keys of one chunk the run. They are few: insertion. */
static void sort_run(PsEventQueue *queue, const Key *keys, gsize n_keys)
{
    Key *run = queue->run;
    for (gsize i = 0; i < n_keys; i++) {
        gsize place = i;
        __builtin_prefetch(slot_of(queue, keys[i]));
        for (; place > 0 && run[place - 1] < keys[i]; place--) {
            run[place] = run[place - 1];
        }
        run[place] = keys[i];
    }
    queue->n_run = n_keys;
}

/* ---- the near heap: four children per node ------------------------------------------------- */

static inline void rise(Key *keys, gsize place, Key key)
{
    while (place > 0) {
        gsize parent = (place - 1) / ARITY;
        if (keys[parent] < key) {
            break;
        }
        keys[place] = keys[parent];
        place = parent;
    }
    keys[place] = key;
}

/* Moves the hole at the root down to a leaf along the smallest children, then lets `key` rise from
 * there: it comes from the bottom and nearly always belongs there. */
static inline void refill_root(Key *keys, gsize n_keys, Key key)
{
    gsize place = 0, child;
    while ((child = place * ARITY + 1) < n_keys) {
        gsize end = MIN(child + ARITY, n_keys), least = child;
        for (gsize i = child + 1; i < end; i++) {
            least = keys[i] < keys[least] ? i : least;
        }
        keys[place] = keys[least];
        place = least;
    }
    rise(keys, place, key);
}

static inline void push_near(PsEventQueue *queue, Key key)
{
    if (queue->n_near == queue->near_capacity) {
        queue->near_capacity = MAX(queue->near_capacity * 2, 2 * CHUNK_KEYS);
        queue->near = g_renew(Key, queue->near, queue->near_capacity);
    }
    rise(queue->near, queue->n_near++, key);
}

/* ---- the buckets --------------------------------------------------------------------------- */

static guint32 take_chunk(PsEventQueue *queue)
{
    guint32 chunk = queue->free_chunk;
    if (chunk != NO_CHUNK) {
        queue->free_chunk = queue->chunks[chunk].next;
        return chunk;
    }
    if (queue->n_chunks == queue->chunk_capacity) {
        queue->chunk_capacity = MAX(queue->chunk_capacity * 2, 16);
        queue->chunks = g_renew(Chunk, queue->chunks, queue->chunk_capacity);
    }
    return queue->n_chunks++;
}

static void give_chunk_back(PsEventQueue *queue, guint32 chunk)
{
    queue->chunks[chunk].next = queue->free_chunk;
    queue->free_chunk = chunk;
}

static inline void push_far(PsEventQueue *queue, Key key)
{
    guint64 time_ps = (guint64)(key >> 64);
    guint level = (63 - __builtin_clzll((time_ps ^ queue->base_ps) | 1)) / DIGIT_BITS;
    guint digit = (time_ps >> (level * DIGIT_BITS)) & (N_DIGITS - 1);
    Bucket *bucket = &queue->buckets[level][digit];
    if (bucket->first == NO_CHUNK || queue->chunks[bucket->first].n_keys == CHUNK_KEYS) {
        guint32 chunk = take_chunk(queue);
        queue->chunks[chunk].next = bucket->first;
        queue->chunks[chunk].n_keys = 0;
        bucket->first = chunk;
        bucket->n_chunks++;
        queue->used_levels |= 1u << level;
        queue->used_digits[level] |= 1u << digit;
    }
    Chunk *chunk = &queue->chunks[bucket->first];
    chunk->keys[chunk->n_keys++] = key;
}

static inline void push_key(PsEventQueue *queue, Key key)
{
    if ((guint64)(key >> 64) < queue->near_end_ps) {
        push_near(queue, key);
    } else {
        push_far(queue, key);
    }
}

/* Takes the bucket out of the table and returns its chunks. */
static guint32 detach(PsEventQueue *queue, guint level, guint digit)
{
    guint32 first = queue->buckets[level][digit].first;
    queue->buckets[level][digit] = (Bucket){NO_CHUNK, 0};
    queue->used_digits[level] &= ~(1u << digit);
    if (queue->used_digits[level] == 0) {
        queue->used_levels &= ~(1u << level);
    }
    return first;
}

/* Nothing is near: brings the first bucket nearer. FALSE where there is none. */
static gboolean advance(PsEventQueue *queue)
{
    if (queue->used_levels == 0) {
        return FALSE;
    }
    guint level = __builtin_ctz(queue->used_levels);
    guint digit = __builtin_ctz(queue->used_digits[level]);
    gboolean alone = queue->buckets[level][digit].n_chunks == 1;
    gboolean pour = level == 0 || alone;
    guint64 width_ps = G_GUINT64_CONSTANT(1) << (level * DIGIT_BITS);
    queue->base_ps = (queue->base_ps & ~(width_ps * N_DIGITS - 1)) | digit * width_ps;
    queue->near_end_ps = queue->base_ps + (pour ? width_ps : 0);
    guint32 next = detach(queue, level, digit);
    if (alone) {
        sort_run(queue, queue->chunks[next].keys, queue->chunks[next].n_keys);
        give_chunk_back(queue, next);
        return TRUE;
    }
    while (next != NO_CHUNK) {
        guint32 chunk = next;
        next = queue->chunks[chunk].next;
        for (guint i = 0; i < queue->chunks[chunk].n_keys; i++) {
            Key key = queue->chunks[chunk].keys[i];
            if (pour) {
                __builtin_prefetch(slot_of(queue, key));
                push_near(queue, key);
            } else {
                push_far(queue, key);
            }
        }
        give_chunk_back(queue, chunk);
    }
    return TRUE;
}

/* ---- the whole ------------------------------------------------------------------------------ */

PsEventQueue *ps_event_queue_new(void)
{
    PsEventQueue *queue = g_new0(PsEventQueue, 1);
    queue->free_slot = SLOT_MASK;
    queue->free_chunk = NO_CHUNK;
    for (guint i = 0; i < N_LEVELS * N_DIGITS; i++) {
        queue->buckets[i / N_DIGITS][i % N_DIGITS].first = NO_CHUNK;
    }
    return queue;
}

void ps_event_queue_free(PsEventQueue *queue)
{
    if (queue != NULL) {
        g_free(queue->near);
        g_free(queue->chunks);
        g_free(queue->slots);
        g_free(queue);
    }
}

gsize ps_event_queue_size(const PsEventQueue *queue)
{
    return queue->n_keys - queue->n_cancelled;
}

/* Takes all keys out, in no order. Caller frees. */
static Key *take_all(PsEventQueue *queue)
{
    Key *keys = g_new(Key, MAX(queue->n_keys, 1));
    gsize n = 0;
    do {
        for (gsize i = 0; i < queue->n_run; i++) {
            keys[n++] = queue->run[i];
        }
        for (gsize i = 0; i < queue->n_near; i++) {
            keys[n++] = queue->near[i];
        }
        queue->n_run = queue->n_near = 0;
    } while (advance(queue));
    g_assert(n == queue->n_keys);
    return keys;
}

static int compare_keys(const void *a, const void *b)
{
    Key left = *(const Key *)a, right = *(const Key *)b;
    return (left > right) - (left < right);
}

/* Sequence numbers are used up: the pending events get the lowest ones, in their old order. */
static void renumber(PsEventQueue *queue)
{
    const Key sequence_mask = (Key)MAX_SEQUENCE << SLOT_BITS;
    g_autofree Key *keys = take_all(queue);
    qsort(keys, queue->n_keys, sizeof(Key), compare_keys);
    for (gsize i = 0; i < queue->n_keys; i++) {
        push_key(queue, (keys[i] & ~sequence_mask) | (Key)i << SLOT_BITS);
    }
    queue->sequence = queue->n_keys;
}

/* Drops the cancelled keys at once; done when they are the majority, so O(1) per cancellation. */
static void sweep(PsEventQueue *queue)
{
    g_autofree Key *keys = take_all(queue);
    gsize n_keys = queue->n_keys;
    for (gsize i = 0; i < n_keys; i++) {
        if (slot_of(queue, keys[i])->generation & 1) {
            push_key(queue, keys[i]);
        } else {
            give_slot_back(queue, keys[i]);
            queue->n_keys--;
        }
    }
    queue->n_cancelled = 0;
}

PsEventHandle ps_event_queue_push(PsEventQueue *queue, gint64 time_ps, guint priority,
                                  guint32 handler, guint64 data)
{
    g_assert(time_ps >= 0 && priority < PS_N_PRIORITIES);
    if (queue->sequence > MAX_SEQUENCE) {
        renumber(queue);
    }
    guint64 slot = take_slot(queue);
    Slot *payload = &queue->slots[slot];
    payload->data = data;
    payload->handler = handler;
    payload->generation++;
    guint64 order = (guint64)priority << PRIORITY_SHIFT | queue->sequence++ << SLOT_BITS | slot;
    push_key(queue, (Key)(guint64)time_ps << 64 | order);
    queue->n_keys++;
    return (PsEventHandle)payload->generation << 32 | slot;
}

gboolean ps_event_queue_cancel(PsEventQueue *queue, PsEventHandle handle)
{
    guint64 slot = handle & G_MAXUINT32;
    guint32 generation = (guint32)(handle >> 32);
    if (slot >= queue->n_slots || (generation & 1) == 0 ||
        queue->slots[slot].generation != generation) {
        return FALSE;
    }
    queue->slots[slot].generation++;
    queue->n_cancelled++;
    if (queue->n_cancelled > CHUNK_KEYS && queue->n_cancelled > queue->n_keys / 2) {
        sweep(queue);
    }
    return TRUE;
}

/* Run and heap are not both empty. */
static inline Key pop_near(PsEventQueue *queue)
{
    if (queue->n_near == 0 || (queue->n_run > 0 && queue->run[queue->n_run - 1] < queue->near[0])) {
        return queue->run[--queue->n_run];
    }
    Key key = queue->near[0];
    gsize n_near = --queue->n_near;
    if (n_near > 0) {
        refill_root(queue->near, n_near, queue->near[n_near]);
    }
    return key;
}

gboolean ps_event_queue_pop(PsEventQueue *queue, PsEvent *event)
{
    for (;;) {
        while (queue->n_run + queue->n_near == 0) {
            if (!advance(queue)) {
                return FALSE;
            }
        }
        Key key = pop_near(queue);
        queue->n_keys--;
        Slot *slot = slot_of(queue, key);
        gboolean pending = slot->generation & 1;
        if (pending) {
            *event = (PsEvent){(gint64)(key >> 64), slot->handler, slot->data};
            slot->generation++;
        } else {
            queue->n_cancelled--;
        }
        give_slot_back(queue, key);
        if (pending) {
            return TRUE;
        }
    }
    return FALSE;
}
