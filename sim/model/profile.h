/* A profile: the layer graph of a model with, for each layer and tensor-parallel degree, the ways
 * to run it (TMPCs). The words and the cost model are Piper's (Tarnawski, Narayanan, Phanishayee,
 * "Piper: Multidimensional Planner for DNN Parallelization", NeurIPS 2021, section 3).
 *
 * All values are checked by the importer: finite, non-negative, a connected-or-not DAG without
 * double edges. Times are seconds, sizes bytes, each for one microbatch on one device.
 */
#pragma once

#include <glib.h>

/* The parts of a layer's time. */
typedef enum { PS_PASS_FORWARD, PS_PASS_BACKWARD, PS_PASS_RECOMPUTE, PS_N_PASSES } PsPass;
extern const char *const ps_pass_names[PS_N_PASSES + 1];

/* Collectives among the devices that run a layer together. */
typedef struct {
    PsPass pass;
    const char *kind; /* one of ps_tmpc_collective_kinds */
    double bytes;     /* of one rank's buffer, the larger one of input and output */
    double time_s;    /* of each, part of the pass's time */
    guint count;      /* one after another */
} PsTmpcCollective;

/* "all-reduce", ..., NULL-terminated. */
extern const char *const ps_tmpc_collective_kinds[];

/* One way to run a layer on `degree` devices. */
typedef struct {
    char *id;            /* "vanilla", "activation recomp": as in the file */
    gboolean recomputes; /* drops activations and computes them again */
    double time_s;       /* p: forward + backward (+ recompute) */
    double forward_s;    /* the parts: their sum is time_s */
    double backward_s;
    double recompute_s;                 /* 0 where the TMPC does not recompute; where the file does
                                           not give the parts, see split.h */
    double weight_gradient_s;           /* share of backward_s that is the weight gradient (W); NAN
                                           where the file does not say */
    double weight_bytes;                /* w */
    double memory_per_microbatch_bytes; /* a: times the in-flight bound y */
    double memory_fixed_bytes;          /* b */
    double workspace_bytes;             /* part of b that only lives from recompute to backward */
    double *sync_forward_bytes;         /* c_fw, [n_incoming], in the order of layer->incoming */
    double *sync_backward_bytes;        /* c_bw, [n_outgoing], in the order of layer->outgoing */
    guint n_collectives; /* as the file says; 0 where it does not, whatever there are */
    PsTmpcCollective *collectives;
} PsTmpc;

typedef struct {
    guint degree; /* t */
    guint n_tmpcs;
    PsTmpc *tmpcs;
} PsTmpcSet;

typedef struct {
    gint64 id;
    char *name;
    guint n_sets; /* ascending degree; the first has degree 1 */
    PsTmpcSet *sets;
    guint n_incoming, n_outgoing;
    guint *incoming, *outgoing; /* indices into profile->edges, in file order */
} PsLayer;

typedef struct {
    guint source, target; /* indices into profile->layers */
    double bytes;         /* c(u,v) */
} PsEdge;

typedef struct {
    char *path;   /* as given */
    char *sha256; /* of the file's bytes, hex */
    guint n_layers;
    PsLayer *layers; /* in topological order: sources first, then by place in the file */
    guint n_edges;
    PsEdge *edges;
    /* The setting the file asks for: defaults that options and topologies override. */
    guint devices;                /* K */
    double memory_bytes;          /* M, per device */
    double bandwidth_bytes_per_s; /* B, of one device to the outside */
    guint microbatches;           /* N per batch */
    double time_unit_s;           /* what one unit of the file's times was taken for */
} PsProfile;

/* Reads a profile in any known format (importers.def). time_unit: "s", "ms", or NULL for what the
 * file says (seconds where it says nothing; numbers that look like milliseconds are warned of).
 * Errors: INPUT with file and JSON path, IO, and USAGE for another time_unit. */
PsProfile *ps_profile_load(const char *path, const char *time_unit,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_profile_free(PsProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsProfile, ps_profile_free)

/* The TMPCs of a layer on `degree` devices, or NULL where it cannot run on so many. */
const PsTmpcSet *ps_layer_set(const PsLayer *layer, guint degree);

/* Index of the layer with this id, or G_MAXUINT. */
guint ps_profile_find_layer(const PsProfile *profile, gint64 id);
