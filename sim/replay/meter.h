/* What lanes were busy with: picoseconds per lane, stream and kind of op, up to any instant. */
#pragma once

#include <glib.h>
#include "sim/replay/replay.h"
#include "sim/trace/trace.h"

typedef struct PsMeter PsMeter;

/* workload must outlive the meter. */
PsMeter *ps_meter_new(const PsWorkload *workload);
void ps_meter_free(PsMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsMeter, ps_meter_free)

void ps_meter_add(PsMeter *meter, guint lane, PsStreamKind stream, PsOpKind kind,
                  gint64 duration_ps);

/* The window begins: what is added from now on counts. To count ops that run across the border by
 * their part inside, add the part before it first, and take it off again after. */
void ps_meter_begin_window(PsMeter *meter);

/* The window is all since the start again. */
void ps_meter_forget_window(PsMeter *meter);

/* Fills the stages' shares of a window that ends now. */
void ps_meter_measure(const PsMeter *meter, gint64 window_ps, gint64 microbatches,
                      PsReplayStage *stages);
