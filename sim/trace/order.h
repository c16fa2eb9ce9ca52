/* Puts the records of a run into an order that what they say decides, not the way in which they
 * came about: the order of rows in trace.csv, memory.csv and loader.csv.
 *
 * Ops: by end, lane, stream, then start, kind, microbatch, chunk, peer and bytes.
 * Loads: by end, server, sample, start.
 * Memory: by time, lane, category; of several changes of one category of a lane at one instant the
 * last remains, and none where it holds what it held before. What lasts no time leaves no record,
 * as with ops. */
#pragma once

#include <glib.h>
#include "sim/trace/trace.h"

typedef struct PsTraceOrder PsTraceOrder;

/* Hands records on to `sink`, which must outlive it and may lack functions. */
PsTraceOrder *ps_trace_order_new(const PsTraceSink *sink);
void ps_trace_order_free(PsTraceOrder *order);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsTraceOrder, ps_trace_order_free)

/* Takes ops and loads in nondecreasing order of their ends, changes of memory in that of their
 * times, in any order at one instant (but the changes of one category of a lane, as they happened).
 * Those of the latest instant are held back. */
const PsTraceSink *ps_trace_order_sink(PsTraceOrder *order);

/* Hands on what is held back. For after the last record. */
void ps_trace_order_flush(PsTraceOrder *order);
