/* Collectives: what all ranks of a group do together, as phases that load links. Several groups
 * of one size can run one collective each in lock step, as the replicas of a stage do for every
 * tensor-parallel rank.
 *
 * Bytes are those of one rank's buffer, the larger one of input and output: of the vector for
 * all-reduce and broadcast, of the whole input for reduce-scatter and all-to-all, of the whole
 * output for all-gather (as nccl-tests count them). */
#pragma once

#include "sim/base/progress.h"
#include "sim/net/fair.h"
#include "sim/net/flows.h"
#include "sim/topo/network.h"

typedef enum {
    PS_ALL_REDUCE,
    PS_REDUCE_SCATTER,
    PS_ALL_GATHER,
    PS_ALL_TO_ALL,
    PS_BROADCAST,
    PS_N_COLLECTIVE_KINDS
} PsCollectiveKind;

extern const char *const ps_collective_kind_names[PS_N_COLLECTIVE_KINDS + 1]; /* "all-reduce" */

/* By name; the error (USAGE) lists the names. */
gboolean ps_collective_kind_parse(const char *text, PsCollectiveKind *kind,
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Bytes that each rank must send at least, as a share of the call's bytes, over a network of links
 * alike: time * bandwidth of the bus = bytes * factor (nccl-tests, doc/PERFORMANCE.md). */
double ps_collective_bus_factor(PsCollectiveKind kind, guint n_ranks);

typedef struct {
    PsCollectiveKind kind;
    const guint *ranks;   /* [n_groups][n_ranks]: devices, distinct; the first one of a group is the
                             root of a broadcast */
    guint n_ranks;        /* of one group; at least two */
    double bytes;         /* positive */
    guint n_groups;       /* 0 means one */
    PsProgress *progress; /* or NULL; ps_collective_new steps it by PS_COLLECTIVE_STEPS in all */
} PsCollectiveCall;

#define PS_COLLECTIVE_STEPS 1000

/* A flow over the links of the phase: `bytes` are those on its most loaded link, which has weight
 * 1. */
typedef struct {
    double latency_s;
    double bytes;
    double most_bytes_per_s; /* bound by the protocol; 0: none */
    double time_s;           /* with the links to itself */
    guint n_loads;
    PsFairLoad *loads;
} PsPhase;

struct PsCollectiveAlgorithm;

typedef struct {
    const struct PsCollectiveAlgorithm *algorithm;
    const PsProtocol *protocol; /* of the topology; NULL where it has none */
    double start_s;             /* before the first phase */
    double time_s;              /* with the links to itself */
    guint n_phases;
    PsPhase *phases;
} PsCollective;

#define PS_AUTO "auto"

/* By the algorithm of that name, or by the one that takes least time with the links to itself for
 * "auto", of those that the topology's library has for the kind (all where it has none); with the
 * protocol that takes least time. Errors: USAGE for a name that is unknown or cannot do it, INPUT
 * where the network has no path or the library names an algorithm that does not exist. */
PsCollective *ps_collective_new(PsNetwork *network, const PsCollectiveCall *call,
                                const char *algorithm, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_collective_free(PsCollective *collective);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsCollective, ps_collective_free)

const char *ps_collective_algorithm_name(const PsCollective *collective);
