#include "sim/base/rng.h"

#include <math.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

struct PsRng {
    gsl_rng *generator;
};

const char *const ps_noise_names[PS_N_NOISES + 1] = {
    [PS_NOISE_LOGNORMAL] = "lognormal",
    [PS_NOISE_GAMMA] = "gamma",
};

/* GSL would end the program where a call fails; the arguments here are checked by their callers. */
static void silence_gsl(void)
{
    static gsize done;
    if (g_once_init_enter(&done)) {
        gsl_set_error_handler_off();
        g_once_init_leave(&done, 1);
    }
}

/* The first 32 bits of the SHA-256 of the rest of the stream's name. */
static guint32 key_of(guint64 seed, const char *kind, guint32 number_above)
{
    g_autofree char *name =
        g_strdup_printf("%" G_GUINT64_FORMAT " %s %u", seed, kind, number_above);
    g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);
    digest[8] = '\0';
    return (guint32)g_ascii_strtoull(digest, NULL, 16);
}

/* Every step can be undone, so different numbers stay different. (The finalizer of MurmurHash3.) */
static guint32 mix(guint32 bits)
{
    bits = (bits ^ bits >> 16) * 0x85ebca6bu;
    bits = (bits ^ bits >> 13) * 0xc2b2ae35u;
    return bits ^ bits >> 16;
}

PsRng *ps_rng_new(guint64 seed, const char *kind, guint64 number)
{
    silence_gsl();
    PsRng *rng = g_new(PsRng, 1);
    rng->generator = gsl_rng_alloc(gsl_rng_taus2);
    if (rng->generator == NULL) {
        g_error("out of memory");
    }
    gsl_rng_set(rng->generator, mix((guint32)number ^ key_of(seed, kind, number >> 32)));
    return rng;
}

void ps_rng_free(PsRng *rng)
{
    if (rng != NULL) {
        gsl_rng_free(rng->generator);
        g_free(rng);
    }
}

double ps_rng_uniform(PsRng *rng)
{
    return gsl_rng_uniform(rng->generator);
}

double ps_rng_noise(PsRng *rng, PsNoise noise, double cv)
{
    double square = cv * cv;
    if (noise == PS_NOISE_GAMMA) {
        return gsl_ran_gamma(rng->generator, 1 / square, square);
    }
    double variance = log1p(square);
    return gsl_ran_lognormal(rng->generator, -variance / 2, sqrt(variance));
}
