/* The switches between the planner's assumptions and a real run (design section 4), in one table
 * that options, run folders and sweeps share. */
#pragma once

#include <glib.h>
#include "sim/schedule/schedule-csv.h"

typedef enum {
    PS_RESYNC_AMORTISED, /* d / N of the stage's resync after each backward of a microbatch */
    PS_RESYNC_BATCH,     /* one collective per stage and batch among its replicas */
} PsResync;

typedef enum {
    PS_COMMUNICATION_SERIAL,  /* on the compute streams of both ends, one after the other */
    PS_COMMUNICATION_OVERLAP, /* on streams of their own; sender and receiver meet */
} PsCommunication;

typedef enum {
    PS_START_STEADY, /* batches stream on until the period repeats, which is what is measured */
    PS_START_COLD,   /* one batch, fill and drain counted */
} PsStart;

typedef struct {
    PsResync resync;
    PsCommunication communication;
    PsStart start;
    const PsSchedule *schedule;
    guint chunks; /* v: parts of the model on each stage; 1 unless the schedule has more */
} PsReplaySettings;

/* Whether a microbatch does not simply run from the first stage to the last. */
static inline gboolean ps_replay_settings_cuts(const PsReplaySettings *settings)
{
    return settings->chunks > 1 || settings->schedule->place != NULL;
}

/* One switch as users see it. */
typedef struct {
    const char *name;
    const char *const *values; /* NULL-terminated */
    const char *piper;         /* the value of the planner's assumption */
    const char *real;
    const char *help;
} PsSwitch;

/* resync, communication, flush, start, network; then an entry with name NULL. */
extern const PsSwitch ps_switches[];

/* Everything as with `--assume real`. */
void ps_replay_settings_init(PsReplaySettings *settings);

/* Sets one of: "assume" (piper or real: all switches at once, and the schedule that goes with
 * them), "schedule" (with the fewest chunks it can have), "chunks", or a switch by name. "flush"
 * chooses the schedule: 1f1b for batch, 1f1b-2bw for none, unless the present one fits already.
 * Unknown names and values are refused (USAGE). */
gboolean ps_replay_settings_set(PsReplaySettings *settings, const char *name, const char *value,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The value in force of a switch, or of "schedule". */
const char *ps_replay_settings_get(const PsReplaySettings *settings, const char *name);

/* Everything that a command line or a sweep may say; NULL where it says nothing. Owns its texts. */
typedef struct {
    char *assume, *schedule, *chunks;
    char *resync, *communication, *flush, *start;
    PsSchedule *file; /* what ps_replay_choices_open has read */
} PsReplayChoices;

/* Reads the schedule where its name is a file's; settings chosen from it then borrow it. */
gboolean ps_replay_choices_open(PsReplayChoices *choices, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_replay_choices_clear(PsReplayChoices *choices);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PsReplayChoices, ps_replay_choices_clear)

/* Applies choices to fresh settings, in an order of its own, so that none undoes another; a
 * schedule that contradicts flush is refused (USAGE). */
gboolean ps_replay_settings_choose(PsReplaySettings *settings, const PsReplayChoices *choices,
                                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
