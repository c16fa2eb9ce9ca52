#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/replay/program-parts.h"

/* ---- which there are ------------------------------------------------------------------------ */

static int compare_links(const void *a, const void *b)
{
    const PsLink *left = a, *right = b;
    if (left->sender != right->sender) {
        return left->sender < right->sender ? -1 : 1;
    }
    if (left->sender_chunk != right->sender_chunk) {
        return left->sender_chunk < right->sender_chunk ? -1 : 1;
    }
    if (left->distance != right->distance) {
        return left->distance < right->distance ? -1 : 1;
    }
    return (int)left->step - (int)right->step;
}

/* Both directions of what crosses from a place of the pipeline to a later one. */
static void add_links(PsProgram *program, const PsWorkBorder *border, guint source_chunk,
                      guint target_chunk)
{
    PsLink forward = {
        .sender = border->source,
        .receiver = border->target,
        .sender_chunk = source_chunk,
        .receiver_chunk = target_chunk,
        .distance = border->target > border->source ? border->target - border->source
                                                    : border->source - border->target,
        .step = PS_STEP_FORWARD,
        .send_s = border->source_s,
        .receive_s = border->target_s,
        .send_ps = ps_seconds_to_ps(border->source_s),
        .receive_ps = ps_seconds_to_ps(border->target_s),
        .latency_ps = ps_seconds_to_ps(border->latency_s),
        .send_bytes = border->source_bytes,
        .receive_bytes = border->target_bytes,
    };
    PsLink backward = {
        .sender = forward.receiver,
        .receiver = forward.sender,
        .sender_chunk = target_chunk,
        .receiver_chunk = source_chunk,
        .distance = forward.distance,
        .step = PS_STEP_BACKWARD,
        .send_s = forward.receive_s,
        .receive_s = forward.send_s,
        .send_ps = forward.receive_ps,
        .receive_ps = forward.send_ps,
        .latency_ps = forward.latency_ps,
        .send_bytes = forward.receive_bytes,
        .receive_bytes = forward.send_bytes,
    };
    program->links[program->n_links++] = forward;
    program->links[program->n_links++] = backward;
}

/* What crosses from a stage to any other under a schedule with chunks: the border between
 * neighbours, either way; the workload's wrap elsewhere; nothing within a stage. */
static PsWorkBorder border_between(const PsWorkload *workload, guint source, guint target)
{
    PsWorkBorder border = {.source = source, .target = target};
    if (source == target) {
        return border;
    }
    border = workload->wrap;
    for (guint i = 0; i < workload->n_borders; i++) {
        const PsWorkBorder *known = &workload->borders[i];
        if (known->source == source && known->target == target) {
            return *known;
        }
        if (known->source == target && known->target == source) {
            border = (PsWorkBorder){.source_s = known->target_s,
                                    .source_bytes = known->target_bytes,
                                    .target_s = known->source_s,
                                    .target_bytes = known->source_bytes,
                                    .latency_s = known->latency_s};
        }
    }
    border.source = source;
    border.target = target;
    return border;
}

static void link_places(PsProgram *program, const PsWorkload *workload,
                        const PsReplaySettings *settings)
{
    guint n_chunks = settings->chunks, n_places = workload->n_stages * n_chunks;
    g_autofree guint *at = g_new0(guint, n_places); /* place -> stage * n_chunks + chunk */
    for (guint i = 0; i < n_places; i++) {
        const PsLaneShape lane = {
            .stage = i / n_chunks, .n_stages = workload->n_stages, .chunks = n_chunks};
        at[ps_schedule_place(settings->schedule, &lane, i % n_chunks)] = i;
    }
    program->links = g_new(PsLink, 2 * n_places);
    for (guint i = 0; i + 1 < n_places; i++) {
        PsWorkBorder border = border_between(workload, at[i] / n_chunks, at[i + 1] / n_chunks);
        add_links(program, &border, at[i] % n_chunks, at[i + 1] % n_chunks);
    }
}

/* ---- over a network ------------------------------------------------------------------------- */

#define MOST_MESSAGES 1000000

/* Prepares what replica a of the sender sends to replica b of the receiver: with t and u ranks,
 * max(t, u) pairs, as even as can be, by which every rank of the receiver gets its bytes. */
static gboolean prepare_message(const PsParts *parts, PsLink *link, guint a, guint b, guint *number,
                                GError **error)
{
    const PsWorkStage *from = &parts->workload->stages[link->sender];
    const PsWorkStage *to = &parts->workload->stages[link->receiver];
    guint t = from->tensor_parallel, u = to->tensor_parallel, n = MAX(t, u);
    g_autofree guint *sources = g_new(guint, n), *destinations = g_new(guint, n);
    for (guint i = 0; i < n; i++) {
        sources[i] = parts->devices[from->first_rank + a * t + i * t / n];
        destinations[i] = parts->devices[to->first_rank + b * u + i * u / n];
    }
    const PsMessage message = {
        .sources = sources,
        .destinations = destinations,
        .n = n,
        .bytes = MAX(link->send_bytes * MIN(t, u), link->receive_bytes * u) / n,
        .overhead_s = parts->settings->hop_overhead_s,
    };
    return ps_fabric_add_message(parts->fabric, &message, number, error);
}

static gboolean prepare_link(const PsParts *parts, PsLink *link, GError **error)
{
    guint d = parts->workload->stages[link->sender].data_parallel;
    guint e = parts->workload->stages[link->receiver].data_parallel;
    guint64 n_pairs = ps_lcm(d, e);
    if (link->sender == link->receiver) {
        return TRUE;
    }
    if (n_pairs > MOST_MESSAGES) {
        ps_error(error, PS_ERROR_INPUT,
                 "stages %u and %u: %" G_GUINT64_FORMAT " pairs of replicas exchange microbatches "
                 "(expected at most %d)",
                 link->sender, link->receiver, n_pairs, MOST_MESSAGES);
        return FALSE;
    }
    for (guint i = 0; i < n_pairs; i++) {
        guint number;
        if (!prepare_message(parts, link, i % d, i % e, &number, error)) {
            return FALSE;
        }
        link->message = i == 0 ? number : link->message;
    }
    link->n_messages = (guint)n_pairs;
    return TRUE;
}

/* ---- all ------------------------------------------------------------------------------------ */

gboolean ps_program_make_links(PsProgram *program, const PsParts *parts, GError **error)
{
    const PsWorkload *workload = parts->workload;
    const PsReplaySettings *settings = parts->settings;
    if (ps_replay_settings_cuts(settings)) {
        link_places(program, workload, settings);
    } else {
        program->links = g_new(PsLink, 2 * workload->n_borders);
        for (guint i = 0; i < workload->n_borders; i++) {
            add_links(program, &workload->borders[i], 0, 0);
        }
    }
    if (program->n_links > 0) {
        qsort(program->links, program->n_links, sizeof(PsLink), compare_links);
    }
    for (guint i = 0; i < program->n_links; i++) {
        PsLink *link = &program->links[i];
        link->message = PS_FLAT;
        link->latency_ps += ps_seconds_to_ps(settings->hop_overhead_s);
        if (parts->fabric != NULL && !prepare_link(parts, link, error)) {
            return FALSE;
        }
    }
    return TRUE;
}
