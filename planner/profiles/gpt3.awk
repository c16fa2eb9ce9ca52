# Prints the profile of a GPT-3 model on A100 accelerators: README.md beside this file says where
# each formula comes from. Run it with any POSIX awk:
#
#     awk -f gpt3.awk > gpt3-13b-a100.json
#
# Times are seconds, sizes bytes, all for one microbatch on one device.

BEGIN {
    # The model: GPT-3 13B (Brown et al. 2020, table 2.1), vocabulary padded for t = 8.
    n_layers = 40; h = 5120; heads = 40; s = 2048; vocabulary = 51200
    # The run: 256 microbatches of four sequences are its published batch of 2 million tokens.
    b = 4; microbatches = 256; devices = 64
    memory = 80 * 1024 ^ 3; bandwidth = 25e9

    # The accelerator and its node.
    rate = 0.5 * 312e12     # FLOP/s: the stated efficiency times the peak
    hbm = 0.8 * 2039e9      # bytes/s of memory-bound work
    nvlink = 200e9          # bytes/s of a collective inside the node

    # Bytes of one parameter: two fp16 weight versions, fp16 gradient, fp32 master weight and Adam's
    # two moments.
    state = 2 * 2 + 2 + 4 + 4 + 4

    tokens = s * b
    hidden = 2 * tokens * h # one fp16 tensor of hidden states

    n_degrees = split("1 2 4 8", degrees, " ")

    printf "{\n"
    printf "  \"maxDevices\": %d,\n", devices
    printf "  \"maxMemoryPerDevice\": %.0f,\n", memory
    printf "  \"bandwidth\": %.0f,\n", bandwidth
    printf "  \"mbsInBatch\": %d,\n", microbatches
    printf "  \"timeUnit\": \"s\",\n"
    printf "  \"nodes\": [\n"
    for (node = 0; node <= n_layers + 1; node++)
        print_node(node)
    printf "  ],\n"
    printf "  \"edges\": [\n"
    for (node = 0; node <= n_layers; node++)
        printf "    {\"sourceId\": %d, \"destId\": %d, \"communicationCost\": %.0f}%s\n", \
            node, node + 1, hidden, node < n_layers ? "," : ""
    printf "  ]\n"
    printf "}\n"
}

function print_node(node,    i, kind) {
    kind = node == 0 ? "embedding" : node <= n_layers ? "transformer" : "head"
    printf "    {\"id\": %d, \"name\": \"%s\", \"TMPCs\": {\n", \
        node, kind == "transformer" ? kind " " node : kind
    for (i = 1; i <= n_degrees; i++) {
        if (kind == "embedding")
            embedding(degrees[i])
        else if (kind == "transformer")
            transformer(degrees[i])
        else
            head(degrees[i])
        printf "      \"%d\": [\n", degrees[i]
        print_tmpc(node, degrees[i], 0)
        print_tmpc(node, degrees[i], 1)
        printf "      ]%s\n", i < n_degrees ? "," : ""
    }
    printf "    }}%s\n", node <= n_layers ? "," : ""
}

# Each kind of layer sets, for tensor-parallel degree t: forward, backward, weight_gradient (s),
# parameters (on one device), activations and input (bytes kept for the backward, and the part of
# them that a recompute starts from).

function embedding(t) {
    # Gather of token rows, sum with position rows, dropout: three passes over the hidden states.
    forward = 3 * hidden / hbm + all_reduce(t)
    backward = 3 * hidden / hbm
    weight_gradient = backward
    parameters = (vocabulary / t + s) * h
    input = 8 * tokens # token ids
    activations = input + tokens * h # and the dropout mask, one byte each
}

function transformer(t,    matrices, attention) {
    matrices = 24 * tokens * h ^ 2 / t / rate
    attention = 4 * tokens * s * h / t / rate
    forward = matrices + attention + 2 * all_reduce(t)
    backward = 2 * (matrices + attention) + 2 * all_reduce(t)
    weight_gradient = matrices
    parameters = 12 * h ^ 2 / t + 13 * h
    input = hidden
    activations = tokens * h * (10 + 24 / t + 5 * heads * s / h / t)
}

function head(t,    matrix) {
    matrix = 2 * tokens * h * vocabulary / t / rate
    forward = matrix
    backward = 2 * matrix + all_reduce(t)
    weight_gradient = matrix
    parameters = vocabulary / t * h + 2 * h
    input = hidden
    activations = 2 * hidden + 4 * tokens * vocabulary / t # fp32 logits
}

# Seconds of a ring all-reduce of the hidden states inside the node.
function all_reduce(t) {
    return 2 * (t - 1) / t * hidden / nvlink
}

function print_tmpc(node, t, recompute,    border) {
    # Half a broadcast inside the node, in bytes of the link to the outside.
    border = t > 1 ? hidden * bandwidth / nvlink / 2 : 0
    printf "        {\"id\": \"%s\",", recompute ? "recompute" : "plain"
    printf " \"timePerSample\": %.12g,", forward + backward + (recompute ? forward : 0)
    printf " \"timeForward\": %.12g,", forward
    printf " \"timeBackward\": %.12g,", backward
    printf " \"timeRecompute\": %.12g,", recompute ? forward : 0
    printf " \"timeWeightGradient\": %.12g,\n", weight_gradient
    printf "         \"parameterSize\": %.0f,", 2 * parameters
    printf " \"memoryUsageA\": %.0f,", recompute ? input : activations
    printf " \"memoryUsageB\": %.0f,\n", state * parameters + (recompute ? activations - input : 0)
    printf "         \"syncTimeFw\": {%s},", (node > 0 ? sync_entry(node - 1, border) : "")
    printf " \"syncTimeBw\": {%s}}%s\n", \
        node <= n_layers ? sync_entry(node + 1, border) : "", recompute ? "" : ","
}

function sync_entry(neighbour, bytes) {
    return sprintf("\"%d\": %.0f", neighbour, bytes)
}
