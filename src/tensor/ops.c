/* ops.c - shapes, dtypes, timing, dispatch. Backends check nothing because this does. */
#include "tensor/ops.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum row {
    ROW_PACK,
    ROW_LINEAR,
    ROW_LINEAR_BWD,
    ROW_ATTENTION,
    ROW_ATTENTION_BWD,
    ROW_LAYERNORM,
    ROW_LAYERNORM_BWD,
    ROW_PATCHIFY,
    ROW_EMBED,
    ROW_EMBED_BWD,
    ROW_L2NORM,
    ROW_ADD,
    ROW_XENT,
    ROW_ADAMW,
    ROW_NEAREST,
    ROW_DISTANCE,
    ROW_SUM_BY,
    ROW_PAIR_MAX,
    ROW_COUNT
};

static const char *const row_name[] = {
    "pack",          "linear",   "linear_bwd", "attention", "attention_bwd", "layernorm",
    "layernorm_bwd", "patchify", "embed",      "embed_bwd", "l2norm",        "add",
    "xent",          "adamw",    "nearest",    "distance",  "sum_by",        "pair_max"};

struct profile {
    struct profile *parent;
    int cpu;              /* count CPU time of the calling thread, not wall time */
    pthread_mutex_t lock; /* lanes hand their times in */
    struct {
        long calls;
        double seconds, flop;
    } row[ROW_COUNT];
};

struct profile *profile_new(struct profile *parent)
{
    const char *ask = getenv("DARKROOM_PROFILE");
    if (!ask || !*ask || *ask == '0') return NULL;
    struct profile *p = mem_alloc(sizeof *p);
    p->parent = parent;
    p->cpu = !strcmp(ask, "cpu");
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

static void profile_log(const struct profile *p)
{
    double all = 0;
    for (int i = 0; i < ROW_COUNT; i++) all += p->row[i].seconds;
    log_info("%-14s %9s %10s %6s %9s", "row", "calls", "seconds", "%", "GFLOP/s");
    for (int i = 0; i < ROW_COUNT; i++)
        if (p->row[i].calls)
            log_info("%-14s %9ld %10.4f %6.2f %9.1f", row_name[i], p->row[i].calls,
                     p->row[i].seconds, 100 * p->row[i].seconds / all,
                     p->row[i].flop / p->row[i].seconds / 1e9);
}

void profile_free(struct profile *p)
{
    if (!p) return;
    if (p->parent) {
        pthread_mutex_lock(&p->parent->lock);
        for (int i = 0; i < ROW_COUNT; i++) {
            p->parent->row[i].calls += p->row[i].calls;
            p->parent->row[i].seconds += p->row[i].seconds;
            p->parent->row[i].flop += p->row[i].flop;
        }
        pthread_mutex_unlock(&p->parent->lock);
    } else {
        profile_log(p);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static double row_clock(const struct profile *p)
{
    return p->cpu ? clock_cpu() : clock_now();
}

static double row_begin(const struct device *d)
{
    return d->profile ? row_clock(d->profile) : 0;
}

static int row_end(struct device *d, enum row row, double since, double flop, int rc)
{
    if (!d->profile) return rc;
    if (!rc) rc = d->ops->sync(d);
    d->profile->row[row].calls++;
    d->profile->row[row].seconds += row_clock(d->profile) - since;
    d->profile->row[row].flop += flop;
    return rc;
}

static int given(const struct tensor *t)
{
    return t->data != NULL;
}

/* An f32 matrix (any rank, seen as rows of the last dimension), or not given. */
static int is_matrix(const struct tensor *t, int64_t rows, int64_t cols)
{
    return !given(t) || (tensor_rows(t) == rows && tensor_cols(t) == cols && t->ld >= cols);
}

static int is_vector(const struct tensor *t, int64_t n)
{
    return !given(t) || tensor_count(t) == n;
}

static int only_f32(const char *row, const struct tensor *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (given(list[i]) && list[i]->type != F32)
            return err_set(ERR_USAGE, "%s takes f32 on this device, not %s", row,
                           dtype_name(list[i]->type));
    return 0;
}

#define ONLY_F32(row, ...)                                                   \
    do {                                                                     \
        const struct tensor *const list_[] = {__VA_ARGS__};                  \
        int rc_ = only_f32(row, list_, (int)(sizeof list_ / sizeof *list_)); \
        if (rc_) return rc_;                                                 \
    } while (0)

int op_alloc(struct device *d, void **p, size_t bytes)
{
    return d->ops->alloc(d, p, bytes);
}

void op_free(struct device *d, void *p)
{
    if (p) d->ops->free(d, p);
}

int op_put(struct device *d, void *dst, const void *src, size_t bytes)
{
    return d->ops->put(d, dst, src, bytes);
}

int op_get(struct device *d, void *dst, const void *src, size_t bytes)
{
    return d->ops->get(d, dst, src, bytes);
}

int op_zero(struct device *d, void *p, size_t bytes)
{
    return d->ops->zero(d, p, bytes);
}

int op_sync(struct device *d)
{
    return d->ops->sync(d);
}

size_t op_pack_bytes(struct device *d, int64_t n, int64_t k, enum dtype type)
{
    return d->ops->pack_bytes(d, n, k, type);
}

int op_pack(struct device *d, void *packed, const struct tensor *w)
{
    assert(w->rank == 2 && given(w) && w->ld >= w->dim[1]);
    if (w->type != F32 && w->type != F16 && w->type != BF16)
        return err_set(ERR_USAGE, "a weight of %s cannot be packed", dtype_name(w->type));
    double t = row_begin(d);
    return row_end(d, ROW_PACK, t, 0, d->ops->pack(d, packed, w));
}

int op_linear(struct device *d, const struct linear *a)
{
    int64_t m = tensor_rows(&a->x), k = tensor_cols(&a->x), n = a->w.dim[0];
    assert(given(&a->x) && given(&a->y) && given(&a->w));
    assert(a->w.rank == 2 && a->w.dim[1] == k);
    assert(is_matrix(&a->x, m, k) && is_matrix(&a->y, m, n) && is_vector(&a->bias, n));
    assert(is_matrix(&a->residual, m, n) && is_matrix(&a->pre, m, n));
    ONLY_F32("linear", &a->y, &a->x, &a->bias, &a->residual, &a->pre);
    if (!a->packed) ONLY_F32("linear with plain weights", &a->w);
    double t = row_begin(d), flop = 2.0 * (double)m * (double)n * (double)k;
    return row_end(d, ROW_LINEAR, t, flop, d->ops->linear(d, a));
}

int op_linear_bwd(struct device *d, const struct linear_bwd *a)
{
    int64_t m = tensor_rows(&a->dy), n = tensor_cols(&a->dy);
    int64_t k = given(&a->x) ? tensor_cols(&a->x) : a->w.dim[1];
    int products = given(&a->dx) + given(&a->dw);
    assert(given(&a->dy) && (given(&a->pre) || a->act == ACT_NONE));
    assert(!given(&a->dx) || given(&a->w));
    assert(!given(&a->dw) || given(&a->x));
    assert(is_matrix(&a->dx, m, k) && is_matrix(&a->dw, n, k) && is_vector(&a->dbias, n));
    assert(is_matrix(&a->x, m, k) && is_matrix(&a->w, n, k) && is_matrix(&a->pre, m, n));
    ONLY_F32("linear_bwd", &a->dx, &a->dw, &a->dbias, &a->dy, &a->x, &a->w, &a->pre);
    double t = row_begin(d), flop = 2.0 * products * (double)m * (double)n * (double)k;
    return row_end(d, ROW_LINEAR_BWD, t, flop, d->ops->linear_bwd(d, a));
}

/* Multiply-adds of one pass of q k^T over all sequences; also checks the row lists. */
static double attention_work(const int32_t *q_at, const int32_t *k_at, int count, int64_t q_rows,
                             int64_t k_rows, int64_t width)
{
    double sum = 0;
    assert(count >= 0 && q_at[count] <= q_rows && k_at[count] <= k_rows);
    for (int i = 0; i < count; i++) {
        assert(q_at[i] >= 0 && q_at[i] <= q_at[i + 1] && k_at[i] >= 0 && k_at[i] <= k_at[i + 1]);
        sum += (double)(q_at[i + 1] - q_at[i]) * (double)(k_at[i + 1] - k_at[i]);
    }
    return sum * (double)width;
}

int op_attention(struct device *d, const struct attention *a)
{
    int64_t tq = tensor_rows(&a->q), tk = tensor_rows(&a->k), width = tensor_cols(&a->q);
    assert(given(&a->out) && given(&a->q) && given(&a->k) && given(&a->v));
    assert(a->heads > 0 && width % a->heads == 0);
    assert(is_matrix(&a->q, tq, width) && is_matrix(&a->out, tq, width));
    assert(is_matrix(&a->k, tk, width) && is_matrix(&a->v, tk, width));
    assert(is_matrix(&a->lse, a->heads, tq));
    ONLY_F32("attention", &a->out, &a->q, &a->k, &a->v, &a->bias, &a->lse);
    double work = attention_work(a->q_at, a->k_at, a->count, tq, tk, width);
    double t = row_begin(d);
    return row_end(d, ROW_ATTENTION, t, 4 * work, d->ops->attention(d, a));
}

int op_attention_bwd(struct device *d, const struct attention_bwd *a)
{
    int64_t tq = tensor_rows(&a->q), tk = tensor_rows(&a->k), width = tensor_cols(&a->q);
    assert(given(&a->dout) && given(&a->out) && given(&a->lse));
    assert(given(&a->q) && given(&a->k) && given(&a->v));
    assert(a->heads > 0 && width % a->heads == 0 && is_matrix(&a->lse, a->heads, tq));
    assert(is_matrix(&a->q, tq, width) && is_matrix(&a->out, tq, width));
    assert(is_matrix(&a->dq, tq, width) && is_matrix(&a->dout, tq, width));
    assert(is_matrix(&a->k, tk, width) && is_matrix(&a->v, tk, width));
    assert(is_matrix(&a->dk, tk, width) && is_matrix(&a->dv, tk, width));
    ONLY_F32("attention_bwd", &a->dq, &a->dk, &a->dv, &a->dout, &a->out, &a->q, &a->k, &a->v,
             &a->lse);
    double work = attention_work(a->q_at, a->k_at, a->count, tq, tk, width);
    double t = row_begin(d);
    return row_end(d, ROW_ATTENTION_BWD, t, 10 * work, d->ops->attention_bwd(d, a));
}

int op_layernorm(struct device *d, const struct layernorm *a)
{
    int64_t rows = tensor_rows(&a->x), n = tensor_cols(&a->x);
    assert(given(&a->x) && given(&a->y) && given(&a->gain));
    assert(is_matrix(&a->x, rows, n) && is_matrix(&a->y, rows, n));
    assert(is_vector(&a->gain, n) && is_vector(&a->bias, n));
    assert(is_vector(&a->mean, rows) && is_vector(&a->rstd, rows));
    ONLY_F32("layernorm", &a->y, &a->x, &a->gain, &a->bias, &a->mean, &a->rstd);
    double t = row_begin(d), flop = 8.0 * (double)rows * (double)n;
    return row_end(d, ROW_LAYERNORM, t, flop, d->ops->layernorm(d, a));
}

int op_layernorm_bwd(struct device *d, const struct layernorm_bwd *a)
{
    int64_t rows = tensor_rows(&a->x), n = tensor_cols(&a->x);
    assert(given(&a->dy) && given(&a->x) && given(&a->gain));
    assert(given(&a->mean) && given(&a->rstd));
    assert(is_matrix(&a->dx, rows, n) && is_matrix(&a->dy, rows, n) && is_matrix(&a->x, rows, n));
    assert(is_vector(&a->gain, n) && is_vector(&a->dgain, n) && is_vector(&a->dbias, n));
    assert(is_vector(&a->mean, rows) && is_vector(&a->rstd, rows));
    ONLY_F32("layernorm_bwd", &a->dx, &a->dgain, &a->dbias, &a->dy, &a->x, &a->gain);
    double t = row_begin(d), flop = 16.0 * (double)rows * (double)n;
    return row_end(d, ROW_LAYERNORM_BWD, t, flop, d->ops->layernorm_bwd(d, a));
}

int op_patchify(struct device *d, const struct patchify *a)
{
    const struct tensor *x = &a->pixels, *y = &a->patches;
    assert(given(x) && given(y) && a->lut && a->patch > 0);
    assert(x->rank == 4 && x->dim[1] == x->dim[2] && x->dim[3] == 3 && x->ld == 3);
    int64_t across = x->dim[1] / a->patch, area = (int64_t)a->patch * a->patch;
    assert(across * a->patch == x->dim[1]);
    assert(is_matrix(y, x->dim[0] * across * across, 3 * area));
    if (x->type != U8 || y->type != F32)
        return err_set(ERR_USAGE, "patchify makes f32 of u8 on this device, not %s of %s",
                       dtype_name(y->type), dtype_name(x->type));
    double t = row_begin(d);
    return row_end(d, ROW_PATCHIFY, t, 0, d->ops->patchify(d, a));
}

static void check_ids(const int32_t *ids, int64_t n, const struct tensor *table)
{
    for (int64_t i = 0; given(table) && i < n; i++)
        assert(ids[i] >= 0 && ids[i] < tensor_rows(table));
}

int op_embed(struct device *d, const struct embed *a)
{
    int64_t rows = tensor_rows(&a->y), n = tensor_cols(&a->y);
    assert(given(&a->y) && given(&a->table) && a->ids && (a->at || !given(&a->pos)));
    assert(is_matrix(&a->y, rows, n) && tensor_cols(&a->table) == n);
    assert(!given(&a->pos) || tensor_cols(&a->pos) == n);
    ONLY_F32("embed", &a->y, &a->table, &a->pos);
    check_ids(a->ids, rows, &a->table);
    check_ids(a->at, rows, &a->pos);
    double t = row_begin(d);
    return row_end(d, ROW_EMBED, t, 0, d->ops->embed(d, a));
}

int op_embed_bwd(struct device *d, const struct embed_bwd *a)
{
    int64_t rows = tensor_rows(&a->dy), n = tensor_cols(&a->dy);
    assert(given(&a->dy) && (a->ids || !given(&a->dtable)) && (a->at || !given(&a->dpos)));
    assert(!given(&a->dtable) || tensor_cols(&a->dtable) == n);
    assert(!given(&a->dpos) || tensor_cols(&a->dpos) == n);
    ONLY_F32("embed_bwd", &a->dtable, &a->dpos, &a->dy);
    check_ids(a->ids, rows, &a->dtable);
    check_ids(a->at, rows, &a->dpos);
    double t = row_begin(d);
    return row_end(d, ROW_EMBED_BWD, t, 0, d->ops->embed_bwd(d, a));
}

static int is_real(enum dtype t)
{
    return t == F32 || t == F16;
}

int op_l2norm(struct device *d, const struct l2norm *a)
{
    int64_t rows = tensor_rows(&a->x), n = tensor_cols(&a->x);
    assert(given(&a->x) && given(&a->y) && is_vector(&a->norm, rows));
    assert(is_matrix(&a->x, rows, n) && is_matrix(&a->y, rows, n));
    ONLY_F32("l2norm", &a->norm);
    if (!is_real(a->y.type) || !is_real(a->x.type))
        return err_set(ERR_USAGE,
                       "l2norm makes f32 or f16 of f32 or f16 on this device, not %s of %s",
                       dtype_name(a->y.type), dtype_name(a->x.type));
    double t = row_begin(d), flop = 3.0 * (double)rows * (double)n;
    return row_end(d, ROW_L2NORM, t, flop, d->ops->l2norm(d, a));
}

int op_add(struct device *d, const struct tensor *y, const struct tensor *x)
{
    int64_t rows = tensor_rows(y), n = tensor_cols(y);
    assert(given(y) && given(x) && is_matrix(y, rows, n) && is_matrix(x, rows, n));
    ONLY_F32("add", y, x);
    double t = row_begin(d), flop = (double)rows * (double)n;
    return row_end(d, ROW_ADD, t, flop, d->ops->add(d, y, x));
}

int op_xent(struct device *d, const struct xent *a)
{
    int64_t rows = tensor_rows(&a->logits), n = tensor_cols(&a->logits);
    assert(given(&a->logits) && a->target && a->loss && rows > 0);
    assert(is_matrix(&a->logits, rows, n) && is_matrix(&a->dlogits, rows, n));
    ONLY_F32("xent", &a->logits, &a->dlogits);
    for (int64_t i = 0; i < rows; i++) assert(a->target[i] >= 0 && a->target[i] < n);
    double t = row_begin(d), flop = 6.0 * (double)rows * (double)n;
    return row_end(d, ROW_XENT, t, flop, d->ops->xent(d, a));
}

int op_adamw(struct device *d, const struct adamw *a)
{
    int64_t n = tensor_count(&a->w);
    assert(given(&a->w) && given(&a->grad) && given(&a->m) && given(&a->v) && a->step >= 1);
    assert(is_vector(&a->grad, n) && is_vector(&a->m, n) && is_vector(&a->v, n));
    ONLY_F32("adamw", &a->w, &a->grad, &a->m, &a->v);
    double t = row_begin(d), flop = 14.0 * (double)n;
    return row_end(d, ROW_ADAMW, t, flop, d->ops->adamw(d, a));
}

static int is_list(const struct tensor *t, enum dtype type, int64_t n)
{
    return !given(t) || (t->type == type && tensor_count(t) == n);
}

int op_nearest(struct device *d, const struct nearest *a)
{
    int64_t n = tensor_rows(&a->x), dim = tensor_cols(&a->x), k = a->c.dim[0];
    assert(given(&a->x) && given(&a->c) && given(&a->half) && given(&a->index));
    assert(is_matrix(&a->x, n, dim) && is_matrix(&a->c, k, dim) && k > 0);
    assert(is_list(&a->index, I32, n) && is_list(&a->best, F32, n) && is_list(&a->next, F32, n));
    assert(is_list(&a->half, F32, k));
    if (!a->packed) ONLY_F32("nearest with plain centroids", &a->c);
    if (!is_real(a->x.type))
        return err_set(ERR_USAGE, "nearest takes f32 or f16 on this device, not %s",
                       dtype_name(a->x.type));
    double t = row_begin(d), flop = 2.0 * (double)n * (double)k * (double)dim;
    return row_end(d, ROW_NEAREST, t, flop, d->ops->nearest(d, a));
}

int op_distance(struct device *d, const struct distance *a)
{
    int64_t n = tensor_rows(&a->x), dim = tensor_cols(&a->x);
    assert(given(&a->x) && given(&a->c) && given(&a->index));
    assert(is_matrix(&a->x, n, dim) && is_matrix(&a->c, tensor_rows(&a->c), dim));
    assert(is_list(&a->square, F32, n) && is_list(&a->dot, F32, n) && is_list(&a->index, I32, n));
    ONLY_F32("distance", &a->x, &a->c);
    double t = row_begin(d), flop = 5.0 * (double)n * (double)dim;
    return row_end(d, ROW_DISTANCE, t, flop, d->ops->distance(d, a));
}

int op_sum_by(struct device *d, const struct sum_by *a)
{
    int64_t n = tensor_rows(&a->x), dim = tensor_cols(&a->x), k = tensor_rows(&a->sums);
    assert(given(&a->x) && given(&a->sums) && given(&a->counts) && given(&a->to));
    assert(is_matrix(&a->x, n, dim) && is_matrix(&a->sums, k, dim) && a->sums.type == I64);
    assert(is_list(&a->counts, I64, k) && is_list(&a->to, I32, n));
    assert(is_list(&a->from, I32, n) && is_list(&a->w, I32, n));
    ONLY_F32("sum_by", &a->x);
    double t = row_begin(d), flop = 2.0 * (double)n * (double)dim;
    return row_end(d, ROW_SUM_BY, t, flop, d->ops->sum_by(d, a));
}

/* Pairs of an x item and an earlier e item. */
static double earlier_pairs(const struct pair_max *a, int64_t m, int64_t n)
{
    double sum = 0;
    for (int64_t r = 0; r < m; r++) {
        int64_t before = a->x_first + r - a->e_first;
        sum += (double)(before < 0 ? 0 : before > n ? n : before);
    }
    return sum;
}

int op_pair_max(struct device *d, const struct pair_max *a)
{
    int64_t m = tensor_rows(&a->x), dim = tensor_cols(&a->x), n = a->e.dim[0];
    assert(given(&a->x) && given(&a->e) && given(&a->score) && given(&a->index));
    assert(is_matrix(&a->x, m, dim) && is_matrix(&a->e, n, dim));
    assert(is_list(&a->score, F32, m) && is_list(&a->index, I32, m));
    assert(a->x_first >= 0 && a->e_first >= 0 && a->e_first + n <= INT32_MAX);
    ONLY_F32("pair_max", &a->x);
    if (!a->packed) ONLY_F32("pair_max with plain rows", &a->e);
    double t = row_begin(d), flop = d->profile ? 2.0 * (double)dim * earlier_pairs(a, m, n) : 0;
    return row_end(d, ROW_PAIR_MAX, t, flop, d->ops->pair_max(d, a));
}
