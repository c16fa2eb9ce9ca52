/* A plan as people read it, as CSV, or as our plan file. */
#pragma once

#include "sim/base/table.h"
#include "sim/plan/plan.h"

/* Prints the plan. The table has one row per stage under a summary, which ends with the claim (what
 * is proven of the plan; NULL: the one that goes with plan->optimal); JSON is the plan file. */
void ps_plan_report(const PsPlan *plan, const PsProfile *profile, const PsEstimate *estimate,
                    const char *claim, PsFormat format, PsOutput *output);

/* Writes the plan file; it names the profile as seen from its own folder. */
gboolean ps_plan_save(const PsPlan *plan, const PsProfile *profile, const PsEstimate *estimate,
                      const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same up to the commit, which is the caller's, so that it can appear together with other
 * files; *sha256 (caller frees) becomes that of its bytes. NULL with error. */
PsOutput *ps_plan_open(const PsPlan *plan, const PsProfile *profile, const PsEstimate *estimate,
                       const char *path, char **sha256, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* What a plan has of each stage. */
typedef enum { PS_STAGE_DATA_PARALLEL, PS_STAGE_TENSOR_PARALLEL, PS_STAGE_LAYERS } PsStageFigure;

/* Degrees, or numbers of layers, in pipeline order: "4 4 2 2", or with runs folded "4*2 2*2" and
 * just "4" where all are the same. Caller frees. */
char *ps_plan_figures_text(const PsPlan *plan, PsStageFigure figure, gboolean folded);
