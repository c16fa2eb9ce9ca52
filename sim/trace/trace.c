#include "sim/trace/trace.h"

const char *const ps_op_names[PS_N_OPS + 1] = {
    [PS_OP_FORWARD] = "forward", [PS_OP_BACKWARD] = "backward", [PS_OP_RECOMPUTE] = "recompute",
    [PS_OP_WEIGHT] = "weight",   [PS_OP_SEND] = "send",         [PS_OP_RECEIVE] = "receive",
    [PS_OP_RESYNC] = "resync",
};

const char *const ps_stream_names[PS_N_STREAMS + 1] = {
    [PS_STREAM_COMPUTE] = "compute",
    [PS_STREAM_SEND] = "send",
    [PS_STREAM_RECEIVE] = "receive",
    [PS_STREAM_COLLECTIVE] = "collective",
};

const char *const ps_memory_names[PS_N_MEMORY + 1] = {
    [PS_MEMORY_WEIGHTS] = "weights",     [PS_MEMORY_WEIGHT_VERSIONS] = "weight versions",
    [PS_MEMORY_STATE] = "state",         [PS_MEMORY_STASH] = "stash",
    [PS_MEMORY_WORKSPACE] = "workspace",
};
