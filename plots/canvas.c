#include "plots/canvas.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include "sim/base/error.h"
#include "sim/base/output.h"

#define DOTS_PER_PX 2
#define POINTS_PER_PX 0.75

struct PsCanvas {
    PsCanvasFormat format;
    GByteArray *bytes;
    cairo_surface_t *surface;
    cairo_t *cairo;
};

static cairo_status_t append(void *closure, const unsigned char *data, unsigned int length)
{
    g_byte_array_append(closure, data, length);
    return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *new_svg(GByteArray *bytes, guint width_px, guint height_px)
{
    cairo_surface_t *surface =
        cairo_svg_surface_create_for_stream(append, bytes, width_px, height_px);
    cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
    return surface;
}

static cairo_surface_t *new_png(GByteArray *bytes G_GNUC_UNUSED, guint width_px, guint height_px)
{
    cairo_surface_t *surface = cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, (int)width_px * DOTS_PER_PX, (int)height_px * DOTS_PER_PX);
    cairo_surface_set_device_scale(surface, DOTS_PER_PX, DOTS_PER_PX);
    return surface;
}

static cairo_surface_t *new_pdf(GByteArray *bytes, guint width_px, guint height_px)
{
    cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(
        append, bytes, width_px * POINTS_PER_PX, height_px * POINTS_PER_PX);
    /* Cairo would write the present time. */
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
    cairo_surface_set_device_scale(surface, POINTS_PER_PX, POINTS_PER_PX);
    return surface;
}

static const struct {
    const char *suffix;
    cairo_surface_t *(*new_surface)(GByteArray *bytes, guint width_px, guint height_px);
} formats[] = {
    [PS_CANVAS_SVG] = {".svg", new_svg},
    [PS_CANVAS_PNG] = {".png", new_png},
    [PS_CANVAS_PDF] = {".pdf", new_pdf},
};

gboolean ps_canvas_format(const char *path, PsCanvasFormat *format, GError **error)
{
    for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (g_str_has_suffix(path, formats[i].suffix)) {
            *format = i;
            return TRUE;
        }
    }
    ps_error(error, PS_ERROR_USAGE,
             "'%s' has no known picture format (expected a name that ends in .svg, .png or .pdf)",
             path);
    return FALSE;
}

PsCanvas *ps_canvas_new(PsCanvasFormat format, guint width_px, guint height_px)
{
    g_assert(width_px >= 1 && width_px <= PS_CANVAS_MOST_PX);
    g_assert(height_px >= 1 && height_px <= PS_CANVAS_MOST_PX);
    PsCanvas *canvas = g_new0(PsCanvas, 1);
    canvas->format = format;
    canvas->bytes = g_byte_array_new();
    canvas->surface = formats[format].new_surface(canvas->bytes, width_px, height_px);
    canvas->cairo = cairo_create(canvas->surface);
    cairo_set_source_rgb(canvas->cairo, 1, 1, 1);
    cairo_paint(canvas->cairo);
    return canvas;
}

void ps_canvas_free(PsCanvas *canvas)
{
    /* The surface flushes into bytes. */
    cairo_destroy(canvas->cairo);
    cairo_surface_destroy(canvas->surface);
    g_byte_array_unref(canvas->bytes);
    g_free(canvas);
}

cairo_t *ps_canvas_cairo(PsCanvas *canvas)
{
    return canvas->cairo;
}

GByteArray *ps_canvas_finish(PsCanvas *canvas, GError **error)
{
    cairo_status_t status = cairo_status(canvas->cairo);
    if (status == CAIRO_STATUS_SUCCESS && canvas->format == PS_CANVAS_PNG) {
        status = cairo_surface_write_to_png_stream(canvas->surface, append, canvas->bytes);
    }
    cairo_surface_finish(canvas->surface);
    if (status == CAIRO_STATUS_SUCCESS) {
        status = cairo_surface_status(canvas->surface);
    }
    if (status != CAIRO_STATUS_SUCCESS) {
        ps_error(error, PS_ERROR_IO, "cannot draw: %s", cairo_status_to_string(status));
        return NULL;
    }
    return g_byte_array_ref(canvas->bytes);
}

gboolean ps_canvas_save(PsCanvas *canvas, const char *path, GError **error)
{
    g_autoptr(GByteArray) bytes = ps_canvas_finish(canvas, error);
    g_autoptr(PsOutput) output = bytes != NULL ? ps_output_open(path, error) : NULL;
    if (output == NULL) {
        return FALSE;
    }
    ps_output_write(output, (const char *)bytes->data, bytes->len);
    return ps_output_commit(output, error);
}
