#include "sim/topo/level-kind.h"

static const PsKind *const kinds[PS_N_LEVEL_KINDS] = {
    [PS_LEVEL_SWITCH] = &ps_kind_switch, [PS_LEVEL_FAT_TREE] = &ps_kind_fat_tree,
    [PS_LEVEL_RAIL] = &ps_kind_rail,     [PS_LEVEL_RING] = &ps_kind_ring,
    [PS_LEVEL_TORUS] = &ps_kind_torus,
};

const char *const ps_level_kind_names[PS_N_LEVEL_KINDS + 1] = {"switch", "fat-tree", "rail",
                                                               "ring",   "torus",    NULL};

const PsKind *ps_level_kind(const PsTopologyLevel *level)
{
    return kinds[level->kind];
}
