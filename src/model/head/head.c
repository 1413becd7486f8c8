/* head.c - heads on a device. Rows are normalised once for all heads of a runner; then each head
 * is a few rows of the op table. The last step, softmax over a handful of prompts, is done on the
 * host, in double. */
#include "model/head/head.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "format/weights_f32.h"
#include "model/head/net.h"
#include "nn/layers.h"
#include "tensor/ops.h"

/* On a CPU a pass stays in L2: 224 rows of 768 are 0.7 MB, and whole tiles of 14 rows. */
enum { ROWS_CPU = 224, ROWS_GPU = 8192 };

struct stratum {
    int is_norm;
    struct dense dense;
    struct norm norm;
    enum act act;
};

struct head {
    struct params params;
    struct stratum *layer;
    int count, width, out; /* out: numbers after the last layer */
    int raw, softmax, take;
    char what[192], fingerprint[65];
};

/* ---- opening ---- */

static float *floats(const double *x, int64_t count)
{
    float *y = mem_aligned(mem_mul((size_t)count, sizeof *y));
    for (int64_t i = 0; i < count; i++) y[i] = (float)x[i];
    return y;
}

static int64_t weight_count(const struct head_layer *l)
{
    return l->kind == HEAD_DENSE ? l->in * l->out : l->out;
}

static int put_param(struct device *dev, struct param *p, const double *x, int64_t count,
                     struct sha256 *h)
{
    float *y = floats(x, count);
    struct tensor host = p->w;
    host.data = y;
    sha256_add(h, y, (size_t)count * sizeof *y);
    int rc = p->packed ? op_pack(dev, p->w.data, &host)
                       : op_put(dev, p->w.data, y, (size_t)count * sizeof *y);
    if (!rc) rc = op_sync(dev);
    free(y);
    return rc;
}

static void plan_layers(struct head *h, const struct head_net *n)
{
    h->layer = mem_alloc((size_t)n->count * sizeof *h->layer);
    h->count = n->count;
    for (int i = 0; i < n->count; i++) {
        const struct head_layer *l = &n->layer[i];
        struct stratum *s = &h->layer[i];
        s->is_norm = l->kind == HEAD_NORM;
        s->act = l->act;
        s->norm.eps = (float)l->eps;
        params_add(&h->params, s->is_norm ? &s->norm.gain : &s->dense.w, l->out,
                   s->is_norm ? 0 : l->in, !s->is_norm);
        params_add(&h->params, s->is_norm ? &s->norm.bias : &s->dense.b, l->out, 0, 0);
    }
}

static int put_layers(struct head *h, const struct head_net *n, struct device *dev,
                      struct sha256 *hash)
{
    int rc = params_alloc(&h->params, dev);
    for (int i = 0; i < n->count && !rc; i++) {
        const struct head_layer *l = &n->layer[i];
        struct stratum *s = &h->layer[i];
        struct str text = {0};
        str_printf(&text, "layer %d %lld %lld %s %.17g\n", (int)l->kind, (long long)l->out,
                   (long long)l->in, act_name(l->act), l->eps);
        sha256_add(hash, text.p, text.len);
        str_release(&text);
        rc = put_param(dev, s->is_norm ? &s->norm.gain : &s->dense.w, l->w, weight_count(l), hash);
        if (!rc) rc = put_param(dev, s->is_norm ? &s->norm.bias : &s->dense.b, l->b, l->out, hash);
    }
    return rc;
}

static void describe(struct head *h, const struct head_net *n)
{
    struct str s = {0};
    str_printf(&s, "%s, %lld", n->what, (long long)n->width);
    for (int i = 0; i < n->count; i++) str_printf(&s, " -> %lld", (long long)n->layer[i].out);
    snprintf(h->what, sizeof h->what, "%s", s.p);
    str_release(&s);
}

/* From a net, which is folded here. */
static int head_new(struct head **out, struct device *dev, struct head_net *n)
{
    struct head *h = mem_alloc(sizeof *h);
    struct sha256 hash = {0};
    struct str text = {0};
    int rc = head_net_fold(n);
    if (!rc) {
        h->width = (int)n->width;
        h->out = (int)head_net_out(n);
        h->raw = n->raw;
        h->softmax = n->softmax;
        h->take = (int)n->take;
        describe(h, n);
        sha256_init(&hash);
        str_printf(&text, "darkroom head 1 raw %d softmax %d take %d\n", h->raw, h->softmax,
                   h->take);
        sha256_add(&hash, text.p, text.len);
        plan_layers(h, n);
        rc = put_layers(h, n, dev, &hash);
        if (!rc) sha256_end(&hash, h->fingerprint);
        sha256_release(&hash);
    }
    str_release(&text);
    if (rc)
        head_close(h);
    else
        *out = h;
    return rc;
}

int head_open(struct head **out, struct device *dev, const char *path)
{
    struct head_net n;
    *out = NULL;
    head_net_init(&n);
    int rc = head_net_load(&n, path);
    if (!rc && (rc = head_new(out, dev, &n))) err_wrap(rc, "%s", path);
    head_net_release(&n);
    return rc;
}

int head_open_prompts(struct head **out, struct device *dev, const float *rows, int count,
                      int width, double scale)
{
    struct head_net n;
    double *w = mem_alloc(mem_mul((size_t)count * (size_t)width, sizeof *w));
    *out = NULL;
    head_net_init(&n);
    for (int i = 0; i < count * width; i++) w[i] = rows[i];
    int rc = head_net_add(&n, HEAD_DENSE, w, NULL, count, width);
    n.softmax = 1;
    n.scale = scale;
    snprintf(n.what, sizeof n.what, "prompts");
    if (!rc) rc = head_new(out, dev, &n);
    head_net_release(&n);
    return rc;
}

void head_close(struct head *h)
{
    if (!h) return;
    params_release(&h->params);
    free(h->layer);
    free(h);
}

int head_width(const struct head *h)
{
    return h->width;
}

const char *head_what(const struct head *h)
{
    return h->what;
}

const char *head_fingerprint(const struct head *h)
{
    return h->fingerprint;
}

/* ---- running ---- */

struct head_runner {
    const struct head **heads;
    int count, width, any_raw;
    int64_t rows;
    struct tape tape;
    float *norm;    /* [rows] */
    float *staging; /* [rows,width], when a head takes rows as they are */
    float **out;    /* of each head: [rows, ld] */
    int64_t *ld;    /* of each head */
};

static void get(struct tape *t, void *to, const void *from, size_t bytes)
{
    if (!tape_skips(t)) tape_ran(t, op_get(t->dev, to, from, bytes));
}

static void put(struct tape *t, void *to, const void *from, size_t bytes)
{
    if (!tape_skips(t)) tape_ran(t, op_put(t->dev, to, from, bytes));
}

/* Rows of length 1, their norms to the host. */
static struct var unit_rows(struct head_runner *r, const void *data, enum dtype type, int64_t n)
{
    struct tape *t = &r->tape;
    struct var x = tape_var(t, n, r->width);
    size_t mark = tape_mark(t), count = (size_t)(n * r->width);
    struct tensor norm = tensor_1d(tape_alloc(t, (size_t)n * sizeof(float)), F32, n);
    struct tensor raw = tensor_2d(NULL, type, n, r->width);
    raw.data = tape_alloc(t, count * dtype_size(type));
    put(t, raw.data, data, count * dtype_size(type));
    if (!tape_skips(t))
        tape_ran(t, op_l2norm(t->dev, &(struct l2norm){.y = x.x, .x = raw, .norm = norm}));
    get(t, r->norm, norm.data, (size_t)n * sizeof(float));
    tape_rewind(t, mark);
    return x;
}

/* The same rows as they are, in f32. */
static struct var plain_rows(struct head_runner *r, const void *data, enum dtype type, int64_t n)
{
    struct tape *t = &r->tape;
    size_t count = (size_t)(n * r->width);
    struct var x = {.x = tensor_2d(NULL, F32, n, r->width)};
    x.x.data = tape_alloc(t, count * sizeof(float));
    if (type == F16 && !tape_skips(t)) f16_read(r->staging, data, count);
    put(t, x.x.data, type == F16 ? r->staging : data, count * sizeof(float));
    return x;
}

/* One head on rows x; the numbers of its last layer go to the host. */
static void run_head(struct head_runner *r, int which, struct var x)
{
    const struct head *h = r->heads[which];
    struct tape *t = &r->tape;
    size_t mark = tape_mark(t);
    int64_t n = x.x.dim[0];
    for (int i = 0; i < h->count; i++) {
        const struct stratum *s = &h->layer[i];
        if (s->is_norm) {
            x = norm_fwd(t, &x, &s->norm);
        } else if (i + 1 < h->count) {
            x = linear_fwd(t, &x, &s->dense, s->act);
        } else {
            struct var y = {.x = tensor_2d(NULL, F32, n, h->out)};
            y.x.data = tape_alloc(t, (size_t)(n * h->out) * sizeof(float));
            linear_into(t, &y, &x, &s->dense, s->act);
            x = y;
        }
    }
    r->ld[which] = x.x.ld;
    get(t, r->out[which], x.x.data, (size_t)(n * x.x.ld) * sizeof(float));
    tape_rewind(t, mark);
}

static int run_pass(struct head_runner *r, const void *data, enum dtype type, int64_t n)
{
    struct tape *t = &r->tape;
    tape_reset(t);
    struct var unit = unit_rows(r, data, type, n), plain = {0};
    if (r->any_raw) plain = plain_rows(r, data, type, n);
    for (int i = 0; i < r->count; i++) run_head(r, i, r->heads[i]->raw ? plain : unit);
    if (!tape_skips(t)) tape_ran(t, op_sync(t->dev));
    return tape_error(t);
}

/* exp of a large difference is infinite, and the probability then rightly zero. */
static float softmax_of(const float *x, int n, int take)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += exp((double)x[i] - x[take]);
    return (float)(1 / sum);
}

static void take_scores(const struct head_runner *r, int which, float *scores, int64_t n)
{
    const struct head *h = r->heads[which];
    for (int64_t i = 0; i < n; i++) {
        const float *x = r->out[which] + i * r->ld[which];
        if (!(r->norm[i] > 0) || isinf(r->norm[i]))
            scores[i] = NAN;
        else
            scores[i] = h->softmax ? softmax_of(x, h->out, h->take) : x[h->take];
    }
}

int head_run(struct head_runner *r, float *const *scores, const void *data, enum dtype type,
             int64_t n)
{
    size_t row = (size_t)r->width * dtype_size(type);
    int rc = 0;
    assert(type == F16 || type == F32);
    for (int64_t i = 0, some; i < n && !rc; i += some) {
        some = n - i < r->rows ? n - i : r->rows;
        rc = run_pass(r, (const char *)data + (size_t)i * row, type, some);
        for (int h = 0; h < r->count && !rc; h++) take_scores(r, h, scores[h] + i, some);
    }
    return rc;
}

int head_runner_open(struct head_runner **out, const struct head *const *heads, int count,
                     struct device *lane, int rows)
{
    struct head_runner *r = mem_alloc(sizeof *r);
    assert(count > 0);
    *out = NULL;
    r->rows = rows ? rows : !strcmp(lane->name, "cpu") ? ROWS_CPU : ROWS_GPU;
    r->count = count;
    r->width = heads[0]->width;
    r->heads = mem_alloc((size_t)count * sizeof *r->heads);
    r->out = mem_alloc((size_t)count * sizeof *r->out);
    r->ld = mem_alloc((size_t)count * sizeof *r->ld);
    r->norm = mem_alloc((size_t)r->rows * sizeof *r->norm);
    for (int i = 0; i < count; i++) {
        assert(heads[i]->width == r->width);
        r->heads[i] = heads[i];
        r->any_raw |= heads[i]->raw;
    }
    tape_init(&r->tape, lane, 0);
    run_pass(r, NULL, F32, r->rows);
    for (int i = 0; i < count; i++)
        r->out[i] = mem_alloc(mem_mul((size_t)(r->rows * r->ld[i]), sizeof **r->out));
    if (r->any_raw)
        r->staging = mem_alloc(mem_mul((size_t)r->rows * (size_t)r->width, sizeof *r->staging));
    int rc = tape_ready(&r->tape);
    if (rc)
        head_runner_close(r);
    else
        *out = r;
    return rc;
}

void head_runner_close(struct head_runner *r)
{
    if (!r) return;
    tape_release(&r->tape);
    for (int i = 0; i < r->count; i++) free(r->out[i]);
    free(r->out);
    free(r->ld);
    free(r->heads);
    free(r->norm);
    free(r->staging);
    free(r);
}
