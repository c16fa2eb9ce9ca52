#include "sim/plan/levels.h"

#include <string.h>

#define MOST_DEVICES (1 << 24)

PsLevels ps_levels_up_to(const PsLevels *levels, guint devices)
{
    PsLevels inner = *levels;
    while (inner.n > 1 && inner.level[inner.n - 2].size >= devices) {
        inner.n--;
    }
    return inner;
}

guint ps_levels_span(const PsLevels *levels, guint64 one, guint64 other)
{
    guint i = 0;
    while (i + 1 < levels->n && one / levels->level[i].size != other / levels->level[i].size) {
        i++;
    }
    return i;
}

gboolean ps_levels_hold(const PsLevels *levels, guint64 first, guint d, guint t)
{
    guint i = 0;
    while (i + 1 < levels->n && levels->level[i].size < t) {
        i++;
    }
    guint64 size = levels->level[i].size, end = first + (guint64)d * t;
    guint64 border = (first / size + 1) * size; /* the first one behind `first` */
    if (i + 1 == levels->n || border >= end) {
        return TRUE;
    }
    return (border - first) % t == 0 && (border + size >= end || size % t == 0);
}

guint64 ps_levels_border(const PsLevels *levels, guint64 devices)
{
    guint64 size = 1;
    for (guint i = 0; i + 1 < levels->n && levels->level[i].size < devices; i++) {
        size = levels->level[i].size;
    }
    return (devices + size - 1) / size * size;
}

void ps_levels_write(const PsLevels *levels, const char *key, PsJsonWriter *writer)
{
    ps_json_begin_array(writer, key);
    for (guint i = 0; i < levels->n; i++) {
        const PsLevel *level = &levels->level[i];
        ps_json_begin_object(writer, NULL);
        ps_json_put_int(writer, "size", level->size);
        ps_json_put_double(writer, "bandwidth_bytes_per_s", level->bandwidth_bytes_per_s);
        ps_json_end_object(writer);
    }
    ps_json_end_array(writer);
}

static void read_level(PsJsonReader *reader, PsLevels *levels)
{
    static const char *const keys[] = {"size", "bandwidth_bytes_per_s", NULL};
    PsLevel *level = &levels->level[levels->n];
    ps_json_expect_keys(reader, keys);
    level->size = (guint)ps_json_int(reader, "size", 1, MOST_DEVICES);
    level->bandwidth_bytes_per_s = ps_json_double(reader, "bandwidth_bytes_per_s", 1, 1e18);
    const PsLevel *inside = levels->n++ > 0 ? level - 1 : NULL;
    if (inside == NULL || ps_json_failed(reader)) {
        return;
    }
    if (level->size % inside->size != 0 || level->size == inside->size) {
        ps_json_fail(reader, "size", "is %u (expected a multiple of the %u of the level inside)",
                     level->size, inside->size);
    }
    if (level->bandwidth_bytes_per_s > inside->bandwidth_bytes_per_s) {
        ps_json_fail(reader, "bandwidth_bytes_per_s",
                     "is more than that of the level inside (expected at most %g)",
                     inside->bandwidth_bytes_per_s);
    }
}

PsLevels ps_levels_read(PsJsonReader *reader, const char *key)
{
    PsLevels levels = {0};
    ps_json_enter(reader, key);
    ps_json_expect_array(reader);
    guint n = ps_json_size(reader);
    if (n < 2 || n > PS_MOST_LEVELS) {
        ps_json_fail(reader, NULL, "has %u levels (expected 2 to %d)", n, PS_MOST_LEVELS);
    }
    for (guint i = 0; i < n && !ps_json_failed(reader); i++) {
        ps_json_enter_index(reader, i);
        read_level(reader, &levels);
        ps_json_leave(reader);
    }
    ps_json_leave(reader);
    return levels;
}
