#include "sim/coll/collective-runs.h"

#define NONE G_MAXUINT

typedef struct {
    const PsCollective *collective;
    guint phase; /* under way */
    PsEventFunc ended;
    gpointer owner;
    guint64 data;
    guint next_free;
} Run;

struct PsCollectiveRuns {
    PsFlows *flows;
    GArray *runs; /* Run */
    guint free_run;
};

PsCollectiveRuns *ps_collective_runs_new(PsFlows *flows)
{
    PsCollectiveRuns *runs = g_new0(PsCollectiveRuns, 1);
    runs->flows = flows;
    runs->runs = g_array_new(FALSE, FALSE, sizeof(Run));
    runs->free_run = NONE;
    return runs;
}

void ps_collective_runs_free(PsCollectiveRuns *runs)
{
    if (runs != NULL) {
        g_array_unref(runs->runs);
        g_free(runs);
    }
}

static void end_phase(gpointer owner, guint64 number);

static void start_phase(PsCollectiveRuns *runs, guint number)
{
    const Run *run = &g_array_index(runs->runs, Run, number);
    const PsPhase *phase = &run->collective->phases[run->phase];
    const PsFlowSpec spec = {
        .loads = phase->loads,
        .n_loads = phase->n_loads,
        .bytes = phase->bytes,
        .latency_s = phase->latency_s + (run->phase == 0 ? run->collective->start_s : 0),
        .most_bytes_per_s = phase->most_bytes_per_s,
        .ended = end_phase,
        .owner = runs,
        .data = number,
    };
    ps_flows_start(runs->flows, &spec);
}

static void end_phase(gpointer owner, guint64 number)
{
    PsCollectiveRuns *runs = owner;
    Run *run = &g_array_index(runs->runs, Run, number);
    if (++run->phase < run->collective->n_phases) {
        start_phase(runs, (guint)number);
        return;
    }
    Run done = *run;
    run->next_free = runs->free_run;
    runs->free_run = (guint)number;
    done.ended(done.owner, done.data);
}

void ps_collective_runs_start(PsCollectiveRuns *runs, const PsCollective *collective,
                              PsEventFunc ended, gpointer owner, guint64 data)
{
    guint number = runs->free_run;
    if (number == NONE) {
        number = runs->runs->len;
        g_array_set_size(runs->runs, number + 1);
    } else {
        runs->free_run = g_array_index(runs->runs, Run, number).next_free;
    }
    g_array_index(runs->runs, Run, number) = (Run){collective, 0, ended, owner, data, NONE};
    start_phase(runs, number);
}
