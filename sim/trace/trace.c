#include "sim/trace/trace.h"

const char *const ps_op_names[PS_N_OPS + 1] = {
    [PS_OP_FORWARD] = "forward",       [PS_OP_BACKWARD] = "backward",
    [PS_OP_WEIGHT] = "weight",         [PS_OP_RECOMPUTE] = "recompute",
    [PS_OP_OPTIMIZER] = "optimizer",   [PS_OP_SEND] = "send",
    [PS_OP_RECEIVE] = "receive",       [PS_OP_RESYNC] = "resync",
    [PS_OP_ALL_GATHER] = "all-gather", [PS_OP_REDUCE_SCATTER] = "reduce-scatter",
    [PS_OP_TENSOR] = "tensor",
};

const PsOpCause ps_op_causes[PS_N_OPS] = {
    [PS_OP_FORWARD] = PS_CAUSE_COMPUTE,   [PS_OP_BACKWARD] = PS_CAUSE_COMPUTE,
    [PS_OP_WEIGHT] = PS_CAUSE_COMPUTE,    [PS_OP_RECOMPUTE] = PS_CAUSE_COMPUTE,
    [PS_OP_OPTIMIZER] = PS_CAUSE_COMPUTE, [PS_OP_SEND] = PS_CAUSE_EDGE,
    [PS_OP_RECEIVE] = PS_CAUSE_EDGE,      [PS_OP_RESYNC] = PS_CAUSE_RESYNC,
    [PS_OP_ALL_GATHER] = PS_CAUSE_RESYNC, [PS_OP_REDUCE_SCATTER] = PS_CAUSE_RESYNC,
    [PS_OP_TENSOR] = PS_CAUSE_COMPUTE,
};

const char *const ps_stream_names[PS_N_STREAMS + 1] = {
    [PS_STREAM_COMPUTE] = "compute",
    [PS_STREAM_SEND] = "send",
    [PS_STREAM_RECEIVE] = "receive",
    [PS_STREAM_COLLECTIVE] = "collective",
};

const char *const ps_memory_names[PS_N_MEMORY + 1] = {
    [PS_MEMORY_WEIGHTS] = "weights",     [PS_MEMORY_WEIGHT_VERSIONS] = "weight versions",
    [PS_MEMORY_GRADIENTS] = "gradients", [PS_MEMORY_OPTIMIZER] = "optimizer",
    [PS_MEMORY_STATE] = "state",         [PS_MEMORY_STASH] = "stash",
    [PS_MEMORY_WORKSPACE] = "workspace", [PS_MEMORY_BUFFERS] = "buffers",
};
