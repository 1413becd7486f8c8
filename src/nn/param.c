/* param.c - parameter sets: sized first, allocated once, each parameter a 64-byte aligned cut.
 * Gradients, first and second moments stand in one block [g | m | v], so that zeroing the
 * gradients is one call. */
#include "nn/param.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "tensor/ops.h"

enum { ALIGN = 64 };

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t plain_bytes(const struct param *p)
{
    return aligned((size_t)tensor_count(&p->w) * sizeof(float));
}

static size_t weight_bytes(struct device *dev, const struct param *p)
{
    if (!p->packed) return plain_bytes(p);
    return aligned(op_pack_bytes(dev, p->w.dim[0], p->w.dim[1], F32));
}

void params_add(struct params *s, struct param *p, int64_t n, int64_t k, int packed)
{
    assert(n > 0 && k >= 0 && !(packed && !k));
    *p = (struct param){.packed = packed, .decay = k > 0};
    p->w = k ? tensor_2d(NULL, F32, n, k) : tensor_1d(NULL, F32, n);
    vec_push(s->list, s->count, s->cap);
    s->list[s->count++] = p;
}

int params_alloc(struct params *s, struct device *dev)
{
    size_t total = 0, at = 0;
    int rc;
    s->dev = dev;
    for (size_t i = 0; i < s->count; i++) total += weight_bytes(dev, s->list[i]);
    if ((rc = op_alloc(dev, &s->weights, total))) return err_wrap(rc, "weights");
    s->weight_bytes = total;
    for (size_t i = 0; i < s->count; i++) {
        s->list[i]->w.data = (char *)s->weights + at;
        at += weight_bytes(dev, s->list[i]);
    }
    return 0;
}

int params_train(struct params *s)
{
    size_t one = 0, at = 0;
    int rc;
    for (size_t i = 0; i < s->count; i++) {
        assert(!s->list[i]->packed);
        one += plain_bytes(s->list[i]);
    }
    if ((rc = op_alloc(s->dev, &s->state, 3 * one))) return err_wrap(rc, "gradients");
    s->state_bytes = 3 * one;
    for (size_t i = 0; i < s->count; i++) {
        struct param *p = s->list[i];
        char *g = (char *)s->state + at;
        p->g = p->m = p->v = p->w;
        p->g.data = g;
        p->m.data = g + one;
        p->v.data = g + 2 * one;
        at += plain_bytes(p);
    }
    return op_zero(s->dev, s->state, s->state_bytes);
}

int params_zero_grad(struct params *s)
{
    return s->state ? op_zero(s->dev, s->state, s->state_bytes / 3) : 0;
}

void params_release(struct params *s)
{
    if (s->dev) {
        op_free(s->dev, s->weights);
        op_free(s->dev, s->state);
    }
    free(s->list);
    *s = (struct params){0};
}
