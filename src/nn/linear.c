/* linear.c - the dense layer: forward with fused activation or residual, and its backward. */
#include "nn/layers.h"
#include "tensor/ops.h"

static int bwd(struct device *dev, const struct step *s)
{
    return op_linear_bwd(dev, &s->linear);
}

/* y = act(x w^T + b) + residual, recorded. */
static void run(struct tape *t, const struct var *y, const struct var *x, const struct dense *d,
                const struct var *residual, enum act act)
{
    struct linear a = {.y = y->x, .x = x->x, .w = d->w.w, .packed = d->w.packed, .act = act};
    if (d->b.w.data) a.bias = d->b.w;
    if (residual) a.residual = residual->x;
    if (t->record && act != ACT_NONE) a.pre = tape_var(t, y->x.dim[0], y->x.dim[1]).x;
    if (t->record) {
        struct step *s = tape_record(t, bwd);
        s->linear = (struct linear_bwd){.dx = x->g,
                                        .dw = d->w.g,
                                        .dbias = d->b.g,
                                        .dy = y->g,
                                        .x = x->x,
                                        .w = d->w.w,
                                        .pre = a.pre,
                                        .act = act};
        if (residual && residual->g.data) s->sum_to = residual->g, s->sum = y->g;
    }
    if (!tape_skips(t)) tape_ran(t, op_linear(t->dev, &a));
}

struct var linear_fwd(struct tape *t, const struct var *x, const struct dense *d, enum act act)
{
    struct var y = tape_var(t, x->x.dim[0], d->w.w.dim[0]);
    run(t, &y, x, d, NULL, act);
    return y;
}

void linear_into(struct tape *t, const struct var *y, const struct var *x, const struct dense *d,
                 enum act act)
{
    run(t, y, x, d, NULL, act);
}

void linear_add(struct tape *t, struct var *x, const struct var *h, const struct dense *d)
{
    /* While recording, the old x is still wanted: the norm before us saved it. */
    struct var y = t->record ? tape_var(t, x->x.dim[0], x->x.dim[1]) : *x;
    run(t, &y, h, d, x, ACT_NONE);
    *x = y;
}
