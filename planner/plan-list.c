#include "planner/plan-list.h"

#include <math.h>

#include "planner/plan-report.h"
#include "sim/base/units.h"

/* Columns that only scripts see, or only lists of replayed plans have. */
enum { SCRIPTS = 1, REPLAYED = 2, PEOPLE = 4 };

static const struct {
    PsColumn column;
    guint only;
} columns[] = {
    {{"rank", "rank", TRUE}, 0},
    {{"estimate_tps_s", "estimate", TRUE}, 0},
    {{"replayed_tps_s", "replayed", TRUE}, REPLAYED},
    {{"gap", "gap", TRUE}, REPLAYED},
    {{"stages", "stages", TRUE}, 0},
    {{"devices_used", "devices", TRUE}, 0},
    {{"nested", "nested", FALSE}, 0},
    {{"in_flight", "bounds", FALSE}, 0},
    {{"data_parallel", "d", FALSE}, SCRIPTS},
    {{"tensor_parallel", "t", FALSE}, SCRIPTS},
    {{"remark", "remark", FALSE}, SCRIPTS},
    {{"degrees", "degrees", FALSE}, PEOPLE},
};

struct PsPlanList {
    const PsProfile *profile;
    PsFormat format;
    gboolean with_replay;
    PsColumn columns[G_N_ELEMENTS(columns)];
    PsTable *table;
    guint n_rows;
};

PsPlanList *ps_plan_list_new(const PsProfile *profile, PsFormat format, gboolean with_replay)
{
    PsPlanList *list = g_new0(PsPlanList, 1);
    list->profile = profile;
    list->format = format;
    list->with_replay = with_replay;
    guint hidden = (format == PS_FORMAT_TABLE ? SCRIPTS : PEOPLE) | (with_replay ? 0 : REPLAYED);
    guint n = 0;
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        if ((columns[i].only & hidden) == 0) {
            list->columns[n++] = columns[i].column;
        }
    }
    list->table = ps_table_new(list->columns, n);
    return list;
}

static void add_time(PsTable *table, double seconds)
{
    g_autofree char *shown = ps_quantity_format(PS_SECONDS, seconds);
    g_autofree char *value = ps_double_format(seconds);
    ps_table_cell(table, shown, value);
}

static void add_degrees(PsPlanList *list, const PsListedPlan *listed)
{
    gboolean people = list->format == PS_FORMAT_TABLE;
    g_autofree char *d = ps_plan_degrees_text(listed->plan, FALSE, people);
    g_autofree char *t = ps_plan_degrees_text(listed->plan, TRUE, people);
    if (!people) {
        ps_table_cell(list->table, d, NULL);
        ps_table_cell(list->table, t, NULL);
        ps_table_cell(list->table, listed->remark, NULL);
        return;
    }
    g_autofree char *both =
        g_strdup_printf("d %s, t %s%s%s", d, t, *listed->remark ? "; " : "", listed->remark);
    ps_table_cell(list->table, both, NULL);
}

void ps_plan_list_add(PsPlanList *list, const PsListedPlan *listed)
{
    g_autoptr(PsEstimate) estimate = ps_plan_estimate(listed->plan, list->profile);
    PsTable *table = list->table;
    ps_table_int(table, ++list->n_rows);
    add_time(table, estimate->tps_s);
    if (list->with_replay) {
        double gap = listed->replayed_tps_s / estimate->tps_s - 1;
        add_time(table, listed->replayed_tps_s);
        ps_table_double(table, "%.1f%%", fabs(gap) < 5e-4 ? 0 : 100 * gap, gap);
    }
    ps_table_int(table, listed->plan->n_stages);
    ps_table_int(table, estimate->devices_used);
    ps_table_cell(table, ps_plan_is_nested(listed->plan) ? "yes" : "no", NULL);
    ps_table_cell(table, ps_in_flight_names[listed->plan->setting.in_flight], NULL);
    add_degrees(list, listed);
}

void ps_plan_list_print(const PsPlanList *list, PsOutput *output)
{
    ps_table_print(list->table, list->format, output);
}

void ps_plan_list_free(PsPlanList *list)
{
    if (list != NULL) {
        ps_table_free(list->table);
        g_free(list);
    }
}
