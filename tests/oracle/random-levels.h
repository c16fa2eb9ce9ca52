/* Random levels for property tests. */
#pragma once

#include "sim/plan/plan.h"

/* Gives a setting of up to 16 devices two to four levels that hold them, each as fast as the one
 * outside or faster; sizes are powers of two or not. Bandwidths are so round that transfers of
 * whole MB take whole femtoseconds. Where the innermost level holds all devices, the setting is
 * flat. */
void ps_random_levels(GRand *random, PsSetting *setting);
