/* What makes a run uneven, as options say it. Ranks are devices; entries of a list are separated by
 * ";".
 *
 *     jitter     "lognormal 5%", "gamma 5%": each compute op takes a factor of mean 1 with this
 *                coefficient of variation (sim/base/rng.h). Each lane draws from a stream of its
 *                own, so that its factors do not depend on the order of events.
 *     slow       "rank=12 factor=1.5; rank=3 factor=2": the device computes that much slower; a
 *                lane is as slow as its slowest rank.
 *     slow-link  "rank=12 factor=2; link=node/0>3 factor=4": the links of the device (its adapters
 *                at every level, where it shares one that one as well), or the links of that name,
 *                have 1/factor of their bandwidth. Of several factors for one link the largest.
 *     stop       "rank=5 at=1.2s": from this time on the device starts nothing, and what is under
 *                way on it does not end.
 *     seed       "7": of the jitter; 1 where it is not given.
 *
 * A PsDisturbance does not change and may serve several runs at once; NULL stands for none. */
#pragma once

#include "sim/topo/network.h"

typedef enum {
    PS_DISTURBANCE_JITTER,
    PS_DISTURBANCE_SLOW,
    PS_DISTURBANCE_SLOW_LINK,
    PS_DISTURBANCE_STOP,
    PS_DISTURBANCE_SEED,
    PS_N_DISTURBANCES
} PsDisturbanceKind;

/* Names of the options, without their dashes. */
extern const char *const ps_disturbance_names[PS_N_DISTURBANCES + 1];

typedef struct PsDisturbance PsDisturbance;

/* texts by kind, NULL where there is none. NULL without error where all are NULL. Errors (USAGE)
 * begin with the option: "--slow: ...". */
PsDisturbance *ps_disturbance_new(const char *const texts[PS_N_DISTURBANCES],
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
void ps_disturbance_free(PsDisturbance *disturbance);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsDisturbance, ps_disturbance_free)

/* Refuses (USAGE) ranks that are not below n_devices, and links that the network does not have;
 * network is NULL where the run has a flat one, which has no links by name. */
gboolean ps_disturbance_check(const PsDisturbance *disturbance, guint n_devices,
                              const PsNetwork *network, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Refuses (USAGE) ranks that are not among the devices in use, on which they would do nothing. */
gboolean ps_disturbance_check_used(const PsDisturbance *disturbance, const guint *devices, guint n,
                                   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether the run draws random numbers. */
gboolean ps_disturbance_is_random(const PsDisturbance *disturbance);

/* What is in force, as a text that reads back as the same, for people and for summary.json; the
 * seed only where it is used. NULL where there is nothing of the kind. Belongs to the disturbance.
 */
const char *ps_disturbance_text(const PsDisturbance *disturbance, PsDisturbanceKind kind);

/* When the first of the devices stops; G_MAXINT64: never. */
gint64 ps_disturbance_stop_ps(const PsDisturbance *disturbance, guint first_rank, guint n_ranks);

/* By how much the slowest of the devices computes slower; 1: not at all. */
double ps_disturbance_slowness(const PsDisturbance *disturbance, guint first_rank, guint n_ranks);

/* In a flat network, by how much the slowest of the devices' links is slower; 1: not at all. */
double ps_disturbance_link_factor(const PsDisturbance *disturbance, guint first_rank,
                                  guint n_ranks);

/* Divides the capacities of slow links, by link of a network that ps_disturbance_check has seen. */
void ps_disturbance_slow_capacities(const PsDisturbance *disturbance, const PsNetwork *network,
                                    double *capacities_bytes_per_s);

/* The draws of one run. */
typedef struct PsDraws PsDraws;

/* disturbance must outlive the draws. */
PsDraws *ps_draws_new(const PsDisturbance *disturbance, guint n_lanes);
void ps_draws_free(PsDraws *draws);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsDraws, ps_draws_free)

/* How long the next compute op of a lane takes that would take duration_ps undisturbed: times the
 * slowness of its devices and the lane's next factor, rounded to picoseconds. Exactly duration_ps
 * where nothing slows it. Times beyond 2^60 ps (13 days) are cut to that, so that they add up
 * within the clock. */
gint64 ps_draws_duration_ps(PsDraws *draws, guint lane, double slowness, gint64 duration_ps);
