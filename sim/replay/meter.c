#include "sim/replay/meter.h"

#include <string.h>

#include "sim/base/units.h"

typedef struct {
    gint64 busy_ps[PS_N_STREAMS][PS_N_OPS];
} Lane;

struct PsMeter {
    const PsWorkload *workload;
    Lane *lanes;  /* since the start */
    Lane *before; /* up to the beginning of the window */
};

PsMeter *ps_meter_new(const PsWorkload *workload)
{
    PsMeter *meter = g_new0(PsMeter, 1);
    meter->workload = workload;
    meter->lanes = g_new0(Lane, workload->n_lanes);
    meter->before = g_new0(Lane, workload->n_lanes);
    return meter;
}

void ps_meter_free(PsMeter *meter)
{
    if (meter != NULL) {
        g_free(meter->lanes);
        g_free(meter->before);
        g_free(meter);
    }
}

void ps_meter_add(PsMeter *meter, guint lane, PsStreamKind stream, PsOpKind kind,
                  gint64 duration_ps)
{
    meter->lanes[lane].busy_ps[stream][kind] += duration_ps;
}

void ps_meter_begin_window(PsMeter *meter)
{
    memcpy(meter->before, meter->lanes, meter->workload->n_lanes * sizeof(Lane));
}

void ps_meter_forget_window(PsMeter *meter)
{
    memset(meter->before, 0, meter->workload->n_lanes * sizeof(Lane));
}

typedef struct {
    gint64 compute_stream_ps;
    gint64 cause_ps[PS_N_CAUSES];
} Sum;

static Sum sum_of_lane(const PsMeter *meter, guint lane)
{
    Sum sum = {0};
    for (guint stream = 0; stream < PS_N_STREAMS; stream++) {
        for (guint kind = 0; kind < PS_N_OPS; kind++) {
            gint64 busy_ps = meter->lanes[lane].busy_ps[stream][kind] -
                             meter->before[lane].busy_ps[stream][kind];
            sum.cause_ps[ps_op_causes[kind]] += busy_ps;
            sum.compute_stream_ps += stream == PS_STREAM_COMPUTE ? busy_ps : 0;
        }
    }
    return sum;
}

void ps_meter_measure(const PsMeter *meter, gint64 window_ps, gint64 microbatches,
                      PsReplayStage *stages)
{
    for (guint i = 0; i < meter->workload->n_stages; i++) {
        const PsWorkStage *work = &meter->workload->stages[i];
        Sum busiest = sum_of_lane(meter, work->first_lane);
        for (guint k = 1; k < work->data_parallel; k++) {
            Sum sum = sum_of_lane(meter, work->first_lane + k);
            busiest = sum.compute_stream_ps > busiest.compute_stream_ps ? sum : busiest;
        }
        double per_microbatch = 1.0 / (double)microbatches;
        PsReplayStage *stage = &stages[i];
        stage->busy_s_per_microbatch = ps_ps_to_seconds(busiest.compute_stream_ps) * per_microbatch;
        stage->compute_s_per_microbatch =
            ps_ps_to_seconds(busiest.cause_ps[PS_CAUSE_COMPUTE]) * per_microbatch;
        stage->edge_s_per_microbatch =
            ps_ps_to_seconds(busiest.cause_ps[PS_CAUSE_EDGE]) * per_microbatch;
        stage->resync_s_per_microbatch =
            ps_ps_to_seconds(busiest.cause_ps[PS_CAUSE_RESYNC]) * per_microbatch;
        stage->bubble_share =
            window_ps > 0 ? 1 - (double)busiest.compute_stream_ps / (double)window_ps : 0;
    }
}
