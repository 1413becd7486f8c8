/* net.c - layers in double, and multiplying them out.
 * Published heads carry layers between which nothing happens (dropout is for training), input
 * statistics, batch norms: all affine. Folding them before rounding to f32 once is both faster
 * and closer to the real number than running them one by one in f32. */
#include "model/head/net.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

void head_net_init(struct head_net *n)
{
    *n = (struct head_net){.scale = 1};
}

static void layer_release(struct head_layer *l)
{
    free(l->w);
    free(l->b);
    *l = (struct head_layer){0};
}

void head_net_release(struct head_net *n)
{
    for (int i = 0; i < n->count; i++) layer_release(&n->layer[i]);
    *n = (struct head_net){0};
}

int64_t head_net_out(const struct head_net *n)
{
    return n->count ? n->layer[n->count - 1].out : n->width;
}

static double *doubles(int64_t count)
{
    return mem_alloc(mem_mul((size_t)count, sizeof(double)));
}

/* An empty layer at the end. */
static struct head_layer *layer_new(struct head_net *n, enum head_kind kind, int64_t out,
                                    int64_t in)
{
    struct head_layer *l = &n->layer[n->count++];
    *l = (struct head_layer){.kind = kind, .in = in, .out = out};
    if (n->count == 1) n->width = in;
    return l;
}

int head_net_add(struct head_net *n, enum head_kind kind, double *w, double *b, int64_t out,
                 int64_t in)
{
    int rc = 0;
    if (in < 1 || out < 1 || in > HEAD_WIDTH || out > HEAD_WIDTH ||
        in * out > HEAD_NUMBERS - n->numbers)
        rc = err_set(ERR_INPUT, "with a layer of %lld x %lld numbers this is no small head",
                     (long long)out, (long long)in);
    if (!rc && n->count == HEAD_LAYERS)
        rc = err_set(ERR_INPUT, "more than %d layers are no small head", HEAD_LAYERS);
    if (rc) {
        free(w);
        free(b);
        return rc;
    }
    struct head_layer *l = layer_new(n, kind, out, in);
    l->w = w;
    l->b = b ? b : doubles(out);
    n->numbers += in * out;
    return 0;
}

/* x -> gain x + offset, the same for all elements. */
static int add_scaling(struct head_net *n, double gain, double offset)
{
    int64_t width = head_net_out(n);
    double *w = doubles(width), *b = doubles(width);
    for (int64_t i = 0; i < width; i++) w[i] = gain, b[i] = offset;
    return head_net_add(n, HEAD_DIAGONAL, w, b, width, width);
}

int head_net_act(struct head_net *n, enum act act)
{
    assert(n->count);
    struct head_layer *l = &n->layer[n->count - 1];
    int rc = 0;
    if (act == ACT_NONE) return 0;
    if (l->act != ACT_NONE || l->kind == HEAD_NORM) rc = add_scaling(n, 1, 0);
    if (!rc) n->layer[n->count - 1].act = act;
    return rc;
}

/* tanh x = 2 sigmoid(2x) - 1: devices have sigmoid. */
int head_net_tanh(struct head_net *n)
{
    int rc = add_scaling(n, 2, 0);
    if (!rc) rc = head_net_act(n, ACT_SIGMOID);
    return rc ? rc : add_scaling(n, 2, -1);
}

/* ---- folding ---- */

static void to_dense(struct head_layer *l)
{
    if (l->kind != HEAD_DIAGONAL) return;
    double *w = doubles(l->out * l->in);
    for (int64_t i = 0; i < l->out; i++) w[i * l->in + i] = l->w[i];
    free(l->w);
    l->w = w;
    l->kind = HEAD_DENSE;
}

/* b += w offset, and w's columns scaled by gain. */
static void scale_columns(struct head_layer *l, const double *gain, const double *offset)
{
    for (int64_t o = 0; o < l->out; o++) {
        double *w = l->w + o * l->in;
        for (int64_t i = 0; i < l->in; i++) {
            l->b[o] += w[i] * offset[i];
            w[i] *= gain[i];
        }
    }
}

static void scale_rows(struct head_layer *l, const double *gain, const double *offset)
{
    int64_t in = l->kind == HEAD_DENSE ? l->in : 1;
    for (int64_t o = 0; o < l->out; o++) {
        for (int64_t i = 0; i < in; i++) l->w[o * in + i] *= gain[o];
        l->b[o] = l->b[o] * gain[o] + offset[o];
    }
}

/* w2 w1 and w2 b1 + b2 into the first. */
static void multiply(struct head_layer *first, const struct head_layer *second)
{
    int64_t in = first->in, mid = first->out, out = second->out;
    double *w = doubles(out * in), *b = doubles(out);
    for (int64_t o = 0; o < out; o++) {
        double *row = w + o * in;
        b[o] = second->b[o];
        for (int64_t k = 0; k < mid; k++) {
            double by = second->w[o * mid + k];
            const double *from = first->w + k * in;
            for (int64_t i = 0; i < in; i++) row[i] += by * from[i];
            b[o] += by * first->b[k];
        }
    }
    free(first->w);
    free(first->b);
    first->w = w;
    first->b = b;
    first->out = out;
}

/* One layer for two, where that costs no more than both. */
static int fold_pair(struct head_layer *a, struct head_layer *b)
{
    if (a->act != ACT_NONE || a->kind == HEAD_NORM || b->kind == HEAD_NORM) return 0;
    if (a->kind == HEAD_DENSE && b->kind == HEAD_DENSE &&
        a->in * b->out > a->in * a->out + b->in * b->out)
        return 0;
    if (b->kind == HEAD_DIAGONAL) {
        scale_rows(a, b->w, b->b);
        a->act = b->act;
        layer_release(b);
    } else if (a->kind == HEAD_DIAGONAL) {
        scale_columns(b, a->w, a->b);
        layer_release(a);
        *a = *b;
    } else {
        multiply(a, b);
        a->act = b->act;
        layer_release(b);
    }
    return 1;
}

/* From the end: a score is one number, so the products there are the small ones. */
static void fold_layers(struct head_net *n)
{
    for (int i = n->count - 2; i >= 0; i--) {
        if (!fold_pair(&n->layer[i], &n->layer[i + 1])) continue;
        memmove(&n->layer[i + 1], &n->layer[i + 2],
                (size_t)(n->count - i - 2) * sizeof n->layer[0]);
        n->layer[--n->count] = (struct head_layer){0};
        if (i + 1 < n->count) i++; /* the new layer may fold with the next one too */
    }
}

/* Only one number of the last layer is asked for. */
static void take_one(struct head_net *n)
{
    struct head_layer *l = &n->layer[n->count - 1];
    if (n->softmax || l->kind == HEAD_NORM || l->out == 1) return;
    double *row = doubles(l->in);
    if (l->kind == HEAD_DIAGONAL)
        row[n->take] = l->w[n->take];
    else
        memcpy(row, l->w + n->take * l->in, (size_t)l->in * sizeof *row);
    free(l->w);
    l->w = row;
    l->b[0] = l->b[n->take];
    l->kind = HEAD_DENSE;
    l->out = 1;
    n->take = 0;
}

/* scale and offset need no step of their own before an activation or softmax. */
static int fold_output(struct head_net *n)
{
    if (n->scale == 1 && n->offset == 0) return 0;
    int rc = add_scaling(n, n->scale, n->offset);
    n->scale = 1;
    n->offset = 0;
    return rc;
}

static int fits_float(const double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(x[i]) <= FLT_MAX)) return 0;
    return 1;
}

int head_net_fold(struct head_net *n)
{
    assert(n->count);
    int rc = fold_output(n);
    if (rc) return rc;
    take_one(n);
    fold_layers(n);
    for (int i = 0; i < n->count; i++) {
        struct head_layer *l = &n->layer[i];
        to_dense(l);
        if (!fits_float(l->w, l->kind == HEAD_DENSE ? l->out * l->in : l->out) ||
            !fits_float(l->b, l->out))
            return err_set(ERR_INPUT, "its layers multiply to numbers beyond float32");
    }
    return 0;
}
