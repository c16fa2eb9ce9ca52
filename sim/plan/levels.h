/* The levels of a cluster as the cost model sees them: groups of devices in groups of devices, and
 * what bandwidth a device has to the others of its group. */
#pragma once

#include <glib.h>
#include "sim/base/json.h"

#define PS_MOST_LEVELS 8

typedef struct {
    guint size;                   /* devices in one group: those from a multiple of it on */
    double bandwidth_bytes_per_s; /* of one device to the others of its group */
} PsLevel;

/* From the inside out: each size is a multiple of the one before, and the last group is the whole
 * cluster. No level is faster than one inside it: what is outside reaches those inside as well. */
typedef struct {
    guint n;
    PsLevel level[PS_MOST_LEVELS];
} PsLevels;

/* Those that matter to `devices` devices: up to the innermost whose group holds them all; all of
 * them where none does. */
PsLevels ps_levels_up_to(const PsLevels *levels, guint devices);

/* The innermost level whose group holds both devices; the last one where none does. */
guint ps_levels_span(const PsLevels *levels, guint64 one, guint64 other);

/* Whether d groups of t devices each, side by side from `first` on, lie each within one group of
 * the innermost level that is large enough for it. */
gboolean ps_levels_hold(const PsLevels *levels, guint64 first, guint d, guint t);

/* The first multiple of the groups' sizes that has `devices` devices before it: of the groups
 * inside the innermost one that holds them all. */
guint64 ps_levels_border(const PsLevels *levels, guint64 devices);

/* As an array of {"size", "bandwidth_bytes_per_s"}. The reader takes 2 to PS_MOST_LEVELS of them
 * and refuses what the comment on PsLevels forbids. */
void ps_levels_write(const PsLevels *levels, const char *key, PsJsonWriter *writer);
PsLevels ps_levels_read(PsJsonReader *reader, const char *key);
