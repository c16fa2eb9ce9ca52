/* Random numbers over GSL: one independent stream per entity (a lane, a server, ...), so that what
 * one draws does not depend on when, or whether, others do.
 *
 * A stream is named by (seed, kind, number). Its generator is GSL's taus2 (L'Ecuyer's maximally
 * equidistributed combined Tausworthe generator, period 2^88; 24 bytes of state, so that a stream
 * for each of many thousand lanes costs nothing). taus2 takes 32 bits of seed: they are an
 * invertible mix of the number under a key that SHA-256 makes of seed and kind, so streams of one
 * seed and kind never share theirs (numbers below 2^32; GSL itself maps three of these seeds to
 * others), and streams of different seeds or kinds do so by chance only.
 *
 * A stream is used by one thread at a time. */
#pragma once

#include <glib.h>

typedef struct PsRng PsRng;

PsRng *ps_rng_new(guint64 seed, const char *kind, guint64 number);
void ps_rng_free(PsRng *rng);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsRng, ps_rng_free)

/* Uniform in [0, 1), in steps of 2^-32. */
double ps_rng_uniform(PsRng *rng);

/* Factors of mean 1 and a given coefficient of variation (standard deviation / mean) c:
 * lognormal with sigma^2 = ln(1 + c^2), mu = -sigma^2 / 2; gamma with shape 1 / c^2, scale c^2. */
typedef enum { PS_NOISE_LOGNORMAL, PS_NOISE_GAMMA, PS_N_NOISES } PsNoise;
extern const char *const ps_noise_names[PS_N_NOISES + 1];

/* The next factor; cv is from 1e-6 to 1e3. */
double ps_rng_noise(PsRng *rng, PsNoise noise, double cv);
