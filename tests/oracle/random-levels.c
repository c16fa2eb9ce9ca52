#include "tests/oracle/random-levels.h"

void ps_random_levels(GRand *random, PsSetting *setting)
{
    static const PsLevels structures[] = {
        {2, {{2}, {16}}},      {2, {{3}, {18}}},      {2, {{4}, {16}}},
        {2, {{5}, {20}}},      {2, {{6}, {24}}},      {2, {{8}, {16}}},
        {2, {{1}, {16}}},      {3, {{2}, {4}, {16}}}, {3, {{2}, {6}, {18}}},
        {3, {{3}, {6}, {18}}}, {3, {{1}, {4}, {16}}}, {3, {{4}, {8}, {16}}},
        {3, {{2}, {8}, {16}}}, {3, {{3}, {9}, {18}}}, {4, {{2}, {4}, {8}, {16}}},
    };
    static const double slowest[] = {1e9, 2e9, 4e9, 5e9}, steps[] = {1, 1.25, 2, 4, 10};
    double bandwidth = slowest[g_rand_int_range(random, 0, G_N_ELEMENTS(slowest))];
    setting->levels = structures[g_rand_int_range(random, 0, G_N_ELEMENTS(structures))];
    for (guint i = setting->levels.n; i-- > 0;) {
        setting->levels.level[i].bandwidth_bytes_per_s = bandwidth;
        bandwidth *= steps[g_rand_int_range(random, 0, G_N_ELEMENTS(steps))];
    }
    ps_setting_use_devices(setting, setting->devices);
}
