#include "tests/oracle/relaxation.h"

typedef enum { FORWARD, BACKWARD, RESYNC } Kind;

typedef struct {
    Kind kind;
    guint n; /* microbatch, or batch */
} Op;

/* The textbook order of a lane: per flush group, min(m, y) forwards, then backward and forward in
 * turn, then the rest of the backwards; a resync after the last backward of each batch. */
static GArray *lane_ops(const PsWorkStage *stage, guint replica, guint n_batch, guint n_all,
                        guint versions)
{
    GArray *ops = g_array_new(FALSE, FALSE, sizeof(Op));
    guint d = stage->data_parallel;
    guint group = versions == 1 ? n_batch : n_all;
    for (guint first = 0; first < n_all; first += group) {
        guint length = MIN(group, n_all - first);
        guint m = length > replica ? (length - replica + d - 1) / d : 0;
        guint warm = MIN(stage->in_flight, m), next = 0;
        for (; next < warm; next++) {
            Op op = {FORWARD, first + replica + next * d};
            g_array_append_val(ops, op);
        }
        for (guint k = 0; k < m; k++) {
            Op op = {BACKWARD, first + replica + k * d};
            g_array_append_val(ops, op);
            if ((first / d + k + 1) % (n_batch / d) == 0) {
                Op resync = {RESYNC, (first / d + k) / (n_batch / d)};
                g_array_append_val(ops, resync);
            }
            if (next < m) {
                Op forward = {FORWARD, first + replica + next++ * d};
                g_array_append_val(ops, forward);
            }
        }
    }
    return ops;
}

typedef struct {
    const PsWorkload *workload;
    const PsOracleStage *stages;
    guint n_all;
    gint64 *end_ps[2]; /* forward, backward: -1 where not known */
    PsOracleTimes *times;
} Relaxation;

/* The latest delivery an op waits for, or -1 where one is not known yet. */
static gint64 inputs_ps(const Relaxation *r, guint stage, Kind kind, guint n)
{
    gint64 latest_ps = 0;
    for (guint i = 0; i < r->workload->n_borders; i++) {
        const PsWorkBorder *border = &r->workload->borders[i];
        guint here = kind == FORWARD ? border->target : border->source;
        guint there = kind == FORWARD ? border->source : border->target;
        if (here == stage) {
            gint64 end_ps = r->end_ps[kind][there * r->n_all + n];
            if (end_ps < 0) {
                return -1;
            }
            latest_ps = MAX(latest_ps, end_ps);
        }
    }
    return latest_ps;
}

typedef struct {
    guint stage;
    GArray *ops;
    guint place;
    gint64 free_ps;
    gint64 waits_in_resync; /* batch + 1, or 0 */
} Lane;

/* Runs the lane as far as it gets. */
static gboolean advance(Relaxation *r, Lane *lane)
{
    guint before = lane->place;
    const PsOracleStage *stage = &r->stages[lane->stage];
    while (lane->place < lane->ops->len) {
        Op op = g_array_index(lane->ops, Op, lane->place);
        if (op.kind == RESYNC) {
            if (stage->resync_ps > 0) {
                lane->waits_in_resync = op.n + 1;
                break;
            }
            lane->place++;
            continue;
        }
        gint64 ready_ps = inputs_ps(r, lane->stage, op.kind, op.n);
        if (ready_ps < 0) {
            break;
        }
        gint64 start_ps = MAX(ready_ps, lane->free_ps);
        gint64 *starts =
            op.kind == FORWARD ? r->times->forward_start_ps : r->times->backward_start_ps;
        starts[lane->stage * r->n_all + op.n] = start_ps;
        lane->free_ps = start_ps + (op.kind == FORWARD ? stage->forward_ps : stage->backward_ps);
        r->end_ps[op.kind][lane->stage * r->n_all + op.n] = lane->free_ps;
        lane->place++;
    }
    return lane->place > before;
}

/* All replicas of a stage have come to the same resync: they pass it together. */
static gboolean resync(Relaxation *r, Lane *lanes, guint n_lanes)
{
    gint64 start_ps = 0;
    for (guint i = 0; i < n_lanes; i++) {
        if (lanes[i].waits_in_resync == 0 || lanes[i].waits_in_resync != lanes[0].waits_in_resync) {
            return FALSE;
        }
        start_ps = MAX(start_ps, lanes[i].free_ps);
    }
    for (guint i = 0; i < n_lanes; i++) {
        lanes[i].free_ps = start_ps + r->stages[lanes[i].stage].resync_ps;
        lanes[i].waits_in_resync = 0;
        lanes[i].place++;
    }
    return TRUE;
}

PsOracleTimes *ps_oracle_relax(const PsWorkload *workload, const PsOracleStage *stages,
                               guint versions, guint n_microbatches)
{
    gsize n = (gsize)workload->n_stages * n_microbatches;
    PsOracleTimes *times = g_new0(PsOracleTimes, 1);
    times->forward_start_ps = g_new(gint64, n);
    times->backward_start_ps = g_new(gint64, n);
    Relaxation r = {workload, stages, n_microbatches, {g_new(gint64, n), g_new(gint64, n)}, times};
    for (gsize i = 0; i < n; i++) {
        r.end_ps[0][i] = r.end_ps[1][i] = -1;
    }
    Lane *lanes = g_new0(Lane, workload->n_lanes);
    for (guint i = 0; i < workload->n_stages; i++) {
        const PsWorkStage *stage = &workload->stages[i];
        for (guint k = 0; k < stage->data_parallel; k++) {
            lanes[stage->first_lane + k].stage = i;
            lanes[stage->first_lane + k].ops =
                lane_ops(stage, k, workload->microbatches, n_microbatches, versions);
        }
    }
    gboolean moved = TRUE;
    while (moved) {
        moved = FALSE;
        for (guint i = 0; i < workload->n_lanes; i++) {
            moved = advance(&r, &lanes[i]) || moved;
        }
        for (guint i = 0; i < workload->n_stages; i++) {
            const PsWorkStage *stage = &workload->stages[i];
            moved = resync(&r, &lanes[stage->first_lane], stage->data_parallel) || moved;
        }
    }
    for (guint i = 0; i < workload->n_lanes; i++) {
        g_assert(lanes[i].place == lanes[i].ops->len);
        times->makespan_ps = MAX(times->makespan_ps, lanes[i].free_ps);
        g_array_unref(lanes[i].ops);
    }
    g_free(lanes);
    g_free(r.end_ps[0]);
    g_free(r.end_ps[1]);
    return times;
}

void ps_oracle_times_free(PsOracleTimes *times)
{
    if (times != NULL) {
        g_free(times->forward_start_ps);
        g_free(times->backward_start_ps);
        g_free(times);
    }
}

/* ---- cycle time ----------------------------------------------------------------------------- */

/* start(to, block b) >= start(from, block b - n_blocks) + ps */
typedef struct {
    guint from, to;
    gint64 ps;
    gint64 n_blocks;
} Arc;

static guint lcm(guint a, guint b)
{
    guint x = a, y = b;
    while (y != 0) {
        guint rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

typedef struct {
    guint block;
    GArray *arcs;
} Graph;

/* From op `from_kind` of microbatch n - back on `from_stage` to the same block position n; for all
 * n of one block. */
static void add_arcs(Graph *graph, guint from_stage, Kind from_kind, guint to_stage, Kind to_kind,
                     gint64 back, gint64 ps)
{
    for (guint n = 0; n < graph->block; n++) {
        gint64 source = (gint64)n - back, block = graph->block;
        gint64 n_blocks = source >= 0 ? -(source / block) : (-source + block - 1) / block;
        guint place = (guint)(source + n_blocks * block);
        Arc arc = {(from_stage * 2 + from_kind) * graph->block + place,
                   (to_stage * 2 + to_kind) * graph->block + n, ps, n_blocks};
        g_array_append_val(graph->arcs, arc);
    }
}

/* Whether some cycle takes more than cycle_ps per block it advances. */
static gboolean beats(const Graph *graph, guint n_nodes, double cycle_ps)
{
    g_autofree double *distance = g_new0(double, n_nodes);
    for (guint round = 0; round <= n_nodes; round++) {
        gboolean changed = FALSE;
        for (guint i = 0; i < graph->arcs->len; i++) {
            const Arc *arc = &g_array_index(graph->arcs, Arc, i);
            double reached =
                distance[arc->from] + (double)arc->ps - cycle_ps * (double)arc->n_blocks;
            if (reached > distance[arc->to] + 1e-3) {
                distance[arc->to] = reached;
                changed = TRUE;
            }
        }
        if (!changed) {
            return FALSE;
        }
    }
    return TRUE;
}

double ps_oracle_cycle_ps(const PsWorkload *workload, const PsOracleStage *stages)
{
    Graph graph = {1, g_array_new(FALSE, FALSE, sizeof(Arc))};
    double high_ps = 0;
    for (guint i = 0; i < workload->n_stages; i++) {
        graph.block = lcm(graph.block, workload->stages[i].data_parallel);
        high_ps += (double)(stages[i].forward_ps + stages[i].backward_ps);
    }
    for (guint i = 0; i < workload->n_stages; i++) {
        gint64 d = workload->stages[i].data_parallel, y = workload->stages[i].in_flight;
        /* On a lane: forward n, after it backward n - (y-1) d, after it forward n + d. */
        add_arcs(&graph, i, FORWARD, i, BACKWARD, -(y - 1) * d, stages[i].forward_ps);
        add_arcs(&graph, i, BACKWARD, i, FORWARD, y * d, stages[i].backward_ps);
    }
    for (guint i = 0; i < workload->n_borders; i++) {
        guint source = workload->borders[i].source, target = workload->borders[i].target;
        add_arcs(&graph, source, FORWARD, target, FORWARD, 0, stages[source].forward_ps);
        add_arcs(&graph, target, BACKWARD, source, BACKWARD, 0, stages[target].backward_ps);
    }
    guint n_nodes = workload->n_stages * 2 * graph.block;
    double low_ps = 0;
    high_ps *= graph.block;
    while (high_ps - low_ps > 1e-12 * high_ps) {
        double middle_ps = (low_ps + high_ps) / 2;
        if (middle_ps <= low_ps || middle_ps >= high_ps) {
            break;
        }
        if (beats(&graph, n_nodes, middle_ps)) {
            low_ps = middle_ps;
        } else {
            high_ps = middle_ps;
        }
    }
    g_array_unref(graph.arcs);
    return high_ps / graph.block;
}
