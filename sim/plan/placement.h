/* Which device of the cluster each rank of a pipeline gets.
 *
 * A placement is an order of the three ways of splitting the work, the innermost first: along
 * `tensor,data,pipeline` the ranks of one tensor-parallel group are neighbours, the replicas of a
 * stage follow each other, and the stages follow each other around them. */
#pragma once

#include <glib.h>

typedef enum {
    PS_PLACE_TENSOR_DATA_PIPELINE, /* the default: device = rank */
    PS_PLACE_TENSOR_PIPELINE_DATA,
    PS_PLACE_DATA_TENSOR_PIPELINE,
    PS_PLACE_DATA_PIPELINE_TENSOR,
    PS_PLACE_PIPELINE_TENSOR_DATA,
    PS_PLACE_PIPELINE_DATA_TENSOR,
    PS_N_PLACEMENTS
} PsPlacement;

extern const char *const ps_placement_names[PS_N_PLACEMENTS + 1]; /* "tensor,data,pipeline" ... */

/* The error (USAGE) names the orders there are. */
gboolean ps_placement_parse(const char *text, PsPlacement *placement,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The degrees of one stage: d replicas of t ranks each. */
typedef struct {
    guint data_parallel, tensor_parallel;
} PsStageDegrees;

/* The device of each rank, ranks numbered stage by stage, replica by replica, tensor index last.
 * Devices 0, 1, ... go to the triples (stage, replica, tensor index) in such an order that the one
 * named first runs fastest; a triple that a stage with smaller degrees lacks takes no device, so
 * the result is a permutation of all sum d·t ranks. Caller frees. */
guint *ps_placement_devices(PsPlacement placement, const PsStageDegrees *stages, guint n_stages);
