/* kmeans.c - Lloyd's loop: assign every row, move every centroid to the mean of its rows.
 * Sums are integers (fixed point), so rows may be added and taken away in any order, by any
 * number of threads and ranks, and the centroids come out with the same bits. That also allows
 * keeping the sums from round to round: only rows that change their cluster are touched. */
#include "algo/kmeans_inside.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stop.h"
#include "tensor/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITER = 100, SET_LEAST = 64 };

uint64_t fit_hash(uint64_t seed, uint64_t draw, uint64_t row)
{
    struct rng a = {seed}, b = {rng_u64(&a) + draw};
    struct rng c = {rng_u64(&b) + row};
    return rng_u64(&c);
}

/* ---- going through the rows ---- */

static int is_sampled(const struct fit *f)
{
    return f->o->fit_fraction > 0 && f->o->fit_fraction < 1;
}

int fit_chosen(const struct fit *f, int64_t row)
{
    if (!is_sampled(f)) return 1;
    uint64_t hash = fit_hash(f->o->seed, 0, (uint64_t)(f->o->first_row + row));
    return (double)(hash >> 11) * 0x1p-53 < f->o->fit_fraction;
}

void fit_rewind(struct fit *f)
{
    f->at = f->first = f->next = 0;
}

int fit_next(struct fit *f)
{
    struct block *b = &f->block;
    if (stop_asked()) return err_set(ERR_STOPPED, "stopped by a signal");
    block_reset(b);
    while (f->at < f->rows->count && block_room(b) > 0) {
        int64_t end = f->at;
        while (end < f->rows->count && end - f->at < block_room(b) && fit_chosen(f, end)) end++;
        for (int64_t row = f->at, i = b->x.dim[0]; row < end; row++, i++)
            f->number[i] = f->o->first_row + row;
        if (end > f->at) {
            int rc = block_add(b, f->rows, f->at, end - f->at, f->o->normalize);
            if (rc) return rc;
        }
        f->at = end;
        while (f->at < f->rows->count && !fit_chosen(f, f->at)) f->at++;
    }
    f->first = f->next;
    f->next += b->x.dim[0];
    int rc = block_finish(b);
    return rc ? rc : f->next > f->first;
}

int64_t fit_weight(const struct fit *f, int64_t ordinal)
{
    return f->o->weights ? f->o->weights[ordinal] : 1;
}

int fit_sum(const struct fit *f, int64_t *values, size_t n)
{
    return f->o->team ? f->o->team->sum(f->o->team->state, values, n) : 0;
}

/* ---- picks ---- */

void picks_add(struct picks *p, const struct fit *f, double key, int64_t number, int64_t ordinal)
{
    int64_t rank = f->o->team ? f->o->team->rank : 0;
    vec_push(p->list, p->n, p->cap);
    p->list[p->n++] = (struct pick){key, number, rank, ordinal};
}

static int by_key(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void picks_cut(struct picks *p, int64_t most)
{
    if (p->n) qsort(p->list, (size_t)p->n, sizeof *p->list, by_key);
    if (p->n > most) p->n = most;
}

/* Each rank writes its own into its own place of a sum: bits plus zeros, no carry. */
int picks_share(struct picks *p, const struct fit *f)
{
    const struct kmeans_team *t = f->o->team;
    if (!t) return 0;
    int64_t *counts = mem_alloc((size_t)t->ranks * sizeof *counts), all = 0, at = 0;
    counts[t->rank] = p->n;
    int rc = fit_sum(f, counts, (size_t)t->ranks);
    for (int i = 0; i < t->ranks; i++) {
        if (i < t->rank) at += counts[i];
        all += counts[i];
    }
    free(counts);
    if (rc) return rc;
    struct pick *shared = mem_alloc(mem_mul((size_t)all + 1, sizeof *shared));
    if (p->n) memcpy(shared + at, p->list, (size_t)p->n * sizeof *shared);
    rc = fit_sum(f, (int64_t *)shared, (size_t)all * (sizeof *shared / sizeof(int64_t)));
    free(p->list);
    *p = (struct picks){shared, all, all + 1};
    return rc;
}

/* ---- fixed point ---- */

static int bits_of(double x) /* the least b with x <= 2^b */
{
    int e;
    return x <= 0 ? 0 : frexp(x, &e) == 0.5 ? e - 1 : e;
}

double fit_unit(const struct fit *f, double largest)
{
    int all = 61 - bits_of((double)f->weight), one = 50 - bits_of((double)f->heaviest);
    return ldexp(1, (all < one ? all : one) - bits_of(largest));
}

/* ---- what is known before the first round ---- */

static int64_t count_rows(const struct fit *f)
{
    int64_t n = 0;
    if (!is_sampled(f)) return f->rows->count;
    for (int64_t i = 0; i < f->rows->count; i++) n += fit_chosen(f, i);
    return n;
}

/* One pass: which rows are bad, how long the longest is. */
static int survey_rows(struct fit *f, int64_t *longest)
{
    int rc;
    fit_rewind(f);
    while ((rc = fit_next(f)) > 0)
        for (int64_t i = f->first; i < f->next; i++) {
            float norm = f->block.norm[i - f->first], own = f->o->normalize ? 1 : norm;
            enum row_state s = row_state(norm, f->o->normalize);
            f->label[i] = s == ROW_GOOD ? LABEL_NONE : LABEL_BAD;
            f->m->zero += s == ROW_ZERO;
            f->m->not_finite += s == ROW_NOT_FINITE;
            if (s != ROW_GOOD) continue;
            f->m->rows++;
            f->weight += fit_weight(f, i);
            int64_t w = fit_weight(f, i), e = bits_of(own) + 1100; /* > 0: ranks can compare */
            f->heaviest = w > f->heaviest ? w : f->heaviest;
            *longest = e > *longest ? e : *longest;
        }
    return rc;
}

/* The greatest of all ranks: each writes into its own place. */
static int team_most(const struct fit *f, int64_t *value)
{
    const struct kmeans_team *t = f->o->team;
    if (!t) return 0;
    int64_t *all = mem_alloc((size_t)t->ranks * sizeof *all);
    all[t->rank] = *value;
    int rc = fit_sum(f, all, (size_t)t->ranks);
    for (int i = 0; i < t->ranks; i++) *value = all[i] > *value ? all[i] : *value;
    free(all);
    return rc;
}

static int survey(struct fit *f)
{
    int64_t longest = 0, sums[4];
    int rc = survey_rows(f, &longest);
    if (rc) return rc;
    sums[0] = f->m->rows, sums[1] = f->m->zero, sums[2] = f->m->not_finite, sums[3] = f->weight;
    rc = fit_sum(f, sums, 4);
    if (!rc) rc = team_most(f, &longest);
    if (!rc) rc = team_most(f, &f->heaviest);
    f->m->rows = sums[0], f->m->zero = sums[1], f->m->not_finite = sums[2], f->weight = sums[3];
    f->longest = ldexp(1, (int)longest - 1100);
    f->scale = fit_unit(f, 2 * f->longest); /* a unit vector may come out as 1.0000001 */
    return rc;
}

static int check_options(const struct fit *f)
{
    const struct kmeans_options *o = f->o;
    if (f->dim < 1) return err_set(ERR_USAGE, "rows without numbers cannot be clustered");
    if (o->clusters < 1 || o->clusters > INT32_MAX / 2)
        return err_set(ERR_USAGE, "%lld clusters: ask for at least 1", (long long)o->clusters);
    if (!(o->fit_fraction >= 0 && o->fit_fraction <= 1))
        return err_set(ERR_USAGE, "a fit fraction of %g: it is a share of the rows, above 0 to 1",
                       o->fit_fraction);
    if (!(o->tol >= 0)) return err_set(ERR_USAGE, "a tolerance of %g: 0 or more", o->tol);
    if (!(o->oversampling >= 0))
        return err_set(ERR_USAGE, "an oversampling factor of %g: more than 0", o->oversampling);
    return 0;
}

static int check_rows(const struct fit *f)
{
    const struct kmeans *m = f->m;
    if (m->rows == 0)
        return err_set(ERR_USAGE, "no rows to cluster: %lld are zero, %lld are not finite",
                       (long long)m->zero, (long long)m->not_finite);
    if (f->k <= m->rows) return 0;
    return err_set(
        ERR_USAGE, "%lld clusters are more than the %lld rows%s: ask for %lld or fewer, say %lld",
        (long long)f->k, (long long)m->rows, is_sampled(f) ? " that the fit fraction leaves" : "",
        (long long)m->rows, (long long)kmeans_clusters(m->rows));
}

int64_t kmeans_clusters(int64_t n)
{
    int64_t k = (int64_t)ceil(sqrt((double)(n > 0 ? n : 0)) / 5);
    return k < 1 ? 1 : k;
}

/* ---- sets of centroids ---- */

void set_release(struct set *s, struct device *d)
{
    op_free(d, s->packed);
    op_free(d, s->half);
    free(s->ids);
    free(s->has);
    *s = (struct set){0};
}

static float half_square(const float *c, int64_t dim)
{
    double sum = 0;
    for (int64_t i = 0; i < dim; i++) sum += (double)c[i] * c[i];
    return (float)(sum / 2);
}

int set_fill(struct set *s, struct fit *f, const float *centroids, const int32_t *ids, int64_t n)
{
    size_t row = (size_t)f->dim * sizeof(float);
    float *some = NULL, *half = mem_alloc(mem_mul((size_t)n, sizeof *half));
    if (ids) {
        some = mem_aligned(mem_mul((size_t)n, row));
        for (int64_t i = 0; i < n; i++) memcpy(some + i * f->dim, centroids + ids[i] * f->dim, row);
    }
    struct tensor c = tensor_2d(some ? some : (float *)centroids, F32, n, f->dim);
    for (int64_t i = 0; i < n; i++) half[i] = half_square((float *)c.data + i * f->dim, f->dim);
    size_t bytes = op_pack_bytes(f->d, n, f->dim, F32);
    int rc = 0;
    if (!s->packed) rc = op_alloc(f->d, &s->packed, bytes);
    if (!rc && !s->half) rc = op_alloc(f->d, &s->half, (size_t)n * sizeof *half);
    if (!rc) rc = op_pack(f->d, s->packed, &c);
    if (!rc) rc = op_put(f->d, s->half, half, (size_t)n * sizeof *half);
    s->n = n;
    free(half);
    free(some);
    return rc;
}

struct moved {
    double drift;
    int32_t id;
};

static int by_drift(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;
    if (x->drift != y->drift) return x->drift > y->drift ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static int by_id(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The n centroids that moved farthest. */
static int set_choose(struct set *s, struct fit *f, const struct moved *order, int64_t n)
{
    if (!s->ids) s->ids = mem_alloc((size_t)n * sizeof *s->ids);
    if (!s->has) s->has = mem_alloc((size_t)f->k);
    memset(s->has, 0, (size_t)f->k);
    for (int64_t i = 0; i < n; i++) {
        s->ids[i] = order[i].id;
        s->has[order[i].id] = 1;
    }
    qsort(s->ids, (size_t)n, sizeof *s->ids, by_id);
    s->rest = order[n].drift;
    return set_fill(s, f, f->m->centroids, s->ids, n);
}

/* Sets of 0, k/2^i, ..., k/2 and all centroids. */
static int sets_fill(struct fit *f, int bounded)
{
    int rc = 0;
    f->sets = 0;
    if (bounded) {
        struct moved *order = mem_alloc((size_t)f->k * sizeof *order);
        for (int64_t i = 0; i < f->k; i++) order[i] = (struct moved){f->drift[i], (int32_t)i};
        qsort(order, (size_t)f->k, sizeof *order, by_drift);
        f->set[f->sets++].rest = order[0].drift;
        int shift = 1;
        while (f->k >> (shift + 1) >= SET_LEAST && shift < SETS - 3) shift++;
        for (; !rc && shift > 0 && f->k >> shift >= SET_LEAST; shift--)
            rc = set_choose(&f->set[f->sets++], f, order, f->k >> shift);
        free(order);
    }
    struct set *all = &f->set[SETS - 1];
    if (!rc) rc = set_fill(all, f, f->m->centroids, NULL, f->k);
    size_t bytes = (size_t)(f->k * f->dim) * sizeof(float);
    return rc ? rc : op_put(f->d, f->centroids, f->m->centroids, bytes);
}

/* ---- the loop ---- */

/* Centroids from the sums of all ranks; one without rows stays where it is. */
static double move_centroids(struct fit *f)
{
    double moved = 0;
    const int64_t *counts = f->total + f->k * f->dim;
    f->reach = 0;
    memcpy(f->old, f->m->centroids, (size_t)(f->k * f->dim) * sizeof *f->old);
    for (int64_t j = 0; j < f->k; j++) {
        float *c = f->m->centroids + j * f->dim;
        double by = f->scale * (double)counts[j], square = 0, length = 0;
        for (int64_t i = 0; i < f->dim; i++) {
            if (counts[j] > 0) c[i] = (float)((double)f->total[j * f->dim + i] / by);
            double step = (double)c[i] - f->old[j * f->dim + i];
            square += step * step;
            length += (double)c[i] * c[i];
        }
        f->m->sizes[j] = counts[j];
        f->drift[j] = sqrt(square) * (1 + 1e-9);
        f->reach = fmax(f->reach, sqrt(length) * (1 + 1e-9));
        moved += square;
    }
    return moved;
}

static int sum_ranks(struct fit *f)
{
    size_t n = (size_t)(f->k * f->dim + f->k);
    int rc = op_get(f->d, f->total, f->sums, n * sizeof *f->total);
    return rc ? rc : fit_sum(f, f->total, n);
}

/* Empty clusters get rows; then the sums are those of the new clusters. */
static int fill_empty(struct fit *f)
{
    int64_t moved = 0;
    int rc = f->o->keep_empty ? 0 : far_fill(f, &moved);
    if (rc || !moved) return rc;
    f->changed += moved;
    return sum_ranks(f);
}

static int one_round(struct fit *f, double *moved)
{
    double span = f->longest + f->reach;
    int64_t more[2];
    f->unit = fit_unit(f, 4 * span * span);
    int rc = sets_fill(f, f->lower && f->m->iterations > 0);
    if (!rc) rc = fit_assign(f);
    more[0] = f->inertia, more[1] = f->changed;
    if (!rc) rc = fit_sum(f, more, 2);
    f->inertia = more[0], f->changed = more[1];
    if (!rc) rc = sum_ranks(f);
    if (!rc) rc = fill_empty(f);
    if (rc) return rc;
    *moved = move_centroids(f);
    f->m->inertia = (double)f->inertia / f->unit;
    f->m->iterations++;
    return 0;
}

static int report(const struct fit *f, double moved, int rounds)
{
    if (!f->o->progress) return 0;
    struct kmeans_step s = {.phase = "fit",
                            .round = f->m->iterations,
                            .rounds = rounds,
                            .changed = f->changed,
                            .inertia = f->m->inertia,
                            .moved = moved,
                            .work = f->n ? (double)f->computed / ((double)f->n * (double)f->k) : 0,
                            .centroids = f->m->centroids};
    return f->o->progress(f->o->state, &s);
}

/* The mean over dimensions of the variance: what scikit-learn multiplies its tolerance with. From
 * the first round: sum |x|^2 = inertia + sum over clusters of (2 sums - count c) c, where c are
 * the centroids that the inertia was measured from. */
static double rows_variance(const struct fit *f)
{
    double n = (double)f->weight, mean_square = 0, square = 0;
    for (int64_t i = 0; i < f->dim; i++) {
        double sum = 0;
        for (int64_t j = 0; j < f->k; j++) sum += (double)f->total[j * f->dim + i] / f->scale;
        mean_square += sum / n * (sum / n);
    }
    for (int64_t j = 0; j < f->k; j++)
        for (int64_t i = 0; i < f->dim; i++) {
            double sum = (double)f->total[j * f->dim + i] / f->scale;
            double count = (double)f->total[f->k * f->dim + j], c = f->old[j * f->dim + i];
            square += 2 * sum * c - count * c * c;
        }
    double v = ((f->m->inertia + square) / n - mean_square) / (double)f->dim;
    return v > 0 ? v : 0;
}

static int is_done(struct fit *f, double moved)
{
    if (f->m->iterations == 1 && f->o->stop == KMEANS_SKLEARN) f->variance = rows_variance(f);
    if (f->o->stop == KMEANS_SKLEARN) return moved <= f->o->tol * f->variance;
    return f->changed == 0 || moved < f->o->tol;
}

static int run(struct fit *f)
{
    int rounds = f->o->max_iter > 0 ? f->o->max_iter : MAX_ITER;
    size_t sums = mem_mul((size_t)f->k, (size_t)(f->dim + 1) * sizeof *f->total);
    int rc = op_alloc(f->d, &f->sums, sums);
    if (!rc) rc = op_zero(f->d, f->sums, sums);
    for (int64_t j = 0; j < f->k; j++)
        f->reach = fmax(f->reach, sqrt(2 * half_square(f->m->centroids + j * f->dim, f->dim)));
    f->reach *= 1 + 1e-6;
    while (!rc && !f->m->converged && f->m->iterations < rounds) {
        double moved;
        rc = one_round(f, &moved);
        if (!rc) f->m->converged = is_done(f, moved);
        if (!rc) rc = report(f, moved, rounds);
    }
    return rc;
}

static int fit_open(struct fit *f)
{
    size_t cells = mem_mul((size_t)f->k, (size_t)f->dim);
    f->m->clusters = f->k;
    f->m->dim = f->dim;
    f->m->centroids = mem_aligned(mem_mul(cells + 1, sizeof(float)));
    f->m->sizes = mem_alloc((size_t)f->k * sizeof *f->m->sizes);
    f->old = mem_aligned(mem_mul(cells + 1, sizeof(float)));
    f->drift = mem_alloc((size_t)f->k * sizeof *f->drift);
    f->total = mem_aligned(mem_mul(cells + (size_t)f->k, sizeof *f->total));
    f->n = count_rows(f);
    f->label = mem_aligned(mem_mul((size_t)f->n + 1, sizeof *f->label));
    if (!f->o->no_bounds) f->lower = mem_aligned(mem_mul((size_t)f->n + 1, sizeof *f->lower));
    int64_t most = f->o->block_rows > 0 ? f->o->block_rows : block_size(f->dim);
    most = most < f->n ? most : f->n > 0 ? f->n : 1;
    f->number = mem_alloc((size_t)most * sizeof *f->number);
    int rc = block_init(&f->block, f->d, most, f->dim);
    if (!rc) rc = op_alloc(f->d, &f->centroids, mem_mul(cells + 1, sizeof(float)));
    return rc ? rc : work_open(f);
}

static void fit_close(struct fit *f)
{
    work_close(f);
    block_release(&f->block);
    for (int i = 0; i < SETS; i++) set_release(&f->set[i], f->d);
    op_free(f->d, f->centroids);
    op_free(f->d, f->sums);
    free(f->far.list);
    free(f->number);
    free(f->label);
    free(f->lower);
    free(f->old);
    free(f->drift);
    free(f->total);
}

int kmeans_fit(struct kmeans *out, struct device *d, struct rows *rows,
               const struct kmeans_options *o)
{
    struct fit f = {.d = d, .rows = rows, .o = o, .m = out, .k = o->clusters, .dim = rows->dim};
    *out = (struct kmeans){0};
    int rc = check_options(&f);
    if (rc) return rc;
    rc = fit_open(&f);
    if (!rc) rc = survey(&f);
    if (!rc) rc = check_rows(&f);
    if (!rc) rc = fit_start(&f);
    if (!rc) rc = run(&f);
    fit_close(&f);
    return rc;
}

void kmeans_release(struct kmeans *m)
{
    free(m->centroids);
    free(m->sizes);
    *m = (struct kmeans){0};
}
