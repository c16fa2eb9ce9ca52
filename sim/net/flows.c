#include "sim/net/flows.h"

#include <math.h>

#include "sim/base/units.h"

#define PS_PER_S 1e12
/* Half of what the clock holds (106 days). */
#define MOST_S 4.6e6
/* What a link has moved is counted from 0 again when it gets here: the precision of what is left
 * stays that of the flow itself. */
#define REBASE_BYTES 1073741824.0

typedef struct {
    PsFlowSpec spec; /* loads: own copy */
    guint64 sequence;
    double end_bytes; /* the flow ends when its bottleneck has moved this much */
    guint place;      /* in the bottleneck's heap */
    guint fair;       /* its number there */
    guint next_free;
} Flow;

/* What a link has been used for. */
typedef struct {
    guint n_flows, peak_flows;
    gint64 since_ps; /* where it has flows */
    gint64 busy_ps;  /* up to then */
} Usage;

/* The flows whose bottleneck a link is. */
typedef struct {
    GArray *heap;       /* guint, flows: the first one ends first; NULL before there was one */
    double moved_bytes; /* for each of the flows, up to since_ps */
    gint64 since_ps;
    PsEventHandle event; /* end of the first flow, 0 for none */
    gint64 event_ps;
} Group;

struct PsFlows {
    PsSimulator *simulator;
    PsFair *fair;
    guint priority;
    guint begin_handler, end_handler, settle_handler;
    GArray *flows;   /* Flow */
    GArray *groups;  /* Group, by link */
    Usage *usages;   /* by link, of those that were given */
    GArray *by_fair; /* guint: flow of a number in `fair` */
    guint free_flow; /* G_MAXUINT: none */
    guint64 sequence;
    gboolean settling; /* an update is scheduled for the current time */
};

static inline Flow *flow_at(const PsFlows *flows, guint flow)
{
    return &g_array_index(flows->flows, Flow, flow);
}

static inline Group *group_at(const PsFlows *flows, guint link)
{
    return &g_array_index(flows->groups, Group, link);
}

/* ---- a group's heap ------------------------------------------------------------------------- */

static inline gboolean sooner(const PsFlows *flows, guint a, guint b)
{
    const Flow *x = flow_at(flows, a), *y = flow_at(flows, b);
    return x->end_bytes < y->end_bytes ||
           (x->end_bytes == y->end_bytes && x->sequence < y->sequence);
}

static inline void put(PsFlows *flows, GArray *heap, guint place, guint flow)
{
    g_array_index(heap, guint, place) = flow;
    flow_at(flows, flow)->place = place;
}

static void rise(PsFlows *flows, GArray *heap, guint place, guint flow)
{
    while (place > 0) {
        guint parent = g_array_index(heap, guint, (place - 1) / 2);
        if (!sooner(flows, flow, parent)) {
            break;
        }
        put(flows, heap, place, parent);
        place = (place - 1) / 2;
    }
    put(flows, heap, place, flow);
}

static void sink(PsFlows *flows, GArray *heap, guint place, guint flow)
{
    guint child;
    while ((child = 2 * place + 1) < heap->len) {
        const guint *children = &g_array_index(heap, guint, child);
        child += child + 1 < heap->len && sooner(flows, children[1], children[0]);
        guint first = g_array_index(heap, guint, child);
        if (!sooner(flows, first, flow)) {
            break;
        }
        put(flows, heap, place, first);
        place = child;
    }
    put(flows, heap, place, flow);
}

static void take_out(PsFlows *flows, GArray *heap, guint flow)
{
    guint place = flow_at(flows, flow)->place;
    guint last = g_array_index(heap, guint, heap->len - 1);
    g_array_set_size(heap, heap->len - 1);
    if (last == flow) {
        return;
    }
    if (place > 0 && sooner(flows, last, g_array_index(heap, guint, (place - 1) / 2))) {
        rise(flows, heap, place, last);
    } else {
        sink(flows, heap, place, last);
    }
}

/* ---- counting ------------------------------------------------------------------------------- */

static inline gboolean is_empty(const Group *group)
{
    return group->heap == NULL || group->heap->len == 0;
}

/* Brings what the group has moved up to now. */
static void advance(PsFlows *flows, guint link)
{
    Group *group = group_at(flows, link);
    gint64 now_ps = ps_simulator_now(flows->simulator);
    if (!is_empty(group)) {
        double elapsed_s = (double)(now_ps - group->since_ps) / PS_PER_S;
        group->moved_bytes += ps_fair_level(flows->fair, link) * elapsed_s;
    }
    group->since_ps = now_ps;
    if (is_empty(group)) {
        group->moved_bytes = 0;
    } else if (group->moved_bytes > REBASE_BYTES) {
        for (guint i = 0; i < group->heap->len; i++) {
            flow_at(flows, g_array_index(group->heap, guint, i))->end_bytes -= group->moved_bytes;
        }
        group->moved_bytes = 0;
    }
}

/* Time until the group's first flow ends, at the group's level. */
static double first_end_ps(const PsFlows *flows, guint link)
{
    const Group *group = group_at(flows, link);
    const Flow *first = flow_at(flows, g_array_index(group->heap, guint, 0));
    double left_bytes = first->end_bytes - group->moved_bytes;
    return left_bytes / ps_fair_level(flows->fair, link) * PS_PER_S;
}

/* ---- what the shares call ------------------------------------------------------------------- */

static void on_begin(gpointer owner, guint link)
{
    PsFlows *flows = owner;
    if (link >= flows->groups->len) {
        g_array_set_size(flows->groups, link + 1);
    }
    advance(flows, link);
}

static void on_moved(gpointer owner, guint number, guint from, guint to)
{
    PsFlows *flows = owner;
    guint flow = g_array_index(flows->by_fair, guint, number);
    double left_bytes = flow_at(flows, flow)->spec.bytes;
    if (from != PS_FAIR_NONE) {
        left_bytes = flow_at(flows, flow)->end_bytes - group_at(flows, from)->moved_bytes;
        take_out(flows, group_at(flows, from)->heap, flow);
    }
    Group *group = group_at(flows, to);
    if (group->heap == NULL) {
        group->heap = g_array_new(FALSE, FALSE, sizeof(guint));
    }
    flow_at(flows, flow)->end_bytes = group->moved_bytes + left_bytes;
    g_array_append_val(group->heap, flow);
    rise(flows, group->heap, group->heap->len - 1, flow);
}

static void on_end(gpointer owner, guint link)
{
    PsFlows *flows = owner;
    gint64 now_ps = ps_simulator_now(flows->simulator), end_ps = -1;
    Group *group = group_at(flows, link);
    if (!is_empty(group)) {
        double left_ps = fmax(first_end_ps(flows, link), 0);
        end_ps = left_ps < MOST_S * PS_PER_S ? now_ps + llrint(left_ps) : G_MAXINT64;
    }
    if (group->event != 0 && group->event_ps != end_ps) {
        ps_simulator_cancel(flows->simulator, group->event);
        group->event = 0;
    }
    if (group->event == 0 && end_ps >= 0) {
        group->event = ps_simulator_schedule(flows->simulator, end_ps, flows->priority,
                                             flows->end_handler, link);
        group->event_ps = end_ps;
    }
}

static const PsFairFuncs fair_funcs = {on_begin, on_moved, on_end};

/* ---- events --------------------------------------------------------------------------------- */

static void settle_later(PsFlows *flows)
{
    if (!flows->settling) {
        flows->settling = TRUE;
        ps_simulator_schedule(flows->simulator, ps_simulator_now(flows->simulator),
                              PS_N_PRIORITIES - 1, flows->settle_handler, 0);
    }
}

static void settle(gpointer owner, guint64 data)
{
    (void)data;
    PsFlows *flows = owner;
    flows->settling = FALSE;
    ps_fair_update(flows->fair);
}

/* A flow that loads a link twice counts as two. */
static void count_flow(PsFlows *flows, guint link, gboolean begins)
{
    Usage *usage = &flows->usages[link];
    gint64 now_ps = ps_simulator_now(flows->simulator);
    if (!begins) {
        usage->n_flows--;
        usage->busy_ps += usage->n_flows == 0 ? now_ps - usage->since_ps : 0;
        return;
    }
    usage->since_ps = usage->n_flows == 0 ? now_ps : usage->since_ps;
    usage->n_flows++;
    usage->peak_flows = MAX(usage->peak_flows, usage->n_flows);
}

gint64 ps_flows_busy_ps(const PsFlows *flows, guint link, guint *peak_flows)
{
    const Usage *usage = &flows->usages[link];
    *peak_flows = usage->peak_flows;
    return usage->busy_ps +
           (usage->n_flows > 0 ? ps_simulator_now(flows->simulator) - usage->since_ps : 0);
}

static void begin_flow(gpointer owner, guint64 data)
{
    PsFlows *flows = owner;
    Flow *flow = flow_at(flows, (guint)data);
    const PsFlowSpec *spec = &flow->spec;
    flow->fair = ps_fair_add(flows->fair, spec->loads, spec->n_loads, spec->most_bytes_per_s);
    for (guint i = 0; i < spec->n_loads; i++) {
        count_flow(flows, spec->loads[i].link, TRUE);
    }
    if (flow->fair >= flows->by_fair->len) {
        g_array_set_size(flows->by_fair, flow->fair + 1);
    }
    g_array_index(flows->by_fair, guint, flow->fair) = (guint)data;
    settle_later(flows);
}

static void end_flow(PsFlows *flows, guint number)
{
    Flow *flow = flow_at(flows, number);
    PsFlowSpec spec = flow->spec;
    ps_fair_remove(flows->fair, flow->fair);
    for (guint i = 0; i < spec.n_loads; i++) {
        count_flow(flows, spec.loads[i].link, FALSE);
    }
    g_free((gpointer)spec.loads);
    flow->spec.loads = NULL;
    flow->next_free = flows->free_flow;
    flows->free_flow = number;
    spec.ended(spec.owner, spec.data);
}

/* The link's first flow ends, and with it those whose end rounds to the same picosecond. */
static void end_first_flows(gpointer owner, guint64 data)
{
    PsFlows *flows = owner;
    guint link = (guint)data;
    group_at(flows, link)->event = 0;
    advance(flows, link);
    do {
        GArray *heap = group_at(flows, link)->heap;
        guint first = g_array_index(heap, guint, 0);
        take_out(flows, heap, first);
        end_flow(flows, first);
    } while (!is_empty(group_at(flows, link)) && first_end_ps(flows, link) < 0.5);
    settle_later(flows);
}

/* ---- the whole ------------------------------------------------------------------------------ */

PsFlows *ps_flows_new(PsSimulator *simulator, const double *capacities_bytes_per_s, guint n_links,
                      guint priority)
{
    PsFlows *flows = g_new0(PsFlows, 1);
    flows->simulator = simulator;
    flows->fair = ps_fair_new(capacities_bytes_per_s, n_links, &fair_funcs, flows);
    flows->priority = priority;
    flows->begin_handler = ps_simulator_add_handler(simulator, begin_flow, flows);
    flows->end_handler = ps_simulator_add_handler(simulator, end_first_flows, flows);
    flows->settle_handler = ps_simulator_add_handler(simulator, settle, flows);
    flows->flows = g_array_new(FALSE, FALSE, sizeof(Flow));
    flows->groups = g_array_new(FALSE, TRUE, sizeof(Group));
    flows->usages = g_new0(Usage, MAX(n_links, 1));
    flows->by_fair = g_array_new(FALSE, FALSE, sizeof(guint));
    flows->free_flow = G_MAXUINT;
    return flows;
}

void ps_flows_free(PsFlows *flows)
{
    if (flows == NULL) {
        return;
    }
    for (guint i = 0; i < flows->flows->len; i++) {
        g_free((gpointer)flow_at(flows, i)->spec.loads);
    }
    for (guint i = 0; i < flows->groups->len; i++) {
        g_clear_pointer(&group_at(flows, i)->heap, g_array_unref);
    }
    ps_fair_free(flows->fair);
    g_free(flows->usages);
    g_array_unref(flows->flows);
    g_array_unref(flows->groups);
    g_array_unref(flows->by_fair);
    g_free(flows);
}

void ps_flows_start(PsFlows *flows, const PsFlowSpec *spec)
{
    guint number = flows->free_flow;
    if (number == G_MAXUINT) {
        number = flows->flows->len;
        g_array_set_size(flows->flows, number + 1);
    } else {
        flows->free_flow = flow_at(flows, number)->next_free;
    }
    Flow *flow = flow_at(flows, number);
    *flow = (Flow){.spec = *spec, .sequence = flows->sequence++};
    flow->spec.loads = g_memdup2(spec->loads, spec->n_loads * sizeof *spec->loads);
    ps_simulator_schedule(flows->simulator,
                          ps_simulator_now(flows->simulator) + ps_seconds_to_ps(spec->latency_s),
                          flows->priority, flows->begin_handler, number);
}

gboolean ps_flows_fit(double bytes, double least_bytes_per_s, double other_s)
{
    return bytes / least_bytes_per_s + other_s < MOST_S;
}
