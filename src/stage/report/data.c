/* data.c - the numbers of the page for programs: the same, as one JSON object. */
#include "stage/report/report.h"
#include "page/html.h"

#include <math.h>
#include <string.h>

static void name(struct str *out, const char *comma, const char *text)
{
    str_puts(out, comma);
    html_json(out, text, strlen(text));
    str_puts(out, ": ");
}

static void whole(struct str *out, const char *comma, const char *key, int64_t n)
{
    name(out, comma, key);
    str_printf(out, "%lld", (long long)n);
}

/* JSON has no nan. */
static void real(struct str *out, const char *comma, const char *key, double v)
{
    name(out, comma, key);
    if (isfinite(v))
        str_printf(out, "%.9g", v);
    else
        str_puts(out, "null");
}

static void put_errors(struct str *out, const struct report *r)
{
    name(out, ", ", "errors");
    str_puts(out, "{");
    for (size_t i = 0; i < r->faults; i++)
        whole(out, i ? ", " : "", r->fault[i].status, r->fault[i].count);
    str_puts(out, "}");
}

static void put_rules(struct str *out, const struct report *r)
{
    name(out, ", ", "rules");
    str_puts(out, "[");
    for (size_t i = 0; i < r->rules.count; i++) {
        str_puts(out, i ? ", {" : "{");
        name(out, "", "rule");
        html_json(out, r->rules.list[i].text, strlen(r->rules.list[i].text));
        whole(out, ", ", "dropped", r->rules.list[i].dropped);
        str_puts(out, "}");
    }
    str_puts(out, "]");
}

static void put_measure(struct str *out, const struct measure *m)
{
    str_puts(out, "{");
    whole(out, "", "values", m->values);
    whole(out, ", ", "nulls", m->nulls);
    real(out, ", ", "min", m->values ? m->min : NAN);
    real(out, ", ", "max", m->values ? m->max : NAN);
    real(out, ", ", "mean", m->sum / (double)m->values);
    if (m->cuts) {
        real(out, ", ", "threshold", m->cut[0].value);
        whole(out, ", ", "passing", m->passing);
    }
    real(out, ", ", "from", m->bins.lo);
    real(out, ", ", "width", m->bins.width);
    whole(out, ", ", "under", m->under);
    whole(out, ", ", "over", m->over);
    name(out, ", ", "counts");
    for (int i = 0; i < m->bins.count; i++)
        str_printf(out, "%s%lld", i ? ", " : "[", (long long)m->count[i]);
    str_puts(out, m->bins.count ? "]}" : "[]}");
}

static void put_groups(struct str *out, const struct report *r)
{
    name(out, ", ", "groups");
    str_puts(out, "[");
    for (int i = 0; i < r->groups; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)r->group[i].size);
    str_puts(out, "]");
}

static void put_times(struct str *out, const struct report *r)
{
    name(out, ", ", "times");
    str_puts(out, "{");
    for (int i = 0; i < r->timings; i++) {
        const struct timing *t = &r->timing[i];
        name(out, i ? ", " : "", t->product);
        str_puts(out, "{");
        real(out, "", "seconds", t->seconds);
        whole(out, ", ", "samples", t->samples);
        whole(out, ", ", "tasks", t->tasks);
        str_puts(out, "}");
    }
    str_puts(out, "}");
}

void report_data(struct str *out, const struct report *r)
{
    str_puts(out, "{");
    whole(out, "", "seen", r->seen);
    whole(out, ", ", "rows", r->rows);
    whole(out, ", ", "partitions", sidecars_count(r->sidecars));
    whole(out, ", ", "missing", sidecars_missing(r->sidecars));
    put_errors(out, r);
    if (r->has_keep) {
        whole(out, ", ", "kept", r->kept);
        put_rules(out, r);
    }
    if (r->has_dedup) {
        whole(out, ", ", "removed", r->nremoved);
        whole(out, ", ", "quarantined", r->nquarantined);
        whole(out, ", ", "left", r->left);
        real(out, ", ", "eps", r->eps);
        whole(out, ", ", "group_count", r->group_count);
        put_groups(out, r);
    }
    if (r->has_assign) {
        whole(out, ", ", "clusters", r->clusters_count);
        whole(out, ", ", "largest_cluster", r->largest);
    }
    if (r->exported >= 0) whole(out, ", ", "exported", r->exported);
    name(out, ", ", "scores");
    str_puts(out, "{");
    for (int i = 0; i < r->measures; i++) {
        name(out, i ? ", " : "", r->measure[i].name);
        put_measure(out, &r->measure[i]);
    }
    str_puts(out, "}");
    whole(out, ", ", "pictures", r->pictures);
    put_times(out, r);
    str_puts(out, "}");
}
