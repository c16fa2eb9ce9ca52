/* A plan that somebody else made, as its file says it: complete or not, legal or not. */
#pragma once

#include "planner/search/costs.h"
#include "sim/plan/plan-file.h"

typedef struct {
    PsPlanFile *file; /* stages may lack TMPCs */
    gboolean says_recompute;
    PsRecompute recompute; /* the rule for TMPCs that are still to be chosen, where it says so */
} PsDraft;

/* Reads ("-" is standard input) our plan form or Piper's result form, whose stages may leave out
 * their TMPCs, or a layout:
 *
 *     {"schema": "pipersim-layout/1",
 *      "layers_per_stage": [10, 9, 9, 9],
 *      "data_parallel": 8,
 *      "tensor_parallel": [1, 1, 2, 2],
 *      "recompute": "best"}
 *
 * layers_per_stage counts either all layers in topological order, or the repeated ones only
 * (repeats.h): then the layers before them go with the first stage and those after with the last,
 * and a count there may be 0, which leaves these alone. In place of it, "stages": [[ids], ...]
 * lists the layers of each stage. A degree is one number for all stages or a list. "recompute" is
 * "none", "all", or "best" (chosen per layer), and may be left out.
 *
 * Errors: INPUT with file and JSON path, IO. Layers that are doubled or missing are none. */
PsDraft *ps_draft_load(const char *path, const PsProfile *profile,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_draft_free(PsDraft *draft);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsDraft, ps_draft_free)
