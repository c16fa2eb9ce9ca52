/* Algorithms of collectives. Adding one is a file with a PsCollectiveAlgorithm record and a row in
 * collectives.def.
 *
 * An algorithm is a sequence of phases. In a phase all messages move in lock step, so that the
 * phase loads every link that one of them crosses and moves at the rate of the slowest. Its latency
 * is that of its steps, one after another; of the messages of one step the latest counts. */
#pragma once

#include "sim/coll/collective.h"

/* A call as an algorithm sees it: ranks are their places 0 .. n_ranks - 1 in the call. */
typedef struct {
    PsCollectiveKind kind;
    guint n_ranks; /* at least two */
    double bytes;
    const guint *nodes; /* of each rank; ranks with the same number share a node */
} PsTeam;

typedef struct PsPhases PsPhases;

/* Begins the next phase, whose steps are repeated `times` times. */
void ps_phases_next(PsPhases *phases, guint times);
/* A message of the phase: of its `bytes`, the sum over the repetitions, each moves a like part. */
void ps_phases_send(PsPhases *phases, guint step, guint source, guint destination, double bytes);

typedef struct PsCollectiveAlgorithm {
    const char *name;
    const char *summary;
    guint kinds; /* PS_KIND_BIT of each that it does */
    /* NULL, or why it cannot serve this team, with what is expected (caller frees); NULL: serves
     * all. */
    char *(*fault)(const PsTeam *team);
    void (*build)(const PsTeam *team, PsPhases *phases);
} PsCollectiveAlgorithm;

#define PS_KIND_BIT(kind) (1u << (kind))
