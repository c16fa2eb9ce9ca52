/* How a run differs from the planner's assumptions (design section 4): switches and quantities, in
 * tables that options, run folders and sweeps share. */
#pragma once

#include <glib.h>
#include "sim/base/units.h"
#include "sim/plan/placement.h"
#include "sim/replay/disturbance.h"
#include "sim/replay/loader.h"
#include "sim/schedule/schedule-csv.h"
#include "sim/topo/topology.h"

typedef enum {
    PS_RESYNC_AMORTISED, /* d / N of the stage's resync after each backward of a microbatch */
    PS_RESYNC_BATCH,     /* collectives of the stage's replicas, once per batch */
} PsResync;

typedef enum {
    PS_COMMUNICATION_SERIAL,   /* on the compute streams of both ends, one after the other */
    PS_COMMUNICATION_BLOCKING, /* both ends stand still meanwhile; what is sent and what is awaited
                                  next move at the same time */
    PS_COMMUNICATION_OVERLAP,  /* on streams of their own */
} PsCommunication;

typedef enum {
    PS_MESSAGES_RENDEZVOUS, /* sender and receiver meet */
    PS_MESSAGES_EAGER,      /* the receiver need not be ready: into a buffer */
} PsMessages;

typedef enum {
    PS_STREAMS_SPLIT,  /* a lane has one for what it sends and one for what it receives */
    PS_STREAMS_SINGLE, /* one for both, in the order in which its schedule comes to need them */
} PsStreamSplit;

typedef enum { PS_NETWORK_FLAT, PS_NETWORK_TOPOLOGY } PsNetworkKind;

/* What the replicas of a stage share out among them (Rajbhandari et al., ZeRO, SC 2020). */
typedef enum {
    PS_SHARDING_NONE,
    PS_SHARDING_ZERO1, /* optimizer state */
    PS_SHARDING_ZERO2, /* and gradients */
    PS_SHARDING_ZERO3, /* and weights */
} PsSharding;

typedef enum {
    PS_START_STEADY, /* batches stream on until the period repeats, which is what is measured */
    PS_START_COLD,   /* one batch, fill and drain counted */
} PsStartKind;

typedef enum { PS_FOLD_AUTO, PS_FOLD_OFF } PsFold;

/* The planner's 4 (d - 1) w / d bytes at B, as if through a parameter server. */
#define PS_COLLECTIVES_SERVER "server"

typedef struct {
    guint resync, communication, messages, streams, network, sharding, start, fold; /* enums */
    const char *collectives; /* PS_COLLECTIVES_SERVER, PS_AUTO, or an algorithm's name */
    guint placement;         /* PsPlacement */
    const PsSchedule *schedule;
    guint chunks;                 /* v: parts of the model on each stage; 1 unless the schedule
                                     has more */
    double bucket_bytes;          /* of gradients that are reduced together; 0: all of a stage */
    double launch_overhead_s;     /* of every op on a compute stream */
    double hop_overhead_s;        /* of every transfer between lanes, on the way */
    double optimizer_bytes_per_s; /* weights that a device updates; 0: takes no time */
    const PsTopology *topology;   /* NULL where none was given */
    const char *topology_text;    /* as it was given; likewise */
    const PsDisturbance *disturbance; /* NULL: none */
    const PsLoaderSettings *loader;   /* NULL: samples are there when they are wanted */
    gboolean shows_progress;          /* on standard error, if that is a terminal */
} PsReplaySettings;

/* Whether a microbatch does not simply run from the first stage to the last. */
static inline gboolean ps_replay_settings_cuts(const PsReplaySettings *settings)
{
    return settings->chunks > 1 || settings->schedule->place != NULL;
}

/* One switch as users see it. */
typedef struct {
    const char *name;
    const char *argument;      /* how help shows its values */
    const char *const *values; /* NULL-terminated; NULL where a table elsewhere has them */
    const char *piper;         /* the value of the planner's assumption */
    const char *real;          /* of the network, where there is a topology */
    const char *help;
} PsSwitch;

/* Ends with a name NULL. */
extern const PsSwitch ps_switches[];

/* A quantity; 0 is the planner's assumption. */
typedef struct {
    const char *name;
    PsDimension dimension;
    gsize offset; /* of a double in PsReplaySettings */
    const char *argument;
    const char *help;
} PsReplayQuantity;

/* Ends with a name NULL. */
extern const PsReplayQuantity ps_replay_quantities[];

/* Everything as with `--assume real` on a flat network. */
void ps_replay_settings_init(PsReplaySettings *settings);

/* Sets one of: "assume" (piper or real: all switches at once, and the schedule that goes with
 * them), "schedule" (with the fewest chunks it can have), "chunks", or a switch or quantity by
 * name. "flush" chooses the schedule: 1f1b for batch, 1f1b-2bw for none, unless the present one
 * fits already. Unknown names and values are refused (USAGE). */
gboolean ps_replay_settings_set(PsReplaySettings *settings, const char *name, const char *value,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The value in force of a switch, or of "schedule". */
const char *ps_replay_settings_get(const PsReplaySettings *settings, const char *name);
double ps_replay_settings_quantity(const PsReplaySettings *settings,
                                   const PsReplayQuantity *quantity);

/* Refuses (USAGE) what does not go together, so that no setting is without effect. */
gboolean ps_replay_settings_check(const PsReplaySettings *settings,
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Everything that a command line or a sweep may say; NULL where it says nothing. Owns its texts. */
typedef struct {
    char *assume, *schedule, *chunks;
    char *resync, *communication, *messages, *streams, *flush, *start, *network, *collectives;
    char *sharding, *placement, *fold;
    char *bucket, *launch_overhead, *hop_overhead, *optimizer;
    char *loader, *disturbances[PS_N_DISTURBANCES];
    PsSchedule *file; /* what ps_replay_choices_open has read, as are the next ones */
    PsTopology *topology;
    char *topology_text;
    PsDisturbance *disturbance;
    PsLoaderSettings *loader_settings;
} PsReplayChoices;

/* One thing that choices may say. */
typedef struct {
    const char *name;
    gsize offset;         /* of its text in PsReplayChoices */
    const char *argument; /* how help shows its values */
    const char *help;     /* of switches and quantities their tables have both */
    gboolean opened;      /* by ps_replay_choices_open: nothing that ps_replay_settings_set knows */
} PsReplayChoice;

/* In the order in which they are applied, so that none undoes another. Ends with a name NULL. */
extern const PsReplayChoice ps_replay_choice_table[];

static inline char *ps_replay_choice(const PsReplayChoices *choices, const PsReplayChoice *choice)
{
    return G_STRUCT_MEMBER(char *, choices, choice->offset);
}

/* Reads the schedule where its name is a file's, the topology where a name is given (it may be
 * NULL), and the texts of loader and disturbances; settings chosen from them then borrow all. */
gboolean ps_replay_choices_open(PsReplayChoices *choices, const char *topology,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_replay_choices_clear(PsReplayChoices *choices);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PsReplayChoices, ps_replay_choices_clear)

/* Applies choices to fresh settings and checks them. Where there is a topology, no word on the
 * network, and nothing that only a flat one can do, the run is over the topology. A schedule that
 * contradicts flush is refused (USAGE). */
gboolean ps_replay_settings_choose(PsReplaySettings *settings, const PsReplayChoices *choices,
                                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
