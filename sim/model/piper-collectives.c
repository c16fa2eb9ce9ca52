#include "sim/model/piper-collectives.h"

#include "sim/base/suggest.h"

#define MAX_BYTES 1e18
#define MAX_TIME_S 1e6
#define MAX_COUNT 1000000

const char *const ps_pass_names[PS_N_PASSES + 1] = {"forward", "backward", "recompute", NULL};

const char *const ps_tmpc_collective_kinds[] = {"all-reduce", "reduce-scatter", "all-gather",
                                                "all-to-all", "broadcast",      NULL};

/* The place of a member's text among names. */
static guint read_choice(PsJsonReader *reader, const char *key, const char *const *names)
{
    const char *text = ps_json_string(reader, key);
    guint i = 0;
    while (names[i] != NULL && !g_str_equal(names[i], text)) {
        i++;
    }
    if (names[i] == NULL && !ps_json_failed(reader)) {
        g_autofree char *hint = ps_suggest_text(text, names);
        ps_json_fail(reader, key, "\"%s\" is unknown%s", text, hint);
    }
    return names[i] != NULL ? i : 0;
}

static void read_one(PsJsonReader *reader, double unit_s, PsTmpcCollective *collective)
{
    static const char *const keys[] = {"pass", "kind", "bytes", "time", "count", NULL};
    ps_json_expect_keys(reader, keys);
    collective->pass = read_choice(reader, "pass", ps_pass_names);
    collective->kind =
        ps_tmpc_collective_kinds[read_choice(reader, "kind", ps_tmpc_collective_kinds)];
    collective->bytes = ps_json_double(reader, "bytes", 0, MAX_BYTES);
    collective->time_s = unit_s * ps_json_double(reader, "time", 0, MAX_TIME_S / unit_s);
    collective->count =
        ps_json_has(reader, "count") ? (guint)ps_json_int(reader, "count", 1, MAX_COUNT) : 1;
    if (collective->bytes == 0) {
        ps_json_fail(reader, "bytes", "is 0 (expected more)");
    }
}

void ps_piper_read_collectives(PsJsonReader *reader, double unit_s, guint degree, PsTmpc *tmpc)
{
    ps_json_enter(reader, "collectives");
    ps_json_expect_array(reader);
    tmpc->n_collectives = ps_json_size(reader);
    tmpc->collectives = g_new0(PsTmpcCollective, tmpc->n_collectives);
    if (degree == 1 && tmpc->n_collectives > 0) {
        ps_json_fail(reader, NULL, "is not empty (expected none on one device)");
    }
    for (guint i = 0; i < tmpc->n_collectives && !ps_json_failed(reader); i++) {
        ps_json_enter_index(reader, i);
        read_one(reader, unit_s, &tmpc->collectives[i]);
        ps_json_leave(reader);
    }
    ps_json_leave(reader);
}

char *ps_piper_collectives_fault(const PsTmpc *tmpc)
{
    const double has_s[PS_N_PASSES] = {tmpc->forward_s, tmpc->backward_s, tmpc->recompute_s};
    double needs_s[PS_N_PASSES] = {0};
    for (guint i = 0; i < tmpc->n_collectives; i++) {
        const PsTmpcCollective *collective = &tmpc->collectives[i];
        needs_s[collective->pass] += collective->count * collective->time_s;
        if (collective->pass == PS_PASS_RECOMPUTE && !tmpc->recomputes) {
            return g_strdup(
                "has collectives of a recompute (expected none: it does not recompute)");
        }
    }
    for (guint pass = 0; pass < PS_N_PASSES; pass++) {
        if (needs_s[pass] > has_s[pass] * (1 + 1e-9)) {
            return g_strdup_printf("has collectives of %g s in a %s of %g s (expected at most as "
                                   "long)",
                                   needs_s[pass], ps_pass_names[pass], has_s[pass]);
        }
    }
    return NULL;
}
