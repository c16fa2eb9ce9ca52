#include <math.h>

#include "sim/plan/plan.h"

static void write_stage(const PsStage *stage, const PsProfile *profile,
                        const PsStageEstimate *estimate, gboolean flat, PsJsonWriter *writer)
{
    ps_json_begin_object(writer, NULL);
    ps_json_begin_array(writer, "nodes");
    for (guint i = 0; i < stage->n_layers; i++) {
        ps_json_put_int(writer, NULL, profile->layers[stage->layers[i]].id);
    }
    ps_json_end_array(writer);
    ps_json_put_int(writer, "data_parallel", stage->data_parallel);
    ps_json_put_int(writer, "tensor_parallel", stage->tensor_parallel);
    ps_json_begin_object(writer, "tmpc");
    for (guint i = 0; i < stage->n_layers; i++) {
        g_autofree char *id =
            g_strdup_printf("%" G_GINT64_FORMAT, profile->layers[stage->layers[i]].id);
        ps_json_put_string(writer, id, ps_stage_tmpc(stage, profile, i)->id);
    }
    ps_json_end_object(writer);
    if (!flat) {
        ps_json_put_int(writer, "first_device", stage->first_device);
    }
    ps_json_put_int(writer, "in_flight", estimate->in_flight);
    ps_json_put_double(writer, "compute_s", estimate->compute_s);
    ps_json_put_double(writer, "edge_s", estimate->edge_s);
    ps_json_put_double(writer, "resync_s", estimate->resync_s);
    ps_json_put_double(writer, "tps_s", estimate->tps_s);
    ps_json_put_double(writer, "memory_bytes", estimate->memory_bytes);
    ps_json_end_object(writer);
}

static void write_estimate(const PsPlan *plan, const PsEstimate *estimate, PsJsonWriter *writer)
{
    ps_json_begin_object(writer, "estimate");
    ps_json_put_double(writer, "tps_s", estimate->tps_s);
    ps_json_put_double(writer, "batch_s", estimate->batch_s);
    ps_json_put_int(writer, "devices_used", estimate->devices_used);
    ps_json_put_int(writer, "sum_d", estimate->sum_data_parallel);
    ps_json_put_boolean(writer, "optimal", plan->optimal);
    if (plan->gap > 0) {
        ps_json_put_double(writer, "gap", plan->gap);
    }
    if (plan->among != NULL) {
        ps_json_put_string(writer, "among", plan->among);
    }
    if (!isnan(plan->batch_gap)) {
        ps_json_put_double(writer, "batch_gap", plan->batch_gap);
    }
    ps_json_put_boolean(writer, "nested", ps_plan_is_nested(plan));
    ps_json_put_int(writer, "bottleneck_stage", estimate->bottleneck);
    ps_json_end_object(writer);
}

static void write_profile(const PsProfile *profile, const char *path, PsJsonWriter *writer)
{
    ps_json_begin_object(writer, "profile");
    ps_json_put_string(writer, "path", path);
    ps_json_put_string(writer, "sha256", profile->sha256);
    ps_json_put_double(writer, "time_unit_s", profile->time_unit_s);
    ps_json_end_object(writer);
}

static void write_settings(const PsSetting *setting, PsJsonWriter *writer)
{
    ps_json_begin_object(writer, "settings");
    ps_json_put_int(writer, "devices", setting->devices);
    ps_json_put_double(writer, "memory_bytes", setting->memory_bytes);
    ps_json_put_double(writer, "bandwidth_bytes_per_s", setting->bandwidth_bytes_per_s);
    ps_json_put_int(writer, "microbatches", setting->microbatches);
    ps_json_put_string(writer, "in_flight", ps_in_flight_names[setting->in_flight]);
    ps_setting_write_levels(setting, writer);
    ps_json_end_object(writer);
}

void ps_setting_write_levels(const PsSetting *setting, PsJsonWriter *writer)
{
    if (!ps_setting_is_flat(setting)) {
        PsLevels levels = ps_setting_levels(setting);
        ps_json_put_string(writer, "placement", ps_placement_names[PS_PLACE_TENSOR_DATA_PIPELINE]);
        ps_levels_write(&levels, "levels", writer);
    }
}

void ps_plan_write_members(const PsPlan *plan, const PsProfile *profile, const char *profile_path,
                           const PsEstimate *estimate, PsJsonWriter *writer)
{
    ps_json_put_string(writer, "schema", "pipersim-plan/1");
    write_estimate(plan, estimate, writer);
    ps_json_begin_array(writer, "stages");
    for (guint i = 0; i < plan->n_stages; i++) {
        write_stage(&plan->stages[i], profile, &estimate->stages[i],
                    ps_setting_is_flat(&plan->setting), writer);
    }
    ps_json_end_array(writer);
    write_profile(profile, profile_path, writer);
    write_settings(&plan->setting, writer);
}
