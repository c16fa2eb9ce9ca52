/* A plan with the profile it is for, as commands get it. */
#pragma once

#include <glib.h>
#include "sim/plan/plan.h"

typedef struct {
    PsProfile *profile;
    PsPlan *plan;
    char *path;       /* of the plan file, as given; NULL where the plan never was a file */
    char *sha256;     /* of its bytes; NULL likewise */
    gboolean counted; /* nobody says how many devices there are: those that the plan uses */
} PsPlanInput;

/* Reads a plan file and its profile. profile_path NULL: the plan's own word for it, looked for from
 * the plan file's folder, then from the current one; an error (USAGE) where the plan does not say,
 * as in Piper's result form. time_unit as for ps_profile_load; NULL: as recorded in the plan.
 * Piper's form does not name its number of devices either: the plan gets as many as it uses. */
PsPlanInput *ps_plan_input_load(const char *path, const char *profile_path, const char *time_unit,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Takes both over. */
PsPlanInput *ps_plan_input_new(PsProfile *profile, PsPlan *plan);
/* Gives the plan another setting. Counted devices that the setting leaves alone become as many as
 * the plan takes under its levels, idle ones included. */
void ps_plan_input_change_setting(PsPlanInput *input, const PsSetting *setting);
void ps_plan_input_free(PsPlanInput *input);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsPlanInput, ps_plan_input_free)
