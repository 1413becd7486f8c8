/* measure.c - columns of numbers: their range, the part of it worth drawing, the histogram, and
 * the samples nearest to a threshold. Two walks: first the bounds, and counts by sign, exponent and
 * three bits more, from which the part between the outer 0.05 % is read off however wild the rest
 * is; then round bins over that part. */
#include "stage/report/report.h"
#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OCTAVES = 4096, OCTAVE_BITS = 20 };

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
    m->octave = mem_alloc(OCTAVES * sizeof *m->octave);
    return m;
}

static void add_cut(struct measure *m, const struct rule *rule)
{
    int above = rule->op == RULE_GE || rule->op == RULE_GT;
    if (m->cuts == CUTS) return;
    static const char *const words[] = {"", ">=", ">", "<=", "<"};
    char *name = m->cut_name[m->cuts];
    snprintf(name, sizeof *m->cut_name, "%s %.6g", words[rule->op], rule->number);
    m->strict[m->cuts] = rule->op == RULE_GT || rule->op == RULE_LT;
    m->cut[m->cuts++] = (struct chart_cut){rule->number, above ? CHART_ABOVE : CHART_BELOW, name};
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
    snprintf(m->cut_name[0], sizeof *m->cut_name, "removed: >= %.6g", 1 - r->eps);
    m->cut[m->cuts++] = (struct chart_cut){1 - r->eps, CHART_BELOW, m->cut_name[0]};
}

/* ---- the walks ---- */

/* Floats as whole numbers of the same order. */
static uint32_t ordered(double v)
{
    float f = (float)fmin(fmax(v, -FLT_MAX), FLT_MAX);
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u >> 31 ? ~u : u | 0x80000000u;
}

static double unordered(uint32_t u)
{
    float f;
    u = u >> 31 ? u & 0x7fffffffu : ~u;
    memcpy(&f, &u, sizeof f);
    return isnan(f) ? copysign(FLT_MAX, f) : f;
}

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
            m->octave[ordered(v) >> OCTAVE_BITS]++;
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

/* What holds all but the outer 0.05 % on each side, where that is much less than all. */
static void narrow(struct measure *m)
{
    int64_t rim = m->values / 2000 + (m->values >= 100), sum = 0;
    uint32_t from = 0, to = OCTAVES - 1;
    while (from < to && (sum += m->octave[from]) <= rim) from++;
    for (sum = 0; to > from && (sum += m->octave[to]) <= rim;) to--;
    double lo = unordered(from << OCTAVE_BITS);
    double hi = unordered(((to + 1) << OCTAVE_BITS) - 1);
    m->lo = m->values ? m->min : 0;
    m->hi = m->values ? m->max : 0;
    if (4 * (hi - lo) > m->hi - m->lo) return;
    m->lo = lo;
    m->hi = hi;
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
    free(m->octave);
    m->octave = NULL;
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
    for (int k = 0; k < r->measures; k++) {
        narrow(&r->measure[k]);
        settle(&r->measure[k]);
    }
    if (!rc) rc = report_walk(r, want, (size_t)r->measures, round_bins, r);
    for (int k = 0; k < r->measures && !rc; k++) {
        if (r->measure[k].similarity) continue; /* shown as pairs */
        add_shots(r, &r->measure[k].left);
        add_shots(r, &r->measure[k].right);
    }
    return rc;
}
