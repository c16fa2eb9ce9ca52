#include "planner/place-report.h"

#include "sim/base/units.h"

char *ps_place_levels_text(const PsSetting *setting)
{
    PsLevels levels = ps_setting_levels(setting);
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < levels.n; i++) {
        const PsLevel *level = &levels.level[i];
        g_autofree char *rate = ps_quantity_format(PS_BYTES_PER_S, level->bandwidth_bytes_per_s);
        g_string_append_printf(text, "%s%s ", i > 0 ? ", " : "", rate);
        if (i + 1 < levels.n) {
            g_string_append_printf(text, "in groups of %u", level->size);
        } else {
            g_string_append(text, "beyond");
        }
    }
    return g_string_free(text, FALSE);
}

/* What the stage's resync and its border with the next stage pay; 0 where there is none. */
typedef struct {
    double resync_bytes_per_s, next_bytes_per_s;
} Rates;

static Rates rates_of(const PsPlan *plan, guint stage)
{
    PsLevels levels = ps_setting_levels(&plan->setting);
    g_autofree PsCrossing *crossings = g_new(PsCrossing, plan->n_stages);
    ps_plan_crossings(plan, crossings);
    const PsCrossing *own = &crossings[stage];
    Rates rates = {0};
    if (plan->stages[stage].data_parallel > 1) {
        rates.resync_bytes_per_s = levels.level[own->resync].bandwidth_bytes_per_s;
    }
    if (stage + 1 < plan->n_stages) {
        rates.next_bytes_per_s = levels.level[own->leave].bandwidth_bytes_per_s;
    }
    return rates;
}

static void add_rate(PsTable *table, double bytes_per_s)
{
    g_autofree char *shown = ps_quantity_format(PS_BYTES_PER_S, bytes_per_s);
    g_autofree char *exact = ps_double_format(bytes_per_s);
    gboolean any = bytes_per_s > 0;
    ps_table_cell(table, any ? shown : "-", any ? exact : "");
}

void ps_place_add_cells(PsTable *table, const PsPlan *plan, guint stage)
{
    Rates rates = rates_of(plan, stage);
    ps_table_int(table, plan->stages[stage].first_device);
    add_rate(table, rates.resync_bytes_per_s);
    add_rate(table, rates.next_bytes_per_s);
}

void ps_place_report(const PsPlan *plan, PsOutput *output)
{
    static const PsColumn columns[] = {{"stage", "stage", TRUE},
                                       {"devices", "devices", TRUE},
                                       {"resync", "resync at", TRUE},
                                       {"next", "border to the next at", TRUE}};
    g_autoptr(PsTable) table = ps_table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < plan->n_stages; i++) {
        const PsStage *stage = &plan->stages[i];
        guint n = stage->data_parallel * stage->tensor_parallel;
        g_autofree char *devices =
            n > 1 ? g_strdup_printf("%u-%u", stage->first_device, stage->first_device + n - 1)
                  : g_strdup_printf("%u", stage->first_device);
        Rates rates = rates_of(plan, i);
        ps_table_int(table, i);
        ps_table_cell(table, devices, NULL);
        add_rate(table, rates.resync_bytes_per_s);
        add_rate(table, rates.next_bytes_per_s);
    }
    ps_table_print(table, PS_FORMAT_TABLE, output);
}
