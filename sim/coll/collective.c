#include "sim/coll/collective.h"

#include <math.h>

#include "sim/base/error.h"
#include "sim/base/suggest.h"
#include "sim/coll/collectives.h"
#include "sim/coll/phases.h"

const char *const ps_collective_kind_names[PS_N_COLLECTIVE_KINDS + 1] = {
    "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", NULL};

#define PS_COLLECTIVE(name) &ps_collective_##name,
const PsCollectiveAlgorithm *const ps_collective_algorithms[] = {
#include "sim/coll/collectives.def"
    NULL};
#undef PS_COLLECTIVE

gboolean ps_collective_kind_parse(const char *text, PsCollectiveKind *kind, GError **error)
{
    for (guint i = 0; i < PS_N_COLLECTIVE_KINDS; i++) {
        if (g_str_equal(text, ps_collective_kind_names[i])) {
            *kind = i;
            return TRUE;
        }
    }
    g_autofree char *suggestion = ps_suggest_text(text, ps_collective_kind_names);
    ps_error(error, PS_ERROR_USAGE, "unknown kind \"%s\"%s", text, suggestion);
    return FALSE;
}

double ps_collective_bus_factor(PsCollectiveKind kind, guint n_ranks)
{
    static const double passes[PS_N_COLLECTIVE_KINDS] = {
        [PS_ALL_REDUCE] = 2, [PS_REDUCE_SCATTER] = 1, [PS_ALL_GATHER] = 1, [PS_ALL_TO_ALL] = 1};
    return kind == PS_BROADCAST ? 1 : passes[kind] * (n_ranks - 1) / n_ranks;
}

/* ---- which algorithms ----------------------------------------------------------------------- */

static gboolean does(const PsCollectiveAlgorithm *algorithm, PsCollectiveKind kind)
{
    return kind == PS_N_COLLECTIVE_KINDS || (algorithm->kinds & PS_KIND_BIT(kind)) != 0;
}

const char **ps_collective_algorithm_names(PsCollectiveKind kind)
{
    GPtrArray *names = g_ptr_array_new();
    for (guint i = 0; ps_collective_algorithms[i] != NULL; i++) {
        if (does(ps_collective_algorithms[i], kind)) {
            g_ptr_array_add(names, (gpointer)ps_collective_algorithms[i]->name);
        }
    }
    g_ptr_array_add(names, NULL);
    return (const char **)g_ptr_array_free(names, FALSE);
}

static const PsCollectiveAlgorithm *find_algorithm(const char *name)
{
    for (guint i = 0; ps_collective_algorithms[i] != NULL; i++) {
        if (g_str_equal(ps_collective_algorithms[i]->name, name)) {
            return ps_collective_algorithms[i];
        }
    }
    return NULL;
}

static gboolean check_library(const PsTopology *topology, GError **error)
{
    char **names = topology->library.algorithms;
    for (; names != NULL && *names != NULL; names++) {
        if (find_algorithm(*names) == NULL) {
            g_autofree const char **known = ps_collective_algorithm_names(PS_N_COLLECTIVE_KINDS);
            g_autofree char *suggestion = ps_suggest_text(*names, known);
            ps_error_at(error, topology->path, topology->library.algorithms_line,
                        "algorithms: unknown algorithm \"%s\"%s", *names, suggestion);
            return FALSE;
        }
    }
    return TRUE;
}

/* The algorithm asked for, if it can serve the team. */
static const PsCollectiveAlgorithm *require(const char *name, const PsTeam *team, GError **error)
{
    const PsCollectiveAlgorithm *algorithm = find_algorithm(name);
    if (algorithm == NULL) {
        g_autofree const char **known = ps_collective_algorithm_names(PS_N_COLLECTIVE_KINDS);
        g_autofree char *suggestion = ps_suggest_text(name, known);
        ps_error(error, PS_ERROR_USAGE, "unknown algorithm \"%s\"%s", name, suggestion);
        return NULL;
    }
    if (!does(algorithm, team->kind)) {
        g_autofree const char **able = ps_collective_algorithm_names(team->kind);
        g_autofree char *list = g_strjoinv(", ", (char **)able);
        ps_error(error, PS_ERROR_USAGE, "%s does no %s (expected %s)", name,
                 ps_collective_kind_names[team->kind], list);
        return NULL;
    }
    g_autofree char *fault = algorithm->fault != NULL ? algorithm->fault(team) : NULL;
    if (fault != NULL) {
        ps_error(error, PS_ERROR_USAGE, "%s cannot serve %s", name, fault);
        return NULL;
    }
    return algorithm;
}

/* Those that "auto" chooses from, NULL-terminated. Caller frees. */
static const PsCollectiveAlgorithm **choices(const PsLibrary *library, const PsTeam *team)
{
    GPtrArray *able = g_ptr_array_new(), *owned = g_ptr_array_new();
    for (guint i = 0; ps_collective_algorithms[i] != NULL; i++) {
        const PsCollectiveAlgorithm *algorithm = ps_collective_algorithms[i];
        g_autofree char *fault =
            does(algorithm, team->kind) && algorithm->fault != NULL ? algorithm->fault(team) : NULL;
        if (!does(algorithm, team->kind) || fault != NULL) {
            continue;
        }
        g_ptr_array_add(able, (gpointer)algorithm);
        if (library->algorithms != NULL &&
            g_strv_contains((const char *const *)library->algorithms, algorithm->name)) {
            g_ptr_array_add(owned, (gpointer)algorithm);
        }
    }
    GPtrArray *chosen = owned->len > 0 ? owned : able;
    g_ptr_array_unref(owned->len > 0 ? able : owned);
    g_ptr_array_add(chosen, NULL);
    return (const PsCollectiveAlgorithm **)g_ptr_array_free(chosen, FALSE);
}

/* ---- the fastest ---------------------------------------------------------------------------- */

static double start_s(const PsLibrary *library, guint n_ranks)
{
    const PsStart *starts = library->starts;
    guint n = library->n_starts, above = 0;
    while (above < n && starts[above].n_ranks < n_ranks) {
        above++;
    }
    if (n == 0) {
        return 0;
    }
    if (above == 0 || above == n) {
        return starts[MIN(above, n - 1)].start_s;
    }
    const PsStart *left = &starts[above - 1], *right = &starts[above];
    double share = (double)(n_ranks - left->n_ranks) / (right->n_ranks - left->n_ranks);
    return left->start_s + share * (right->start_s - left->start_s);
}

void ps_collective_free(PsCollective *collective)
{
    if (collective == NULL) {
        return;
    }
    for (guint i = 0; i < collective->n_phases; i++) {
        g_free(collective->phases[i].loads);
    }
    g_free(collective->phases);
    g_free(collective);
}

/* Builds by one algorithm and protocol, and keeps the result in *best if it is faster. */
static gboolean try_one(PsPhases *phases, const PsTeam *team, const PsLibrary *library,
                        const PsCollectiveAlgorithm *algorithm, const PsProtocol *protocol,
                        PsCollective **best, GError **error)
{
    if (!ps_phases_build(phases, algorithm, team, protocol, error)) {
        return FALSE;
    }
    double before_s =
        start_s(library, team->n_ranks) + (protocol != NULL ? protocol->latency_s : 0);
    double time_s = before_s + ps_phases_time_s(phases);
    if (*best != NULL && time_s >= (*best)->time_s) {
        return TRUE;
    }
    ps_collective_free(*best);
    PsCollective *collective = g_new0(PsCollective, 1);
    *collective = (PsCollective){algorithm, protocol, before_s, time_s, 0, NULL};
    collective->phases = ps_phases_steal(phases, &collective->n_phases);
    *best = collective;
    return TRUE;
}

static PsCollective *find_fastest(PsNetwork *network, const PsCollectiveCall *call,
                                  const PsTeam *team,
                                  const PsCollectiveAlgorithm *const *algorithms, GError **error)
{
    const PsLibrary *library = &ps_network_topology(network)->library;
    g_autoptr(PsPhases) phases =
        ps_phases_new(network, call->ranks, call->n_ranks, MAX(call->n_groups, 1));
    g_autoptr(PsCollective) best = NULL;
    guint n_protocols = MAX(library->n_protocols, 1), n = 0;
    while (algorithms[n / n_protocols] != NULL) {
        n += n_protocols;
    }
    for (guint i = 0; i < n; i++) {
        const PsProtocol *protocol =
            library->n_protocols > 0 ? &library->protocols[i % n_protocols] : NULL;
        if (!try_one(phases, team, library, algorithms[i / n_protocols], protocol, &best, error)) {
            return NULL;
        }
        ps_progress_step(call->progress,
                         PS_COLLECTIVE_STEPS * (i + 1) / n - PS_COLLECTIVE_STEPS * i / n);
    }
    return g_steal_pointer(&best);
}

PsCollective *ps_collective_new(PsNetwork *network, const PsCollectiveCall *call,
                                const char *algorithm, GError **error)
{
    g_autofree guint *nodes = g_new(guint, call->n_ranks);
    for (guint i = 0; i < call->n_ranks; i++) {
        nodes[i] = ps_network_node(network, call->ranks[i]);
    }
    const PsTeam team = {call->kind, call->n_ranks, call->bytes, nodes};
    const PsTopology *topology = ps_network_topology(network);
    if (!check_library(topology, error)) {
        return NULL;
    }
    if (g_str_equal(algorithm, PS_AUTO)) {
        g_autofree const PsCollectiveAlgorithm **all = choices(&topology->library, &team);
        return find_fastest(network, call, &team, all, error);
    }
    const PsCollectiveAlgorithm *one[] = {require(algorithm, &team, error), NULL};
    return one[0] != NULL ? find_fastest(network, call, &team, one, error) : NULL;
}

const char *ps_collective_algorithm_name(const PsCollective *collective)
{
    return collective->algorithm->name;
}
