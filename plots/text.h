/* Text on a page, through Pango. */
#pragma once

#include <cairo.h>
#include "plots/palette.h"

typedef struct {
    double size_px;
    gboolean bold;
    PsColour colour;
} PsTextStyle;

typedef struct PsText PsText;

/* cairo must outlive the result. */
PsText *ps_text_new(cairo_t *cairo);
void ps_text_free(PsText *text);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsText, ps_text_free)

double ps_text_width(PsText *text, const PsTextStyle *style, const char *string);

typedef enum { PS_ALIGN_LEFT, PS_ALIGN_CENTRE, PS_ALIGN_RIGHT } PsAlign;

/* One line: x is its left end, centre or right end, y the middle of its height. What does not fit
 * into width_px ends with an ellipsis; 0 is any width. */
void ps_text_draw(PsText *text, const PsTextStyle *style, PsAlign align, double x, double y,
                  double width_px, const char *string);
