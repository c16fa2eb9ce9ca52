/* What a plan file says, before it meets its profile. A stage may say nothing of its TMPCs: such a
 * file does not resolve until somebody fills them in. */
#pragma once

#include "sim/plan/plan.h"

/* Recorded figures that may be left out: NAN, or this for whole numbers and truths. */
#define PS_NOT_RECORDED G_MININT64

typedef struct {
    guint n_nodes;
    gint64 *nodes; /* layer ids */
    guint data_parallel, tensor_parallel;
    guint n_choices;
    gint64 *choice_nodes; /* which layer each choice is for */
    char **choice_names;  /* the TMPC's id */
    gint64 first_device, in_flight;
    double compute_s, edge_s, resync_s, tps_s, memory_bytes;
} PsPlanFileStage;

struct PsPlanFile {
    char *path;
    char *sha256;
    const char *choices_key; /* "tmpc" in our form, "TMPCids" in Piper's */
    PsPlanOrigin origin;
    gboolean has_setting;
    PsSetting setting;
    guint n_stages;
    PsPlanFileStage *stages;
    gboolean optimal;
    double gap;  /* 0: not recorded */
    char *among; /* NULL: not recorded */
    double tps_s, batch_s, batch_gap;
    gint64 devices_used, sum_data_parallel, bottleneck, nested;
};

/* As ps_plan_file_load, from text. */
PsPlanFile *ps_plan_file_parse(const char *path, const char *text, gsize length,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
