/* tape.c - a bump allocator with a list of backward steps beside it. */
#include "nn/tape.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "tensor/ops.h"

enum { ALIGN = 64, DRY_BASE = 4096 };

void tape_init(struct tape *t, struct device *dev, int record)
{
    *t = (struct tape){.dev = dev, .record = record, .dry = 1};
}

int tape_ready(struct tape *t)
{
    void *p = NULL;
    int rc = op_alloc(t->dev, &p, t->peak ? t->peak : ALIGN);
    if (rc) return err_wrap(rc, "activations");
    t->base = p;
    t->size = t->peak;
    t->dry = 0;
    tape_reset(t);
    return 0;
}

void tape_release(struct tape *t)
{
    if (t->dev) op_free(t->dev, t->base);
    free(t->steps);
    *t = (struct tape){0};
}

void tape_reset(struct tape *t)
{
    t->used = 0;
    t->count = 0;
    t->rc = 0;
}

int tape_error(const struct tape *t)
{
    return t->rc;
}

void *tape_alloc(struct tape *t, size_t bytes)
{
    size_t at = t->used;
    t->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (t->used > t->peak) t->peak = t->used;
    /* A dry pass hands out addresses that nobody touches: views of them must not look absent. */
    if (t->dry) return (void *)(uintptr_t)(DRY_BASE + at);
    assert(t->used <= t->size); /* the dry pass was not the same pass */
    return t->base + at;
}

struct var tape_var(struct tape *t, int64_t rows, int64_t cols)
{
    int64_t ld = tensor_pitch(cols);
    size_t bytes = (size_t)rows * (size_t)ld * sizeof(float);
    struct var v = {.x = tensor_2d(tape_alloc(t, bytes), F32, rows, cols)};
    v.x.ld = ld;
    if (!t->record) return v;
    v.g = tensor_2d(tape_alloc(t, bytes), F32, rows, cols);
    v.g.ld = ld;
    if (!tape_skips(t)) tape_ran(t, op_zero(t->dev, v.g.data, bytes));
    return v;
}

size_t tape_mark(const struct tape *t)
{
    return t->used;
}

void tape_rewind(struct tape *t, size_t mark)
{
    if (!t->record) t->used = mark;
}

int tape_skips(const struct tape *t)
{
    return t->dry || t->rc;
}

void tape_ran(struct tape *t, int rc)
{
    if (rc && !t->rc) t->rc = rc;
}

struct step *tape_record(struct tape *t, int (*bwd)(struct device *dev, const struct step *s))
{
    vec_push(t->steps, t->count, t->cap);
    struct step *s = &t->steps[t->count++];
    *s = (struct step){.bwd = bwd};
    return s;
}

int tape_backward(struct tape *t)
{
    assert(t->record);
    for (size_t i = t->count; i-- > 0 && !t->rc;) {
        const struct step *s = &t->steps[i];
        tape_ran(t, s->bwd(t->dev, s));
        if (!t->rc && s->sum_to.data) tape_ran(t, op_add(t->dev, &s->sum_to, &s->sum));
    }
    return t->rc;
}

struct var var_cols(const struct var *a, int64_t first, int64_t count)
{
    struct var v = {.x = tensor_cut_cols(&a->x, first, count)};
    if (a->g.data) v.g = tensor_cut_cols(&a->g, first, count);
    return v;
}

struct var var_rows(const struct var *a, int64_t first, int64_t count)
{
    struct var v = {.x = tensor_cut_rows(&a->x, first, count)};
    if (a->g.data) v.g = tensor_cut_rows(&a->g, first, count);
    return v;
}
