/* Shortest paths through an explicit list of links. */
#pragma once

#include "sim/topo/topology.h"

typedef struct PsPaths PsPaths;

PsPaths *ps_paths_new(const PsLinkList *list); /* the list must outlive the paths */
void ps_paths_free(PsPaths *paths);

/* The first link of the file that leaves a vertex, or PS_NO_LINK. */
#define PS_NO_LINK G_MAXUINT
guint ps_paths_first_link(const PsPaths *paths, guint vertex);

/* See ps_network_route. FALSE where there is no path. */
gboolean ps_paths_find(PsPaths *paths, guint source, guint destination, GArray *links,
                       double *latency_s) G_GNUC_WARN_UNUSED_RESULT;
