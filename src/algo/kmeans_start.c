/* kmeans_start.c - the first centroids.
 * Every draw is a hash of seed, draw and row number, so it needs no order among rows: a row has
 * the key -log(u)/weight, and the rows with the smallest keys are a sample without replacement
 * with these weights (Efraimidis and Spirakis). That serves for one row (k-means++), for k rows
 * (random) and across ranks. k-means|| (Bahmani et al. 2012) draws each row on its own. */
#include "algo/kmeans_inside.h"
#include "base/err.h"
#include "base/mem.h"
#include "tensor/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 8,        /* of k-means||, as cuML */
    TRIALS_UPTO = 256, /* clusters up to which k-means++ tries several rows for each centroid */
    TRIES = 8          /* of k-means++ on few candidates: of so few clusters each one counts */
};
enum { DRAW_FIRST = 1, DRAW_RANDOM, DRAW_FILL, DRAW_ROUND = 100, DRAW_STEP = 1000 };

struct start {
    struct fit *f;
    float *near;   /* [n] squared distance to the nearest candidate */
    int64_t total; /* sum of near * weight in units of 1/unit, of all ranks */
    double unit;
    float *list; /* [count,dim] candidates */
    int64_t count;
    struct picks drawn; /* last */
};

/* `most` rows of all ranks, drawn with the given weights, in the order of their keys. Fewer when
 * fewer have a weight. */
static int draw(struct start *s, uint64_t number, int64_t most,
                double (*weight)(const struct start *s, int64_t ordinal))
{
    struct fit *f = s->f;
    double bar = INFINITY;
    s->drawn.n = 0;
    for (int64_t row = 0, ordinal = -1; row < f->rows->count; row++) {
        if (!fit_chosen(f, row)) continue;
        if (f->label[++ordinal] == LABEL_BAD) continue;
        double w = weight(s, ordinal);
        if (!(w > 0)) continue;
        uint64_t hash = fit_hash(f->o->seed, number, (uint64_t)(f->o->first_row + row));
        double key = -log(((double)(hash >> 11) + 0.5) * 0x1p-53) / w;
        if (key > bar) continue;
        picks_add(&s->drawn, f, key, f->o->first_row + row, ordinal);
        if (s->drawn.n < 2 * most + 64) continue;
        picks_cut(&s->drawn, most);
        bar = s->drawn.list[s->drawn.n - 1].key;
    }
    picks_cut(&s->drawn, most);
    int rc = picks_share(&s->drawn, f);
    picks_cut(&s->drawn, most);
    return rc;
}

static double weight_plain(const struct start *s, int64_t ordinal)
{
    return (double)fit_weight(s->f, ordinal);
}

static double weight_near(const struct start *s, int64_t ordinal)
{
    return (double)s->near[ordinal] * (double)fit_weight(s->f, ordinal);
}

static double weight_fill(const struct start *s, int64_t ordinal) /* copies come last */
{
    return s->near[ordinal] > 0 ? 1 : 1e-12;
}

/* The rows that were drawn, to [picks,dim]; those of other ranks come as bits in a sum. */
static int fetch(struct start *s, float *out)
{
    struct fit *f = s->f;
    int64_t here = f->o->team ? f->o->team->rank : 0, dim = f->dim;
    size_t cells = (size_t)(s->drawn.n * dim), row = (size_t)dim * sizeof *out;
    memset(out, 0, cells * sizeof *out);
    for (int64_t i = 0; i < s->drawn.n; i++) {
        if (s->drawn.list[i].rank != here) continue;
        block_reset(&f->block);
        int rc = block_add(&f->block, f->rows, s->drawn.list[i].number - f->o->first_row, 1,
                           f->o->normalize);
        if (!rc) rc = op_get(f->d, out + i * dim, f->block.x.data, row);
        if (rc) return rc;
    }
    if (!f->o->team) return 0;
    int64_t *bits = mem_alloc(cells * sizeof *bits);
    for (size_t i = 0; i < cells; i++) {
        uint32_t u;
        memcpy(&u, out + i, sizeof u);
        bits[i] = u;
    }
    int rc = fit_sum(f, bits, cells);
    for (size_t i = 0; i < cells; i++) {
        uint32_t u = (uint32_t)bits[i];
        memcpy(out + i, &u, sizeof u);
    }
    free(bits);
    return rc;
}

/* ---- candidates ---- */

/* One pass: how near is each row to the candidates from `from` on; f->label is the nearest of
 * all. */
static int approach(struct start *s, int64_t from)
{
    struct fit *f = s->f;
    const float *fresh = s->list + from * f->dim;
    struct set set = {0};
    void *plain = NULL;
    size_t bytes = (size_t)((s->count - from) * f->dim) * sizeof(float);
    int rc = set_fill(&set, f, fresh, NULL, s->count - from);
    if (!rc) rc = op_alloc(f->d, &plain, bytes);
    if (!rc) rc = op_put(f->d, plain, fresh, bytes);
    s->total = 0;
    fit_rewind(f);
    while (!rc && (rc = fit_next(f)) > 0) {
        const int32_t *found;
        const float *square;
        rc = fit_measure(f, &set, plain, &found, &square);
        for (int64_t i = f->first, r = 0; !rc && i < f->next; i++, r++) {
            if (f->label[i] == LABEL_BAD) continue;
            if (square[r] < s->near[i]) {
                s->near[i] = square[r];
                f->label[i] = (int32_t)(from + found[r]);
            }
            s->total += llrint(s->near[i] * s->unit) * fit_weight(f, i);
        }
    }
    set_release(&set, f->d);
    op_free(f->d, plain);
    return rc ? rc : fit_sum(f, &s->total, 1);
}

/* What was drawn joins the candidates. */
static int join(struct start *s)
{
    int64_t from = s->count, dim = s->f->dim;
    if (!s->drawn.n) return 0;
    s->list =
        mem_resize(s->list, mem_mul((size_t)(s->count + s->drawn.n), (size_t)dim * sizeof(float)));
    int rc = fetch(s, s->list + from * dim);
    s->count += s->drawn.n;
    return rc ? rc : approach(s, from);
}

static int first_candidate(struct start *s)
{
    for (int64_t i = 0; i < s->f->n; i++) s->near[i] = INFINITY;
    int rc = draw(s, DRAW_FIRST, 1, weight_plain);
    return rc ? rc : join(s);
}

/* ---- k-means++ ---- */

/* How small the total would become with each of the rows that were drawn: to total[picks]. */
static int try_picks(struct start *s, int64_t *total)
{
    struct fit *f = s->f;
    int64_t trials = s->drawn.n, most = f->block.most;
    float *list = mem_aligned(mem_mul((size_t)(trials * f->dim), sizeof *list));
    float *dot = mem_aligned(mem_mul((size_t)(trials * most), sizeof *dot));
    double *cc = mem_alloc((size_t)trials * sizeof *cc);
    void *packed = NULL, *dot_dev = NULL;
    struct tensor c = tensor_2d(list, F32, trials, f->dim);
    int rc = fetch(s, list);
    for (int64_t i = 0; i < trials * f->dim; i++) cc[i / f->dim] += (double)list[i] * list[i];
    memset(total, 0, (size_t)trials * sizeof *total);
    if (!rc) rc = op_alloc(f->d, &packed, op_pack_bytes(f->d, trials, f->dim, F32));
    if (!rc) rc = op_alloc(f->d, &dot_dev, (size_t)(trials * most) * sizeof *dot);
    if (!rc) rc = op_pack(f->d, packed, &c);
    fit_rewind(f);
    while (!rc && (rc = fit_next(f)) > 0) {
        int64_t n = f->block.x.dim[0];
        struct linear a = {.y = tensor_2d(dot_dev, F32, n, trials), .x = f->block.x, .packed = 1};
        a.w = tensor_2d(packed, F32, trials, f->dim);
        rc = op_linear(f->d, &a);
        if (!rc) rc = op_get(f->d, dot, dot_dev, (size_t)(n * trials) * sizeof *dot);
        for (int64_t r = 0; !rc && r < n; r++) {
            double length = f->o->normalize ? 1 : f->block.norm[r], near = s->near[f->first + r];
            if (f->label[f->first + r] == LABEL_BAD) continue;
            for (int64_t t = 0; t < trials; t++) {
                double square = length * length + cc[t] - 2 * (double)dot[r * trials + t];
                square = square < 0 ? 0 : square < near ? square : near;
                total[t] += llrint(square * s->unit) * fit_weight(f, f->first + r);
            }
        }
    }
    op_free(f->d, packed);
    op_free(f->d, dot_dev);
    free(list);
    free(dot);
    free(cc);
    return rc ? rc : fit_sum(f, total, (size_t)trials);
}

/* Of several drawn rows only the one that helps most stays: the greedy k-means++. */
static int choose_pick(struct start *s)
{
    int64_t *total = mem_alloc((size_t)s->drawn.n * sizeof *total), best = 0;
    int rc = try_picks(s, total);
    for (int64_t t = 1; t < s->drawn.n; t++)
        if (total[t] < total[best]) best = t;
    s->drawn.list[0] = s->drawn.list[best];
    s->drawn.n = 1;
    free(total);
    return rc;
}

static int report(const struct start *s, int round, int rounds)
{
    const struct kmeans_options *o = s->f->o;
    if (!o->progress) return 0;
    struct kmeans_step step = {
        .phase = "start", .round = round, .rounds = rounds, .inertia = (double)s->total / s->unit};
    return o->progress(o->state, &step);
}

/* Rows that make up the number, when there are too few candidates. */
static int fill(struct start *s)
{
    int rc = draw(s, DRAW_FILL, s->f->k - s->count, weight_fill);
    return rc ? rc : join(s);
}

/* Up to TRIALS_UPTO clusters one by one, with trials; beyond, several per pass, so that the rows
 * are read a few hundred times at most. */
static int start_plusplus(struct start *s)
{
    int64_t k = s->f->k, batch = 1 + (k - 1) / TRIALS_UPTO, steps = (k + batch - 1) / batch;
    int64_t trials = batch > 1 ? 1 : 2 + (int64_t)log((double)k);
    int rc = first_candidate(s);
    for (int64_t step = 1; !rc && s->count < k && s->total > 0; step++) {
        int64_t want = batch > 1 ? (k - s->count < batch ? k - s->count : batch) : trials;
        rc = draw(s, (uint64_t)(DRAW_STEP + step), want, weight_near);
        if (!rc && batch == 1 && s->drawn.n > 1) rc = choose_pick(s);
        if (!rc && !s->drawn.n) break; /* distances too small for the unit */
        if (!rc) rc = join(s);
        if (!rc) rc = report(s, (int)step, (int)steps);
    }
    if (!rc && s->count < k) rc = fill(s);
    if (!rc) memcpy(s->f->m->centroids, s->list, (size_t)(k * s->f->dim) * sizeof(float));
    return rc;
}

/* ---- k-means|| ---- */

/* Each row on its own, with probability `more` * its share of the total. */
static int draw_round(struct start *s, int round, double more)
{
    struct fit *f = s->f;
    double per = more * s->unit / (double)s->total;
    s->drawn.n = 0;
    for (int64_t row = 0, ordinal = -1; row < f->rows->count; row++) {
        if (!fit_chosen(f, row)) continue;
        if (f->label[++ordinal] == LABEL_BAD) continue;
        uint64_t number = (uint64_t)(f->o->first_row + row);
        uint64_t hash = fit_hash(f->o->seed, (uint64_t)(DRAW_ROUND + round), number);
        if ((double)(hash >> 11) * 0x1p-53 < per * weight_near(s, ordinal))
            picks_add(&s->drawn, f, 0, (int64_t)number, ordinal);
    }
    int rc = picks_share(&s->drawn, f);
    picks_cut(&s->drawn, s->drawn.n);
    return rc;
}

/* The candidates, each as heavy as the rows nearest to it, become k centroids: k-means++ and
 * Lloyd's rounds on them alone. */
static int reduce(struct start *s)
{
    struct fit *f = s->f;
    int64_t *heavy = mem_alloc((size_t)s->count * sizeof *heavy);
    int32_t *weights = mem_alloc((size_t)s->count * sizeof *weights);
    for (int64_t i = 0; i < f->n; i++)
        if (f->label[i] != LABEL_BAD) heavy[f->label[i]] += fit_weight(f, i);
    int rc = fit_sum(f, heavy, (size_t)s->count);
    for (int64_t i = 0; i < s->count; i++)
        weights[i] = heavy[i] < 1 ? 1 : heavy[i] > INT32_MAX ? INT32_MAX : (int32_t)heavy[i];
    struct tensor matrix = tensor_2d(s->list, F32, s->count, f->dim);
    struct rows rows = rows_of(&matrix);
    struct kmeans_options o = *f->o;
    o.start = KMEANS_PLUSPLUS;
    o.weights = weights;
    o.fit_fraction = 0;
    o.normalize = 0;
    o.first_row = 0;
    o.team = NULL;
    o.progress = NULL;
    double least = INFINITY;
    for (int t = 0; !rc && t < (f->k > TRIALS_UPTO ? 1 : TRIES); t++, o.seed++) {
        struct kmeans m;
        rc = kmeans_fit(&m, f->d, &rows, &o);
        if (!rc && m.inertia < least) {
            least = m.inertia;
            memcpy(f->m->centroids, m.centroids, (size_t)(f->k * f->dim) * sizeof(float));
        }
        kmeans_release(&m);
    }
    free(heavy);
    free(weights);
    return rc;
}

static int start_parallel(struct start *s)
{
    struct fit *f = s->f;
    double more = (f->o->oversampling > 0 ? f->o->oversampling : 2) * (double)f->k;
    int rc = first_candidate(s);
    double psi = log((double)s->total / s->unit);
    int rounds = psi >= ROUNDS ? ROUNDS : psi > 0 ? (int)ceil(psi) : 0;
    for (int round = 1; !rc && round <= rounds && s->total > 0; round++) {
        rc = draw_round(s, round, more);
        if (!rc) rc = join(s);
        if (!rc) rc = report(s, round, rounds);
    }
    if (!rc && s->count < f->k) rc = fill(s);
    if (rc || s->count > f->k) return rc ? rc : reduce(s);
    memcpy(f->m->centroids, s->list, (size_t)(f->k * f->dim) * sizeof(float));
    return 0;
}

static int start_random(struct start *s)
{
    int rc = draw(s, DRAW_RANDOM, s->f->k, weight_plain);
    return rc ? rc : fetch(s, s->f->m->centroids);
}

int fit_start(struct fit *f)
{
    struct start s = {.f = f, .unit = fit_unit(f, 5 * f->longest * f->longest)};
    if (f->o->start == KMEANS_GIVEN) {
        memcpy(f->m->centroids, f->o->centroids, (size_t)(f->k * f->dim) * sizeof(float));
        for (int64_t i = 0; i < f->k * f->dim; i++)
            if (!isfinite(f->o->centroids[i]))
                return err_set(ERR_INPUT, "start centroid %lld has a number that is not finite",
                               (long long)(i / f->dim));
        return 0;
    }
    s.near = f->lower ? f->lower : mem_alloc(mem_mul((size_t)f->n + 1, sizeof *s.near));
    int rc = f->o->start == KMEANS_RANDOM     ? start_random(&s)
             : f->o->start == KMEANS_PLUSPLUS ? start_plusplus(&s)
                                              : start_parallel(&s);
    for (int64_t i = 0; i < f->n; i++)
        if (f->label[i] != LABEL_BAD) f->label[i] = LABEL_NONE;
    if (!f->lower) free(s.near);
    free(s.list);
    free(s.drawn.list);
    return rc;
}
