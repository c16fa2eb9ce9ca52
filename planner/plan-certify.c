/* The plan that replays fastest, which need not be the one with the best estimate. */
#include "planner/certify.h"
#include "planner/plan-list.h"
#include "planner/plan-report.h"
#include "sim/base/units.h"

#define N_CANDIDATES 8

static void print_summary(const PsCertificate *certificate, PsOutput *output)
{
    const PsCertified *best = certificate->candidates->pdata[certificate->best];
    const PsCertified *first = certificate->candidates->pdata[0];
    g_autofree char *replayed = ps_quantity_format(PS_SECONDS, best->replayed_tps_s);
    g_autofree char *other = ps_quantity_format(PS_SECONDS, first->replayed_tps_s);
    g_autofree char *bound = ps_quantity_format(PS_SECONDS, certificate->bound_s);
    double gain = 1 - best->replayed_tps_s / first->replayed_tps_s;
    double distance = best->replayed_tps_s / certificate->bound_s - 1;
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "Candidate %u replays fastest, in %s per microbatch",
                    certificate->best + 1, replayed);
    if (certificate->best > 0) {
        g_string_append_printf(text,
                               ": %.1f %% faster than the plan of the best estimate, which "
                               "replays in %s",
                               100 * gain, other);
    }
    const char *among = first->plan->among != NULL ? first->plan->among : "";
    g_string_append_printf(text,
                           ". Under the planner's assumptions (--assume piper) no plan%s%s is ",
                           *among != '\0' ? " " : "", among);
    if (distance < 1e-9) {
        g_string_append(text, "faster.");
    } else {
        g_autofree char *most = ps_percent_up(distance);
        g_string_append_printf(
            text, "faster than %s: this one is at most %s above the best possible.", bound, most);
    }
    ps_output_puts(output, "\n");
    ps_print_paragraph(output, "%s", text->str);
}

static gboolean run(const PsPlanRequest *request, GError **error)
{
    g_autoptr(PsCertificate) certificate =
        ps_certify(request->profile, &request->setting, &request->options, N_CANDIDATES, error);
    if (certificate == NULL) {
        return FALSE;
    }
    g_autoptr(PsPlanList) list = ps_plan_list_new(request->profile, TRUE);
    for (guint i = 0; i < certificate->candidates->len; i++) {
        const PsCertified *one = certificate->candidates->pdata[i];
        const char *remark = i == certificate->best ? "replays fastest" : "";
        ps_plan_list_add(list, &(PsListedPlan){one->plan, one->replayed_tps_s, remark});
    }
    const PsCertified *best = certificate->candidates->pdata[certificate->best];
    g_autoptr(PsOutput) output = NULL;
    if (!ps_plan_save_if_asked(request, best->plan, error) ||
        (output = ps_output_open("-", error)) == NULL) {
        return FALSE;
    }
    ps_plan_list_print(list, request->format, output);
    if (request->format == PS_FORMAT_TABLE) {
        print_summary(certificate, output);
    }
    return ps_output_commit(output, error);
}

const PsPlanMode ps_plan_mode_certify = {
    .option = "certify",
    .help = "Replay the best candidates, take the fastest",
    .run = run,
};
