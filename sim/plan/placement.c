#include "sim/plan/placement.h"

#include "sim/base/error.h"
#include "sim/base/suggest.h"

const char *const ps_placement_names[PS_N_PLACEMENTS + 1] = {
    [PS_PLACE_TENSOR_DATA_PIPELINE] = "tensor,data,pipeline",
    [PS_PLACE_TENSOR_PIPELINE_DATA] = "tensor,pipeline,data",
    [PS_PLACE_DATA_TENSOR_PIPELINE] = "data,tensor,pipeline",
    [PS_PLACE_DATA_PIPELINE_TENSOR] = "data,pipeline,tensor",
    [PS_PLACE_PIPELINE_TENSOR_DATA] = "pipeline,tensor,data",
    [PS_PLACE_PIPELINE_DATA_TENSOR] = "pipeline,data,tensor",
};

enum { TENSOR, DATA, PIPELINE, N_WAYS };

/* Of each placement, the innermost first. */
static const guint8 orders[PS_N_PLACEMENTS][N_WAYS] = {
    [PS_PLACE_TENSOR_DATA_PIPELINE] = {TENSOR, DATA, PIPELINE},
    [PS_PLACE_TENSOR_PIPELINE_DATA] = {TENSOR, PIPELINE, DATA},
    [PS_PLACE_DATA_TENSOR_PIPELINE] = {DATA, TENSOR, PIPELINE},
    [PS_PLACE_DATA_PIPELINE_TENSOR] = {DATA, PIPELINE, TENSOR},
    [PS_PLACE_PIPELINE_TENSOR_DATA] = {PIPELINE, TENSOR, DATA},
    [PS_PLACE_PIPELINE_DATA_TENSOR] = {PIPELINE, DATA, TENSOR},
};

gboolean ps_placement_parse(const char *text, PsPlacement *placement, GError **error)
{
    for (guint i = 0; i < PS_N_PLACEMENTS; i++) {
        if (g_str_equal(text, ps_placement_names[i])) {
            *placement = i;
            return TRUE;
        }
    }
    g_autofree char *hint = ps_suggest_text(text, ps_placement_names);
    ps_error(error, PS_ERROR_USAGE, "unknown placement '%s'%s", text, hint);
    return FALSE;
}

typedef struct {
    guint at[N_WAYS]; /* tensor index, replica, stage */
    guint rank;
} Place;

static gint compare_places(gconstpointer a, gconstpointer b, gpointer user_data)
{
    const Place *x = a, *y = b;
    const guint8 *order = orders[*(const PsPlacement *)user_data];
    for (guint i = N_WAYS; i-- > 0;) {
        guint way = order[i];
        if (x->at[way] != y->at[way]) {
            return x->at[way] < y->at[way] ? -1 : 1;
        }
    }
    return 0;
}

/* All ranks in their own order. */
static GArray *list_places(const PsStageDegrees *stages, guint n_stages)
{
    GArray *places = g_array_new(FALSE, FALSE, sizeof(Place));
    for (guint s = 0; s < n_stages; s++) {
        for (guint r = 0; r < stages[s].data_parallel; r++) {
            for (guint i = 0; i < stages[s].tensor_parallel; i++) {
                Place place = {{[TENSOR] = i, [DATA] = r, [PIPELINE] = s}, places->len};
                g_array_append_val(places, place);
            }
        }
    }
    return places;
}

guint *ps_placement_devices(PsPlacement placement, const PsStageDegrees *stages, guint n_stages)
{
    g_autoptr(GArray) places = list_places(stages, n_stages);
    g_array_sort_with_data(places, compare_places, &placement);
    guint *devices = g_new(guint, places->len);
    for (guint device = 0; device < places->len; device++) {
        devices[g_array_index(places, Place, device).rank] = device;
    }
    return devices;
}
