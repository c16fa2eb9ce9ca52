/* Random profiles for property tests, made by way of the file format. */
#pragma once

#include "sim/model/profile.h"

typedef struct {
    guint n_layers;
    double edge_probability;  /* of each possible edge; a chain is always part of it if chain */
    gboolean chain;           /* layer i -> i+1 present */
    guint most_tmpcs;         /* per degree, at least 1 */
    gboolean tensor_parallel; /* some layers have t = 2 (and 4) */
    gboolean any_degree;      /* t = 3 as well */
    gboolean same_weights;    /* all TMPCs of a layer and degree share w and sync bytes, as in
                                 published profiles */
    guint devices, microbatches;
    double memory_bytes, bandwidth_bytes_per_s;
} PsRandomProfile;

/* A profile of up to 5 layers, few devices and few microbatches, small enough for exhaustive
 * search; its memory runs from hopeless to roomy (layers take 2 to 900 MB each for one microbatch).
 */
PsProfile *ps_random_small_profile(GRand *random);

/* Whether the TMPCs of each layer and degree share w and sync bytes. */
gboolean ps_tmpcs_send_alike(const PsProfile *profile);

/* Times are whole milliseconds, sizes whole MB. Aborts if the program refuses what was made. */
PsProfile *ps_random_profile(GRand *random, const PsRandomProfile *wanted);
