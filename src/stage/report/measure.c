/* measure.c - columns of numbers: their range, the part of it worth drawing, the histogram, and
 * the samples nearest to a threshold. Two walks: first the bounds, and counts by sign, exponent and
 * three bits more, from which the part between the outer 0.05 % is read off however wild the rest
 * is; then round bins over that part. */
#include "stage/report/report.h"
#include "base/mem.h"
#include "stage/filter/filter.h"

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

static struct measure *add(struct report *r, const char *name, enum derived derived,
                           const struct column_info *c)
{
    for (int i = 0; i < r->measures; i++)
        if (r->measure[i].column == c && r->measure[i].derived == derived) return &r->measure[i];
    if (r->measures == MEASURES_MAX) {
        r->more_measures++;
        return NULL;
    }
    struct measure *m = &r->measure[r->measures++];
    m->name = name;
    m->derived = derived;
    m->column = c;
    m->min = INFINITY;
    m->max = -INFINITY;
    m->octave = mem_alloc(OCTAVES * sizeof *m->octave);
    return m;
}

static struct measure *add_column(struct report *r, const struct column_info *c)
{
    if (!c || (c->type != COLUMN_REAL && c->type != COLUMN_INT)) return NULL;
    return add(r, c->name, STORED, c);
}

/* What a rule compares: a derived number comes before a column of the same name. */
static struct measure *add_compared(struct report *r, const struct rule *rule)
{
    const struct columns *c = &r->columns;
    int sides = columns_find(c, "width") && columns_find(c, "height");
    if (!rule->column) return NULL;
    if (!rule->stored && sides && !strcmp(rule->column, "aspect"))
        return add(r, "aspect", ASPECT, NULL);
    if (!rule->stored && sides && !strcmp(rule->column, "resolution"))
        return add(r, "resolution", RESOLUTION, NULL);
    if (!rule->stored && !strcmp(rule->column, "clip_similarity"))
        return sidecars_any(r->sidecars, SIDE_IMAGE) && sidecars_any(r->sidecars, SIDE_TEXT)
                   ? add(r, "clip_similarity", CLIP_SIMILARITY, NULL)
                   : NULL;
    return add_column(r, columns_find(c, rule->column));
}

/* The threshold as the filter compared it: rounded where values are float32. */
static void add_cut(struct measure *m, const struct rule *rule)
{
    static const char *const words[] = {"", ">=", ">", "<=", "<"};
    int above = rule->op == RULE_GE || rule->op == RULE_GT;
    int single = m->column ? m->column->single : m->derived == CLIP_SIMILARITY;
    if (m->cuts == CUTS) return;
    char *name = m->cut_name[m->cuts];
    snprintf(name, sizeof *m->cut_name, "%s %.6g", words[rule->op], rule->number);
    m->strict[m->cuts] = rule->op == RULE_GT || rule->op == RULE_LT;
    m->cut[m->cuts++] = (struct chart_cut){single ? (float)rule->number : rule->number,
                                           above ? CHART_ABOVE : CHART_BELOW, name};
}

static void add_similarity(struct report *r)
{
    const struct column_info *c = columns_find(&r->columns, "cosine_sim_score");
    struct measure *m = c && c->from == SIDE_ASSIGN ? add_column(r, c) : NULL;
    if (!m) return;
    m->similarity = 1;
    if (!isfinite(r->eps)) return;
    snprintf(m->cut_name[0], sizeof *m->cut_name, "removed: >= %.6g", 1 - r->eps);
    m->cut[0] = (struct chart_cut){1 - r->eps, CHART_BELOW, m->cut_name[0]};
    m->cuts = 1;
}

static void choose(struct report *r)
{
    r->measure = mem_alloc(MEASURES_MAX * sizeof *r->measure);
    add_similarity(r);
    for (size_t i = 0; i < r->rules.asked; i++) {
        struct measure *m = add_compared(r, &r->rules.list[i]);
        if (m && !m->similarity) add_cut(m, &r->rules.list[i]);
    }
    for (size_t i = 0; i < r->columns.count; i++) {
        const struct column_info *c = &r->columns.list[i];
        if (c->from != SIDE_SCORES) continue;
        r->has_scores = 1;
        add_column(r, c);
    }
}

/* ---- values ---- */

struct walk {
    struct report *r;
    const struct column_info *want[WALK_COLUMNS];
    size_t n;
    int width, height; /* columns of the walk; -1: not wanted */
    float *similar;    /* [rows of the place] clip_similarity, worked out once */
};

static int want(struct walk *w, const struct column_info *c)
{
    w->want[w->n] = c;
    return (int)w->n++;
}

static void plan(struct walk *w)
{
    int sides = 0, similar = 0;
    for (int k = 0; k < w->r->measures; k++) {
        struct measure *m = &w->r->measure[k];
        sides |= m->derived == ASPECT || m->derived == RESOLUTION;
        similar |= m->derived == CLIP_SIMILARITY;
        m->at = m->column ? want(w, m->column) : -1;
    }
    w->width = sides ? want(w, columns_find(&w->r->columns, "width")) : -1;
    w->height = sides ? want(w, columns_find(&w->r->columns, "height")) : -1;
    if (similar) w->similar = mem_alloc(mem_mul((size_t)w->r->rows + 1, sizeof *w->similar));
}

/* Caption against picture for every row; a partition without both has none. */
static void load_similarity(struct walk *w)
{
    enum { SOME = 1024 };
    double cosine[SOME];
    for (int64_t i = 0; i < sidecars_count(w->r->sidecars); i++) {
        struct similarity s = {0};
        int64_t rows = sidecars_rows(w->r->sidecars, i);
        int none = rows < 1 || similarity_open(&s, w->r->sidecars, i);
        for (int64_t at = 0; at < rows; at += SOME) {
            int64_t n = rows - at < SOME ? rows - at : SOME;
            if (!none) similarity_get(cosine, &s, at, n);
            for (int64_t k = 0; k < n; k++)
                w->similar[report_row(w->r, i, at + k)] = none ? NAN : (float)cosine[k];
        }
        similarity_close(&s);
    }
}

/* The measure's value in row i: 0 when it has none. */
static int value_of(double *v, const struct walk *w, const struct measure *m,
                    const struct rows *rows, size_t i)
{
    double width, height;
    if (m->derived == STORED) return column_number(v, rows->col[m->at], i);
    if (m->derived == CLIP_SIMILARITY) {
        *v = (double)w->similar[report_row(w->r, rows->part, rows->row + (int64_t)i)];
        return isfinite(*v);
    }
    if (!column_number(&width, rows->col[w->width], i) ||
        !column_number(&height, rows->col[w->height], i))
        return 0;
    *v = fmin(width, height);
    if (m->derived == ASPECT) *v = fmax(width, height) / *v;
    return isfinite(*v);
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
    const struct walk *w = arg;
    for (int k = 0; k < w->r->measures; k++) {
        struct measure *m = &w->r->measure[k];
        double v;
        for (size_t i = 0; i < rows->count; i++) {
            if (!value_of(&v, w, m, rows, i)) {
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
    const struct walk *w = arg;
    for (int k = 0; k < w->r->measures; k++) {
        struct measure *m = &w->r->measure[k];
        double v;
        for (size_t i = 0; i < rows->count; i++)
            if (value_of(&v, w, m, rows, i)) place_value(m, v, rows->part, rows->row + (int64_t)i);
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
    struct walk w = {.r = r};
    choose(r);
    plan(&w);
    if (w.similar) load_similarity(&w);
    int rc = report_walk(r, w.want, w.n, bounds, &w);
    for (int k = 0; k < r->measures; k++) {
        narrow(&r->measure[k]);
        settle(&r->measure[k]);
    }
    if (!rc) rc = report_walk(r, w.want, w.n, round_bins, &w);
    for (int k = 0; k < r->measures && !rc; k++) {
        if (r->measure[k].similarity) continue; /* shown as pairs */
        add_shots(r, &r->measure[k].left);
        add_shots(r, &r->measure[k].right);
    }
    free(w.similar);
    return rc;
}
