/* Judges a plan that somebody else made, and completes it. */
#pragma once

#include "planner/draft.h"

typedef struct {
    /* The plan with its TMPCs. NULL where its costs cannot be told: the stages do not partition the
     * layers, a layer cannot run at its stage's degree, or TMPCs are to be chosen and the degrees
     * leave no in-flight bounds to choose them by. */
    PsPlan *plan;
    GPtrArray *violations; /* char *: each rule of the model that is broken, as a sentence */
    GArray *completed;     /* guint: the stages whose TMPCs were chosen here */
} PsEvaluation;

/* Stages without TMPCs get those of least load that fit into the memory at their in-flight bound,
 * by the draft's rule on recompute or else by `recompute`; where nothing fits, the smallest. The
 * draft's file is filled in with them.
 *
 * Rules: stages partition the layers; no edge runs from a later to an earlier stage, so that stages
 * are contiguous; d divides N; sum d <= min(N, K); sum d*t <= K; every layer can run at t; memory
 * <= M; y·d <= N with sufficient in-flight bounds. With levels stages lie as sim/plan/place.h says;
 * those of a file that does not say where are placed with the least largest load.
 *
 * Errors (INPUT): layers and TMPCs that the profile does not have, and what
 * ps_plan_file_resolve refuses. */
PsEvaluation *ps_evaluate(PsDraft *draft, const PsProfile *profile, const PsSetting *setting,
                          PsRecompute recompute, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_evaluation_free(PsEvaluation *evaluation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsEvaluation, ps_evaluation_free)
