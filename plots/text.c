#include "plots/text.h"

#include <pango/pangocairo.h>

#define FAMILIES "DejaVu Sans, sans-serif"

struct PsText {
    cairo_t *cairo;
    PangoLayout *layout;
    PangoFontDescription *font;
};

PsText *ps_text_new(cairo_t *cairo)
{
    PsText *text = g_new0(PsText, 1);
    text->cairo = cairo;
    text->layout = pango_cairo_create_layout(cairo);
    pango_layout_set_single_paragraph_mode(text->layout, TRUE);
    /* The same widths on every kind of page. */
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(pango_layout_get_context(text->layout), options);
    cairo_font_options_destroy(options);
    text->font = pango_font_description_from_string(FAMILIES);
    return text;
}

void ps_text_free(PsText *text)
{
    pango_font_description_free(text->font);
    g_object_unref(text->layout);
    g_free(text);
}

static void set(PsText *text, const PsTextStyle *style, double width_px, const char *string)
{
    pango_font_description_set_absolute_size(text->font, style->size_px * PANGO_SCALE);
    pango_font_description_set_weight(text->font,
                                      style->bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_font_description(text->layout, text->font);
    pango_layout_set_width(text->layout, width_px > 0 ? (int)(width_px * PANGO_SCALE) : -1);
    pango_layout_set_ellipsize(text->layout,
                               width_px > 0 ? PANGO_ELLIPSIZE_END : PANGO_ELLIPSIZE_NONE);
    pango_layout_set_text(text->layout, string, -1);
}

static double size(PsText *text, double *height_px)
{
    int width, height;
    pango_layout_get_size(text->layout, &width, &height);
    *height_px = (double)height / PANGO_SCALE;
    return (double)width / PANGO_SCALE;
}

double ps_text_width(PsText *text, const PsTextStyle *style, const char *string)
{
    double height_px;
    set(text, style, 0, string);
    return size(text, &height_px);
}

void ps_text_draw(PsText *text, const PsTextStyle *style, PsAlign align, double x, double y,
                  double width_px, const char *string)
{
    static const double shares[] = {
        [PS_ALIGN_LEFT] = 0, [PS_ALIGN_CENTRE] = 0.5, [PS_ALIGN_RIGHT] = 1};
    double height_px;
    set(text, style, width_px, string);
    double drawn_px = size(text, &height_px);
    ps_set_colour(text->cairo, style->colour);
    cairo_move_to(text->cairo, x - drawn_px * shares[align], y - height_px / 2);
    pango_cairo_show_layout(text->cairo, text->layout);
}
