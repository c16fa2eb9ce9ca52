/* A page to draw on that becomes an SVG, PNG or PDF file. The same calls give the same bytes: files
 * carry no dates. */
#pragma once

#include <cairo.h>
#include <glib.h>

typedef enum { PS_CANVAS_SVG, PS_CANVAS_PNG, PS_CANVAS_PDF } PsCanvasFormat;

/* Of a file name, by its suffix; the error (USAGE) names the three. */
gboolean ps_canvas_format(const char *path, PsCanvasFormat *format,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;

typedef struct PsCanvas PsCanvas;

/* A white page. One pixel is 1/96 inch; a PNG has two dots per pixel each way. The size must be
 * from 1 to PS_CANVAS_MOST_PX each way. */
#define PS_CANVAS_MOST_PX 16000
PsCanvas *ps_canvas_new(PsCanvasFormat format, guint width_px, guint height_px);
void ps_canvas_free(PsCanvas *canvas);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsCanvas, ps_canvas_free)

/* To draw with, in pixels from the top left corner. Belongs to the canvas. */
cairo_t *ps_canvas_cairo(PsCanvas *canvas);

/* Ends the page: no drawing after this. The bytes of the file; NULL with error (IO) where Cairo
 * failed. Caller frees. */
GByteArray *ps_canvas_finish(PsCanvas *canvas, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same into a file, which appears whole or not at all. */
gboolean ps_canvas_save(PsCanvas *canvas, const char *path,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
