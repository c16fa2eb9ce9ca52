/* From the planner's layouts to plans. */
#pragma once

#include "planner/search/layout.h"

/* The plan of a layout with the cheapest TMPCs that fit. */
PsPlan *ps_layout_to_plan(const PsLayout *layout, const PsCosts *costs, PsStageSolver *solver);

/* "layer 3 (Embedding)" or "layers 3-7, 9": the layers of a stage by id. Caller frees. */
char *ps_run_layers(const PsCosts *costs, const PsDownsets *downsets, const PsStageRun *run);
