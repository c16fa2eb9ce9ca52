#include "plots/palette.h"

#define HEX(rgb)                                                                                   \
    {                                                                                              \
        ((rgb) >> 16) / 255.0, ((rgb) >> 8 & 0xff) / 255.0, ((rgb)&0xff) / 255.0                   \
    }

const PsColour ps_ink = HEX(0x222222);
const PsColour ps_ink_muted = HEX(0x666666);
const PsColour ps_grid = HEX(0xdddddd);
const PsColour ps_idle = HEX(0xf3f3f3);
const PsColour ps_accent = HEX(0xcc79a7);
const PsColour ps_alarm = HEX(0xd55e00);

/* CIE lightness, from dark to light: optimizer 24, tensor collectives 43 (hatched), backward 46,
 * resync 54 (hatched), send 58, all-gather 61 (hatched), forward 70, weight gradient 71,
 * reduce-scatter 74 (hatched), receive 80, recompute 88 (hatched). The two ends of a transfer share
 * a hue, as do the two collectives of sharded weights; whatever collectives do is hatched. The data
 * loader has rows of its own. */
const PsKindStyle ps_kind_styles[PS_N_KINDS] = {
    [PS_OP_FORWARD] = {"forward", HEX(0x56b4e9), HEX(0x000000), FALSE},
    [PS_OP_BACKWARD] = {"backward", HEX(0x0072b2), HEX(0xffffff), FALSE},
    [PS_OP_WEIGHT] = {"weight gradient", HEX(0xe69f00), HEX(0x000000), FALSE},
    [PS_OP_RECOMPUTE] = {"recompute", HEX(0xf0e442), HEX(0x000000), TRUE, HEX(0xb5a800)},
    [PS_OP_OPTIMIZER] = {"optimizer", HEX(0x4b2a63), HEX(0xffffff), FALSE},
    [PS_OP_SEND] = {"send", HEX(0x009e73), HEX(0xffffff), FALSE},
    [PS_OP_RECEIVE] = {"receive", HEX(0x8fd6bf), HEX(0x000000), FALSE},
    [PS_OP_RESYNC] = {"resync", HEX(0xd55e00), HEX(0x000000), TRUE, HEX(0x000000)},
    [PS_OP_ALL_GATHER] = {"all-gather", HEX(0xcc79a7), HEX(0x000000), TRUE, HEX(0xffffff)},
    [PS_OP_REDUCE_SCATTER] = {"reduce-scatter", HEX(0xdfa6c8), HEX(0x000000), TRUE, HEX(0x6b2f55)},
    [PS_OP_TENSOR] = {"tensor collective", HEX(0x666666), HEX(0xffffff), TRUE, HEX(0xffffff)},
    [PS_KIND_LOAD] = {"data loader", HEX(0xbdb5a4), HEX(0x000000), FALSE},
};

/* Without the yellow, which is too pale for lines. */
const PsColour ps_line_colours[PS_N_LINE_COLOURS] = {
    HEX(0x0072b2), HEX(0xd55e00), HEX(0x009e73), HEX(0xcc79a7),
    HEX(0x56b4e9), HEX(0xe69f00), HEX(0x000000), HEX(0x808080),
};

void ps_set_colour(cairo_t *cairo, PsColour colour)
{
    cairo_set_source_rgb(cairo, colour.red, colour.green, colour.blue);
}
