/* measure.c - columns of numbers: their range, the part of it worth drawing, the histogram, and
 * the samples nearest to a threshold. Three walks: bounds; fine bins, from which the part between
 * the outer 0.05 % is read off (again within it, while a few wild values still hide the rest);
 * round bins. */
#include "stage/report/report.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINE = 4096, ZOOMS = 4 };

void near_add(struct near_list *list, double value, double distance, int64_t part, int64_t row)
{
    int at = list->count;
    while (at && list->item[at - 1].distance > distance) at--;
    if (at == NEAR) return;
    int moved = (list->count < NEAR ? list->count : NEAR - 1) - at;
    memmove(&list->item[at + 1], &list->item[at], (size_t)moved * sizeof *list->item);
    list->item[at] = (struct near){value, distance, part, row, -1};
    if (list->count < NEAR) list->count++;
}

/* ---- which ---- */

static struct measure *add(struct report *r, const struct column_info *c)
{
    if (!c || (c->type != COLUMN_REAL && c->type != COLUMN_INT)) return NULL;
    for (int i = 0; i < r->measures; i++)
        if (r->measure[i].column == c) return &r->measure[i];
    if (r->measures == MEASURES_MAX) {
        r->more_measures++;
        return NULL;
    }
    struct measure *m = &r->measure[r->measures++];
    m->column = c;
    m->min = INFINITY;
    m->max = -INFINITY;
    return m;
}

static void add_cut(struct measure *m, const struct rule *rule)
{
    int above = rule->op == RULE_GE || rule->op == RULE_GT;
    if (m->cuts == CUTS) return;
    m->strict[m->cuts] = rule->op == RULE_GT || rule->op == RULE_LT;
    m->cut[m->cuts++] =
        (struct chart_cut){rule->number, above ? CHART_ABOVE : CHART_BELOW, rule->text};
}

static void choose(struct report *r)
{
    r->measure = mem_alloc(MEASURES_MAX * sizeof *r->measure);
    for (size_t i = 0; i < r->columns.count; i++)
        if (r->columns.list[i].from == SIDE_SCORES) add(r, &r->columns.list[i]);
    r->has_scores = r->measures > 0;
    for (size_t i = 0; i < r->rules.asked; i++) {
        const struct rule *rule = &r->rules.list[i];
        struct measure *m = rule->column ? add(r, columns_find(&r->columns, rule->column)) : NULL;
        if (m) add_cut(m, rule);
    }
    const struct column_info *sim = columns_find(&r->columns, "cosine_sim_score");
    struct measure *m = sim && sim->from == SIDE_ASSIGN ? add(r, sim) : NULL;
    if (!m) return;
    m->similarity = 1;
    if (!isfinite(r->eps)) return;
    snprintf(r->eps_name, sizeof r->eps_name, "removed: >= %g", 1 - r->eps);
    m->cut[m->cuts++] = (struct chart_cut){1 - r->eps, CHART_BELOW, r->eps_name};
}

/* ---- the walks ---- */

static void bounds(void *arg, const struct rows *rows)
{
    struct report *r = arg;
    for (int k = 0; k < r->measures; k++) {
        struct measure *m = &r->measure[k];
        double v;
        for (size_t i = 0; i < rows->count; i++) {
            if (!column_number(&v, rows->col[k], i)) {
                m->nulls++;
                continue;
            }
            m->values++;
            m->sum += v;
            if (v < m->min) m->min = v;
            if (v > m->max) m->max = v;
        }
    }
}

static void fine_bins(void *arg, const struct rows *rows)
{
    struct report *r = arg;
    for (int k = 0; k < r->measures; k++) {
        struct measure *m = &r->measure[k];
        double v, scale = FINE / (m->hi - m->lo);
        for (size_t i = 0; m->fine && i < rows->count; i++) {
            if (!column_number(&v, rows->col[k], i) || v < m->lo || v > m->hi) continue;
            int at = (int)((v - m->lo) * scale);
            m->fine[at < FINE ? at : FINE - 1]++;
        }
    }
}

/* Is the threshold's rule fulfilled? */
static int passes(const struct measure *m, int cut, double v)
{
    double t = m->cut[cut].value;
    if (m->cut[cut].passes == CHART_ABOVE) return m->strict[cut] ? v > t : v >= t;
    return m->similarity || m->strict[cut] ? v < t : v <= t;
}

static void place_value(struct measure *m, double v, int64_t part, int64_t row)
{
    int at = chart_bin(&m->bins, v), pass = 1;
    if (at < 0)
        m->under++;
    else if (at >= m->bins.count)
        m->over++;
    else
        m->count[at]++;
    for (int c = 0; c < m->cuts; c++) pass &= passes(m, c, v);
    m->passing += pass;
    if (!m->cuts) {
        near_add(&m->left, v, v, part, row);
        near_add(&m->right, v, -v, part, row);
    } else {
        double t = m->cut[0].value;
        int above = m->cut[0].passes == CHART_ABOVE ? passes(m, 0, v) : !passes(m, 0, v);
        near_add(above ? &m->right : &m->left, v, fabs(v - t), part, row);
    }
}

static void round_bins(void *arg, const struct rows *rows)
{
    struct report *r = arg;
    for (int k = 0; k < r->measures; k++) {
        struct measure *m = &r->measure[k];
        double v;
        for (size_t i = 0; i < rows->count; i++)
            if (column_number(&v, rows->col[k], i))
                place_value(m, v, rows->part, rows->row + (int64_t)i);
    }
}

/* ---- which part is drawn ---- */

/* Narrow lo..hi to what holds all but the outer 0.05 % on each side; 1 when that is much less. */
static int narrow(struct measure *m)
{
    int64_t total = 0, sum = 0;
    for (int i = 0; i < FINE; i++) total += m->fine[i];
    int64_t rim = total / 2000;
    int from = 0, to = FINE - 1;
    while (from < to && (sum += m->fine[from]) <= rim) from++;
    for (sum = 0; to > from && (sum += m->fine[to]) <= rim;) to--;
    double width = (m->hi - m->lo) / FINE, lo = m->lo + from * width, hi = m->lo + (to + 1) * width;
    int much = 4 * (hi - lo) < m->hi - m->lo;
    if (much) {
        m->lo = lo;
        m->hi = hi;
        memset(m->fine, 0, FINE * sizeof *m->fine);
    } else {
        free(m->fine);
        m->fine = NULL;
    }
    return much;
}

/* A threshold is always in the picture when values lie on both sides of it. */
static void settle(struct measure *m)
{
    for (int c = 0; c < m->cuts; c++) {
        double t = m->cut[c].value;
        if (t < m->min || t > m->max) continue;
        m->lo = fmin(m->lo, t);
        m->hi = fmax(m->hi, t);
    }
    m->lo = fmax(m->lo, m->min);
    m->hi = fmin(m->hi, m->max);
    m->bins = chart_bins(m->lo, m->hi);
    free(m->fine);
    m->fine = NULL;
}

static int choose_parts(struct report *r, const struct column_info *const *want)
{
    int again = 0, rc = 0;
    for (int k = 0; k < r->measures; k++) {
        struct measure *m = &r->measure[k];
        m->lo = m->values ? m->min : 0;
        m->hi = m->values ? m->max : 0;
        if (m->hi - m->lo > 1e-300) m->fine = mem_alloc(FINE * sizeof *m->fine), again = 1;
    }
    for (int zoom = 0; zoom < ZOOMS && again && !rc; zoom++) {
        again = 0;
        rc = report_walk(r, want, (size_t)r->measures, fine_bins, r);
        for (int k = 0; k < r->measures; k++)
            if (r->measure[k].fine) again |= narrow(&r->measure[k]);
    }
    for (int k = 0; k < r->measures; k++) settle(&r->measure[k]);
    return rc;
}

static void add_shots(struct report *r, struct near_list *list)
{
    for (int i = 0; i < list->count; i++)
        list->item[i].shot = report_add_shot(r, list->item[i].part, list->item[i].row);
}

int report_measure(struct report *r)
{
    const struct column_info *want[MEASURES_MAX];
    choose(r);
    for (int k = 0; k < r->measures; k++) want[k] = r->measure[k].column;
    int rc = report_walk(r, want, (size_t)r->measures, bounds, r);
    if (!rc) rc = choose_parts(r, want);
    if (!rc) rc = report_walk(r, want, (size_t)r->measures, round_bins, r);
    for (int k = 0; k < r->measures && !rc; k++) {
        if (r->measure[k].similarity) continue; /* shown as pairs */
        add_shots(r, &r->measure[k].left);
        add_shots(r, &r->measure[k].right);
    }
    return rc;
}
