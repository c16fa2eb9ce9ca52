/* Records of a run and the run folder they are kept in. The schema of every column is described in
 * traces/README.md. Times are picoseconds since the start of the run. */
#pragma once

#include <glib.h>

/* What a lane did. The order is that of legends and tables. */
typedef enum {
    PS_OP_FORWARD,
    PS_OP_BACKWARD, /* gradients; those of the inputs alone where PS_OP_WEIGHT comes apart */
    PS_OP_WEIGHT,   /* gradients of the weights */
    PS_OP_RECOMPUTE,
    PS_OP_OPTIMIZER,      /* the update of the weights after a batch */
    PS_OP_SEND,           /* occupies the sender's send stream */
    PS_OP_RECEIVE,        /* the same transfer on the receiver's receive stream */
    PS_OP_RESYNC,         /* weight-gradient all-reduce */
    PS_OP_ALL_GATHER,     /* of weights that are kept in shards */
    PS_OP_REDUCE_SCATTER, /* of gradients that are kept in shards */
    PS_OP_TENSOR,         /* collectives of a layer among its tensor-parallel ranks */
    PS_N_OPS
} PsOpKind;

/* The terms of the planner's closed form, each of which a lane can be busy with. Collectives of
 * tensor parallelism are part of what a layer takes there. */
typedef enum { PS_CAUSE_COMPUTE, PS_CAUSE_EDGE, PS_CAUSE_RESYNC, PS_N_CAUSES } PsOpCause;

typedef enum {
    PS_STREAM_COMPUTE,
    PS_STREAM_SEND,
    PS_STREAM_RECEIVE,
    PS_STREAM_COLLECTIVE,
    PS_N_STREAMS
} PsStreamKind;

/* Names as in trace.csv ("forward", "compute", ...). */
extern const char *const ps_op_names[PS_N_OPS + 1];
extern const char *const ps_stream_names[PS_N_STREAMS + 1];
extern const PsOpCause ps_op_causes[PS_N_OPS];

typedef struct {
    guint lane; /* one stage replica; lanes are numbered stage by stage, replica by replica */
    guint stage;
    guint replica;
    guint rank; /* first device of the lane */
    PsStreamKind stream;
    PsOpKind kind;
    gint64 microbatch; /* since the start of the run, -1 where the op belongs to a batch */
    guint chunk;
    gint64 start_ps, end_ps;
    double bytes; /* moved by the op; 0 for compute */
    gint64 peer;  /* lane at the other end of a transfer, else -1 */
} PsTraceOp;

typedef enum {
    PS_MEMORY_WEIGHTS,
    PS_MEMORY_WEIGHT_VERSIONS, /* further copies the schedule needs */
    PS_MEMORY_GRADIENTS,       /* of the weights */
    PS_MEMORY_OPTIMIZER,       /* what the optimizer keeps: moments, a copy of the weights */
    PS_MEMORY_STATE,           /* what else is fixed; all of these where nobody tells them apart */
    PS_MEMORY_STASH,           /* activations kept for backward */
    PS_MEMORY_WORKSPACE,       /* activations a recompute brings back until its backward ends */
    PS_MEMORY_BUFFERS,         /* of transfers and collectives */
    PS_N_MEMORY
} PsMemoryKind;

extern const char *const ps_memory_names[PS_N_MEMORY + 1];

/* From time_ps on, this category of this lane holds bytes on each of its devices. */
typedef struct {
    gint64 time_ps;
    guint lane;
    guint stage;
    PsMemoryKind category;
    double bytes;
} PsTraceMemory;

/* A server of the data loader has prepared a sample. */
typedef struct {
    guint server;
    gint64 sample; /* since the start of the run */
    gint64 start_ps, end_ps;
} PsTraceLoad;

/* Where a run's records go, in the order in which things end (ops, loads) and change (memory); in
 * which order at one instant, order.h says where it matters. Functions may be NULL. */
typedef struct {
    void (*op)(const PsTraceOp *op, gpointer user_data);
    void (*memory)(const PsTraceMemory *change, gpointer user_data);
    gpointer user_data;
    void (*load)(const PsTraceLoad *load, gpointer user_data);
} PsTraceSink;
