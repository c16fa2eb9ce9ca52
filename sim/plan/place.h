/* Where the stages of a pipeline lie on a cluster with levels.
 *
 * A stage with degrees (d, t) takes d·t devices side by side, replica by replica; the stages follow
 * each other in pipeline order, with idle devices between them where that helps. Each
 * tensor-parallel group lies within one group of the innermost level that is large enough for it.
 * What a stage pays:
 *
 *     resync               the innermost level that holds the whole stage
 *     edges over a border  the innermost level that holds both stages at the border, at both ends;
 *                          edges to stages further on count as edges to the next one
 *
 * The pipeline is laid out from its end. The last stage ends at a border of the groups, and the K
 * devices are those before it: where K is no multiple of a group's size, the first group is the one
 * that is not complete. So what is behind a stage does not depend on what comes before it.
 *
 * Two facts keep the search small and exact.
 *
 * 1. Of the numbers of idle devices behind a stage only a few can matter. Seen from the end, a
 * stage begins at the first allowed device from either the end of the stage behind it or the next
 * border of some level. For let it begin further away. Where it shares the innermost group that
 * holds it with such a place, moving it there makes no level larger, neither its own nor those of
 * the borders on either side. Where it does not, let m be the innermost level that joins it and the
 * stage behind, so that it lies in another group of level m - 1 than that stage. All stages that
 * lie wholly in this group can move to the first free group of level m - 1: the border behind pays
 * m before and after, the border in front pays m or more before, and so the same after. Within the
 * group all stages of its inner group can move to the first one likewise, and so on inwards, until
 * the stage lies in the first group of its own level: the first case.
 *
 * 2. A layout of the last stages that takes no more devices can stand in for another one whatever
 * comes before, if that one's first stage spans a group in which both begin (then no border in
 * front tells them apart), or if the distance is a multiple of the largest inner group. */
#pragma once

#include "sim/plan/levels.h"
#include "sim/plan/placement.h"

/* A stage on top of those behind it. */
typedef struct {
    guint devices; /* from the end of the pipeline to its first device, idle ones included */
    guint8 level;  /* the innermost that holds the stage */
    guint8 leave;  /* the innermost that holds it and the stage behind it; of the last, `level` */
    guint8 enters; /* bit set: the levels at which edges may enter the stage */
} PsSpot;

/* The spots of a stage that can matter, by rising number of devices; behind NULL: it is the last.
 * The border behind must be at a level of behind->enters. The callers fill in enters. Returns how
 * many there are; spots beyond most_devices are left out. */
guint ps_spots(const PsLevels *levels, const PsSpot *behind, guint d, guint t, guint most_devices,
               PsSpot spots[PS_MOST_LEVELS]);

/* Whether `a`, with no more devices than `b`, can stand in for it whatever comes before, in space
 * and in what the stage before pays. A spot that may be entered at a level must come with those
 * inside it, down to the stage's own: in `enters`, or as spots beside it. *apart: the distance is
 * no multiple of the largest inner group, so that `a` may need the idle devices in between. */
gboolean ps_spot_covers(const PsLevels *levels, const PsSpot *a, const PsSpot *b, gboolean *apart);

/* The levels that a stage pays. */
typedef struct {
    guint8 enter, leave, resync;
} PsCrossing;

/* Load of a stage, in any unit; infinite where it is not allowed. */
typedef double (*PsStageLoad)(guint stage, PsCrossing crossing, gpointer user_data);

/* Places the stages on at most `devices` devices with the least largest load; of equals on the
 * fewest devices, with the least sum of squared loads. Returns how many they take, or 0 where it is
 * not possible. first_devices receives the first device of each, counted from a border. */
guint ps_place(const PsLevels *levels, guint devices, const PsStageDegrees *stages, guint n_stages,
               PsStageLoad load, gpointer user_data, guint *first_devices);
