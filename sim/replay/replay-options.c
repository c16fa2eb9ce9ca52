#include "sim/replay/replay-options.h"

GOptionEntry *ps_replay_entries(PsReplayChoices *choices)
{
    const GOptionEntry entries[] = {
        {"assume", 0, 0, G_OPTION_ARG_STRING, &choices->assume,
         "All switches at once (default real)", "piper|real"},
        {"schedule", 0, 0, G_OPTION_ARG_STRING, &choices->schedule,
         "Order of work on a lane (default by flush)", "NAME|FILE.csv"},
        {"chunks", 0, 0, G_OPTION_ARG_STRING, &choices->chunks,
         "Parts of the model on each stage, for schedules that interleave (default 2)", "V"},
        {"resync", 0, 0, G_OPTION_ARG_STRING, &choices->resync,
         "Weight gradients: a share per microbatch, or one all-reduce per batch",
         "amortised|batch"},
        {"communication", 0, 0, G_OPTION_ARG_STRING, &choices->communication,
         "Transfers: on the compute streams, or on streams of their own", "serial|overlap"},
        {"flush", 0, 0, G_OPTION_ARG_STRING, &choices->flush,
         "Let batches stream on, or drain the pipeline after each", "none|batch"},
        {"start", 0, 0, G_OPTION_ARG_STRING, &choices->start,
         "Measure the steady state, or one batch with fill and drain", "steady|cold"},
        G_OPTION_ENTRY_NULL,
    };
    return g_memdup2(entries, sizeof entries);
}
