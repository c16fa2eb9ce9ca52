/* A profile format: one file and one row in importers.def. */
#pragma once

#include "sim/model/profile.h"

typedef struct {
    const char *name; /* as people call it */
    /* Whether the text is meant to be in this format; cheap, and no promise that it is right. */
    gboolean (*sniff)(const char *text, gsize length);
    /* time_unit_s: what the user says one unit of time is, or NAN. path is for messages and for
     * profile->path; profile->sha256 is set by the caller. */
    PsProfile *(*read)(const char *path, const char *text, gsize length, double time_unit_s,
                       GError **error);
} PsImporter;

/* Seconds of a time unit's name ("s", "ms"); NAN for any other. */
double ps_time_unit_parse(const char *name);

/* With layers and edges in place, both by their order in the file: brings the layers into
 * topological order and fills in incoming and outgoing. Returns NULL, or, where edges form a cycle,
 * the cycle as text, "3 -> 5 -> 3" by layer ids, and an unchanged profile. Caller frees. */
char *ps_profile_link(PsProfile *profile);
