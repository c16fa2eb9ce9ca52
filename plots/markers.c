#include "plots/markers.h"

#include <math.h>
#include "plots/palette.h"

#define RADIUS_PX 4.5
#define MOST_CORNERS 4

/* Corners in units of the radius; a circle where there are none; strokes between pairs of corners
 * where it is open. */
typedef struct {
    guint n_corners;
    double corners[MOST_CORNERS][2];
    gboolean open;
} Shape;

static const Shape shapes[] = {
    {0},
    {4, {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}}},
    {3, {{0, -1.2}, {1.1, 0.8}, {-1.1, 0.8}}},
    {4, {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}}},
    {3, {{0, 1.2}, {1.1, -0.8}, {-1.1, -0.8}}},
    {4, {{-1, -1}, {1, 1}, {-1, 1}, {1, -1}}, TRUE},
    {4, {{0, -1.3}, {0, 1.3}, {-1.3, 0}, {1.3, 0}}, TRUE},
};

static const struct {
    int n;
    double lengths[4];
} dashes[] = {{0}, {2, {7, 3}}, {2, {2, 2.5}}};

/* No two of 7, 8 and 3 share a factor, so neighbours differ in all three and nothing repeats early.
 */
G_STATIC_ASSERT(PS_N_LINE_STYLES ==
                G_N_ELEMENTS(shapes) * PS_N_LINE_COLOURS * G_N_ELEMENTS(dashes));

void ps_line_stroke(cairo_t *cairo, guint index)
{
    guint dash = index % G_N_ELEMENTS(dashes);
    ps_set_colour(cairo, ps_line_colours[index % PS_N_LINE_COLOURS]);
    cairo_set_line_width(cairo, 1.8);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_set_dash(cairo, dashes[dash].lengths, dashes[dash].n, 0);
    cairo_stroke(cairo);
    cairo_set_dash(cairo, NULL, 0, 0);
}

void ps_marker_draw(cairo_t *cairo, guint index, double x, double y)
{
    const Shape *shape = &shapes[index % G_N_ELEMENTS(shapes)];
    cairo_new_path(cairo);
    for (guint i = 0; i < shape->n_corners; i++) {
        gboolean start = shape->open && i % 2 == 0;
        (start ? cairo_move_to : cairo_line_to)(cairo, x + RADIUS_PX * shape->corners[i][0],
                                                y + RADIUS_PX * shape->corners[i][1]);
    }
    if (shape->n_corners == 0) {
        cairo_arc(cairo, x, y, RADIUS_PX, 0, 2 * G_PI);
    }
    ps_set_colour(cairo, ps_line_colours[index % PS_N_LINE_COLOURS]);
    cairo_set_line_width(cairo, 2);
    (shape->open ? cairo_stroke : cairo_fill)(cairo);
}
