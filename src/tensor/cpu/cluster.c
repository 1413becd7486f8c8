/* cluster.c - the rows nearest, distance, sum_by and pair_max.
 * nearest and pair_max are a matrix product of which only the best of each row is kept: a strip
 * of rows stays in L2 while all panels of the other side pass, and each finished tile is folded
 * into the running best of its rows while it is in L1. The product itself is never stored. */
#include "tensor/cpu/gemm.h"

#include <math.h>
#include <string.h>

struct cluster_job {
    struct cpu *cpu;
    const void *args;
    const struct tensor *x;
    const float *panels; /* of the other side */
    int64_t strip, strips;
};

/* What the sink of a strip needs. */
struct strip {
    const struct cluster_job *job;
    struct best *best;
    const float *less;
    int64_t before; /* row r may look at columns below before + r; nearest: at all */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Rows [first, first+n) as f32: in place, or a copy where they are f16 or lie badly. */
static const float *strip_rows(const struct cluster_job *j, int worker, int64_t first, int64_t n,
                               int64_t *ld)
{
    const struct tensor *x = j->x;
    int64_t dim = tensor_cols(x), at = first * x->ld;
    *ld = x->ld;
    if (x->type == F32 && !rows_collide(x->ld)) return (const float *)x->data + at;
    *ld = tensor_pitch(dim);
    float *copy = scratch_get(j->cpu->worker[worker], SCRATCH_A, (size_t)(n * *ld) * sizeof *copy);
    for (int64_t r = 0; r < n; r++, at += x->ld)
        if (x->type == F32)
            memcpy(copy + r * *ld, (const float *)x->data + at, (size_t)dim * sizeof *copy);
        else
            j->cpu->k->widen(copy + r * *ld, (const uint16_t *)x->data + at, dim);
    return copy;
}

static void strip_sink(void *arg, const float *tile, int64_t row, int64_t col, int rows, int cols)
{
    const struct strip *s = arg;
    const struct kernels *k = s->job->cpu->k;
    if (s->before + row >= col + cols) {
        k->best(s->best + row, tile, s->less, col, rows, cols);
        return;
    }
    for (int r = 0; r < rows; r++) {
        int64_t seen = least(s->before + row + r - col, cols);
        if (seen > 0) k->best(s->best + row + r, tile + r * PANEL, s->less, col, 1, (int)seen);
    }
}

/* The best of every row of a strip against the first n columns. */
static struct best *strip_run(const struct cluster_job *j, struct strip *s, int worker,
                              int64_t first, int64_t rows, int64_t n)
{
    struct gemm g = {.m = rows, .n = n, .k = tensor_cols(j->x), .b = j->panels};
    g.a = strip_rows(j, worker, first, rows, &g.lda);
    s->job = j;
    s->best = scratch_get(j->cpu->worker[worker], SCRATCH_Q, (size_t)rows * sizeof *s->best);
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < 16; i++)
            s->best[r].value[i] = s->best[r].next[i] = -INFINITY, s->best[r].chunk[i] = -1;
    g.sink = strip_sink;
    g.arg = s;
    gemm_strip(j->cpu, &g, worker);
    return s->best;
}

/* The lanes of one row together: the best value, its lowest column (-1: none), the second best. */
static int64_t best_column(const struct best *b, float *value, float *next)
{
    int64_t column = -1;
    *value = *next = -INFINITY;
    for (int i = 0; i < 16; i++) {
        int64_t c = b->chunk[i] < 0 ? -1 : (int64_t)b->chunk[i] * 16 + i;
        *next = fmaxf(*next, b->next[i]);
        if (c < 0) continue;
        if (b->value[i] > *value || column < 0) {
            *next = fmaxf(*next, *value);
            *value = b->value[i];
            column = c;
        } else {
            *next = fmaxf(*next, b->value[i]);
            if (b->value[i] == *value && c < column) column = c;
        }
    }
    return column;
}

/* A job over the rows of x; the other side is packed unless it comes so. */
static struct cluster_job job_of(struct device *d, const void *args, const struct tensor *x,
                                 const struct tensor *other, int packed)
{
    struct cluster_job j = {.cpu = d->state, .args = args, .x = x, .panels = other->data};
    if (!packed) {
        size_t bytes = gemm_pack_bytes(other->dim[0], other->dim[1]);
        float *panels = scratch_get(j.cpu->shared, SCRATCH_B, bytes);
        gemm_pack_rows(j.cpu, panels, other);
        j.panels = panels;
    }
    /* as many strips for every worker, of whole tiles */
    int64_t rows = tensor_rows(x), workers = pool_size(j.cpu->pool), tile = j.cpu->k->tile_rows;
    int64_t turns = ceil_div(rows, gemm_strip_rows(j.cpu, tensor_cols(x)) * workers);
    j.strip = turns ? ceil_div(ceil_div(rows, turns * workers), tile) * tile : 1;
    j.strips = ceil_div(rows, j.strip);
    return j;
}

static void nearest_strip(void *arg, size_t index, int worker)
{
    const struct cluster_job *j = arg;
    const struct nearest *a = j->args;
    int64_t first = (int64_t)index * j->strip, k = a->c.dim[0];
    int64_t rows = least(tensor_rows(j->x) - first, j->strip);
    struct strip s = {.less = a->half.data, .before = k + j->strip};
    const struct best *best = strip_run(j, &s, worker, first, rows, k);
    int32_t *to = a->index.data;
    float *value = a->best.data, *next = a->next.data, v, n;
    for (int64_t r = 0; r < rows; r++) {
        to[first + r] = (int32_t)best_column(best + r, &v, &n);
        if (value) value[first + r] = v;
        if (next) next[first + r] = n;
    }
}

int cpu_nearest(struct device *d, const struct nearest *a)
{
    struct cluster_job j = job_of(d, a, &a->x, &a->c, a->packed);
    pool_for(j.cpu->pool, (size_t)j.strips, nearest_strip, &j);
    return 0;
}

/* Later strips look at more columns: they go first, so that threads end together. */
static void pair_strip(void *arg, size_t index, int worker)
{
    const struct cluster_job *j = arg;
    const struct pair_max *a = j->args;
    int64_t first = (j->strips - 1 - (int64_t)index) * j->strip;
    int64_t rows = least(tensor_rows(j->x) - first, j->strip);
    struct strip s = {.before = a->x_first + first - a->e_first};
    int64_t n = least(a->e.dim[0], s.before + rows - 1);
    if (n <= 0) return;
    const struct best *best = strip_run(j, &s, worker, first, rows, n);
    float *score = (float *)a->score.data + first, v, next;
    int32_t *to = (int32_t *)a->index.data + first;
    for (int64_t r = 0; r < rows; r++) {
        int64_t c = best_column(best + r, &v, &next);
        if (c < 0 || !(v > score[r])) continue;
        score[r] = v;
        to[r] = (int32_t)(a->e_first + c);
    }
}

int cpu_pair_max(struct device *d, const struct pair_max *a)
{
    struct cluster_job j = job_of(d, a, &a->x, &a->e, a->packed);
    pool_for(j.cpu->pool, (size_t)j.strips, pair_strip, &j);
    return 0;
}

enum { ROWS_ONCE = 64, SLICE = 128 };

static void distance_rows(void *arg, size_t index, int worker)
{
    const struct cluster_job *j = arg;
    const struct distance *a = j->args;
    int64_t n = tensor_cols(&a->x), first = (int64_t)index * ROWS_ONCE;
    int64_t end = least(first + ROWS_ONCE, tensor_rows(&a->x));
    float *square = a->square.data, *dot = a->dot.data;
    const int32_t *to = a->index.data;
    (void)worker;
    for (int64_t r = first; r < end; r++) {
        double s = NAN, p = NAN;
        if (to[r] >= 0)
            j->cpu->k->distance(&s, &p, (const float *)a->x.data + r * a->x.ld,
                                (const float *)a->c.data + to[r] * a->c.ld, n);
        if (square) square[r] = (float)s;
        if (dot) dot[r] = (float)p;
    }
}

int cpu_distance(struct device *d, const struct distance *a)
{
    struct cluster_job j = {.cpu = d->state, .args = a};
    pool_for(j.cpu->pool, (size_t)ceil_div(tensor_rows(&a->x), ROWS_ONCE), distance_rows, &j);
    return 0;
}

/* Workers never meet: a unit owns a slice of the columns of every parts-th cluster. */
struct sum_job {
    struct cpu *cpu;
    const struct sum_by *a;
    int64_t slices, parts;
};

static void sum_unit(void *arg, size_t index, int worker)
{
    const struct sum_job *j = arg;
    const struct sum_by *a = j->a;
    int64_t slice = (int64_t)index % j->slices * SLICE, part = (int64_t)index / j->slices;
    int64_t rows = tensor_rows(&a->x), wide = least(tensor_cols(&a->x) - slice, SLICE);
    const int32_t *to = a->to.data, *from = a->from.data, *w = a->w.data;
    int64_t *sums = (int64_t *)a->sums.data + slice, *counts = a->counts.data;
    (void)worker;
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)a->x.data + r * a->x.ld + slice;
        int64_t minus = from ? from[r] : -1, weight = w ? w[r] : 1, ends[] = {to[r], minus};
        if (to[r] == minus) continue;
        for (int e = 0; e < 2; e++, weight = -weight) {
            if (ends[e] < 0 || ends[e] % j->parts != part) continue;
            j->cpu->k->add_fixed(sums + ends[e] * a->sums.ld, x, wide, a->scale * (double)weight);
            if (!slice) counts[ends[e]] += weight;
        }
    }
}

int cpu_sum_by(struct device *d, const struct sum_by *a)
{
    struct sum_job j = {.cpu = d->state, .a = a};
    int64_t workers = pool_size(j.cpu->pool);
    j.slices = ceil_div(tensor_cols(&a->x), SLICE);
    j.parts = j.slices ? ceil_div(workers, j.slices) : 0;
    pool_for(j.cpu->pool, (size_t)(j.slices * j.parts), sum_unit, &j);
    return 0;
}
